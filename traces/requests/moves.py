"""Steps that the coordinator of a group may have taken by itself before a moment of its request
log: which timers may have fired, which appends may have ended.

There are three degrees of assumptions, each tried only if the one before it explains nothing: steps
that the answer just given shows; waits that ended unseen; and a broker that stood still, or
requests that no line shows. Before a JoinGroup or a LeaveGroup is handled, waits may always have
ended unseen: the answer can be the same without it, and only the number or the members of a later
generation show it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from enum import IntEnum
from math import isinf

from attrs import define, evolve

from groupcheck.model.protocol.classic import timers
from groupcheck.model.protocol.classic.features import takeover
from groupcheck.model.protocol.classic.group import Phase
from groupcheck.model.protocol.codes import UNKNOWN_MEMBER_ID
from groupcheck.traces.exchanges.exchange import Exchange, JoinExchange, LeaveExchange
from groupcheck.traces.requests.group_rules import (
    GONE,
    LATENESS_MS,
    PATIENT_MS,
    SLACK_MS,
    JudgedAssignment,
    Rules,
)
from groupcheck.traces.requests.member_indexes import keys_of
from groupcheck.traces.requests.world import GroupWorld

MOST_WORLDS = 2000
NEW_MEMBER_MS = 300_000.0
SOON_MS = 25.0


class Degree(IntEnum):
    """How much is assumed."""

    LIKELY = 0
    ANYTHING = 2


class Lost(Exception):
    """The group cannot be followed from here; the text says why."""


@define
class Moves:
    """The steps without a request."""

    rules: Rules
    # The record that a fail-over loads may have been written before the log begins.
    unknown_record: bool = False
    # Such a record was needed.
    blind: bool = False

    def closure(
        self, worlds: Iterable[GroupWorld], now: float, e: Exchange, degree: Degree
    ) -> list[GroupWorld]:
        """The worlds after all that may have happened by `now`. `e`: what the log shows next.
        Raises `Lost` if there are too many.
        """
        self.rules.lateness = PATIENT_MS if degree == Degree.ANYTHING else LATENESS_MS
        found: dict[GroupWorld, GroupWorld] = {}
        stack = [new for w in worlds if (new := put(found, self._caught_up(w, now))) is not None]
        while stack:
            w = stack.pop()
            for after in self._next(w, now, e, degree):
                new = put(found, self._caught_up(after, now))
                if new is not None:
                    stack.append(new)
            if len(found) > MOST_WORLDS:
                raise Lost(f"more than {MOST_WORLDS:,} possibilities fit")
        return [w for w in found.values() if all(until >= now for _, until in w.waiting)]

    def _caught_up(self, w: GroupWorld, now: float) -> GroupWorld:
        """Handles waiting JoinGroups now: while a round collects them and no answer is about to be
        given, it makes no difference when one more is handled.
        """
        k = 0
        while (
            w.memory.phase == Phase.PREPARING
            and k < len(w.waiting)
            and not answered_within(self.rules, w, now + SOON_MS)
        ):
            waiting = self.rules.open[w.waiting[k][0]]
            assert isinstance(waiting, JudgedAssignment)
            without = evolve(w, waiting=(*w.waiting[:k], *w.waiting[k + 1 :]))
            handled = (
                list(self.rules.handle(without, waiting, now))
                if isinstance(waiting, JoinExchange)
                else []
            )
            if (
                len(handled) == 1
                and handled[0].memory.phase == Phase.PREPARING
                and handled[0].base == w.base
            ):
                w, k = handled[0], 0
            else:
                k += 1
        return w

    def _next(self, w: GroupWorld, now: float, e: Exchange, degree: Degree) -> Iterator[GroupWorld]:
        rules, memory = self.rules, w.memory
        for k, (request, _) in enumerate(w.waiting):
            waiting = rules.open[request]
            if waiting is not e or now > e.began:
                assert isinstance(waiting, JudgedAssignment)
                yield from rules.handle(
                    evolve(w, waiting=(*w.waiting[:k], *w.waiting[k + 1 :])), waiting, now
                )
        if memory.appending:
            yield from rules.fire(w, timers.append_committed.name, None, now, e)
            yield from rules.fire(w, timers.append_failed.name, None, now, e)
        for i in memory.taking:
            yield from rules.fire(w, takeover.takeover_committed.name, i, now, e)
            yield from rules.fire(w, takeover.takeover_failed.name, i, now, e)
        ends = w.since + self._shortest(w)
        overdue = now >= ends - SLACK_MS
        if memory.phase == Phase.PREPARING:
            if memory.initial:
                yield from rules.fire(w, timers.initial_delay.name, None, now, e)
            elif overdue or memory.members <= memory.joining:
                yield from rules.fire(w, timers.rebalance_timeout.name, None, now, e)
        if memory.due and overdue and (memory.phase != Phase.STABLE or _unseen(now, e, degree)):
            yield from rules.fire(
                w, timers.sync_timeout.name, None, now if isinf(ends) else min(now, ends), e
            )
        yield from self._expiries(w, now, e, degree)
        yield from self._fail_over(w, now)
        if degree == Degree.ANYTHING and not w.unseen:
            for i in (memory.members | memory.pending) - memory.joining - memory.syncing:
                yield from rules.unseen_join(w, i, now, e)

    def _shortest(self, w: GroupWorld) -> float:
        """The rebalance timeout: the shortest of all members'."""
        return min((self.rules.life(w, i).rebalance_ms for i in w.memory.members), default=0.0)

    def _expiries(
        self, w: GroupWorld, now: float, e: Exchange, degree: Degree
    ) -> Iterator[GroupWorld]:
        """Sessions that have ended. That a member is gone shows in its own requests, in the
        heartbeats of others, and when a round can go on.
        """
        memory, life = w.memory, self.rules.life
        silent = (memory.members | memory.pending) - memory.joining - memory.syncing
        over = sorted((at, i) for i in silent if (at := life(w, i).expires) <= now + SLACK_MS)
        own = self._own(over, w, now, e) if over else []
        if memory.phase == Phase.PREPARING:
            unseen = not memory.joining or answered_within(self.rules, w, now + self.rules.lateness)
        else:
            over = [x for x in over if x in own or x[1] in memory.members]
            unseen = _unseen(now, e, degree)
        if not unseen:
            over = own
        elif degree < Degree.ANYTHING:
            # The others follow later; their order makes no difference.
            over = [x for x in over if x[0] <= over[0][0] + 2 * SLACK_MS or x in own]
        for at, i in over:
            ended = max(at, w.since)
            yield from self.rules.fire(
                w, timers.session_timeout.name, i, now if isinf(ended) else min(now, ended), e
            )
        for i in memory.new & memory.joining:
            if self._parked_since(w, i) + NEW_MEMBER_MS <= now + SLACK_MS:
                yield from self.rules.fire(w, timers.new_member_timeout.name, i, now, e)

    def _parked_since(self, w: GroupWorld, index: int) -> float:
        """Since when the JoinGroup of a new member waits. (Its id may never be told.)"""
        request = dict(w.parked).get(index)
        began = self.rules.open[request].began if request is not None else float("inf")
        return min(began, self.rules.life(w, index).parked_since)

    def _own(
        self, over: list[tuple[float, int]], w: GroupWorld, now: float, e: Exchange
    ) -> list[tuple[float, int]]:
        """The sessions of members that learn of it from the request at hand, or from one that still
        waits.
        """
        told = [e, *(self.rules.open[r] for r, _ in w.waiting)]
        indexes = self.rules.indexes
        gone = {key for x in told if _tells(x) for key in keys_of(indexes, x)}
        return [x for x in over if indexes.at(x[1]) in gone]

    def _fail_over(self, w: GroupWorld, now: float) -> Iterator[GroupWorld]:
        sent_away = any(self.rules.open[r].code in GONE for _, r in w.parked)
        if not sent_away and not w.reloaded < self.rules.interrupted <= now + SLACK_MS:
            return
        if self.unknown_record and w.kept_plan is None:
            self.blind = True  # the group's record was written before this log begins
            return
        yield from self.rules.fail_over(w, now)


def answered_within(rules: Rules, w: GroupWorld, until: float) -> bool:
    """Is a waiting request answered by then?"""
    return any(rules.open[r].given <= until for _, r in w.parked)


def _unseen(now: float, e: Exchange, degree: Degree) -> bool:
    """May a wait have ended that the answer of `e` does not show?"""
    arrives = now <= e.began
    return degree > Degree.LIKELY or (arrives and isinstance(e, JoinExchange | LeaveExchange))


def _tells(e: Exchange) -> bool:
    return e.code == UNKNOWN_MEMBER_ID or (
        isinstance(e, LeaveExchange) and any(x.code == UNKNOWN_MEMBER_ID for x in e.leavers)
    )


def put(found: dict[GroupWorld, GroupWorld], w: GroupWorld) -> GroupWorld | None:
    """Adds a world. Two equal worlds become one that allows what either allows. Returns the world
    that is new in `found`, None if none is.
    """
    known = found.get(w)
    if known is not None:
        if w.since >= known.since and w.reloaded <= known.reloaded:
            return None
        w = evolve(known, since=min(w.since, known.since), reloaded=max(w.reloaded, known.reloaded))
        del found[known]
    found[w] = w
    return w
