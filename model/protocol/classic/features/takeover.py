"""How the coordinator treats static members (KIP-345; protocol.md 1.6.3): a JoinGroup without an id
takes the place of the id that its instance has, and whoever still uses that id is fenced (82).

In a Stable group a takeover starts no round. The group record with the new id is appended first,
and the JoinGroup is answered once that is committed. If the append fails, the old id is back. Of
several takeovers in flight the model forgets which was appended first, so they end in any order.
One that is in flight when a round completes or when its id goes away again is forgotten, as the
plan of a round that was overtaken is: its record survives from the beginning, or never.

Kafka: GroupMetadataManager (classicGroupJoinNewStaticMember,
updateStaticMemberThenRebalanceOrCompleteJoin), ClassicGroup (replaceStaticMember, validateMember).
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

import attrs

from groupcheck.model.engine import evolve, rule
from groupcheck.model.engine.rule import Rule
from groupcheck.model.protocol.classic import coordinator, timers
from groupcheck.model.protocol.classic.coordinator import Outcome
from groupcheck.model.protocol.classic.group import Core, Phase, Seat, Seats, remove, unlogged
from groupcheck.model.protocol.classic.rounds import after_removal, attempt, prepare
from groupcheck.model.protocol.classic.scope import Scope
from groupcheck.model.protocol.codes import (
    COORDINATOR_NOT_AVAILABLE,
    FENCED_INSTANCE_ID,
    NONE,
    UNKNOWN_MEMBER_ID,
)
from groupcheck.model.protocol.faults import Budget
from groupcheck.model.protocol.link import Link, deliver, handled, orphan, park, reply
from groupcheck.model.protocol.messages import NO_ID, Answer, JoinGroup, LeaveGroup, SyncGroup
from groupcheck.model.protocol.transform import rewritten


def fenced(seats: Seats, id: int) -> bool:
    """Does the process's instance id belong to another member id (validateMember)?"""
    held = bool(seats.ids) or seats.elsewhere
    return seats.static and id != NO_ID and held and seats[id] is None


@cache
def fencing(usual: Rule) -> Rule:
    """The rule of a request, which is answered 82 if its id was replaced."""

    def call(core: Core, seats: Seats, link: Link, *scope: Scope) -> Iterator[Outcome]:
        request = link.request
        assert request is not None
        if fenced(seats, request.id):  # type: ignore[union-attr]
            answer = Answer(request, FENCED_INSTANCE_ID)
            yield "fenced", core, seats, reply(link, answer)
        else:
            yield from usual.call(core, seats, link, *scope)

    call.__doc__ = usual.doc
    return rewritten(usual, call, labels=(*usual.labels, "fenced"))


@cache
def leaving(usual: Rule) -> Rule:
    """LeaveGroup with an instance id alone removes the member that has it (administrative removal);
    with an id that was replaced it is answered 82.
    """
    usual = fencing(usual)

    def leave_group(core: Core, seats: Seats, link: Link, scope: Scope) -> Iterator[Outcome]:
        request = handled(link, LeaveGroup)
        if request.id != NO_ID or not seats.ids or not seats.static:
            yield from usual.call(core, seats, link, scope)
            return
        ((id, seat),) = seats.ids
        core, seats = remove(core, seats, id, scope)
        link = reply(answer_removed(link, id, UNKNOWN_MEMBER_ID, seat), Answer(request))
        yield "removed", after_removal(core, scope), seats, link

    leave_group.__doc__ = usual.doc
    return rewritten(usual, leave_group, labels=(*usual.labels, "removed"))


def answer_removed(link: Link, id: int, code: int, seat: Seat) -> Link:
    """A removed member's parked JoinGroup is answered; its parked SyncGroup never is."""
    link = deliver(link, JoinGroup, id, code)
    return orphan(link, SyncGroup, id) if seat.sync else link


@cache
def joining(usual: Rule) -> Rule:
    """A static member joins in one step. If its instance is in the group, it takes over. A process
    without an instance id joins as usual.
    """

    def join_group(core: Core, seats: Seats, link: Link, scope: Scope) -> Iterator[Outcome]:
        request = handled(link, JoinGroup)
        if not seats.static:
            yield from usual.call(core, seats, link, scope)
            return
        # For group.max.size Kafka looks for the member by its id, which is empty.
        accepted = coordinator.accepts(core, None, scope)
        as_usual = request.id != NO_ID and not fenced(seats, request.id)
        if not seats.static or not accepted or as_usual:
            yield from usual.call(core, seats, link, scope)
        elif request.id != NO_ID:
            answer = Answer(request, FENCED_INSTANCE_ID)
            yield "fenced", core, seats, reply(link, answer)
        elif seats.ids:
            yield from _take_over(core, seats, link, request, scope)
        else:
            yield from usual.call(core, seats, link, _in_one_step(scope))

    join_group.__doc__ = usual.doc
    labels = (*usual.labels, "fenced", "replaced", "replaced_and_parked", "replaced_and_restarted")
    return rewritten(usual, join_group, labels=labels)


@cache
def _in_one_step(scope: Scope) -> Scope:
    """A static member is not told to come again with an id (79)."""
    return attrs.evolve(scope, two_step=False)


def _take_over(
    core: Core, seats: Seats, link: Link, request: JoinGroup, scope: Scope
) -> Iterator[Outcome]:
    """The instance has a new id from now on; a parked request of the old one is answered 82."""
    ((old, seat),) = seats.ids
    link = deliver(link, JoinGroup, old, FENCED_INSTANCE_ID)
    link = deliver(link, SyncGroup, old, FENCED_INSTANCE_ID)
    id, leads = coordinator.new_id(seats, link), seats.leader == old
    core = evolve(
        core,
        parked=core.parked + (not seat.join),
        leader_parked=core.leader_parked or leads,
        unlogged=core.unlogged - unlogged(seats, old, seat),
    )
    stable = core.phase == Phase.STABLE
    owes = old if seat.due else seat.owed
    new = Seat(
        True,
        join=True,
        share=seat.share,
        takes=(old, seat.logged) if stable else None,
        owed=owes if stable else None,
    )
    new = coordinator.subscribed(new, request)
    seats = renamed(seats, old, id, new)
    link = park(link, evolve(request, id=id))
    if core.phase == Phase.PREPARING:
        yield "replaced_and_parked", attempt(core, scope), seats, link
    elif core.phase == Phase.COMPLETING:
        yield "replaced_and_restarted", prepare(core), seats, link
    elif "fail_over" not in core.keeps:
        yield "replaced", core, seats, link
    else:
        # Whether a fail-over finds the record already, or only once its append is committed.
        yield (
            "replaced",
            evolve(core, unlogged=core.unlogged + unlogged(seats, id, new)),
            seats,
            link,
        )
        if not core.unlogged:
            yield "replaced", core, logged(seats, id, new), link


def renamed(seats: Seats, old: int, id: int, seat: Seat) -> Seats:
    """The seats with another id in the place of the old one; it leads if that led."""
    leads = seats.leader == old
    seats = seats.drop(old).put(id, seat)
    return evolve(seats, leader=id) if leads else seats


def logged(seats: Seats, id: int, seat: Seat) -> Seats:
    """The group record that a fail-over loads has the new id in the place of the old one."""
    ((old, was),) = seats.durable
    leader = id if seats.durable_leader == old else seats.durable_leader
    record = evolve(seat, share=was.share).logged
    return evolve(seats, durable=((id, record),), durable_leader=leader)


@rule(
    "answered",
    "answered_in_round",
    "unanswered_in_round",
    when=lambda seats: any(seat.takes is not None for _, seat in seats),
)
def takeover_committed(core: Core, seats: Seats, link: Link) -> Iterator[tuple[Any, ...]]:
    """The record with the new id is replicated: the JoinGroup is answered with the generation that
    runs, even if a round has started meanwhile. In a round the leader is not answered, because
    Kafka then fails to list the members (currentClassicGroupMembers), and waits for the round.
    """
    ((id, seat),) = seats.ids
    label = "answered" if core.phase == Phase.STABLE else "answered_in_round"
    if unlogged(seats, id, seat):
        core, seats = evolve(core, unlogged=core.unlogged - 1), logged(seats, id, seat)
    if core.phase != Phase.STABLE and seats.leader == id:
        yield "unanswered_in_round", core, seats.put(id, evolve(seat, takes=None)), link
        return
    link = deliver(link, JoinGroup, id, NONE, id, core.generation)
    core = _answered(core, seats, id)
    yield label, core, seats.put(id, evolve(seat, join=False, takes=None)), link


@rule(
    "reverted",
    "reverted_in_round",
    when=lambda seats: any(seat.takes is not None for _, seat in seats),
)
def takeover_failed(
    core: Core, seats: Seats, link: Link, budget: Budget
) -> Iterator[tuple[Any, ...]]:
    """The record with the new id could not be written: the old id is back, with its subscription,
    and the JoinGroup is answered 15, without an id. (One that a fail-over would find does not
    fail.)
    """
    ((id, seat),) = seats.ids
    if seat.takes is None or not budget.allows("append_failure"):
        return
    if seats.durable and not unlogged(seats, id, seat):
        return
    label = "reverted" if core.phase == Phase.STABLE else "reverted_in_round"
    core = evolve(_answered(core, seats, id), unlogged=core.unlogged - unlogged(seats, id, seat))
    old, was = seat.takes
    back = evolve(
        was,
        share=seat.share,
        due=seat.owed == old,
        owed=None if seat.owed == old else seat.owed,
    )
    link = deliver(link, JoinGroup, id, COORDINATOR_NOT_AVAILABLE)
    yield label, core, renamed(seats, id, old, back), link, budget.spend("append_failure")


def _answered(core: Core, seats: Seats, id: int) -> Core:
    """The parked JoinGroup of a takeover is answered."""
    leads = seats.leader == id
    return evolve(core, parked=core.parked - 1, leader_parked=core.leader_parked and not leads)


@cache
def waiting(usual: Rule) -> Rule:
    """The rebalance timer of a round in which nobody has joined starts again: static members are
    not removed.
    """

    def rebalance_timeout(core: Core, budget: Budget, scope: Scope) -> Iterator[tuple[Any, ...]]:
        if core.parked or not core.members:
            yield from usual.call(core, budget, scope)
        elif core.generation < scope.last_generation and budget.allows("rebalance_timeout"):
            yield "postponed", core, budget

    rebalance_timeout.__doc__ = usual.doc
    return rewritten(usual, rebalance_timeout, labels=(*usual.labels, "postponed"))


# Rules of the coordinator that the family does not have.
MORE_RULES = (takeover_committed, takeover_failed)
FENCED = (coordinator.sync_group, coordinator.heartbeat, coordinator.offset_commit)
WAITING = timers.rebalance_timeout
