"""A variant of the classic group as a preset: features and a scope. What all of them share stands
here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import attrs

from groupcheck.model.engine import Spec
from groupcheck.model.engine.rule import Rule
from groupcheck.model.protocol.classic import rules
from groupcheck.model.protocol.classic.covers import (
    BOOKKEEPING,
    COVERS,
    KAFKA_COORDINATOR,
    UNREACHED,
)
from groupcheck.model.protocol.classic.features.commit_styles import STYLED, commit_styles
from groupcheck.model.protocol.classic.features.failover_phases import (
    PHASES,
    SWITCHED,
    failover_phases,
)
from groupcheck.model.protocol.classic.scope import Scope
from groupcheck.model.protocol.classic.story import story
from groupcheck.model.protocol.classic.telling import Words
from groupcheck.model.protocol.family import CLASSIC_GROUP, OFFSETS, Family
from groupcheck.model.protocol.faults import CLASSIC_FAULTS, PROGRESS_FAULTS, SPENT_BY
from groupcheck.model.protocol.transform import Feature, composed
from groupcheck.model.protocol.variant import Cover, Variant


def preset(
    name: str,
    features: Sequence[Feature],
    *,
    scope_type: type[Scope] = Scope,
    families: Sequence[Family] = (),
    words: Words = Words(),
    coordinator: Iterable[Rule] = (),
    spent_by: Mapping[str, tuple[str, ...]] = SPENT_BY,
    unreached: Mapping[str, str] = UNREACHED,
    bookkeeping: Mapping[str, str] = {},
    styles: Feature = commit_styles,
    progress: Feature | None = None,
    covers: tuple[Cover, ...] = COVERS,
    real: str = KAFKA_COORDINATOR,
    **more: Any,
) -> Variant:
    """The classic group with these features.

    The feature `failover_phases`, a fail-over in its phases, comes last. The scope type says which faults
    there are and whether applications commit in `styles`. `families`, `bookkeeping` and the rules
    `coordinator` are those that the features add. A fault of
    `scope_type.MORE` is spent by the rule of its name, unless `spent_by` says otherwise. What a
    cover scope reaches need not be taken out of `unreached`.
    `more`: the other fields of `Variant`.
    """
    styled = not scope_type.NO_STYLES

    def spec(scope: Any) -> Spec:
        """The protocol at a scope, without invariants."""
        every = (*features, *([styles] if styled else []), failover_phases)
        return attrs.evolve(composed(rules.spec(scope), every), name=name)

    faults = {**CLASSIC_FAULTS, **scope_type.MORE}
    spent_by = {**spent_by, **{f: (f,) for f in scope_type.MORE if f not in spent_by}}
    switched = {**SWITCHED, **(STYLED if styled else {})}
    if not styled:
        covers = tuple(cover for cover in covers if not STYLED.keys() & cover.fields.keys())
    reached = {outcome for cover in covers for outcome in cover.reaches}
    return Variant(
        name=name,
        scope_type=scope_type,
        spec=spec,
        faults={fault: doc for fault, doc in faults.items() if fault not in scope_type.LACKS},
        lacks=scope_type.LACKS,
        assignors=scope_type.ASSIGNORS,
        progress=progress,
        progress_faults=PROGRESS_FAULTS if progress else {},
        families=(CLASSIC_GROUP, OFFSETS, *families),
        switched=switched,
        coordinator=rules.COORDINATOR | PHASES | {r.name for r in coordinator},
        tell=words.tell,
        story=partial(story, words=words),
        spent_by={fault: by for fault, by in spent_by.items() if fault not in scope_type.LACKS},
        covers=covers,
        unreached={outcome: why for outcome, why in unreached.items() if outcome not in reached},
        real=real,
        bookkeeping={**BOOKKEEPING, **bookkeeping},
        **more,
    )
