"""What concerns all members at once: a walk over the seats, one index after the other, inside the
step that caused it.

`begin_walk` takes it up from `core.walk`; each rule of a kind looks at one process (the walk, its
seats, perhaps its connection) and passes on; `end_walk` lets the group have what was found. Between
the two nobody looks at the group itself, so that the rules over the seats, which are most of the
work, need not know it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from groupcheck.model.engine import but, urgent
from groupcheck.model.protocol.classic.group import (
    ENDED,
    REST,
    Core,
    Pass,
    Phase,
    Record,
    Seat,
    Seats,
    Walk,
    supported,
)
from groupcheck.model.protocol.classic.rounds import attempt, elect_assignor, succeed
from groupcheck.model.protocol.classic.scope import Scope
from groupcheck.model.protocol.codes import NONE
from groupcheck.model.protocol.link import Link, deliver
from groupcheck.model.protocol.messages import NO_GENERATION, Answer, JoinGroup, SyncGroup


@urgent(when=lambda core: core.walk is not None)
def begin_walk(core: Core, walk: Walk) -> Iterator[tuple[Core, Walk]]:
    """A walk over all members begins."""
    assert core.walk is not None
    begun = (
        but(core.walk, support=core.support, assignor=core.assignor) if core.support else core.walk
    )
    yield but(core, walk=None), begun
    if begun.clears and "fail_over" in core.keeps:
        yield but(core, walk=None), but(begun, clears=False)


@urgent(when=lambda walk: walk.kind != Pass.NONE and walk.at == ENDED)
def end_walk(core: Core, walk: Walk, scope: Scope) -> Iterator[tuple[Core, Walk]]:
    """All members are passed: the group has what the walk found."""
    found = but(core, members=core.members + walk.change, support=walk.support or core.support)
    for after in AFTER[walk.kind](found, walk, scope):
        yield after, REST


def _next(walk: Walk, scope: Scope) -> int:
    """Where the walk goes from here."""
    return walk.at + 1 if walk.at + 1 < scope.members else ENDED


# -- a round starts anew


@urgent(when=lambda me, walk: walk.at == me and walk.kind == Pass.RESTART)
def send_back(
    walk: Walk, seats: Seats, link: Link, scope: Scope
) -> Iterator[tuple[Walk, Seats, Link]]:
    """The round starts anew: whoever waits in SyncGroup is told so, assignments are cleared."""
    kept = []
    for id, seat in seats:
        if walk.expel and seat.due:
            walk, seats = _without(walk, seats, id, seat, scope)
            continue
        if seat.sync:
            link = _answer_sync(link, id, walk.code)
        claimed = seat.claimed if seat.join else NO_GENERATION
        kept.append(
            (
                id,
                but(seat, sync=False, due=False, share=0, claimed=claimed) if seat.member else seat,
            )
        )
    yield but(walk, at=_next(walk, scope)), seats.now(tuple(kept)), link


def _without(walk: Walk, seats: Seats, id: int, seat: Seat, scope: Scope) -> tuple[Walk, Seats]:
    """The member of this seat is removed."""
    support = supported(walk.support, seats, -1, scope, walk.assignor if seat.loaded else None)
    lost = (
        seats.leader == id and walk.kind == Pass.RESTART
    )  # a round that completes knows already whether its leader has joined
    return but(
        walk, change=walk.change - 1, support=support, led=walk.led and not lost
    ), seats.drop(id)


def _answer_sync(link: Link, id: int, code: int, share: int = 0) -> Link:
    """Answers a parked SyncGroup."""
    request = link.parked
    if not isinstance(request, SyncGroup):
        return link
    return deliver(
        link,
        SyncGroup,
        id,
        Answer(request, code, *((id, request.generation, share) if code == NONE else ())),
    )


def _restarted(core: Core, walk: Walk, scope: Scope) -> Iterator[Core]:
    if walk.expel:
        core = but(core, led=walk.led)
    yield succeed(attempt(core, scope))


# -- a leader was removed


@urgent(when=lambda me, walk: walk.at == me and walk.kind == Pass.ELECT)
def elect(walk: Walk, seats: Seats, scope: Scope) -> Iterator[tuple[Walk, Seats]]:
    """The leader was removed: any other member leads from now on (ClassicGroup.remove); who joins
    later cannot.
    """
    members = [(id, seat) for id, seat in seats if seat.member]
    for id, seat in members:
        yield but(walk, at=ENDED, left=0, led=True, leader_parked=seat.join), but(seats, leader=id)
    if walk.left > len(members):
        yield but(walk, at=walk.at + 1, left=walk.left - len(members)), seats


def _led(core: Core, walk: Walk, scope: Scope) -> Iterator[Core]:
    yield but(core, led=walk.led, leader_parked=walk.leader_parked)


# -- a round completes


@urgent(when=lambda me, walk: walk.at == me and walk.kind == Pass.COMPLETE)
def answer_joins(
    walk: Walk, seats: Seats, link: Link, scope: Scope
) -> Iterator[tuple[Walk, Seats, Link]]:
    """The generation begins: parked JoinGroups are answered, who is missing is removed; if that was
    the leader, any who joined leads.
    """
    if walk.clears:
        seats = unrecorded(seats)
    yield from _answer_joins(walk, list(seats), seats, link, scope)


def _answer_joins(
    walk: Walk, todo: list[tuple[int, Seat]], seats: Seats, link: Link, scope: Scope
) -> Iterator[tuple[Walk, Seats, Link]]:
    if not todo:
        yield but(walk, at=_next(walk, scope)), seats, link
        return
    (id, seat), rest = todo[0], todo[1:]
    if not seat.member:
        yield from _answer_joins(walk, rest, seats, link, scope)
        return
    if not seat.join:
        walk, seats = _without(walk, seats, id, seat, scope)
        yield from _answer_joins(walk, rest, seats, link, scope)
        return
    request = link.parked if isinstance(link.parked, JoinGroup) else JoinGroup(id)
    link = deliver(link, JoinGroup, id, Answer(request, NONE, id, walk.generation))
    seats = seats.put(id, but(seat, join=False, new=False, due=True, armed=True))
    passed = but(walk, left=walk.left - 1)
    if not walk.led:
        yield from _answer_joins(but(passed, led=True), rest, but(seats, leader=id), link, scope)
        if walk.left == 1:
            return
    yield from _answer_joins(passed, rest, seats, link, scope)


def _completed(core: Core, walk: Walk, scope: Scope) -> Iterator[Core]:
    if core.members:
        begun = but(
            core,
            phase=Phase.COMPLETING,
            parked=walk.left,
            due=core.members,
            deadline=True,
            led=walk.led,
        )
        yield elect_assignor(begun, scope)
    else:
        latest = (
            (core.generation, False, None)
            if walk.clears and "fail_over" in core.keeps
            else core.durable
        )
        yield but(
            core, phase=Phase.EMPTY, parked=walk.left, led=False, assignor=None, durable=latest
        )


@urgent(when=lambda me, walk: walk.at == me and walk.kind == Pass.VOTE)
def vote(walk: Walk, seats: Seats, scope: Scope) -> Iterator[tuple[Walk, Seats]]:
    """Each member votes for the first assignor of its list that all support; most votes win, a tie
    goes to either (ClassicGroup.selectProtocol).
    """
    names = scope.assignors_listed
    choice = next(
        (
            names.index(name)
            for name in seats.listed
            if walk.support[names.index(name)] == walk.members
        ),
        None,
    )
    members = sum(seat.member for _, seat in seats)
    votes = tuple(n + members * (k == choice) for k, n in enumerate(walk.votes))
    yield but(walk, at=_next(walk, scope), votes=votes), seats


def _voted(core: Core, walk: Walk, scope: Scope) -> Iterator[Core]:
    for k, n in enumerate(walk.votes):
        if n == max(walk.votes):
            yield but(core, assignor=k)


# -- the assignment


@urgent(when=lambda me, walk: walk.at == me and walk.kind == Pass.ASSIGN)
def answer_syncs(
    walk: Walk, seats: Seats, link: Link, scope: Scope
) -> Iterator[tuple[Walk, Seats, Link]]:
    """The assignment is stored, parked SyncGroups are answered with it, the group is Stable."""
    if not walk.again:
        _must_be_few(walk, seats, scope)
    yield from _answer_syncs(walk, list(seats), seats, link, scope)


def _answer_syncs(
    walk: Walk, todo: list[tuple[int, Seat]], seats: Seats, link: Link, scope: Scope
) -> Iterator[tuple[Walk, Seats, Link]]:
    if not todo:
        now = recorded(seats, record(seats.ids)) if "fail_over" in walk.keeps else unrecorded(seats)
        yield but(walk, at=_next(walk, scope)), now, link
        return
    (id, seat), rest = todo[0], todo[1:]
    if not seat.member:
        yield from _answer_syncs(walk, rest, seats, link, scope)
        return
    fixed = [share for known, share, _ in seats.durable if known == id] if walk.again else None
    for share in fixed or shares(walk, scope):
        there = _answer_sync(link, id, NONE, share) if seat.sync else link
        settled = but(seat, sync=False, share=share, due=seat.due and "sync_timeout" in walk.keeps)
        yield from _answer_syncs(_given(walk, share), rest, seats.put(id, settled), there, scope)


def _given(walk: Walk, share: int) -> Walk:
    """One member has got its share."""
    return but(walk, left=walk.left - 1, rank=walk.rank + 1, free=walk.free & ~share)


def recorded(seats: Seats, members: Record) -> Seats:
    """The group record is written: these members of the process, and the leader, if it is one of
    them.
    """
    return but(seats, durable=members, durable_leader=seats.leader)


def unrecorded(seats: Seats) -> Seats:
    """The log has no member of the process, or nobody will ever read it."""
    return but(seats, durable=(), durable_leader=None)


def record(kept: tuple[tuple[int, Seat], ...]) -> Record:
    """What a group record says of the members of one process: (id, share, claimed)."""
    return tuple((id, seat.share, seat.claimed) for id, seat in kept if seat.member)


def shares(walk: Walk, scope: Scope) -> list[int]:
    """What the next member may get (bit masks): under `range` its interval, under `any` every
    subset of what is left (the last one: all).
    """
    if scope.assignor == "range":
        size, extra = divmod(scope.partition_count, walk.members)
        start = walk.rank * size + min(walk.rank, extra)
        return [((1 << (size + (walk.rank < extra))) - 1) << start]
    if walk.left == 1:
        return [walk.free]
    subsets = [0]
    for bit in (1 << p for p in range(scope.partition_count)):
        if walk.free & bit:
            subsets += [s | bit for s in subsets]
    return subsets


def _must_be_few(walk: Walk, seats: Seats, scope: Scope) -> None:
    scope.must_be_few(sum(seat.member for _, seat in seats), walk.left, walk.free.bit_count())


def _assigned(core: Core, walk: Walk, scope: Scope) -> Iterator[Core]:
    due = core.due if "sync_timeout" in core.keeps else 0
    latest = (
        (core.generation, core.led, core.assignor) if "fail_over" in core.keeps else core.durable
    )
    stable = but(
        core,
        phase=Phase.STABLE,
        appending=False,
        recorded=False,
        due=due,
        deadline=core.deadline and due > 0,
    )
    yield but(stable, durable=latest)


# -- the log


@urgent(when=lambda me, walk: walk.at == me and walk.kind == Pass.RECORD)
def record_plan(walk: Walk, seats: Seats, scope: Scope) -> Iterator[tuple[Walk, Seats]]:
    """The leader's assignment is written to the log."""
    _must_be_few(walk, seats, scope)
    plans: list[tuple[Walk, Record]] = [(walk, ())]
    for id, seat in seats:
        if seat.member:
            plans = [
                (_given(now, share), (*plan, (id, share, seat.claimed)))
                for now, plan in plans
                for share in shares(now, scope)
            ]
    for now, plan in plans:
        yield but(now, at=_next(walk, scope)), recorded(seats, plan)


def _recorded(core: Core, walk: Walk, scope: Scope) -> Iterator[Core]:
    yield but(core, durable=(core.generation, core.led, core.assignor))


@urgent(when=lambda me, walk: walk.at == me and walk.kind == Pass.RELOAD)
def reload(
    walk: Walk, seats: Seats, link: Link, scope: Scope
) -> Iterator[tuple[Walk, Seats, Link]]:
    """The members of the record are loaded, each with a full session timer; ids that were only
    handed out are forgotten.
    """
    narrow = bool(scope.lists)
    loaded = tuple(
        (id, Seat(True, claimed=claimed, share=share, loaded=narrow))
        for id, share, claimed in seats.durable
    )
    support = (
        supported(walk.support, seats, len(loaded), scope, walk.assignor)
        if loaded
        else walk.support
    )
    there = but(seats, ids=loaded, leader=seats.durable_leader)
    yield (
        but(walk, at=_next(walk, scope), change=walk.change + len(loaded), support=support),
        there,
        Link(),
    )


def _loaded(core: Core, walk: Walk, scope: Scope) -> Iterator[Core]:
    yield but(core, phase=Phase.STABLE if core.members else Phase.EMPTY)


# -- dead values


@urgent(when=lambda me, walk: walk.at == me and walk.kind == Pass.FORGET)
def forget(walk: Walk, seats: Seats, scope: Scope) -> Iterator[tuple[Walk, Seats]]:
    """What was remembered of one process's ids for the sake of faults that cannot happen any more
    is reset (see `forgetting`).
    """
    if "fail_over" not in walk.keeps:
        seats = unrecorded(seats)
    newcomers = "new_member_timeout" in walk.keeps
    ids = tuple(
        (id, but(seat, due=seat.due and not walk.settled, new=seat.new and newcomers))
        for id, seat in seats
    )
    yield but(walk, at=_next(walk, scope)), seats.now(ids)


def _forgotten(core: Core, walk: Walk, scope: Scope) -> Iterator[Core]:
    yield core


AFTER: dict[Pass, Callable[[Core, Walk, Scope], Iterator[Core]]] = {
    Pass.RESTART: _restarted,
    Pass.COMPLETE: _completed,
    Pass.ELECT: _led,
    Pass.VOTE: _voted,
    Pass.ASSIGN: _assigned,
    Pass.RECORD: _recorded,
    Pass.RELOAD: _loaded,
    Pass.FORGET: _forgotten,
}
WALK_RULES = (
    begin_walk,
    send_back,
    elect,
    answer_joins,
    vote,
    answer_syncs,
    record_plan,
    reload,
    forget,
    end_walk,
)
