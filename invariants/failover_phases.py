"""Fail-over in its phases (X1 to X5): what the log says comes back, nobody loses its share merely
because the coordinator moves, every request ends, and a former coordinator writes nothing.
"""

from __future__ import annotations

from typing import Annotated, Any

from groupcheck.model.engine import goal, step_invariant
from groupcheck.model.protocol.classic import assignment, coordinator, failover
from groupcheck.model.protocol.classic.client import Client, Member
from groupcheck.model.protocol.classic.features import failover_phases
from groupcheck.model.protocol.classic.features.failover_phases import FAMILY as MOVING
from groupcheck.model.protocol.classic.features.failover_phases import Way
from groupcheck.model.protocol.classic.features.zombie_coordinator import FORMER
from groupcheck.model.protocol.classic.group import Core, Phase, Seats, is_member
from groupcheck.model.protocol.codes import (
    COORDINATOR_LOAD_IN_PROGRESS,
    NONE,
    NOT_COORDINATOR,
)
from groupcheck.model.protocol.link import Link
from groupcheck.model.protocol.messages import Heartbeat, Store

REQUESTS = tuple(r.name for r in coordinator.REQUEST_RULES)


@step_invariant(
    "walk",
    "seats",
    rules=(failover.reload.name,),
    source="protocol: X1; GroupMetadataManager.replay, onLoaded",
    broken=(
        "The new coordinator has loaded something else of {name} than the last group record says"
    ),
    of=MOVING,
)
def loaded_as_logged(before: Any, after: Any) -> bool:
    """A coordinator that loads the group finds the members of the last group record, each with its
    share, and the leader.

    Why: nothing else is left of the group. A member that is not found would be answered 25, and one
    whose share is not found would be given nothing by its next SyncGroup.
    """
    seats, logged = after.seats, after.seats.durable
    found = [(id, seat.share) for id, seat in seats]
    same = found == [(id, seat.share) for id, seat in logged]
    return bool(same and seats.leader == seats.durable_leader)


@step_invariant(
    "core",
    "seats",
    "link",
    rules=REQUESTS,
    source="protocol: X2, X3; Errors.COORDINATOR_LOAD_IN_PROGRESS",
    broken="{name} is answered by a coordinator that has not loaded the group yet, as if it had",
    of=MOVING,
)
def loading_serves_nobody(before: Any, after: Any) -> bool:
    """A coordinator that has not loaded the group answers every request at once with 14, or a
    heartbeat with NONE, and the group stays as it is.

    Why: it knows no member yet. Any other answer would have a member give up what it owns, although
    it did nothing but wait for the coordinator.
    """
    if not before.core.loading:
        return True
    request, link = before.link.request, after.link
    code = NONE if isinstance(request, Heartbeat) else COORDINATOR_LOAD_IN_PROGRESS
    if (before.core, before.seats) != (after.core, after.seats) or link.request is not None:
        return False
    if not before.link.live:  # nobody hears the answer
        return bool(link.parked == before.link.parked)
    return link.answer is not None and link.answer.code == code


@step_invariant(
    "walk",
    "link",
    rules=(failover_phases.unload.name,),
    source="protocol: X2, X3; KAFKA-8386; GroupMetadataManager.onUnloaded",
    broken=(
        "{name} waits for an answer, the group is unloaded, and {name} is not sent to the"
        " next coordinator"
    ),
    of=MOVING,
)
def unload_sends_away(before: Any, after: Any) -> bool:
    """A coordinator that unloads the group answers every JoinGroup and SyncGroup that waits with 16
    NOT_COORDINATOR.

    Why: a member that is answered 16 looks for the next coordinator and keeps its id. After 25
    UNKNOWN_MEMBER_ID it forgets it, and the group goes through a round; without an answer it waits
    until its request times out.
    """
    link, way = before.link, before.walk.errand.way
    waits = link.parked is not None and not link.orphaned
    if way == Way.UNNOTICED or not waits or link.stale != (way == Way.LEARNED):
        return True
    return after.link.answer is not None and after.link.answer.code == NOT_COORDINATOR


@step_invariant(
    "link",
    rules=(FORMER + coordinator.offset_commit.name,),
    source="protocol: X4; redpanda e693bead59; CoordinatorRuntime, PartitionWriter",
    broken=(
        "The former coordinator accepts a commit of {name}, although the log is not its own"
        " any more"
    ),
    of=MOVING,
)
def former_writes_nothing(before: Any, after: Any, label: str) -> bool:
    """A broker that is no longer the coordinator accepts no commit, whether it knows of that or
    not.

    Why: its log is not the log of the group any more. Two coordinators that both accept commits
    would each lose those of the other.
    """
    link = after.link
    answered = link.answer is not None and link.answer.code == NONE
    return label != "accepted" and not isinstance(link.request, Store) and not answered


@step_invariant(
    "walk",
    "seats",
    rules=(assignment.answer_syncs.name,),
    source="protocol: X5; GroupMetadataManager.classicGroupSyncToClassicGroup",
    broken="{name} is told a share that a fail-over would not find",
    of=MOVING,
)
def shares_told_are_logged(before: Any, after: Any) -> bool:
    """A share that a SyncGroup is answered with stands in the log.

    Why: the next coordinator would load another assignment of the same generation, and give the
    share to somebody else.
    """
    if "fail_over" not in before.walk.errand.keeps:
        return True
    shares = [(id, seat.share) for id, seat in after.seats if seat.member]
    return shares == [(id, seat.share) for id, seat in after.seats.durable]


# -- goals


@goal(source="CoordinatorRuntime.CoordinatorState", of=MOVING)
def loading_seen(core: Core) -> bool:
    """A coordinator has not loaded the group yet."""
    return core.loading


@goal(source="protocol: 1.14, X4", of=MOVING)
def zombie_coordinator(
    former: Core | None,
    former_seats: Annotated[Seats, "former_seats[i]"],
    link: Annotated[Link, "link[i]"],
    client: Annotated[Client, "client[i]"],
) -> bool:
    """A member is pinned to a broker that does not know that it is no longer the coordinator, and
    that answers its heartbeats with NONE.
    """
    return (
        link.stale
        and former is not None
        and former.phase >= Phase.COMPLETING
        and client.generation == former.generation
        and is_member(former_seats[client.id])
    )


@goal(source="protocol: X4", of=MOVING)
def pinned_member_expired(
    core: Core,
    former: Core | None,
    seats: Annotated[Seats, "seats[i]"],
    former_seats: Annotated[Seats, "former_seats[i]"],
    link: Annotated[Link, "link[i]"],
    client: Annotated[Client, "client[i]"],
) -> bool:
    """The new coordinator has removed a member because it heard nothing from it, while the former
    one still answers its heartbeats with NONE. This is expected; it ends when the former one
    learns.
    """
    pinned = (
        link.stale
        and former is not None
        and former.phase >= Phase.COMPLETING
        and client.generation == former.generation
        and is_member(former_seats[client.id])
    )
    return (
        pinned
        and not core.loading
        and client.state == Member.STABLE
        and seats[client.id] is None
        and core.generation >= client.generation
    )


@goal(source="protocol: C5, K8", of=MOVING)
def generation_issued_twice(
    core: Core, seats: Annotated[Seats, "seats[i]"], client: Annotated[Client, "client[i]"]
) -> bool:
    """A generation has members, and a process has joined a generation of the same number that never
    was in the log, with other members. This is expected: no assignment of that one was ever given
    to anybody.
    """
    return (
        core.phase >= Phase.COMPLETING
        and core.generation > 0
        and client.generation == core.generation
        and not is_member(seats[client.id])
    )


@goal("all i", source="protocol: K9", of=MOVING)
def plan_of_nobody(
    core: Core, seats: Annotated[Seats, "seats[i]"], client: Annotated[Client, "client[i]"]
) -> bool:
    """The group is Stable, and nobody was ever given its assignment: it was in the log when the
    coordinator moved, and a round had overtaken it, or its leader was not answered.
    """
    return (
        core.phase == Phase.STABLE
        and bool(seats.ids)
        and not (client.state == Member.STABLE and client.generation == core.generation)
    )
