"""Rows, differences and findings of a comparison as the document has them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from groupcheck.model.protocol.classic.features.full_offsets.scope import FullOffsetsScope
from groupcheck.model.protocol.classic.features.triggers.scope import TriggersScope
from groupcheck.model.protocol.classic.scope import Scope
from groupcheck.oracles.conform import conform_types
from groupcheck.oracles.conform.promises import PROMISES, Finding
from groupcheck.oracles.conform.row import Asks, Fires, Input
from groupcheck.oracles.conform.row_results import Cause, Difference, MissingOutcome
from groupcheck.oracles.conform.situations.running import SituationResult
from groupcheck.oracles.conform.transcript import lines, model_seen
from groupcheck.oracles.show.json_schemas import ABSENT

TOPICAL = ("topics", "subscriptions", "protocols_after")  # what only `TriggersScope` has
DEFAULTS = {
    "max_size": None,
    "two_step": True,
    "protocols": "",
    "commits": "consumer",
} | dict.fromkeys(TOPICAL, "")


def scope_shown(scope: Scope, faults: tuple[str, ...]) -> conform_types.Scope:
    """The fields that bound the rows. Faults have no budget here."""
    topical = scope if isinstance(scope, TriggersScope) else None
    return conform_types.Scope(
        members=scope.members,
        generations=scope.generations,
        partitions=scope.partition_count,
        faults=list(faults),
        max_size=scope.max_size,
        two_step=scope.two_step,
        protocols=scope.protocols,
        commits=scope.commits if isinstance(scope, FullOffsetsScope) else ABSENT,
        phases=scope.phases or ABSENT,
        commit_style=scope.commit_style or ABSENT,
        topics=topical.topics if topical else ABSENT,
        subscriptions=topical.subscriptions if topical else ABSENT,
        protocols_after=topical.protocols_after if topical else ABSENT,
    )


def settings_shown(scope: Mapping[str, Any]) -> list[str]:
    """The settings of a scope, by name, that are not the defaults: `max size 1`."""
    return [
        f"{name.replace('_', ' ')} {scope[name]}"
        for name, default in DEFAULTS.items()
        if scope.get(name, default) != default
    ]


def difference_shown(d: Difference) -> conform_types.Difference:
    """One row on which model and Kafka differ, with the shortest schedule that leads to it."""
    return conform_types.Difference(
        settings=dict(d.settings),
        input=input_shown(d.row.given),
        memory=model_seen(d.row.before.core, d.row.before.seats),
        differs=list(d.what),
        transcript=lines(d.transcript),
    )


def situations_shown(executed: tuple[SituationResult, ...]) -> conform_types.Situations:
    """How many situations were executed, how many agree, and what differs in the others."""
    differing = [one for one in executed if one.differs]
    return conform_types.Situations(
        executed=len(executed),
        agreeing=len(executed) - len(differing),
        differences=[
            conform_types.SituationDifference(
                situation=one.situation.name,
                source=one.situation.source,
                differs=list(one.differs),
                transcript=lines(one.transcript),
            )
            for one in differing
        ],
    )


def finding_shown(f: Finding) -> conform_types.Finding:
    """A promise that the real coordinator breaks, with the shortest schedule that shows it."""
    return conform_types.Finding(
        promise=f.promise,
        statement=PROMISES[f.promise],
        kind=f.kind,
        transcript=lines(f.transcript),
    )


def input_shown(given: Input) -> str:
    """`member 1 sends SyncGroup(id=0, generation=1)`."""
    if isinstance(given, Asks):
        anew = ", configured with its other list of assignors," if given.relisted else ""
        return f"member {given.member}{anew} sends {given.request!r}"
    assert isinstance(given, Fires)
    whose = "" if given.member is None else f" of member {given.member}"
    return f"{given.rule}{whose}"


def cause_shown(cause: Cause) -> conform_types.Cause:
    """Rows that differ in the same way, with the shortest schedule of one of them."""
    return conform_types.Cause(
        kind=cause.kind,
        differs=list(cause.what),
        rows=cause.rows,
        first=difference_shown(cause.first),
    )


def unseen_shown(one: MissingOutcome) -> conform_types.UnseenOutcome:
    """An outcome that the real coordinator never showed."""
    after = one.outcome.after
    return conform_types.UnseenOutcome(
        row=one.row.number,
        input=input_shown(one.row.given),
        memory=model_seen(one.row.before.core, one.row.before.seats),
        rules=list(one.outcome.rules),
        after=model_seen(after.core, after.seats),
    )
