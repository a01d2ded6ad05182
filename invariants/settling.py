"""The events that have to happen in the end (`--progress`): once faults stop, the group comes to
rest, every member that goes on gets its share, and nobody waits for ever.

Every run has finitely many faults, so each promise says what is true from some moment on, or again
and again. Which rules are fair, and why, is in
`groupcheck.model.protocol.classic.features.progress.fairness`.
"""

from __future__ import annotations

from typing import Annotated

from groupcheck.model.engine import always_possible, infinitely_often, settles, view
from groupcheck.model.protocol.classic.client import NOTHING, Client, Member
from groupcheck.model.protocol.classic.group import Core, Phase, Seats, is_member
from groupcheck.model.protocol.classic.offsets import Offsets
from groupcheck.model.protocol.classic.scope import Scope
from groupcheck.model.protocol.family import CLASSIC_GROUP, OFFSETS
from groupcheck.model.protocol.link import Link


def _is_in_place(core: Core, seats: Seats, client: Client) -> bool:
    """Is the member STABLE in the running generation, with nothing left to do?"""
    return bool(
        client.state == Member.STABLE
        and not client.rejoin
        and client.granted == NOTHING
        and client.generation == core.generation
        and is_member(seats[client.id])
    )


@view(of=CLASSIC_GROUP)
def settled(
    core: Core, seats: Annotated[Seats, "seats[i]"], client: Annotated[Client, "client[i]"]
) -> bool:
    """Is the group at rest, as far as it concerns one process?"""
    return (
        core.phase in (Phase.STABLE, Phase.EMPTY)
        and all(id == client.id for id, _ in seats)
        and (bool(client.failed) or _is_in_place(core, seats, client))
    )


@view(of=CLASSIC_GROUP)
def served(
    core: Core, seats: Annotated[Seats, "seats[i]"], client: Annotated[Client, "client[i]"]
) -> bool:
    """Does a process own its share, or has it stopped?"""
    if client.failed:
        return True
    seat = seats[client.id]
    return _is_in_place(core, seats, client) and seat is not None and client.owned == seat.share


@settles(source="KIP-62; protocol: L1 Convergence", of=CLASSIC_GROUP)
def group_settles(at_rest: Annotated[bool, "settled[i]"]) -> bool:
    """Once faults stop, the group becomes Stable or Empty and stays so. Every process that goes on
    is a member of the running generation, and the group remembers no id but theirs.

    Why: every round ends with the last member that may still join, every member that is gone is
    removed by its timer, and nothing else starts a round.
    """
    return at_rest


@settles(source="protocol: L4 Rejoin, L6 NoStarvation", of=CLASSIC_GROUP)
def member_gets_share(has_it: Annotated[bool, "served[i]"]) -> bool:
    """Once faults stop, every process that goes on owns its share of the stored assignment, and
    keeps it.

    Why: a member that is told 22, 25 or 27 joins again at its next poll. A process whose
    application has stopped, or that is not running, owns what it owns.
    """
    return has_it


@infinitely_often(
    source="ClassicGroup.hasAllMembersJoined; protocol: L2 RoundBound", of=CLASSIC_GROUP
)
def round_completes(core: Core) -> bool:
    """No round collects JoinGroups for ever.

    Why: the members that go on join; the rebalance timer or a session timer removes the others.
    """
    return core.phase != Phase.PREPARING


@infinitely_often(source="KAFKA-12890; protocol: L3 SyncBound", of=CLASSIC_GROUP)
def assignment_arrives(core: Core) -> bool:
    """No generation waits for its assignment for ever.

    Why: the leader sends SyncGroup, or the sync timer removes it; the append of the assignment is
    committed or fails.
    """
    return core.phase != Phase.COMPLETING


@infinitely_often(source="KIP-394; protocol: L7 PendingProgress", of=CLASSIC_GROUP)
def pending_id_ends(core: Core) -> bool:
    """No id that was handed out stays pending for ever.

    Why: its process joins with it, or its session timer removes it.
    """
    return not core.pending


@infinitely_often(source="protocol: C17 ResponseOnce, X3", of=CLASSIC_GROUP)
def request_answered(link: Link) -> bool:
    """Every request is answered, or its connection ends.

    Why: a round that ends answers parked JoinGroups, a generation that gets its assignment or is
    given up answers parked SyncGroups. A request that the coordinator has forgotten times out.
    """
    return link.idle and link.late is None


@always_possible(source="protocol: L1", of=CLASSIC_GROUP)
def group_can_settle(at_rest: Annotated[bool, "settled[i]"]) -> bool:
    """From every state that the group reaches, some way leads to rest."""
    return at_rest


@settles(source="ConsumerCoordinator.maybeAutoCommitOffsetsAsync", of=OFFSETS)
def records_processed(offsets: Offsets, client: Client, scope: Scope) -> bool:
    """Once faults stop, a member that goes on and owns the partition has processed all of its
    records and has committed them.

    Exempt is an application that may abort every transaction. Why: its position starts at the
    committed offset, each poll goes on from there, and nobody revokes the partition any more.
    """
    if scope.transactional or client.failed or not client.owned >> offsets.watched & 1:
        return True
    return client.position == scope.records and not client.dirty
