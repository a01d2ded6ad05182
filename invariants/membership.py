"""Who is in the group: the leader, the generation, the size."""

from __future__ import annotations

from typing import Any

from groupcheck.model.engine import invariant, step_invariant
from groupcheck.model.protocol.classic import coordinator, timers
from groupcheck.model.protocol.classic.client import NOTHING, Client, Member
from groupcheck.model.protocol.classic.failover import Reload
from groupcheck.model.protocol.classic.group import Core, Phase, is_member
from groupcheck.model.protocol.classic.scope import Scope
from groupcheck.model.protocol.family import CLASSIC_GROUP
from groupcheck.model.protocol.messages import NO_GENERATION, NO_ID


@step_invariant(
    "core",
    "seats",
    rules=(
        coordinator.join_group.name,
        coordinator.leave_group.name,
        timers.session_timeout.name,
        timers.new_member_timeout.name,
    ),
    source="ClassicGroup.maybeElectNewJoinedLeader",
)
def leader_is_a_member(before: Any, after: Any) -> bool:
    """Whoever leads the group is a member of it. If its JoinGroup is said to be parked, it is.

    Looked at where somebody comes or goes. Why: a leader that is gone is replaced when it is
    removed, or at the latest when the round completes.
    """
    leader = after.seats.leader
    if leader is None:
        return True
    seat = after.seats[leader]
    return bool(after.core.led and is_member(seat) and (not after.core.leader_parked or seat.join))


@step_invariant("walk", "seats", source="ClassicGroup.maybeElectNewJoinedLeader, remove")
def elected_is_a_member(before: Any, after: Any) -> bool:
    """Whoever is chosen to lead the group, or was read from the log, is a member of it; and no walk
    removes the leader and leaves it leading.

    Why: the leader is chosen among the members that are there; a record names the leader of the
    plan that it holds.
    """
    leader = after.seats.leader
    if leader is None or is_member(after.seats[leader]):
        return True
    return bool(
        leader == before.seats.leader and not is_member(before.seats[leader])
    )  # it was lost before, which is `leader_is_a_member`


@invariant(source="ClassicGroup.initNextGeneration")
def generation_is_led(core: Core) -> bool:
    """A generation that waits for its plan has a leader who will send it.

    Why: a round that completes with members and without its old leader chooses one of those who
    joined.
    """
    return core.phase != Phase.COMPLETING or core.led


@step_invariant("core", source="ClassicGroup.initNextGeneration; KIP-134")
def generation_only_grows(before: Any, after: Any) -> bool:
    """The generation grows one by one within a coordinator's life, and never falls below the last
    one that was written to the log.

    Why: a completed round begins the next one; a new coordinator goes on from the last record, and
    may so use an unwritten number again.
    """
    if any(isinstance(errand, Reload) for errand in after.core.errands):
        return bool(after.core.generation >= before.core.durable[0])
    remembered = "fail_over" in after.core.keeps
    written = not remembered or after.core.durable[0] >= before.core.durable[0]
    return bool(written and after.core.generation - before.core.generation in (0, 1))


@invariant(source="KIP-389; GroupMetadataManager.acceptJoiningMember")
def size_cap(core: Core, scope: Scope) -> bool:
    """A group that has completed a round has at most group.max.size members.

    Not while a round collects JoinGroups: members of the generation before still count there until
    they are found missing.
    """
    return (
        scope.max_size is None
        or core.phase not in (Phase.COMPLETING, Phase.STABLE)
        or core.members <= scope.max_size
    )


@step_invariant(
    "core", "seats", "link", rules=(coordinator.join_group.name,), source="KIP-394; KAFKA-7610"
)
def id_before_membership(before: Any, after: Any, label: str, scope: Scope) -> bool:
    """With two-step ids, a JoinGroup without a member id makes no member.

    Why: a member that retries it cannot be recognised, and each retry would leave a member behind
    that never comes.
    """
    return not scope.two_step or label != "added" or before.link.request.id != NO_ID


@invariant(source="AbstractCoordinator.Generation; KAFKA-8104, aiokafka#727")
def joined_with_identity(client: Client) -> bool:
    """A member that has joined, or waits to install its share, knows its member id and generation.

    Why: whoever forgets them (the heartbeat thread may, at any time) leaves COMPLETING_REBALANCE
    and STABLE with the same step.
    """
    joined = client.state in (Member.COMPLETING, Member.STABLE) or client.granted != NOTHING
    return not joined or (client.id != NO_ID and client.generation != NO_GENERATION)


INVARIANTS = {
    CLASSIC_GROUP: (
        leader_is_a_member,
        elected_is_a_member,
        generation_is_led,
        generation_only_grows,
        size_cap,
        id_before_membership,
        joined_with_identity,
    )
}
