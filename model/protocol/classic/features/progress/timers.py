"""Timers split in two: *due* and *premature*.

A timer is due if the one that it waits for never comes: its process is gone, or its application has
stopped. Then it fires in the end, and that costs nothing. A timer is premature if the one that it
waits for lives and is only slow. That stays a fault with a budget, so it happens finitely often. In
an ordinary check both are the same fault.

- The session timer waits for heartbeats, or for the JoinGroup under an id that was handed out. It
  is due if nobody lives under the id.
- The five-minute timer of a new member is due if nobody waits for the answer to its parked
  JoinGroup.
- The poll timer (max.poll.interval.ms) waits for the next poll. It is due if the application has
  stopped. Only static members need it in the end: no other timer removes one that sends heartbeats
  and does not join, if no member has joined.
- The rebalance timer waits for the JoinGroup of every member, the sync timer for the SyncGroup of
  every member. Each is due if none of the missing ones will ever send it. While one of these still
  may, the timer would be premature for that one.
"""

from __future__ import annotations

from collections.abc import Iterator

import attrs
from attrs import frozen

from groupcheck.model.engine import Spec, evolve, rule, urgent
from groupcheck.model.engine.rule import Rule
from groupcheck.model.protocol.classic import timers
from groupcheck.model.protocol.classic.client import Client, Member, reset
from groupcheck.model.protocol.classic.dead_values import close_books, keeping, kept_for
from groupcheck.model.protocol.classic.features.progress.processes import HUNG
from groupcheck.model.protocol.classic.group import (
    ENDED,
    REST,
    Core,
    Errand,
    Phase,
    Seat,
    Seats,
    Walk,
)
from groupcheck.model.protocol.classic.rounds import complete, prepare
from groupcheck.model.protocol.classic.scope import Scope
from groupcheck.model.protocol.classic.walks import end_walk
from groupcheck.model.protocol.faults import REMEMBERED, Budget
from groupcheck.model.protocol.link import Link
from groupcheck.model.protocol.transform import inserted, own, rebuilt, rewritten

FREE = Budget(any=1)  # what a timer that is due spends counts nowhere


def timers_split(spec: Spec) -> Spec:
    """The feature: timers that are due are free."""
    usual, core = own(spec, end_walk), spec.slots["core"]
    new = [_walking_on(usual), rewritten(own(spec, close_books), _close_books)]
    due = [
        _session_over(own(spec, timers.session_timeout)),
        _newcomer_gone(own(spec, timers.new_member_timeout)),
        nobody_will_join,
        nobody_will_sync,
        *([poll_over] if spec.scope.static else []),
    ]
    kept = evolve(core.initial, keeps=_remembered(spec.scope.budget))
    spec = inserted(spec, usual, look_for_owners)
    return rebuilt(spec, new, due, core=attrs.evolve(core, initial=kept))


def _remembered(budget: Budget) -> tuple[str, ...]:
    """`Core.keeps`: timers may be due at any time, so the group remembers what they read."""
    return tuple([f for f in REMEMBERED if f != "fail_over" or f in kept_for(budget)])


def _close_books(core: Core, budget: Budget) -> Iterator[tuple[Core, Budget]]:
    """The last fail-over has happened, and what was remembered for it is reset once the group is
    loaded.
    """
    if core.loading:
        return
    yield keeping(core, _remembered(budget)), evolve(budget, closing=False)


# -- who will come


def lives(id: int, client: Client, link: Link) -> bool:
    """Does the process live under this member id? Its heartbeat thread or its application goes on
    with the id, or a request with it waits on the present connection.
    """
    if any(getattr(request, "id", None) == id for request in (link.parked, *link.queue)):
        return True
    beats = client.state in (Member.COMPLETING, Member.STABLE)
    return client.id == id and (beats or not client.failed)


def may_come(id: int, client: Client, link: Link) -> bool:
    """Will the process go on in the round under this member id? One whose application has stopped
    will not, even if its heartbeat thread lives.
    """
    return not client.failed and lives(id, client, link)


# -- timers that wait for one id


def _session_over(usual: Rule) -> Rule:
    @rule(*usual.labels, when=lambda seats: bool(seats.ids))
    def session_over(
        core: Core, seats: Seats, client: Client, link: Link, scope: Scope
    ) -> Iterator[tuple[str, Core, Seats, Client, Link]]:
        """Nobody lives under an id: its session timer removes it, as in `session_timeout`."""
        for label, left, kept, _ in usual.call(core, seats, FREE, scope):
            if not lives(_removed(seats, kept), client, link):
                yield label, left, kept, client, link

    return session_over


def _newcomer_gone(usual: Rule) -> Rule:
    @rule(when=lambda seats: any(seat.new for _, seat in seats))
    def newcomer_gone(
        core: Core, seats: Seats, client: Client, link: Link, scope: Scope
    ) -> Iterator[tuple[Core, Seats, Client, Link]]:
        """Nobody waits for the answer to the JoinGroup of a new member: its timer removes it, as
        in `new_member_timeout`.
        """
        for left, kept, told, _ in usual.call(core, seats, link, FREE, scope):
            if not lives(_removed(seats, kept), client, link):
                yield left, kept, client, told

    return newcomer_gone


@rule(when=lambda client: client.failed == HUNG)
def poll_over(client: Client) -> Iterator[Client]:
    """The application of a static member has stopped polling for good: after max.poll.interval.ms
    its heartbeat thread forgets the id and falls silent, as in `poll_timeout`.
    """
    if client.state in (Member.COMPLETING, Member.STABLE):
        yield reset(client, True)


def _removed(before: Seats, after: Seats) -> int:
    (id,) = {id for id, _ in before} - {id for id, _ in after}
    return id


# -- Look: timers that wait for several members


@frozen(kw_only=True)
class Look(Errand):
    """Will any of those that the round waits for ever come? (See `walks` for what a walk is.)"""

    # Does the round wait for JoinGroup? False: it waits for SyncGroup.
    joins: bool
    # One of them may still come.
    found: bool = False

    def awaits(self, seat: Seat) -> bool:
        return not seat.join if self.joins else seat.due


@rule(
    when=lambda core: (
        core.phase == Phase.PREPARING
        and not core.initial
        and bool(core.members)
        and not core.all_joined
    )
)
def nobody_will_join(core: Core, scope: Scope) -> Iterator[Core]:
    """Begin: if none of the missing members will ever send JoinGroup, the rebalance timer completes
    the round without them, as in `rebalance_timeout`. If all members are static and none has
    joined, it only starts again: their session timers end the wait.
    """
    if core.parked or not scope.static:
        yield evolve(core, errands=(Look(joins=True),))


@rule(when=lambda core: core.deadline and bool(core.due))
def nobody_will_sync(core: Core) -> Iterator[Core]:
    """Begin: if none of the missing members will ever send SyncGroup, the sync timer removes them,
    as in `sync_timeout`.
    """
    yield evolve(core, errands=(Look(joins=False),))


@urgent(when=lambda me, walk: walk.at == me and isinstance(walk.errand, Look))
def look_for_owners(
    walk: Walk[Look], seats: Seats, client: Client, link: Link, scope: Scope
) -> Iterator[tuple[Walk[Look], Seats, Client, Link]]:
    """Does one of the missing members live, and go on?"""
    errand = walk.errand
    if any(errand.awaits(seat) and may_come(id, client, link) for id, seat in seats):
        yield Walk(ENDED, evolve(errand, found=True)), seats, client, link
    else:
        yield walk.passed(errand, scope), seats, client, link


def _walking_on(usual: Rule) -> Rule:
    def end_walk(
        core: Core, walk: Walk[Errand], scope: Scope
    ) -> Iterator[tuple[Core, Walk[Errand]]]:
        """All members are visited: the group gets what the walk has found. If it has found that
        nobody will come, the timer fires.
        """
        errand = walk.errand
        if not isinstance(errand, Look):
            yield from usual.call(core, walk, scope)
        elif errand.found:
            yield core, REST
        else:
            yield complete(core, scope) if errand.joins else prepare(core, expel=True), REST

    return rewritten(usual, end_walk)
