"""Static members (KIP-345): a restart moves nothing, and an instance has one id."""

from __future__ import annotations

from typing import Annotated, Any

from groupcheck.model.engine import goal, invariant, step_invariant
from groupcheck.model.protocol.classic import coordinator, rounds
from groupcheck.model.protocol.classic.client import Client
from groupcheck.model.protocol.classic.features import takeover
from groupcheck.model.protocol.classic.features.static import FAMILY as STATIC_MEMBERS
from groupcheck.model.protocol.classic.group import Core, Phase, Seats
from groupcheck.model.protocol.classic.rounds import Complete
from groupcheck.model.protocol.codes import FENCED_INSTANCE_ID, GROUP_MAX_SIZE_REACHED
from groupcheck.model.protocol.messages import NO_ID

REFUSED = ("too_many", "inconsistent")  # the answers to a JoinGroup that come before any other


@invariant(
    source="ClassicGroup.replaceStaticMember; protocol: C13, S7",
    broken="The instance id of {name} belongs to two member ids",
    of=STATIC_MEMBERS,
)
def one_id_per_instance(seats: Seats) -> bool:
    """An instance id has at most one member id.

    Why: two processes that both count as the same instance would own the same partitions.
    """
    return len(seats.ids) <= 1 or not seats.static


@step_invariant(
    "core",
    "seats",
    "link",
    rules=(coordinator.join_group.name,),
    source="KIP-345; GroupMetadataManager.updateStaticMemberThenRebalanceOrCompleteJoin;"
    " protocol: C12 StaticNoRebalance",
    broken="{name} comes back to a Stable group, and its share is not its own",
    of=STATIC_MEMBERS,
)
def restart_moves_nothing(before: Any, after: Any, label: str) -> bool:
    """In a Stable group, a static member that joins without its id takes the place of its old id:
    no round starts, and its share stays its own.

    A JoinGroup that is refused because of group.max.size is exempt: Kafka looks for the member by
    its id, which is empty, and refuses a member that would only replace itself. Why: this is what
    static members are for; a rolling restart shall not stop the group.
    """
    core, seats = before.core, before.seats
    joins = core.phase == Phase.STABLE and before.link.request.id == NO_ID and seats.ids
    if not joins or not seats.static or label in REFUSED:
        return True
    ((_, was),), now = seats.ids, after.seats.ids
    there = (after.core.phase, after.core.generation) == (core.phase, core.generation)
    return bool(there and len(now) == 1 and now[0][1].share == was.share)


@step_invariant(
    "seats",
    "link",
    rules=(coordinator.join_group.name,),
    source="GroupMetadataManager.classicGroupJoin; KAFKA-8715",
    broken="{name} comes back and is given an id that its instance has had",
    of=STATIC_MEMBERS,
)
def takeover_gives_a_new_id(before: Any, after: Any, label: str) -> bool:
    """A static member that joins without its id is given an id that its instance did not have.

    Why: the id is what tells two processes of one instance apart.
    """
    seats = before.seats
    joins = before.link.request.id == NO_ID and seats.ids and label not in REFUSED
    return not joins or not seats.static or any(seats[id] is None for id, _ in after.seats)


@step_invariant(
    "core",
    "seats",
    "link",
    rules=(coordinator.join_group.name,),
    source="KAFKA-9801",
    broken=(
        "{name} comes back with a new id, and the assignment that the leader computes is for"
        " the old one"
    ),
    of=STATIC_MEMBERS,
)
def takeover_restarts_the_round(before: Any, after: Any, label: str) -> bool:
    """In CompletingRebalance, a static member whose id is replaced starts the round anew.

    Why: the leader may have been told the old id. Its plan would have nothing for the new one.
    """
    core, seats = before.core, before.seats
    joins = core.phase == Phase.COMPLETING and before.link.request.id == NO_ID and seats.ids
    done = bool(after.core.errands) or not seats.static
    return not joins or label in REFUSED or done


@step_invariant(
    "seats",
    rules=(coordinator.join_group.name,),
    source="KIP-814; KAFKA-13435",
    broken="{name} has led the group, and does not lead it after its restart",
    of=STATIC_MEMBERS,
)
def restarted_leader_leads(before: Any, after: Any) -> bool:
    """A static member that leads the group still leads it when its id is replaced.

    Why: the coordinator would otherwise accept the assignment of a member that nobody told to
    compute one, or of none.
    """
    seats = before.seats
    replaced = seats.static and after.seats.ids and seats.leader not in dict(after.seats.ids)
    return seats.leader is None or not replaced or after.seats.leader is not None


@step_invariant(
    "seats",
    "link",
    rules=(
        coordinator.join_group.name,
        coordinator.sync_group.name,
        coordinator.heartbeat.name,
        coordinator.leave_group.name,
        coordinator.offset_commit.name,
    ),
    source="ClassicGroup.validateMember; KIP-345; protocol: C13",
    broken=(
        "{name} sends a request, and its answer does not tell whether another process has"
        " taken its place"
    ),
    of=STATIC_MEMBERS,
)
def replaced_id_fenced(before: Any, after: Any, label: str) -> bool:
    """A request with an id that its instance has no more is answered 82 FENCED_INSTANCE_ID, as long
    as the instance is in the group, and no other request is.

    Why: 82 tells a process that another one has taken its place, and it stops for good. After 25
    UNKNOWN_MEMBER_ID it would join again and take the place back.
    """
    id, seats = before.link.request.id, before.seats
    held = bool(seats.ids) or seats.elsewhere
    replaced = seats.static and id != NO_ID and held and seats[id] is None
    return (label == "fenced") == replaced or (replaced and label in REFUSED)


@step_invariant(
    "walk",
    "seats",
    rules=(rounds.answer_joins.name,),
    source="GroupMetadataManager.completeClassicGroupJoin; KIP-345",
    broken="{name} is a static member, and the round is completed without it",
    of=STATIC_MEMBERS,
)
def absent_members_stay(before: Any, after: Any) -> bool:
    """A round that completes removes no static member, even if it has not joined.

    Why: it may be in the middle of a restart. Only its session timeout removes it.
    """
    ends = isinstance(before.walk.errand, Complete) and before.seats.static
    return not ends or [id for id, _ in after.seats] == [id for id, _ in before.seats]


@step_invariant(
    "core",
    "seats",
    rules=(takeover.takeover_committed.name,),
    source="KAFKA-10284; ClassicGroup.groupAssignment; protocol: X5",
    broken="{name} is told its new id, which a fail-over would not find",
    of=STATIC_MEMBERS,
)
def takeover_is_durable(before: Any, after: Any) -> bool:
    """When a static member is told its new id, a fail-over finds that id.

    Why: a new coordinator that loads the old id would fence the member that lives, and let in a
    process that uses the old id.
    """
    known = [id for id, _ in after.seats.durable]
    return "fail_over" not in after.core.keeps or known == [id for id, _ in after.seats]


@goal(source="KIP-345", of=STATIC_MEMBERS)
def fenced_member(client: Client) -> bool:
    """A process was fenced: another one has taken its place, and its application has stopped."""
    return client.failed == FENCED_INSTANCE_ID


@goal(source="protocol: K6", of=STATIC_MEMBERS)
def restart_refused_at_the_cap(
    core: Core, seats: Annotated[Seats, "seats[i]"], client: Annotated[Client, "client[i]"]
) -> bool:
    """A static member that comes back to a Stable group of group.max.size members is refused (81),
    although it would only replace itself.
    """
    refused = client.failed == GROUP_MAX_SIZE_REACHED
    return refused and core.phase == Phase.STABLE and bool(seats.ids)


@goal(source="protocol: K7", of=STATIC_MEMBERS)
def owed_by_a_replaced_id(core: Core, seats: Seats) -> bool:
    """In a Stable group, the coordinator waits for the SyncGroup of an id that was replaced. Nobody
    can send it, so its timer will start a round that nobody needs.
    """
    return core.deadline and any(seat.owed is not None for _, seat in seats)
