"""Rounds of the classic coordinator: starting one, completing it, handing out the assignment (protocol.md 1.11, 1.12, 1.7).

What concerns all members walks over the seats, one index after the other, inside the step that caused it: `core.walk` says where it stands.
Kafka: GroupMetadataManager.prepareRebalance, completeClassicGroupJoin, setAndPropagateAssignment; the old GroupCoordinator.scala alike.
"""

from __future__ import annotations

from collections.abc import Iterator

from groupcheck.model.engine import but, urgent
from groupcheck.model.protocol.codes import NONE, REBALANCE_IN_PROGRESS
from groupcheck.model.protocol.group import Core, Pass, Phase, Seat, Seats, Walk, supported
from groupcheck.model.protocol.link import Link, deliver
from groupcheck.model.protocol.messages import NO_GENERATION, Answer, JoinGroup, SyncGroup
from groupcheck.model.protocol.scope import Scope

Kept = tuple[tuple[int, Seat], ...]
Record = tuple[tuple[int, int, int], ...]


def record(kept: Kept) -> Record:
    """What a group record says of the members of one process: (id, share, claimed)."""
    return tuple((id, seat.share, seat.claimed) for id, seat in kept if seat.member)


def prepare(core: Core, code: int = REBALANCE_IN_PROGRESS, expel: bool = False) -> Core:
    """Starts a round (prepareRebalance): who waits in SyncGroup is sent back with `code`; from Empty the initial delay begins.

    With `expel`, the members that have not sent SyncGroup are removed first (the sync timer).
    """
    if core.phase == Phase.EMPTY:
        return but(core, phase=Phase.PREPARING, initial=True, extended=False)
    walk = Walk(Pass.RESTART, code=code, expel=expel)
    return but(core, phase=Phase.PREPARING, initial=False, extended=False, appending=False, recorded=False, deadline=False, walk=walk)


def attempt(core: Core, scope: Scope, expiry: bool = False) -> Core:
    """Completes the round if everybody has joined (maybeCompleteJoinPhase); an expiry does so even during the initial delay."""
    if core.phase == Phase.PREPARING and (expiry or not core.initial) and core.all_joined:
        return complete(core, scope)
    return core


def complete(core: Core, scope: Scope) -> Core:
    """Begins the generation: who is not parked is removed, the others are answered. At the edge of the scope the group waits instead."""
    if core.generation >= scope.generations:
        return core
    walk = Walk(Pass.COMPLETE, left=core.parked)
    leader = core.leader if core.leader_parked else None
    return but(core, generation=core.generation + 1, leader=leader, leader_parked=False, initial=False, extended=False, walk=walk)


def after_removal(core: Core, scope: Scope, expiry: bool = False) -> Core:
    """A member or an id that had been handed out is gone: a round starts, or the running one may complete."""
    if core.phase >= Phase.COMPLETING:
        return prepare(core)
    return succeed(attempt(core, scope, expiry))


def succeed(core: Core) -> Core:
    """If the leader is gone and the round goes on, another one follows at once. (A round that completes chooses among those who joined.)"""
    if core.leader is None and core.members and core.walk is None:
        return but(core, walk=Walk(Pass.ELECT, left=core.members))
    return core


@urgent(when=lambda me, core: core.walk is not None and core.walk.at == me and core.walk.kind == Pass.ELECT)
def elect(me: int, core: Core, seats: Seats, scope: Scope) -> Iterator[tuple[Core, Seats]]:
    """The leader was removed: any other member leads from now on (ClassicGroup.remove); who joins later cannot."""
    walk = core.walk
    assert walk is not None
    members = [(id, seat) for id, seat in seats if seat.member]
    for id, seat in members:
        yield but(core, leader=(me, id), leader_parked=seat.join, walk=None), seats
    if walk.left > len(members):
        yield but(core, walk=but(walk, at=me + 1, left=walk.left - len(members))), seats


def assign(core: Core, scope: Scope) -> Core:
    """The leader's assignment is committed: it is stored, and whoever waits in SyncGroup gets its share."""
    return but(core, walk=Walk(Pass.ASSIGN, left=core.members, free=(1 << scope.partition_count) - 1))


@urgent(when=lambda me, core: core.walk is not None and core.walk.at == me and core.walk.kind == Pass.RESTART)
def send_back(me: int, core: Core, seats: Seats, link: Link, scope: Scope) -> Iterator[tuple[Core, Seats, Link]]:
    """The round starts anew: whoever waits in SyncGroup is told so, assignments are cleared."""
    walk = core.walk
    assert walk is not None
    kept = []
    for id, seat in seats:
        if walk.expel and seat.due:
            core = supported(but(core, members=core.members - 1), me, -1, scope, seat.loaded)
            if core.leader == (me, id):
                core = but(core, leader=None)
            continue
        if seat.sync:
            request = SyncGroup(id, core.generation)
            link = deliver(link, SyncGroup, id, Answer(request, walk.code))
        claimed = seat.claimed if seat.join else NO_GENERATION
        kept.append((id, but(seat, sync=False, due=False, share=0, claimed=claimed) if seat.member else seat))
    last = me + 1 == scope.members
    core = succeed(attempt(but(core, walk=None, due=0), scope)) if last else but(core, walk=but(walk, at=me + 1))
    yield core, seats.now(tuple(kept)), link


@urgent(when=lambda me, core: core.walk is not None and core.walk.at == me and core.walk.kind == Pass.COMPLETE)
def answer_joins(me: int, core: Core, seats: Seats, link: Link, scope: Scope) -> Iterator[tuple[Core, Seats, Link]]:
    """The generation begins: parked JoinGroups are answered, who is missing is removed; if that was the leader, any who joined leads."""
    walk = core.walk
    assert walk is not None
    undecided = me == 0 and not core.parked and "fail_over" in core.keeps
    for unwritten in (False, True) if undecided else (walk.unwritten,):
        begun = but(core, walk=but(walk, unwritten=unwritten))
        yield from _answer_joins(me, begun, list(seats), (), seats.durable, link, scope)


def _answer_joins(
    me: int, core: Core, todo: list[tuple[int, Seat]], kept: Kept, durable: Record, link: Link, scope: Scope
) -> Iterator[tuple[Core, Seats, Link]]:
    walk = core.walk
    assert walk is not None
    if not todo:
        now = Seats(kept, durable if core.parked or walk.unwritten else ())  # nobody joined: the group will be Empty, and is recorded so
        if me + 1 < scope.members:
            yield but(core, walk=but(walk, at=me + 1)), now, link
        elif core.members:
            yield but(core, phase=Phase.COMPLETING, parked=0, due=core.members, deadline=True, walk=_election(scope)), now, link
        else:
            latest = core.durable if walk.unwritten or "fail_over" not in core.keeps else (core.generation, None, None)
            yield but(core, phase=Phase.EMPTY, parked=0, leader=None, assignor=None, durable=latest, walk=None), now, link
        return
    (id, seat), rest = todo[0], todo[1:]
    if not seat.member:
        yield from _answer_joins(me, core, rest, (*kept, (id, seat)), durable, link, scope)
        return
    if not seat.join:
        yield from _answer_joins(
            me, supported(but(core, members=core.members - 1), me, -1, scope, seat.loaded), rest, kept, durable, link, scope
        )
        return
    request = link.parked if isinstance(link.parked, JoinGroup) else JoinGroup(id)
    link = deliver(link, JoinGroup, id, Answer(request, NONE, id, core.generation))
    seat = but(seat, join=False, new=False, due=True, armed=True)
    core = but(core, walk=but(walk, left=walk.left - 1))
    if core.leader is None:
        yield from _answer_joins(me, but(core, leader=(me, id)), rest, (*kept, (id, seat)), durable, link, scope)
        if walk.left == 1:
            return
    yield from _answer_joins(me, core, rest, (*kept, (id, seat)), durable, link, scope)


def _election(scope: Scope) -> Walk | None:
    return Walk(Pass.VOTE, votes=(0,) * len(scope.assignors_listed)) if scope.lists else None


@urgent(when=lambda me, core: core.walk is not None and core.walk.at == me and core.walk.kind == Pass.VOTE)
def vote(me: int, core: Core, seats: Seats, scope: Scope) -> Iterator[tuple[Core, Seats]]:
    """Each member votes for the first assignor of its list that all support; most votes win, a tie goes to either (ClassicGroup.selectProtocol)."""
    walk = core.walk
    assert walk is not None
    names = scope.assignors_listed
    choice = next((names.index(name) for name in scope.lists[me] if core.support[names.index(name)] == core.members), None)
    members = sum(seat.member for _, seat in seats)
    votes = tuple(n + members * (k == choice) for k, n in enumerate(walk.votes))
    if me + 1 < scope.members:
        yield but(core, walk=but(walk, at=me + 1, votes=votes)), seats
        return
    for k, n in enumerate(votes):
        if n == max(votes):
            yield but(core, assignor=k, walk=None), seats


@urgent(when=lambda me, core: core.walk is not None and core.walk.at == me and core.walk.kind == Pass.ASSIGN)
def answer_syncs(me: int, core: Core, seats: Seats, link: Link, scope: Scope) -> Iterator[tuple[Core, Seats, Link]]:
    """The assignment is stored, parked SyncGroups are answered with it, the group is Stable."""
    yield from _answer_syncs(me, core, list(seats), (), seats.durable, link, scope)


def _answer_syncs(
    me: int, core: Core, todo: list[tuple[int, Seat]], kept: Kept, durable: Record, link: Link, scope: Scope
) -> Iterator[tuple[Core, Seats, Link]]:
    walk = core.walk
    assert walk is not None
    if not todo:
        now = Seats(kept, record(kept) if "fail_over" in core.keeps else ())
        if me + 1 < scope.members:
            yield but(core, walk=but(walk, at=me + 1)), now, link
        else:
            due = core.due if "sync_timeout" in core.keeps else 0
            latest = (core.generation, core.leader, core.assignor) if "fail_over" in core.keeps else core.durable
            core = but(core, phase=Phase.STABLE, appending=False, recorded=False, due=due, deadline=core.deadline and due > 0)
            yield but(core, durable=latest, walk=None), now, link
        return
    (id, seat), rest = todo[0], todo[1:]
    if not seat.member:
        yield from _answer_syncs(me, core, rest, (*kept, (id, seat)), durable, link, scope)
        return
    after = but(core, walk=but(walk, left=walk.left - 1, rank=walk.rank + 1))
    fixed = [share for known, share, _ in durable if known == id] if core.recorded else None
    for share in fixed or shares(walk, core.members, scope):
        request = SyncGroup(id, core.generation)
        there = deliver(link, SyncGroup, id, Answer(request, NONE, id, core.generation, share)) if seat.sync else link
        left = but(after, walk=but(after.walk, free=walk.free & ~share))
        settled = but(seat, sync=False, share=share, due=seat.due and "sync_timeout" in core.keeps)
        yield from _answer_syncs(me, left, rest, (*kept, (id, settled)), durable, there, scope)


def shares(walk: Walk, members: int, scope: Scope) -> list[int]:
    """What the next member may get (bit masks): under `range` its interval, under `any` every subset of what is left (the last one: all)."""
    if scope.assignor == "range":
        size, extra = divmod(scope.partition_count, members)
        start = walk.rank * size + min(walk.rank, extra)
        return [((1 << (size + (walk.rank < extra))) - 1) << start]
    if walk.left == 1:
        return [walk.free]
    subsets = [0]
    for bit in (1 << p for p in range(scope.partition_count)):
        if walk.free & bit:
            subsets += [s | bit for s in subsets]
    return subsets


ROUND_RULES = (send_back, elect, answer_joins, vote, answer_syncs)
