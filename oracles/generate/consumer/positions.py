"""Where members are in their partitions, what they commit of that, and what the coordinator answers
(ConsumerGroup.validateOffsetCommit and validateOffsetFetch, by the numbers of its records).

None of it changes the model's state: the model says when a member has which partition, when it
commits before it gives some up, and which epoch it knows. Offsets are numbers of the run, beginning
with what is committed when it begins.

Java's members (CommitRequestManager 4.3.1) commit all that they have consumed: at a poll when
auto.commit.interval.ms is over, before each reconciliation, when they close, and when the
application says so. Those of librdkafka 2.12 commit what is new: by a timer, when partitions are
unassigned (rdkafka_assignment.c), and when the application says so.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterable, Iterator

from attrs import Factory, define, field

from groupcheck.model.engine.step import Semantics, State
from groupcheck.model.engine.verdict import Firing
from groupcheck.model.protocol.codes import NONE, STALE_MEMBER_EPOCH, UNKNOWN_MEMBER_ID
from groupcheck.model.protocol.consumer import java_rules
from groupcheck.model.protocol.consumer.client import Member
from groupcheck.model.protocol.consumer.java_member import Calls, JavaMember, Phase
from groupcheck.model.protocol.consumer.offsets import has_epoch
from groupcheck.model.protocol.consumer.scope import ConsumerScope
from groupcheck.model.protocol.masks import numbers
from groupcheck.oracles.generate.consumer.happenings import Fetched
from groupcheck.oracles.generate.consumer.records import Records
from groupcheck.oracles.generate.run import Committed

INTERVAL_MS = 5000
"""auto.commit.interval.ms."""
RETRY_MS = 100
"""retry.backoff.ms."""
MEAN_MANUAL_MS = 40_000
NEVER = math.inf
_OUT = (Member.UNSUBSCRIBED, Member.FATAL)


@define
class Positions:
    """Of all members of a run."""

    semantics: Semantics
    scope: ConsumerScope
    records: Records
    choose: random.Random
    # Takes what happens.
    tell: Callable[[Committed | Fetched], None]
    # Members are librdkafka's.
    native: bool = False
    # Partition -> what is committed.
    committed: dict[int, int] = field(init=False)
    # Partition -> records that are written to it in a ms.
    _rates: dict[int, float] = field(init=False)
    # Process -> partition -> the next record that its application reads, and what it knows to be
    # committed.
    _at: dict[int, dict[int, int]] = Factory(dict)
    _knows: dict[int, dict[int, int]] = Factory(dict)
    # Process -> when its next commit by the interval is due, when its application says so, and when
    # it asks what is committed.
    _interval: dict[int, float] = Factory(dict)
    _manual: dict[int, float] = Factory(dict)
    _asks: dict[int, float] = Factory(dict)
    # A step is being taken: members know what they knew before it.
    _inside: bool = False
    # Those that send their next heartbeat at once.
    hurried: set[int] = Factory(set)
    # Process -> when it repeats the commit before a reconciliation.
    _repeats: dict[int, float] = Factory(dict)

    def __attrs_post_init__(self) -> None:
        there = range(self.scope.partitions)
        self.committed = dict.fromkeys(there, 0)
        self._rates = {p: self.choose.uniform(0.002, 0.02) for p in there}

    # -- when

    def planned(
        self, state: State, frozen: dict[int, float], busy: dict[int, float]
    ) -> Iterator[tuple[float, Callable[[State], None]]]:
        """What members do next, each with its time. `frozen` and `busy`: until when processes and
        applications stand still.
        """
        for me, client in self._clients(state):
            free = max(self.records.now, frozen.get(me, 0.0))
            if not self.native:
                free = max(free, busy.get(me, 0.0))
            if (repeat := self._repeats.get(me)) is not None:
                yield max(repeat, frozen.get(me, 0.0)), self._act(self._commits_first, me)
            if not client.known or client.running is not None or client.unsubscribing:
                continue
            if self._unknown(me, client) and client.beats:
                asks = self._asks.setdefault(me, self.records.now + self.choose.uniform(5, 40))
                yield max(asks, free), self._act(self._asks_now, me)
            if not self._at.get(me) or client.state in _OUT:
                continue
            if not self.native or _steady(client):
                due = self._interval.setdefault(me, self.records.now + INTERVAL_MS)
                yield max(due, free), self._act(self._interval_over, me)
            if client.beats:
                wait = self.choose.expovariate(1 / MEAN_MANUAL_MS)
                manual = self._manual.setdefault(me, self.records.now + wait)
                polls = max(free, busy.get(me, 0.0))
                yield max(manual, polls), self._act(self._by_application, me)

    def _act(self, what: Callable[[int, State], None], me: int) -> Callable[[State], None]:
        return lambda state: what(me, state)

    def _clients(self, state: State) -> Iterator[tuple[int, JavaMember]]:
        for me in sorted(self.records.ids):
            client: JavaMember = state[self.semantics.at["client", me]]
            yield me, client

    def repeats(self, me: int) -> bool:
        """Is the commit before its reconciliation still to be repeated?"""
        return me in self._repeats

    def _unknown(self, me: int, client: JavaMember) -> int:
        """The partitions that it has, and does not know where to begin in."""
        known = sum(1 << p for p in self._at.get(me, ()))
        return client.holds & ~client.paused & ~known

    # -- what applications read

    def reads(self, state: State, stands: Callable[[int], bool]) -> None:
        """All applications have read what there is, but for those that stand still."""
        for me, client in self._clients(state):
            at = self._at.get(me)
            if not at or stands(me) or client.running is not None or not client.beats:
                continue
            for partition in at:
                if client.holds & ~client.paused & 1 << partition:
                    end = int(self.records.now * self._rates[partition])
                    at[partition] = max(at[partition], end)

    # -- steps of the model

    def begins(self, firing: Firing, before: State) -> None:
        """A step begins. An application that closes commits first."""
        rule, me = firing.name.partition(":")[0], firing.me
        if me is None or self.native or rule != java_rules.application_closes.name:
            return
        client: JavaMember = before[self.semantics.at["client", me]]
        if client.known:
            self._commits(me, before, "close")

    def fired(self, firing: Firing, before: State, after: State) -> None:
        """A firing of the step."""
        me = firing.me
        if me is None:
            return
        self._inside = True
        at = self.semantics.at["client", me]
        was, now = before[at], after[at]
        rule = firing.name.partition(":")[0]
        if self.native and rule == java_rules.java_callback_returns.name:
            self._unassigns(me, was, before)
        begins = was.taking is None and now.taking is not None
        if begins and now.taking.phase == Phase.COMMIT:
            self._commits_first(me, before)
        if me in self._repeats and (now.taking is None or now.aborted):
            del self._repeats[me]
        for known in (self._at, self._knows):
            mine = known.get(me, {})
            for partition in [p for p in mine if not now.assigned >> p & 1]:
                del mine[partition]
        if not self._at.get(me):
            for due in (self._interval, self._manual):
                due.pop(me, None)
        if not self._unknown(me, now):
            self._asks.pop(me, None)
        self._inside = False

    def _unassigns(self, me: int, was: JavaMember, before: State) -> None:
        """librdkafka commits what it had of the partitions that were unassigned."""
        event = was.running
        if event is None or event.calls not in (Calls.REVOKED, Calls.CLOSING):
            return
        some = was.assigned if event.calls == Calls.CLOSING else event.partitions
        self._commits(me, before, "revocation", some)

    # -- requests

    def _commits_first(self, me: int, state: State) -> None:
        """The commit before a reconciliation, which is repeated while the epoch is old."""
        self._repeats.pop(me, None)
        if self._commits(me, state, "revocation") == STALE_MEMBER_EPOCH:
            self._repeats[me] = self.records.now + RETRY_MS

    def _interval_over(self, me: int, state: State) -> None:
        self._interval[me] = self.records.now + INTERVAL_MS
        self._commits(me, state, "interval")

    def _by_application(self, me: int, state: State) -> None:
        self._manual.pop(me)
        self._commits(me, state, "application")

    def _commits(self, me: int, state: State, why: str, some: int = -1) -> int | None:
        """Commits where it is in some of its partitions (a mask). None: there is nothing."""
        knows = self._knows.get(me, {})
        offsets = {p: n for p, n in sorted(self._at.get(me, {}).items()) if some >> p & 1}
        if self.native and why != "application":
            offsets = {p: n for p, n in offsets.items() if n > knows.get(p, -1)}
        if not offsets:
            return None
        epoch = self._epoch(me, state)
        code = self._answer(me, epoch, offsets, state)
        if code == NONE:
            self.committed.update(offsets)
            knows.update(offsets)
        elif self.native:
            self.hurried.add(me)
        self.tell(Committed(me, self.records.ids[me], epoch, offsets, code, why))
        return code

    def _epoch(self, me: int, state: State) -> int:
        client: JavaMember = state[self.semantics.at["client", me]]
        known = self.records.knew if self._inside else self.records.known
        return known.get(me, 0) if has_epoch(client) else -1

    def _answer(self, me: int, epoch: int, offsets: Iterable[int], state: State) -> int:
        record = self.records.of.get(me)
        if epoch < 0 and not state[self.semantics.at["core", None]].members:
            return NONE
        if record is None or record.member != self.records.ids[me]:
            return UNKNOWN_MEMBER_ID
        if epoch == record.epoch:
            return NONE
        if epoch > record.epoch or not self.scope.release.keeps_given:
            return STALE_MEMBER_EPOCH
        fits = all(p in record.given and epoch >= record.given[p] for p in offsets)
        return NONE if fits else STALE_MEMBER_EPOCH

    def _asks_now(self, me: int, state: State) -> None:
        """It asks what is committed in the partitions in which it does not know where to begin."""
        del self._asks[me]
        client: JavaMember = state[self.semantics.at["client", me]]
        some = numbers(self._unknown(me, client))
        code, member, epoch = NONE, None, -1
        if not self.native and has_epoch(client):
            member, epoch = self.records.ids[me], self.records.known.get(me, 0)
            record = self.records.of.get(me)
            if record is None or record.member != member:
                code = UNKNOWN_MEMBER_ID
            elif epoch != record.epoch:
                code = STALE_MEMBER_EPOCH
        found = {p: self.committed[p] for p in some}
        if code == NONE:
            self._at.setdefault(me, {}).update(found)
            self._knows.setdefault(me, {}).update(found)
        else:
            self._asks[me] = self.records.now + RETRY_MS
        self.tell(Fetched(me, member, epoch, found, code))

    def ended(self, me: int) -> None:
        """The process has come to its end."""
        for known in (self._at, self._knows, self._interval, self._manual, self._asks):
            known.pop(me, None)
        self._repeats.pop(me, None)
        self.hurried.discard(me)


def _steady(client: JavaMember) -> bool:
    """Is librdkafka's join state steady?"""
    quiet = client.taking is None and not client.waiting and client.running is None
    return client.beats and quiet
