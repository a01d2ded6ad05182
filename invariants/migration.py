"""What a group promises that becomes a group of the other protocol (KIP-848, online migration), and
back, while it works. What consumer groups promise is promised here, too.
"""

from __future__ import annotations

from typing import Annotated, Any

from groupcheck.model.engine import goal, invariant, step_invariant, view
from groupcheck.model.protocol.codes import NONE, UNKNOWN_SERVER_ERROR
from groupcheck.model.protocol.consumer.client import Member
from groupcheck.model.protocol.consumer.memory import Convert, Core, Phase, Seat
from groupcheck.model.protocol.consumer.messages import Link
from groupcheck.model.protocol.family import MIGRATION
from groupcheck.model.protocol.migration import classic_requests, conversions, rounds
from groupcheck.model.protocol.migration.classic_member import (
    ClassicMember,
    Process,
    holding,
    is_classic,
)
from groupcheck.model.protocol.migration.round_walks import ROUNDS
from groupcheck.model.protocol.migration.scope import MigrationScope


@view(of=MIGRATION)
def in_use(seat: Seat | None, client: Process, link: Link) -> int:
    """What a process consumes, unless the coordinator has removed it, or has ended a round without
    it (its rebalance timeout is over, which is its max.poll.interval.ms): then it is a zombie, and
    its next request tells it.
    """
    return holding(seat, client, link)


@invariant(
    of=MIGRATION,
    source="KIP-848, online migration",
    broken="two members consume one partition, and the coordinator has removed neither",
)
def members_share_nothing(a: Annotated[int, "in_use[i]"], b: Annotated[int, "in_use[j]"]) -> bool:
    """No two members consume one partition, whichever protocol each uses.

    Why: in each protocol a partition changes hands only after its owner has given it up.
    """
    return not a & b


@invariant(
    of=MIGRATION,
    source="KIP-848, session timeout of classic members",
    broken="a classic member is watched with the session timeout of consumer groups",
)
def classic_session_is_its_own(core: Core, seat: Seat | None) -> bool:
    """The session timer of a classic member in a consumer group has the member's own timeout."""
    return seat is None or not seat.classic or core.phase is not None or seat.short


@step_invariant(
    "core",
    "link",
    rules=(conversions.upgrade_group.name,),
    source="KIP-848, online upgrade",
    broken="a member that would upgrade the group fails for good, for no reason of its own",
    of=MIGRATION,
)
def upgrade_is_no_error(before: Any, after: Any) -> bool:
    """A first heartbeat to a classic group upgrades it, is refused with a reason, or may be sent
    again.
    """
    answer = after.link.answer
    return answer is None or answer.code != UNKNOWN_SERVER_ERROR


@step_invariant(
    "core",
    "link",
    rules=(classic_requests.join_group.name,),
    source="KAFKA-20640, group.consumer.migration.policy",
    broken="a classic member joins a consumer group, which the policy forbids",
    of=MIGRATION,
)
def policy_keeps_classic_out(before: Any, after: Any, scope: MigrationScope) -> bool:
    """With the policy `disabled`, no classic member joins a consumer group."""
    answer = after.link.answer
    joins = after.link.accepted or (answer is not None and answer.code == NONE)
    return scope.policy != "disabled" or not joins


@step_invariant(
    "core",
    "link",
    rules=(classic_requests.join_group.name,),
    source="KAFKA-19546, KAFKA-20273",
    broken="a group becomes a classic one with a plan that is out of date, and is not rebalanced",
    of=MIGRATION,
)
def downgrade_notices_what_is_due(before: Any, after: Any) -> bool:
    """A consumer group that is ahead of its target is rebalanced when it becomes a classic one."""
    errand = after.core.errand
    if not isinstance(errand, Convert) or errand.phase != Phase.STABLE:
        return True
    return not after.core.pending


@step_invariant(
    "walk",
    "seat",
    rules=(conversions.convert_member.name,),
    source="KIP-848, online migration",
    broken="a member is lost, or what it has, when the group becomes one of the other kind",
    of=MIGRATION,
)
def conversion_keeps_members(before: Any, after: Any) -> bool:
    """A group that becomes one of the other kind keeps its members; one that becomes a consumer
    group keeps for each what the last plan has for it.
    """
    errand = before.walk.errand
    if (before.seat is None) != (after.seat is None):
        return False
    kept = isinstance(errand, Convert) and errand.phase is None and before.seat is not None
    return not kept or after.seat.target == before.seat.assigned


@invariant(
    of=MIGRATION,
    source="KIP-848, online migration; JoinGroup and SyncGroup",
    broken="a member waits for an answer to its JoinGroup or SyncGroup that never comes",
)
def waiting_member_is_answered(seat: Seat | None, client: Process) -> bool:
    """A member that waits for the answer to a JoinGroup or a SyncGroup is one whose request the
    coordinator has parked. Conversions, timers and fail-overs answer what they cut off.
    """
    if not isinstance(client, ClassicMember) or not client.waits:
        return True
    return seat is not None and (seat.waits or seat.part.syncs)


@step_invariant(
    "core",
    rules=(rounds.join_phase_over.name,),
    source="K37; GroupMetadataManager.completeClassicGroupJoin",
    broken="the join timer of a former round removes members of a group that is stable",
    of=MIGRATION,
)
def join_timer_is_of_its_round(before: Any, after: Any) -> bool:
    """The join timer of a classic group ends the round for which it was started, and no other."""
    return before.core.phase in ROUNDS


@goal("all i", of=MIGRATION)
def group_is_upgraded(core: Core, client: Process, scope: MigrationScope) -> bool:
    """All processes are members that use the new protocol, and have their partitions."""
    done = core.exists and not core.classics and core.members == scope.members
    return done and not is_classic(client) and client.state == Member.STABLE


@goal("all i", of=MIGRATION)
def group_is_downgraded(core: Core, client: Process, scope: MigrationScope) -> bool:
    """All processes are members that use the classic protocol, and have their partitions."""
    done = core.phase == Phase.STABLE and core.members == scope.members
    return done and is_classic(client) and client.state == Member.STABLE


@goal(of=MIGRATION)
def both_protocols_share_the_group(
    core: Core, a: Annotated[Process, "client[i]"], b: Annotated[Process, "client[j]"]
) -> bool:
    """A member of each protocol is in the group, and has a partition."""
    have = a.holds and b.holds and a.state == b.state == Member.STABLE
    return core.exists and bool(have) and is_classic(a) and not is_classic(b)
