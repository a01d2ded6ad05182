"""Who is in the group: the leader, the generation, the size, and the counts that the coordinator keeps."""

from __future__ import annotations

from typing import Any

from groupcheck.model.engine import invariant, step_invariant
from groupcheck.model.protocol.client import NOTHING, Client, Member
from groupcheck.model.protocol.group import Core, Pass, Phase, Seats, is_member
from groupcheck.model.protocol.messages import NO_GENERATION, NO_ID
from groupcheck.model.protocol.scope import Scope


@step_invariant("core", "seats", rules=("send_back", "answer_joins", "answer_syncs"), source="ClassicGroup.maybeElectNewJoinedLeader")
def leader_is_a_member(before: Any, after: Any) -> bool:
    """Whoever leads the group is a member of it, and a generation with members has a leader.

    Looked at where the coordinator passes the leader's process, in every round and every assignment; every removal starts one or the other.
    Why: a leader that is gone is replaced when a member is removed, or at the latest when the round completes.
    """
    walk, core = before.core.walk, after.core
    if core.leader is not None and core.leader[0] == walk.at and not is_member(after.seats[core.leader[1]]):
        return False
    return core.phase != Phase.COMPLETING or core.members == 0 or core.leader is not None


@step_invariant("core", source="ClassicGroup.initNextGeneration; KIP-134")
def generation_only_grows(before: Any, after: Any) -> bool:
    """The generation grows one by one within a coordinator's life, and never falls below the last one that was written to the log.

    Why: a completed round begins the next one; a new coordinator goes on from the last record, and may so use an unwritten number again.
    """
    walk = after.core.walk
    if walk is not None and walk.kind == Pass.RELOAD:
        return bool(after.core.generation >= before.core.durable[0])
    remembered = "fail_over" in after.core.keeps
    written = not remembered or after.core.durable[0] >= before.core.durable[0]
    return bool(written and after.core.generation - before.core.generation in (0, 1))


@invariant(source="KIP-389; GroupMetadataManager.acceptJoiningMember")
def size_cap(core: Core, scope: Scope) -> bool:
    """A group that has completed a round has at most group.max.size members.

    Not while a round collects JoinGroups: members of the generation before still count there until they are found missing.
    """
    return scope.max_size is None or core.phase not in (Phase.COMPLETING, Phase.STABLE) or core.members <= scope.max_size


@step_invariant("core", "seats", "link", rules=("join_group",), source="KIP-394; KAFKA-7610")
def id_before_membership(before: Any, after: Any, label: str, scope: Scope) -> bool:
    """With two-step ids, a JoinGroup without a member id makes no member.

    Why: a member that retries it cannot be recognised, and each retry would leave a member behind that never comes.
    """
    return not scope.two_step or label != "added" or before.link.request.id != NO_ID


@invariant(source="AbstractCoordinator.Generation; KAFKA-8104, aiokafka#727")
def joined_with_identity(client: Client) -> bool:
    """A member that has joined, or waits to install its share, knows its member id and generation.

    Why: whoever forgets them (the heartbeat thread may, at any time) leaves COMPLETING_REBALANCE and STABLE with the same step.
    """
    joined = client.state in (Member.COMPLETING, Member.STABLE) or client.granted != NOTHING
    return not joined or (client.id != NO_ID and client.generation != NO_GENERATION)


def _members(seats: Seats) -> tuple[int, int]:
    """How many ids of one process are members, and how many were only handed out."""
    members = sum(seat.member for _, seat in seats)
    return members, len(seats.ids) - members


@step_invariant("core", "seats", source="ClassicGroup.add, remove, addPendingMember")
def members_counted(before: Any, after: Any) -> bool:
    """The coordinator's counts of members and of ids handed out follow what it adds and removes.

    Why: they decide when a round is full. (A new coordinator begins to count when it loads the group.)
    """
    core, then = after.core, before.core
    if then.walk is not None and then.walk.kind == Pass.RELOAD:
        return bool(core.members - then.members == _members(after.seats)[0] and core.pending == 0)
    (was, waited), (now, waits) = _members(before.seats), _members(after.seats)
    return bool(core.members - then.members == now - was and core.pending - then.pending == waits - waited)


def _parked(core: Core) -> int:
    """How many members' JoinGroups wait, as the coordinator counts: while it answers them, those that are still to be passed."""
    return core.walk.left if core.walk is not None and core.walk.kind == Pass.COMPLETE else core.parked


@step_invariant("core", "seats", source="ClassicGroup.numAwaitingJoinResponse; sarama#2290")
def joins_counted(before: Any, after: Any) -> bool:
    """The coordinator's count of parked JoinGroups follows the members whose JoinGroup is parked, each once.

    Why: a round is full when this count reaches the number of members; a member counted twice would take the place of one that is missing.
    """
    if before.core.walk is not None and before.core.walk.kind == Pass.RELOAD:
        return bool(after.core.parked == 0)
    waited, waits = (sum(seat.join for _, seat in side.seats) for side in (before, after))
    return bool(_parked(after.core) - _parked(before.core) == waits - waited)


@step_invariant("core", "seats", source="ClassicGroup.pendingSyncMembers")
def syncs_counted(before: Any, after: Any) -> bool:
    """The coordinator's count of members that have not sent SyncGroup follows the members that have not.

    Why: the sync timer runs as long as there are any. At the end of a round all members are due, at the start of the next none.
    """
    core, walk = after.core, before.core.walk
    due = sum(seat.due for _, seat in after.seats)
    if "sync_timeout" not in core.keeps and (core.phase == Phase.STABLE or (walk is not None and walk.kind == Pass.ASSIGN)):
        return bool(core.phase != Phase.STABLE or core.due == 0)  # the model forgets it: nobody would look at it any more
    if walk is not None and walk.kind == Pass.COMPLETE:
        return bool(due == _members(after.seats)[0] and (core.phase != Phase.COMPLETING or core.due == core.members))
    if walk is not None and walk.kind in (Pass.RESTART, Pass.RELOAD):
        return bool(due == 0 and (core.walk is not None or core.due == 0))
    started = core.walk is not None and core.walk.kind == Pass.RESTART  # the count is void until the round has begun
    return bool(started or core.due - before.core.due == due - sum(seat.due for _, seat in before.seats))


INVARIANTS = {
    "classic": (
        leader_is_a_member, generation_only_grows, size_cap, id_before_membership, joined_with_identity,
        members_counted, joins_counted, syncs_counted,
    )
}  # fmt: skip
