"""Bugs of a fail-over in its phases: what is answered meanwhile, what is loaded, what a former
coordinator still writes.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from groupcheck.model.engine import evolve
from groupcheck.model.protocol.classic import assignment, coordinator, failover
from groupcheck.model.protocol.classic.assignment import Assign
from groupcheck.model.protocol.classic.coordinator import Outcome
from groupcheck.model.protocol.classic.features import failover_phases, zombie_coordinator
from groupcheck.model.protocol.classic.features.failover_phases import FAMILY as MOVING
from groupcheck.model.protocol.classic.features.failover_phases import LOADING, Unload, Way
from groupcheck.model.protocol.classic.group import Seats, Walk
from groupcheck.model.protocol.classic.scope import Scope
from groupcheck.model.protocol.codes import UNKNOWN_MEMBER_ID
from groupcheck.model.protocol.link import Link, handled, reply
from groupcheck.model.protocol.messages import Answer, OffsetCommit, Store
from groupcheck.model.protocol.mutation import SEEDED, Mutation, seeded

JOIN = failover_phases.while_loading(coordinator.join_group)
HEARTBEAT = failover_phases.while_loading(coordinator.heartbeat)
FORMER_COMMIT = zombie_coordinator.at_former(coordinator.offset_commit)
RELOAD = failover_phases.over_connections(failover.reload)


@seeded(failover_phases.unload)
def _unknown_while_unloading(
    walk: Walk[Unload], seats: Seats, link: Link, former_seats: Seats, scope: Scope
) -> Iterator[Any]:
    for after, left, told, kept in failover_phases.unload.call(
        walk, seats, link, former_seats, scope
    ):
        answer = evolve(told.answer, code=UNKNOWN_MEMBER_ID) if told.answer else None
        yield after, left, evolve(told, answer=answer), kept


@seeded(failover_phases.unload)
def _memory_kept(
    walk: Walk[Unload], seats: Seats, link: Link, former_seats: Seats, scope: Scope
) -> Iterator[Any]:
    for after, left, told, kept in failover_phases.unload.call(
        walk, seats, link, former_seats, scope
    ):
        resigned = walk.errand.way in (Way.RESIGNED, Way.REGAINED)
        yield after, seats if resigned else left, told, kept


@seeded(JOIN)
def _served_before_loaded(*given: Any) -> Iterator[Outcome]:
    yield from coordinator.join_group.call(*given)


@seeded(HEARTBEAT)
def _unknown_while_loading(*given: Any) -> Iterator[Outcome]:
    core, seats, link = given
    if core.loading and link.request is not None:
        answer = Answer(link.request, UNKNOWN_MEMBER_ID)
        yield LOADING, core, seats, reply(link, answer)
    else:
        yield from HEARTBEAT.call(*given)


@seeded(FORMER_COMMIT)
def _written_without_epoch(*given: Any) -> Iterator[Any]:
    memory, seats, link, _ = given
    if memory is not None:
        for label, *_ in coordinator.offset_commit.call(memory, seats, link):
            if label == "accepted":
                yield label, memory, seats, evolve(link, request=Store(handled(link, OffsetCommit)))
                return
    yield from FORMER_COMMIT.call(*given)


@seeded(RELOAD)
def _shares_not_loaded(*args: Any) -> Iterator[Any]:
    for after, there, left in RELOAD.call(*args):
        ids = tuple((id, evolve(seat, share=0)) for id, seat in there)
        yield after, evolve(there, ids=ids), left


@seeded(assignment.answer_syncs)
def _told_before_logged(
    walk: Walk[Assign], seats: Seats, link: Link, scope: Scope
) -> Iterator[Any]:
    for after, shared, told in assignment.answer_syncs.call(walk, seats, link, scope):
        durable = seats.durable, seats.durable_leader
        yield after, evolve(shared, durable=durable[0], durable_leader=durable[1]), told


ONE: dict[str, Any] = {"members": 1, "generations": 1, "faults": {"fail_over": 1}, "phases": True}
MUTATIONS = (
    Mutation(
        id="unloading_forgets_members",
        ticket="KAFKA-8386",
        title="A coordinator that unloads the group answers 25, as if it knew no such member.",
        family=MOVING,
        invariant="unload_sends_away",
        doc=(
            "A group that was unloaded was Dead, and a Dead group answered UNKNOWN_MEMBER_ID (fixed"
            " in 2.3.0). A member forgets its id then and comes back as a new one; a static one"
            " takes the place of whoever has its instance id."
            " Seeded: what waits when the group is unloaded is answered 25."
        ),
        scope=ONE,
        seeds=(_unknown_while_unloading,),
    ),
    Mutation(
        id="memory_kept_after_unload",
        ticket="redpanda 3ed7492fd5",
        title="A broker that resigns keeps the group in its memory.",
        family=MOVING,
        invariant="passed_are_counted",
        doc=(
            "The state of the group was not dropped when leadership was lost, and was there when it"
            " came back (fixed in v21.10.1). Seeded: an unload forgets no id."
        ),
        scope=ONE,
        seeds=(_memory_kept,),
    ),
    Mutation(
        id="served_before_loaded",
        ticket="redpanda c8dcccf6af",
        title="A new coordinator answers before it has loaded the group.",
        family=MOVING,
        invariant="loading_serves_nobody",
        doc=(
            "The flag that the group is loaded was set too early. Seeded: JoinGroup is answered"
            " from the empty memory of a coordinator that loads, which knows no member."
        ),
        scope=ONE,
        seeds=(_served_before_loaded,),
    ),
    Mutation(
        id="heartbeats_fail_while_loading",
        ticket=SEEDED,
        title="A coordinator that loads answers heartbeats with 25.",
        family=MOVING,
        invariant="loading_serves_nobody",
        doc=(
            "A heartbeat cannot be checked before the group is loaded, so Kafka answers NONE."
            " Seeded: it is answered UNKNOWN_MEMBER_ID, and every member gives up its partitions"
            " whenever the coordinator moves."
        ),
        scope=ONE,
        seeds=(_unknown_while_loading,),
    ),
    Mutation(
        id="written_without_epoch",
        ticket="redpanda e693bead59",
        title="A request is checked, leadership is lost, and its write is appended all the same.",
        family=MOVING,
        invariant="former_writes_nothing",
        doc=(
            "A commit was checked against the group in memory; before its append the partition had"
            " another leader, and was won back (fixed in v22.2.1). The write did not say for which"
            " term it was meant. Seeded: a former coordinator's commits are appended."
        ),
        scope=ONE,
        seeds=(_written_without_epoch,),
    ),
    Mutation(
        id="shares_not_loaded",
        ticket=SEEDED,
        title="A new coordinator loads the members of the record without their shares.",
        family=MOVING,
        invariant="loaded_as_logged",
        doc=(
            "Seeded: the assignment of the group record is not read, and a member that syncs again"
            " is given nothing."
        ),
        scope=ONE,
        seeds=(_shares_not_loaded,),
    ),
    Mutation(
        id="told_before_logged",
        ticket=SEEDED,
        title="Members are told their shares, which are not in the log.",
        family=MOVING,
        invariant="shares_told_are_logged",
        doc=(
            "Seeded: SyncGroups are answered when the leader's assignment has arrived; it is not"
            " written, and the next coordinator loads the generation before."
        ),
        scope=ONE,
        seeds=(_told_before_logged,),
    ),
)
