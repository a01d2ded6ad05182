"""Pinned answers about groups whose applications commit in their callbacks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import attrs
import pytest

from groupcheck.invariants.registry import for_families
from groupcheck.model.engine.fast.explore import explore
from groupcheck.model.engine.verdict import HOLDS
from groupcheck.model.protocol.classic import rules
from groupcheck.model.protocol.classic.features.callbacks import FAMILY as CALLBACKS
from groupcheck.model.protocol.classic.features.callbacks import LACKS, callbacks
from groupcheck.model.protocol.classic.features.static import FAMILY as STATIC_MEMBERS
from groupcheck.model.protocol.classic.features.static import StaticScope, static_membership
from groupcheck.model.protocol.family import CLASSIC_GROUP, OFFSETS
from groupcheck.model.protocol.transform import composed
from groupcheck.oracles.explain.subject import subject


@pytest.mark.parametrize(
    ("variant", "fields", "states", "transitions"),
    [
        ("callbacks", {"any_faults": 1}, 7_450, 21_024),
        ("callbacks", {"any_faults": 1, "autocommit": False}, 8_863, 25_460),
        ("cooperative_callbacks", {"any_faults": 1}, 15_960, 45_072),
    ],
)
def test_the_promises_hold_and_the_states_are_pinned(
    variant: str, fields: dict[str, Any], states: int, transitions: int
) -> None:
    found = explore(subject(variant, members=2, **fields).spec)
    assert (found.verdict, found.states, found.transitions) == (HOLDS, states, transitions)


@attrs.frozen
class StaticCallbacksScope(StaticScope):
    LACKS: ClassVar[Mapping[str, str]] = LACKS
    callbacks: ClassVar[bool] = True


def test_callbacks_compose_with_static_members() -> None:
    scope = StaticCallbacksScope(members=2, any_faults=1, autocommit=False)
    spec = composed(rules.spec(scope), [static_membership, callbacks])
    more = for_families((CLASSIC_GROUP, STATIC_MEMBERS, OFFSETS, CALLBACKS))
    promised = attrs.evolve(spec, invariants=more.invariants, goals=more.goals, views=more.views)
    found = explore(promised)
    assert found.verdict == HOLDS
    assert not {"callback_runs:committed", "takeover_committed:answered"} & {*found.never_fired}
