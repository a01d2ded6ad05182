"""The known bugs that are shown on real old code: which releases, and which path of the model."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any, Literal

from attrs import field, frozen

from groupcheck.model.engine import UserError, invariant, step_invariant
from groupcheck.model.engine.promises import Predicate, StepInvariant
from groupcheck.model.protocol.classic import client
from groupcheck.model.protocol.classic.group import Seats
from groupcheck.model.protocol.codes import REBALANCE_IN_PROGRESS
from groupcheck.model.protocol.messages import NO_GENERATION
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


@invariant(source="KAFKA-15170")
def newcomer_waits_for_the_owner(
    a: Annotated[int, "rightful[i]"],
    b: Annotated[int, "rightful[j]"],
    seats: Annotated[Seats, "seats[j]"],
) -> bool:
    """A member that is new in the group does not get what another one still owns.

    Why: this is `hand_off` for a new member, the only one that an assignor has a reason to prefer.
    """
    new = any(seat.member and seat.claimed == NO_GENERATION for _, seat in seats)
    return not (new and a & b)


@frozen
class Exhibit:
    """A mutation whose bug real releases have."""

    # Its id.
    mutation: str
    ticket: str
    # Releases of Kafka: one that has the bug, and the first one without it, or the next that was
    # looked at.
    old: str
    fixed: str
    # Settings of the consumers, or of the broker.
    settings: Mapping[str, object]
    # Where the bug shows from outside.
    symptom: Symptom
    # The path is the shortest one of these mutations together; empty: of `mutation` alone.
    of: tuple[str, ...] = ()
    # The promise that the path breaks; empty: that of `mutation`.
    promise: str | StepInvariant | Predicate = ""
    # Fields of the scope that differ from the mutation's.
    scope: Mapping[str, Any] = field(factory=dict)
    # The member that is assigned something new in the last step is in the rack of that partition,
    # and all others are in another one.
    racks: bool = False
    # Processes that stay on the old release when the others have the fixed one.
    stay_old: tuple[int, ...] = ()
    # The bug is one of brokers, not of clients.
    on_broker: bool = False
    # On a broker: the members have instance ids.
    static: bool = False
    # On a broker: what happens when the path is over, for its promise to show. Nothing; nothing is
    # sent for some time; members send heartbeats and no more; the coordinator is started anew.
    afterwards: Literal["", "silence", "heartbeats", "fail_over"] = ""
    # Why the path is not that of the mutation alone, in its own scope; empty: it is.
    why: str = ""


_BOTH = ("claims_lost_partitions", "conflicting_claims_kept")
_EVICTED: Mapping[str, Any] = {"generations": 3, "faults": {"session_timeout": 1}}
_CLIENT: tuple[Exhibit, ...] = (
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
        stay_old=(0,),
        why=(
            "2.8.0 has a second bug (KAFKA-12983), because of which a member claims what it has"
            " lost; the model has both, and A stays on 2.8.0 when the leader B has 3.0.0, so that"
            " the two claims are made there too"
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
    Exhibit(
        "transfer_in_one_round",
        "KAFKA-15170",
        "3.7.0",
        "3.7.1",
        COOPERATIVE,
        symptoms.given_while_owned,
        promise=newcomer_waits_for_the_owner,
        racks=True,
        scope={"partitions": 2},
        why=(
            "the partition goes to a new member, which alone is in its rack; the model has no"
            " racks, but may choose any plan"
        ),
    ),
)
_BROKER: tuple[Exhibit, ...] = (
    Exhibit(
        "newcomer_without_timer",
        "KAFKA-9752",
        "2.4.1",
        "2.5.0",
        {},
        symptoms.is_kept_for_ever,
        on_broker=True,
        afterwards="silence",
    ),
    Exhibit(
        "no_sync_deadline",
        "KAFKA-12890",
        "2.8.0",
        "2.8.1",
        {},
        symptoms.waits_for_ever,
        on_broker=True,
        afterwards="heartbeats",
    ),
    Exhibit(
        "size_cap_off_by_one",
        "KAFKA-9885",
        "2.5.0",
        "2.6.0",
        {"group.max.size": 1},
        symptoms.is_over_sized,
        on_broker=True,
    ),
    Exhibit(
        "takeover_misses_the_plan",
        "KAFKA-9801",
        "2.4.1",
        "2.5.0",
        {},
        symptoms.comes_back_too_early,
        on_broker=True,
        static=True,
    ),
    Exhibit(
        "takeover_not_logged",
        "KAFKA-10284",
        "2.6.0",
        "2.6.1",
        {},
        symptoms.is_forgotten,
        on_broker=True,
        static=True,
        afterwards="fail_over",
    ),
)
EXHIBITS = tuple(sorted((*_CLIENT, *_BROKER), key=lambda one: one.mutation))
BY_ID: Mapping[str, Exhibit] = {exhibit.mutation: exhibit for exhibit in EXHIBITS}


def releases(shown: Iterable[Exhibit]) -> tuple[str, ...]:
    """All releases of some exhibits, the oldest first."""
    return tuple(
        sorted(
            {release for one in shown for release in (one.old, one.fixed)},
            key=lambda release: [int(part) for part in release.split(".")],
        )
    )


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
