"""Who is in the group: the leader, the generation, the size."""

from __future__ import annotations

from typing import Any

from groupcheck.model.engine import invariant, step_invariant
from groupcheck.model.protocol.classic import coordinator, timers
from groupcheck.model.protocol.classic.client import NOTHING, Client, Member
from groupcheck.model.protocol.classic.failover import Reload
from groupcheck.model.protocol.classic.features.failover_phases import Unload
from groupcheck.model.protocol.classic.features.full_offsets.admin import Erase
from groupcheck.model.protocol.classic.group import Core, Phase, is_member
from groupcheck.model.protocol.classic.scope import Scope
from groupcheck.model.protocol.family import CLASSIC_GROUP
from groupcheck.model.protocol.messages import NO_GENERATION, NO_ID

NEW_COORDINATOR = (Reload, Unload)  # errands in which a group has another coordinator


@step_invariant(
    "core",
    "seats",
    rules=(
        coordinator.join_group.name,
        coordinator.leave_group.name,
        timers.session_timeout.name,
        timers.new_member_timeout.name,
    ),
    source="ClassicGroup.maybeElectNewJoinedLeader; protocol: C4",
    of=CLASSIC_GROUP,
)
def leader_is_a_member(before: Any, after: Any) -> bool:
    """The group's leader is a member of the group. If the coordinator marks the leader's JoinGroup
    as parked, that member's JoinGroup is parked.

    Checked after JoinGroup and LeaveGroup, and after the timeouts that remove a member. Why: a
    leader that is removed stops leading, and another member replaces it at the latest when the
    round completes.
    """
    leader = after.seats.leader
    if leader is None:
        return True
    seat = after.seats[leader]
    return bool(after.core.led and is_member(seat) and (not after.core.leader_parked or seat.join))


@step_invariant(
    "walk",
    "seats",
    source="ClassicGroup.maybeElectNewJoinedLeader, remove; protocol: C4",
    broken="{name} leads the group but is not a member of it",
    of=CLASSIC_GROUP,
)
def elected_is_a_member(before: Any, after: Any) -> bool:
    """A leader that the coordinator elects, or loads from the log, is a member of the group. A
    leader that is removed while the coordinator processes all members stops leading.

    Why: the coordinator elects one of the current members. A group record names one of its own
    members as leader.
    """
    leader = after.seats.leader
    if leader is None or is_member(after.seats[leader]):
        return True
    return bool(
        leader == before.seats.leader and not is_member(before.seats[leader])
    )  # it was no member before this step either; `leader_is_a_member` reports that


@invariant(
    source="ClassicGroup.initNextGeneration; protocol: C4 LeaderInMembers",
    broken="Generation {core.generation} waits for an assignment, but has no leader to send one",
    of=CLASSIC_GROUP,
)
def generation_is_led(core: Core) -> bool:
    """In CompletingRebalance the group has a leader.

    Why: the group waits for the leader's assignment. A round that completes without the old leader
    elects one of the members that have joined.
    """
    return core.phase != Phase.COMPLETING or core.led


@step_invariant(
    "core",
    source="ClassicGroup.initNextGeneration; KIP-134; protocol: C5 GenerationMonotone",
    of=CLASSIC_GROUP,
)
def generation_only_grows(before: Any, after: Any) -> bool:
    """Under one coordinator the generation grows in steps of one, and so never falls. The
    generation in the log never falls either, and a new coordinator never starts below it.

    Why: every round that completes begins the next generation. A new coordinator continues from the
    last record, so it may use a number again that was never written.
    """
    # A group that was deleted begins anew.
    if any(isinstance(errand, Erase) and errand.group for errand in after.core.errands):
        return bool(after.core.generation == 0)
    if any(isinstance(errand, NEW_COORDINATOR) for errand in after.core.errands):
        return bool(after.core.generation >= before.core.durable[0])
    remembered = "fail_over" in after.core.keeps
    written = not remembered or after.core.durable[0] >= before.core.durable[0]
    return bool(written and after.core.generation - before.core.generation in (0, 1))


@invariant(
    source="KIP-389; GroupMetadataManager.acceptJoiningMember; protocol: C11 SizeCap",
    broken="The group has {core.members} members, but group.max.size is {scope.max_size}",
    of=CLASSIC_GROUP,
)
def size_cap(core: Core, scope: Scope) -> bool:
    """In CompletingRebalance and Stable the group has at most group.max.size members.

    PreparingRebalance is exempt: members of the previous generation count until the round completes
    without them. Why: JoinGroups above the limit are refused (81 GROUP_MAX_SIZE_REACHED).
    """
    return (
        scope.max_size is None
        or core.phase not in (Phase.COMPLETING, Phase.STABLE)
        or core.members <= scope.max_size
    )


@step_invariant(
    "core",
    "seats",
    "link",
    rules=(coordinator.join_group.name,),
    source="KIP-394; KAFKA-7610",
    broken=(
        "{name} becomes a member without a member id, so each retry of its JoinGroup adds"
        " another member"
    ),
    of=CLASSIC_GROUP,
)
def id_before_membership(before: Any, after: Any, label: str, scope: Scope) -> bool:
    """With two-step ids (KIP-394), a JoinGroup without a member id adds no dynamic member.

    Why: the coordinator cannot recognise a process that retries without an id. Each retry would add
    a member that never sends another request. (It recognises a static one by its instance id.)
    """
    asked = not scope.two_step or before.seats.static
    return asked or label != "added" or before.link.request.id != NO_ID


@invariant(source="AbstractCoordinator.Generation; KAFKA-8104, aiokafka#727", of=CLASSIC_GROUP)
def joined_with_identity(client: Client) -> bool:
    """A member that is STABLE or in COMPLETING_REBALANCE, or that has yet to run onJoinComplete,
    knows its member id and its generation.

    Why: a member that forgets either of them (the heartbeat thread may cause this at any time)
    becomes UNJOINED in the same step.
    """
    joined = client.state in (Member.COMPLETING, Member.STABLE) or client.granted != NOTHING
    return not joined or (client.id != NO_ID and client.generation != NO_GENERATION)
