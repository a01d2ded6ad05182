"""Rounds of the classic coordinator (protocol.md 1.11, 1.12): one starts, a leader that is gone is
replaced, the round completes, the members of the new generation vote for an assignor.

Each of these is a walk over all members (see `walks`). Kafka: GroupMetadataManager
(prepareRebalance, completeClassicGroupJoin); the old GroupCoordinator.scala does the same.
"""

from __future__ import annotations

from collections.abc import Iterator

from attrs import frozen

from groupcheck.model.assignors.hash_order import bucket, buckets_for, text_hash
from groupcheck.model.engine import evolve, remembered, urgent
from groupcheck.model.protocol.classic.group import (
    Core,
    Errand,
    Phase,
    Recount,
    Seat,
    Seats,
    Walk,
)
from groupcheck.model.protocol.classic.scope import Scope
from groupcheck.model.protocol.codes import NONE, REBALANCE_IN_PROGRESS
from groupcheck.model.protocol.link import Link, deliver
from groupcheck.model.protocol.messages import NO_GENERATION, JoinGroup, SyncGroup


@remembered
def attempt(core: Core, scope: Scope, expiry: bool = False) -> Core:
    """Completes the round if every member has joined (maybeCompleteJoinPhase). During the initial
    delay only an `expiry` of a timer does.
    """
    if core.phase == Phase.PREPARING and (expiry or not core.initial) and core.all_joined:
        return complete(core, scope)
    return core


@remembered
def after_removal(core: Core, scope: Scope, expiry: bool = False) -> Core:
    """A member, or an id that was handed out, is gone: a round starts, or the running one may
    complete.
    """
    if core.phase >= Phase.COMPLETING:
        return prepare(core)
    return succeed(attempt(core, scope, expiry))


# -- Restart: a round starts


@frozen(kw_only=True)
class Restart(Recount):
    """Parked SyncGroups are answered with an error, and the last assignment is cleared."""

    # The error code.
    code: int
    # The sync timer has fired: members that have not sent SyncGroup are removed.
    expel: bool
    # The group still has its leader. Meaningful only if `expel`.
    led: bool


@remembered
def prepare(core: Core, code: int = REBALANCE_IN_PROGRESS, expel: bool = False) -> Core:
    """Begin (prepareRebalance). From Empty the initial delay begins instead, without a walk."""
    if core.phase == Phase.EMPTY:
        return evolve(core, phase=Phase.PREPARING, initial=True, extended=False)
    restart = Restart(
        support=core.support,
        assignor=core.assignor,
        code=code,
        expel=expel,
        led=expel and core.led,
    )
    return evolve(
        core,
        phase=Phase.PREPARING,
        initial=False,
        extended=False,
        appending=False,
        recorded=False,
        deadline=False,
        due=0,
        errands=(restart,),
    )


@urgent(when=lambda me, walk: walk.at == me and isinstance(walk.errand, Restart))
def send_back(
    walk: Walk[Restart], seats: Seats, link: Link, scope: Scope
) -> Iterator[tuple[Walk[Restart], Seats, Link]]:
    """A round starts: members that wait in SyncGroup are told to join again."""
    errand = walk.errand
    kept = []
    for id, seat in seats:
        if errand.expel and seat.due:
            errand = evolve(errand, led=errand.led and seats.leader != id)
            errand, seats = errand.without(seats, id, seat, scope)
            continue
        if seat.sync:
            link = deliver(link, SyncGroup, id, errand.code)
        if seat.member:
            seat = evolve(seat, sync=False, due=False, owed=None, share=0)
            # A static member keeps its subscription, because it need not join again. What a
            # cooperative one has claimed shows who owned what before the round.
            if not (seat.join or seats.static or seat.owned):
                seat = evolve(seat, claimed=NO_GENERATION, owned=0, assigned=NO_GENERATION)
        kept.append((id, seat))
    yield walk.passed(errand, scope), evolve(seats, ids=tuple(kept)), link


def restarted(errand: Restart, core: Core, scope: Scope) -> Iterator[Core]:
    """End: the round completes at once if the members that are left have all joined."""
    core = errand.counted(core)
    if errand.expel:
        core = evolve(core, led=errand.led)
    yield succeed(attempt(core, scope))


# -- Elect: a leader that is gone is replaced


@frozen(kw_only=True)
class Elect(Errand):
    """Any member becomes the leader."""

    # Members that are not visited yet. One of them is chosen. 0: one is.
    left: int
    # The JoinGroup of the new leader is parked.
    leader_parked: bool = False


@remembered
def succeed(core: Core) -> Core:
    """Begin, if the leader is gone and the round goes on. (A round that completes chooses a leader
    by itself, among the members that have joined.)
    """
    if not core.led and core.members and not core.errands:
        return evolve(core, errands=(Elect(left=core.members),))
    return core


@urgent(when=lambda me, walk: walk.at == me and isinstance(walk.errand, Elect))
def elect(walk: Walk[Elect], seats: Seats, scope: Scope) -> Iterator[tuple[Walk[Elect], Seats]]:
    """The leader was removed: any other member leads from now on (ClassicGroup.remove), but none
    that joins later. The walk visits all seats, so that no order of them shows.
    """
    errand = walk.errand
    if not errand.left:  # the leader is elected
        yield walk.passed(errand, scope), seats
        return
    members = [(id, seat) for id, seat in seats if seat.member]
    for id, seat in members:
        found = Elect(left=0, leader_parked=seat.join)
        yield walk.passed(found, scope), evolve(seats, leader=id)
    left = walk.errand.left - len(members)
    if left > 0:
        yield walk.passed(Elect(left=left), scope), seats


def elected(errand: Elect, core: Core, scope: Scope) -> Iterator[Core]:
    """End: the group has a leader."""
    yield evolve(core, led=True, leader_parked=errand.leader_parked)


# -- Complete: a round completes, and a generation begins


@frozen(kw_only=True)
class Complete(Recount):
    """Parked JoinGroups are answered; members that have not joined are removed. If the leader is
    one of those, any member that has joined leads.
    """

    # Parked JoinGroups that are not answered yet. One of them leads, if `led` is False.
    left: int
    # The generation that begins.
    generation: int
    # The group has a leader that has joined.
    led: bool
    # The group is Empty now, and a fail-over finds it so in the log.
    clears: bool


@remembered
def complete(core: Core, scope: Scope) -> Core:
    """Begin, unless the scope has no further generation: then the group waits.

    With nobody left, a record of the Empty group is written. If a fail-over is still possible, that
    append may have failed (see `failover`).
    """
    if core.generation >= scope.last_generation:
        return core
    errand = Complete(
        support=core.support,
        assignor=core.assignor,
        left=core.parked,
        generation=core.generation + 1,
        led=core.leader_parked,
        clears=not core.parked,
    )
    return evolve(
        core,
        generation=core.generation + 1,
        led=core.leader_parked,
        leader_parked=False,
        initial=False,
        extended=False,
        errands=(errand, evolve(errand, clears=False))
        if errand.clears and "fail_over" in core.keeps
        else (errand,),
    )


@urgent(when=lambda me, walk: walk.at == me and isinstance(walk.errand, Complete))
def answer_joins(
    walk: Walk[Complete], seats: Seats, link: Link, scope: Scope
) -> Iterator[tuple[Walk[Complete], Seats, Link]]:
    """The generation begins: parked JoinGroups are answered, and members that have not joined are
    removed.
    """
    if walk.errand.clears:
        seats = seats.unrecorded()
    ways = [(walk.errand, seats, link)]
    for id, seat in seats:
        if seat.member:
            ways = [after for way in ways for after in _answer_join(*way, id, seat, scope)]
    for errand, joined, answered in ways:
        yield walk.passed(errand, scope), joined, answered


def _answer_join(
    errand: Complete, seats: Seats, link: Link, id: int, seat: Seat, scope: Scope
) -> Iterator[tuple[Complete, Seats, Link]]:
    """One member is answered or removed, in all the ways in which it may be. A static member that
    has not joined is neither: it stays, but does not lead.
    """
    if not seat.join and not seats.static:
        yield *errand.without(seats, id, seat, scope), link
        return
    settled = evolve(seat, join=False, new=False, hurried=False, due=True, armed=True, takes=None)
    if not seat.join:
        leader = None if seats.leader == id else seats.leader
        yield errand, evolve(seats.put(id, settled), leader=leader), link
        return
    link = deliver(link, JoinGroup, id, NONE, id, errand.generation)
    seats = seats.put(id, settled)
    answered = evolve(errand, left=errand.left - 1)
    if not errand.led:
        yield evolve(answered, led=True), evolve(seats, leader=id), link
    if errand.led or errand.left != 1:
        yield answered, seats, link


def completed(errand: Complete, core: Core, scope: Scope) -> Iterator[Core]:
    """End: the group waits for SyncGroup, or is Empty."""
    core = evolve(errand.counted(core), parked=errand.left, unlogged=0)
    if core.members:
        yield hold_vote(
            evolve(core, phase=Phase.COMPLETING, due=core.members, deadline=True, led=errand.led)
        )
    else:
        logged = errand.clears and "fail_over" in core.keeps
        durable = (core.generation, False, None) if logged else core.durable
        yield evolve(core, phase=Phase.EMPTY, led=False, assignor=None, durable=durable)


# -- Dismiss: nobody has joined the round, and it goes on with the static members alone


@frozen(kw_only=True)
class Dismiss(Recount):
    """Dynamic members that have not joined are removed; static ones stay (see `mixed`)."""

    # The group still has its leader.
    led: bool


def dismiss(core: Core) -> Core:
    """Begin."""
    errand = Dismiss(support=core.support, assignor=core.assignor, led=core.led)
    return evolve(core, errands=(errand,))


@urgent(when=lambda me, walk: walk.at == me and isinstance(walk.errand, Dismiss))
def dismiss_absent(
    walk: Walk[Dismiss], seats: Seats, scope: Scope
) -> Iterator[tuple[Walk[Dismiss], Seats]]:
    """Nobody has joined when the round should end: dynamic members are removed."""
    errand = walk.errand
    for id, seat in seats:
        if seat.member and not seats.static:
            errand = evolve(errand, led=errand.led and seats.leader != id)
            errand, seats = errand.without(seats, id, seat, scope)
    yield walk.passed(errand, scope), seats


def dismissed(errand: Dismiss, core: Core, scope: Scope) -> Iterator[Core]:
    """End: the round goes on if static members are left; otherwise it completes with nobody."""
    core = evolve(errand.counted(core), led=errand.led)
    yield succeed(core) if core.members else complete(core, scope)


# -- Vote: the members of the new generation choose an assignor


@frozen(kw_only=True)
class Vote(Errand):
    """Each member votes for the first candidate in its list (ClassicGroup.selectProtocol)."""

    # For each of `Scope.assignors_listed`: whether all members list it (candidateProtocols).
    candidates: tuple[bool, ...]
    # The votes that each has got so far.
    votes: tuple[int, ...]


def hold_vote(core: Core) -> Core:
    """Begin, if the members list different assignors."""
    if not core.support:
        return core
    candidates = tuple([n == core.members for n in core.support])
    return evolve(core, errands=(Vote(candidates=candidates, votes=(0,) * len(candidates)),))


@urgent(when=lambda me, walk: walk.at == me and isinstance(walk.errand, Vote))
def vote(walk: Walk[Vote], seats: Seats, scope: Scope) -> Iterator[tuple[Walk[Vote], Seats]]:
    """Each member votes for the first assignor of its list that all members support."""
    listed = [scope.assignors_listed.index(name) for name in seats.listed]
    choice = next((k for k in listed if walk.errand.candidates[k]), None)
    members = sum(seat.member for _, seat in seats)
    votes = tuple([n + members * (k == choice) for k, n in enumerate(walk.errand.votes)])
    yield walk.passed(evolve(walk.errand, votes=votes), scope), seats


def voted(errand: Vote, core: Core, scope: Scope) -> Iterator[Core]:
    """End: the assignor with the most votes wins. Of several, it is the first in the order of a
    HashMap of their names; names in one bucket stand in the order in which they got a vote, which
    may be any (ClassicGroup.selectProtocol).
    """
    buckets = buckets_for(sum(n > 0 for n in errand.votes))
    most = max(errand.votes)
    tied = {
        k: bucket(text_hash(name), buckets)
        for k, (name, n) in enumerate(zip(scope.assignors_listed, errand.votes))
        if n == most
    }
    for k, place in tied.items():
        if place == min(tied.values()):
            yield evolve(core, assignor=k)
