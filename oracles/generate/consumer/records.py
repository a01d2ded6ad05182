"""The coordinator's records of members with their ids and epochs as numbers. The model's epochs are
relative, and its members have no ids; both follow from its steps.
"""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Callable
from functools import partial

from attrs import Factory, define, evolve, field

from groupcheck.model.engine.step import Semantics, State
from groupcheck.model.engine.verdict import Firing
from groupcheck.model.protocol.codes import COORDINATOR_NOT_AVAILABLE, NONE
from groupcheck.model.protocol.consumer import client_faults, heartbeats, targets, timers
from groupcheck.model.protocol.consumer.client import BEATS, Member
from groupcheck.model.protocol.consumer.memory import Core, Previous, Seat, Timer
from groupcheck.model.protocol.consumer.messages import Kind, Link, Request
from groupcheck.model.protocol.consumer.scope import ConsumerScope
from groupcheck.model.protocol.consumer.subscriptions import bumps
from groupcheck.model.protocol.masks import numbers
from groupcheck.oracles.generate.consumer.happenings import (
    Answered,
    Bumped,
    Happening,
    Joined,
    Lost,
    Moved,
    Planned,
    Reconciled,
    Refreshed,
    Refused,
    Replaced,
    Resolved,
    Went,
)
from groupcheck.oracles.generate.run import Names

_KNOWS_NONE = (*frozenset(Member) - {*BEATS, Member.PREPARE_LEAVING}, Member.JOINING)
HEARTBEAT_MS, SESSION_MS, POLL_MS = 1000, 6000, 9000
"""group.consumer.heartbeat.interval.ms, group.consumer.session.timeout.ms, and the members'
max.poll.interval.ms, which is their rebalance timeout.
"""
TIMER_RETRY_MS = 500
"""The back-off of a timer whose records are lost (CoordinatorTimerImpl)."""
LEAVING_EPOCHS = {Kind.LEAVE: -1, Kind.PARK: -2}


@define
class Record:
    """What the coordinator knows of a member beside its seat."""

    # The number of its id.
    member: int
    process: int
    # When it was last heard of, and since when it has had to give something up, in ms.
    heard: float
    armed: float = 0.0
    epoch: int = 0
    previous: int = 0
    # Partition -> the epoch at which it was given it.
    given: dict[int, int] = Factory(dict)
    # Of a process that is gone, as the model has it.
    seat: Seat | None = None


@define
class Records:
    """Follows the steps of a run."""

    semantics: Semantics
    scope: ConsumerScope
    random: random.Random
    # Takes what happens, and what only seemed to happen before its append failed.
    tell: Callable[[Happening], None]
    lost: Callable[[Lost, list[Happening]], None]
    # Milliseconds since the beginning.
    now: float = 0.0
    names: Names = Factory(Names)
    group_epoch: int = field(init=False)
    target_epoch: int = field(init=False)
    # When the last target was computed.
    planned: float = 0.0
    # Process -> the record of its seat.
    of: dict[int, Record] = Factory(dict)
    ghosts: list[Record] = Factory(list)
    # Process -> how many consumers it has been, and the number of the last one's id.
    lives: dict[int, int] = Factory(dict)
    ids: dict[int, int] = Factory(dict)
    # Process -> the epoch that it knows.
    known: dict[int, int] = Factory(dict)
    # The same before the firing at hand.
    knew: dict[int, int] = Factory(dict)
    # Inside a step: the heartbeat that is handled, its epoch, and whether it is heard.
    _asked: tuple[Request, int, bool] | None = None
    # Inside a step whose append may fail: what was, and what happened since.
    _before: tuple[dict[int, Record], int, int, float] | None = None
    _since: list[Happening] = Factory(list)
    # Inside a step: the partitions that the member had when its request came.
    _shares: dict[int, int] = Factory(dict)

    def __attrs_post_init__(self) -> None:
        self.group_epoch = self.target_epoch = self.first_epoch

    @property
    def first_epoch(self) -> int:
        """The epoch of a group that is new."""
        return int(self.scope.release.begins_at_target)

    @property
    def now_ms(self) -> int:
        """The time as lines and the truth have it."""
        return math.ceil(self.now)

    def start(self, me: int) -> None:
        """A process starts a consumer."""
        self.lives[me] = self.lives.get(me, 0) + 1
        who = me, self.lives[me]
        self.names.add(who, self.random)
        self.ids[me] = self.names.number(who)
        self.known[me] = 0

    def fired(self, firing: Firing, before: State, after: State) -> None:
        """Takes one firing."""
        rule, _, label = firing.name.partition(":")
        core: Core = before[self.semantics.at["core", None]]
        me = firing.me
        self.knew = dict(self.known)
        if me is not None:
            self._hears(me, before, after)
        if rule == heartbeats.consumer_heartbeat.name and me is not None:
            self._heartbeat(me, label, core, before, after)
        elif rule == heartbeats.reconcile_member.name and me is not None:
            self._reconciled(me, label, before, after)
        elif rule == heartbeats.leave_consumer_group.name and me is not None:
            self._leaves(me, label, core, before)
        elif rule == heartbeats.resolve_pattern.name and me is not None:
            self._resolved(me, before)
        elif rule == targets.target_written.name:
            self._planned(after)
        elif rule in (timers.session_timeout.name, timers.rebalance_timeout.name):
            how = "session_expired" if rule == timers.session_timeout.name else rule
            if label == "removed" and me is not None:
                self._gone(self.of.pop(me), core, how)
            elif me is not None:
                self._timer_fails(self.of[me], core, how)
        elif rule == timers.ghost_expires.name:
            self._ghost_expires(before, after, core)
        elif rule == client_faults.leave_ghost.name and me is not None:
            self._died(me, before)
        elif rule == timers.move_coordinator.name:
            self._moved(core)
        elif rule in (targets.give_ghosts.name, timers.load_ghosts.name):
            self._ghosts_changed(after)

    def _seat(self, state: State, me: int) -> Seat | None:
        seat: Seat | None = state[self.semantics.at["seat", me]]
        return seat

    def _link(self, state: State, me: int) -> Link:
        link: Link = state[self.semantics.at["link", me]]
        return link

    # -- appends that fail

    def _begins(self) -> None:
        """The append of what follows may fail."""
        known = {me: evolve(record, given=dict(record.given)) for me, record in self.of.items()}
        self._before = known, self.group_epoch, self.target_epoch, self.planned
        self._since = []

    def _happens(self, happening: Happening) -> None:
        if self._before is None:
            self.tell(happening)
        else:
            self._since.append(happening)

    def _ends(self, failed: Lost | None) -> None:
        """The append has ended; `failed`: nothing of it has happened."""
        if self._before is None:
            return
        since, before = self._since, self._before
        self._before = None
        if failed is None:
            for happening in since:
                self.tell(happening)
            return
        self.of, self.group_epoch, self.target_epoch, self.planned = before
        self.lost(failed, since)

    def _timer_fails(self, record: Record, core: Core, how: str) -> None:
        """A member is removed, and its records are lost: the timer runs again soon."""
        self._begins()
        self._gone(self.of.pop(record.process), core, how)
        again = self.of if self._before is None else self._before[0]
        mine = again[record.process]
        if how == "session_expired":
            mine.heard = self.now - SESSION_MS + TIMER_RETRY_MS
            key = "session-timeout"
        else:
            mine.armed = self.now - POLL_MS + TIMER_RETRY_MS
            key = "rebalance-timeout"
        self._ends(Lost(key, record.member))

    def static(self, me: int) -> bool:
        """Has the process a group.instance.id?"""
        return me < self.scope.static_members

    def _hears(self, me: int, before: State, after: State) -> None:
        """The epoch that a process knows, once it has heard an answer."""
        client = after[self.semantics.at["client", me]]
        answer = self._link(before, me).answer
        if client.state in _KNOWS_NONE and not client.adopted:
            self.known[me] = 0
        elif answer is not None and answer.code == NONE and client.beats and me in self.of:
            self.known[me] = self.of[me].epoch

    # -- heartbeats

    def _heartbeat(self, me: int, label: str, core: Core, before: State, after: State) -> None:
        link, seat = self._link(before, me), self._seat(before, me)
        request = link.request
        assert request is not None
        epoch = 0 if request.kind == Kind.JOIN else self.known[me]
        self._asked = request, epoch, not (link.lost or request.unheard)
        instance = me if link.static else None
        if link.fails:
            self._begins()
        if label in heartbeats.REFUSED:
            self._ends(None)
            if label in ("fenced", "unreleased") and instance is not None:
                owner = self.of[me].member
                self._happens(Refused(self.ids[me], owner, instance, label == "fenced"))
            self._answer(me, heartbeats.REFUSED[label])
            return
        if label == "added":
            self.of[me] = Record(self.ids[me], me, self.now)
            first, regex = not core.members, bool(request.pattern)
            self._happens(Joined(self.ids[me], instance, core.stale, first, regex))
        elif label == "replaced" and instance is not None:
            former = self.of[me]
            given = dict.fromkeys(former.given, 0)
            self.of[me] = Record(self.ids[me], me, self.now, given=given)
            self._happens(Replaced(self.ids[me], former.member, instance))
        if core.stale and label != "added":
            self._happens(Refreshed(self.of[me].member))
        if core.stale or bumps(seat or Seat(), request, core, self.scope):
            self.bump()

    def _resolved(self, me: int, before: State) -> None:
        seats = [*map(partial(self._seat, before), self.of), *(g.seat for g in self.ghosts)]
        new = not any(seat is not None and seat.subscribed for seat in seats)
        self._happens(Resolved(self.of[me].member, new))
        self.bump()

    def bump(self) -> None:
        self.group_epoch += 1
        self._happens(Bumped(self.group_epoch))

    def _planned(self, after: State) -> None:
        self.target_epoch, self.planned = self.group_epoch, self.now
        shares = {}
        for me, record in sorted(self.of.items()):
            seat = self._seat(after, me)
            assert seat is not None
            shares[record.member] = seat.target
        for ghost in self.ghosts:
            assert ghost.seat is not None
            shares[ghost.member] = ghost.seat.target
        self._happens(Planned(self.target_epoch, shares))

    def _reconciled(self, me: int, label: str, before: State, after: State) -> None:
        assert self._asked is not None
        request, _, _ = self._asked
        seat, new = self._seat(before, me), self._seat(after, me)
        if label == "failed":
            self._undone(me, new)
            return
        assert seat is not None
        assert new is not None
        record = self.of[me]
        record.heard = self.now
        if label != "kept":
            self._written(record, seat, new)
        if new.rebalance == Timer.ON and (label != "kept" or seat.rebalance != Timer.ON):
            record.armed = self.now
        full = request.kind == Kind.JOIN or request.full
        told = full or new.assigned != seat.assigned
        self._ends(None)
        self._answer(me, NONE, record.epoch, new.assigned if told else None)

    def _undone(self, me: int, seat: Seat | None) -> None:
        """The records of a heartbeat are lost; its timers are as the handler left them."""
        armed = self.of[me].armed
        self._ends(Lost(member=self.ids[me]))
        if (record := self.of.get(me)) is not None:
            record.heard = self.now
            if seat is not None and seat.rebalance == Timer.ON and not record.armed:
                record.armed = armed or self.now
        self._answer(me, COORDINATOR_NOT_AVAILABLE)

    def _written(self, record: Record, seat: Seat, new: Seat) -> None:
        before = record.epoch
        if new.current:
            record.epoch = self.target_epoch
        elif new.previous in (Previous.ZERO, Previous.OLDER):
            record.epoch += 1
        record.previous = before
        given = record.given
        record.given = {p: given.get(p, self.target_epoch) for p in numbers(new.owned)}
        self._happens(
            Reconciled(
                record.member,
                record.epoch,
                record.previous,
                new.state,
                {p: record.given[p] for p in numbers(new.assigned)},
                {p: record.given[p] for p in numbers(new.revoking)},
            )
        )

    def _answer(self, me: int, code: int, epoch: int = 0, assigned: int | None = None) -> None:
        assert self._asked is not None
        request, of, heard = self._asked
        self._asked = None
        self._happens(Answered(me, self.ids[me], request, of, code, epoch, assigned, heard))

    def _leaves(self, me: int, label: str, core: Core, before: State) -> None:
        link = self._link(before, me)
        request = link.request
        assert request is not None
        epoch = LEAVING_EPOCHS[request.kind]
        self._asked = request, epoch, not (link.lost or request.unheard)
        instance = me if link.static else None
        if label in ("absent", "unknown", "fenced"):
            if label == "fenced":
                self._happens(Refused(self.ids[me], self.of[me].member, me, True))
            self._answer(me, heartbeats.REFUSED[label])
            return
        record = self.of[me]
        if label == "failed":
            self._answer(me, COORDINATOR_NOT_AVAILABLE)
        elif label == "left":
            del self.of[me]
            self._gone(record, core, "left", instance)
            self._answer(me, NONE, epoch)
        else:
            seat = self._seat(before, me)
            assert seat is not None
            record.given = dict.fromkeys(numbers(seat.assigned), 0)
            self._happens(Went(record.member, "away", record.epoch, instance))
            record.epoch = -2
            self._answer(me, NONE, epoch)

    # -- members that go

    def _gone(self, record: Record, core: Core, how: str, instance: int | None = None) -> None:
        self._happens(Went(record.member, how, record.epoch, instance, core.members == 1))
        self.bump()
        if core.members == 1 and self.scope.release.settles_empty:
            self.target_epoch = self.group_epoch

    def _died(self, me: int, before: State) -> None:
        seat = self._seat(before, me)
        if seat is not None:
            record = self.of.pop(me)
            record.seat = seat
            self.ghosts.append(record)

    def ghost_of(self, before: State, after: State) -> Record:
        """The one that is no ghost any more; of several that are alike, the oldest."""
        at = self.semantics.at["ghosts", None]
        gone: Counter[Seat] = Counter(before[at]) - Counter(after[at])
        alike = [record for record in self.ghosts if record.seat in gone]
        return min(alike, key=lambda record: record.heard)

    def _ghost_expires(self, before: State, after: State, core: Core) -> None:
        record = self.ghost_of(before, after)
        self.ghosts.remove(record)
        self._gone(record, core, "session_expired")

    def _ghosts_changed(self, after: State) -> None:
        """Their seats have other targets or timers."""
        left: list[Seat] = list(after[self.semantics.at["ghosts", None]])
        for record in self.ghosts:
            assert record.seat is not None
            mine = next(seat for seat in left if _same(seat, record.seat))
            left.remove(mine)
            record.seat = mine

    def _moved(self, core: Core) -> None:
        """All timers begin anew."""
        records = [*self.of.values(), *self.ghosts]
        for record in records:
            record.heard = record.armed = self.now
        if core.exists:
            self._happens(Moved(self.group_epoch, tuple(record.member for record in records)))


def _same(new: Seat, old: Seat) -> bool:
    """Is it the record of the same member? Of those that are alike, any."""
    return (new.state, new.assigned, new.revoking, new.previous) == (
        old.state,
        old.assigned,
        old.revoking,
        old.previous,
    )
