"""The known bugs that are shown on real old code: which releases, and which path of the model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from attrs import field, frozen

from groupcheck.model.engine import UserError, step_invariant
from groupcheck.model.engine.promises import StepInvariant
from groupcheck.model.protocol.classic import client
from groupcheck.model.protocol.codes import REBALANCE_IN_PROGRESS
from groupcheck.oracles.museum import symptoms
from groupcheck.oracles.museum.symptoms import Symptom

_PACKAGE = "org.apache.kafka.clients.consumer"
_STRATEGY = "partition.assignment.strategy"
Settings = dict[str, object]
RANGE: Settings = {_STRATEGY: f"{_PACKAGE}.RangeAssignor"}
STICKY: Settings = {_STRATEGY: f"{_PACKAGE}.StickyAssignor"}
COOPERATIVE: Settings = {_STRATEGY: f"{_PACKAGE}.CooperativeStickyAssignor"}
AUTO_COMMIT: Settings = {"enable.auto.commit": "true", "auto.commit.interval.ms": 60_000}
WATCHES_TOPICS: Settings = {"metadata.max.age.ms": 100}
LEAVES_SOON: Settings = {"max.poll.interval.ms": 600}


@step_invariant("client", "link", rules=(client.sync_answer.name,), source="KAFKA-14016")
def owner_is_not_reset_by_a_round(before: Any, after: Any) -> bool:
    """A member that owns partitions does not forget its generation because a round goes on (27).

    Why: this is `reset_only_when_refused` for a member that has something to lose, so that the loss
    can be seen from outside.
    """
    kept = after.client.generation == before.client.generation
    return bool(kept or before.link.answer.code != REBALANCE_IN_PROGRESS or not before.client.owned)


@frozen
class Exhibit:
    """A mutation whose bug real releases have."""

    # Its id.
    mutation: str
    ticket: str
    # Releases of Kafka's Java client: one that has the bug, and the first one without it, or the
    # next that was looked at.
    old: str
    fixed: str
    # Settings of the consumers.
    settings: Mapping[str, object]
    # Where the bug shows from outside.
    symptom: Symptom
    # The path is the shortest one of these mutations together; empty: of `mutation` alone.
    of: tuple[str, ...] = ()
    # The promise that the path breaks; empty: that of `mutation`.
    promise: str | StepInvariant = ""
    # Fields of the scope that differ from the mutation's.
    scope: Mapping[str, Any] = field(factory=dict)
    # Why the path is not that of the mutation alone, in its own scope; empty: it is.
    why: str = ""


_BOTH = ("claims_lost_partitions", "conflicting_claims_kept")
_EVICTED: Mapping[str, Any] = {"generations": 3, "faults": {"session_timeout": 1}}
EXHIBITS = (
    Exhibit(
        "change_during_round_forgotten",
        "KAFKA-3117",
        "0.9.0.1",
        "0.10.0.0",
        RANGE | WATCHES_TOPICS,
        symptoms.forgets_the_change,
    ),
    Exhibit(
        "claims_lost_partitions",
        "KAFKA-12983",
        "2.8.0",
        "2.8.1",
        COOPERATIVE,
        symptoms.claims_what_it_lost,
    ),
    Exhibit(
        "completes_after_leaving",
        "KAFKA-8104",
        "2.3.1",
        "2.4.0",
        RANGE | LEAVES_SOON,
        symptoms.completes_what_it_left,
    ),
    Exhibit(
        "conflicting_claims_kept",
        "KAFKA-12984",
        "2.8.0",
        "3.0.0",
        COOPERATIVE,
        symptoms.planned_twice,
        of=_BOTH,
        scope=_EVICTED,
        why=(
            "2.8.0 has a second bug (KAFKA-12983), because of which a member claims what it has"
            " lost; the model has both, so that the two claims come about as they did there"
        ),
    ),
    Exhibit(
        "late_claims_ignored",
        "KAFKA-14639",
        "3.4.0",
        "3.4.1",
        COOPERATIVE,
        symptoms.given_while_owned,
    ),
    Exhibit(
        "processing_after_last_commit",
        "KAFKA-14196",
        "3.2.1",
        "3.2.3",
        RANGE | AUTO_COMMIT,
        symptoms.goes_on_after_commit,
    ),
    Exhibit(
        "rejoin_forgotten_before_sync",
        "KAFKA-5154",
        "0.10.2.2",
        "0.11.0.0",
        RANGE,
        symptoms.never_joins_again,
    ),
    Exhibit(
        "round_resets_late_member",
        "KAFKA-14016",
        "3.3.1",
        "3.3.2",
        COOPERATIVE,
        symptoms.loses_without_refusal,
        promise=owner_is_not_reset_by_a_round,
        scope={"generations": 2, "faults": {"disconnect": 1}},
        why="the member owns something, so that the loss can be seen from outside",
    ),
    Exhibit(
        "stale_claims_assigned",
        "KAFKA-7026",
        "2.2.2",
        "2.3.0",
        STICKY,
        symptoms.planned_twice,
        of=_BOTH,
        scope=_EVICTED,
        why=(
            "the eager members of the model claim nothing; members with the sticky assignor send"
            " what they had as user data, so the path is that of two claims in a cooperative group"
        ),
    ),
)
BY_ID: Mapping[str, Exhibit] = {exhibit.mutation: exhibit for exhibit in EXHIBITS}


def exhibits(ids: Sequence[str]) -> list[Exhibit]:
    """The exhibits of these mutations, or all. Raises `UserError` for a mutation without one."""
    for id in ids:
        if id not in BY_ID:
            raise UserError(
                f"{id!r} cannot be shown on real old code",
                where="--real",
                do="choose from " + ", ".join(BY_ID),
            )
    return [BY_ID[id] for id in dict.fromkeys(ids)] if ids else list(EXHIBITS)
