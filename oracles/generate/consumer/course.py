"""A run of the model `consumer` with Java's members in the order of time. A clock says which of the
steps that are possible comes first: members send heartbeats at their interval, timers run out when
their time is over, applications poll all the time unless they are busy.

Troubles come now and then: the faults of the model, and processes and applications that stand still
for a while, which is what lets timers run out. At the end all members close, so that the group is
empty and another run can follow.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator
from typing import Any

from attrs import Factory, define, field

from groupcheck.model.engine.step import Semantics, State
from groupcheck.model.engine.verdict import Firing
from groupcheck.model.protocol.consumer import client_faults, java_rules, timers
from groupcheck.model.protocol.consumer.client import Member
from groupcheck.model.protocol.consumer.java_member import Calls, JavaMember
from groupcheck.model.protocol.consumer.memory import REST
from groupcheck.model.protocol.consumer.messages import Link, idle
from groupcheck.oracles.generate.consumer.positions import RETRY_MS, Positions
from groupcheck.oracles.generate.consumer.records import HEARTBEAT_MS, POLL_MS, SESSION_MS, Records

INTERVAL_MS = 1000
"""group.consumer.assignment.interval.ms, where there is one (Kafka 4.3)."""
MEAN_TROUBLE_MS = 7000
FAILS_AT_START = 0.3
"""How often a time without appends begins just before a member joins (a share of joins)."""
MOST_WINDOWS = 2
"""The model's budget of appends that fail is enough for so many times of `failing`."""
NEVER = math.inf
_AT_ONCE = (Member.JOINING, Member.ACKNOWLEDGING)
LOSSES = (client_faults.lose_answer.name, client_faults.lose_heartbeat.name)
"""A heartbeat or its answer is lost: the connection breaks."""
FREEZE, BUSY, SLOW, FAILING = "freeze", "busy", "slow", "failing"
FAILS = client_faults.fail_append.name
TROUBLES = {
    FREEZE: 3,
    BUSY: 2,
    SLOW: 3,
    client_faults.crash.name: 2,
    java_rules.application_closes.name: 4,
    java_rules.application_unsubscribes.name: 1,
    client_faults.lose_answer.name: 2,
    client_faults.lose_heartbeat.name: 1,
    timers.move_coordinator.name: 1,
    timers.add_partition.name: 1,
    FAILING: 4,
}
"""How often each is chosen. `freeze`: a process stands still; `busy`: its application; `slow`: its
next callback takes long; `failing`: for a while no records are appended (where that may happen).
"""
_OF_GROUP = (timers.move_coordinator.name, timers.add_partition.name)
_FAULTS = (*TROUBLES, FAILS, client_faults.delay_heartbeat.name)
_WHOLE = (
    java_rules.application_closes.name,
    java_rules.java_poll_timeout.name,
    timers.ghost_expires.name,
)
"""What only happens while records are appended, as the model has it."""
Option = tuple[Firing, State]


@define
class Course:
    """One run; `play` gives each firing to `fired`, with the states before and after it."""

    semantics: Semantics
    records: Records
    positions: Positions
    choose: random.Random
    # Takes (firing, before, after), and what the troubles are: (process, which).
    fired: Callable[[Firing, State, State], None]
    troubled: Callable[[int, str], None]
    # Troubles begin no more after so many ms.
    until: float
    members: int
    # Process -> until when it, or its application, stands still.
    frozen: dict[int, float] = Factory(dict)
    busy: dict[int, float] = Factory(dict)
    # Process -> how long its next callback takes, in ms.
    slow: dict[int, float] = Factory(dict)
    # Process -> what its next heartbeat suffers.
    lossy: dict[int, str] = Factory(dict)
    # Until when no records are appended.
    failing: float = 0.0
    # Process -> how many of its last heartbeats found a coordinator that could not append.
    failed: dict[int, int] = Factory(dict)
    # How often that began.
    windows: int = 0
    # Process -> when it sent its last heartbeat, and since when its application has not polled.
    sent: dict[int, float] = Factory(dict)
    away: dict[int, float] = Factory(dict)
    # (rule, process) -> when what is possible will happen.
    _due: dict[tuple[str, int | None], float] = Factory(dict)
    _next_trouble: float = field(init=False)
    ended: bool = False

    def __attrs_post_init__(self) -> None:
        self._next_trouble = 5000 + self._pause(MEAN_TROUBLE_MS)

    @property
    def now(self) -> float:
        return self.records.now

    def _pause(self, mean: float) -> float:
        return self.choose.expovariate(1 / mean)

    def play(self, most: int) -> bool:
        """Runs, for so many steps at most. Whether the group is empty at the end, with nothing on
        its way.
        """
        state = self.choose.choice(self.semantics.starts())[2]
        options = [*self._options(state)]
        for _ in range(most):
            if self._over(state):
                return True
            planned = [*self._planned(options, state)]
            first = min(planned, key=lambda one: one[0], default=None)
            if self._commits(first[0] if first else NEVER, state):
                continue
            if not self.ended and self._next_trouble < (first[0] if first else NEVER):
                self.records.now = max(self.now, self._next_trouble)
                self._next_trouble = self.now + self._pause(MEAN_TROUBLE_MS)
                self.ended = self.now > self.until
                found = None if self.ended else self._trouble(options, state)
                if found is None:
                    continue
                chosen = found
            elif first is None or first[0] == NEVER:
                return False
            else:
                self.records.now, chosen = max(self.now, first[0]), first[1]
            state = self._take(chosen, state)
            options = [*self._options(state)]
        return False

    def _commits(self, first: float, state: State) -> bool:
        """A member commits or fetches, unless something else comes before: a step at `first`, or a
        trouble.
        """
        if not self.ended:
            first = min(first, self._next_trouble)
        if self.failing > self.now:
            return False
        planned = self.positions.planned(state, self.frozen, self.busy)
        at, act = min(planned, key=lambda one: one[0], default=(NEVER, None))
        if act is None or at >= first:
            return False
        self.records.now = max(self.now, at)
        self.positions.reads(state, self._stands)
        act(state)
        return True

    def _stands(self, me: int) -> bool:
        return max(self.frozen.get(me, 0.0), self.busy.get(me, 0.0)) > self.now

    def _take(self, chosen: Option, state: State) -> State:
        """A step: a firing, and all urgent ones that follow it."""
        firing, after = chosen
        rule, me = firing.name.partition(":")[0], firing.me
        ends = _ends_process(firing)
        self.positions.reads(state, self._stands)
        self.positions.begins(firing, state)
        if rule == java_rules.application_subscribes.name and me is not None:
            self._starts(me)
        if _beats(rule) and me is not None:
            self.sent[me] = self.now
            self.positions.hurried.discard(me)
            self.failed[me] = self.failed.get(me, 0) + 1 if rule == FAILS else 0
            self.lossy.pop(me, None)
        while True:
            self.records.fired(firing, state, after)
            self.positions.fired(firing, state, after)
            self.fired(firing, state, after)
            self._after(firing, state, after)
            state = after
            urgent = next(self._firings(self.semantics.urgent, state), None)
            if urgent is None:
                if ends and me is not None:
                    self._ended(me)
                return state
            firing, after = self.choose.choice(urgent)
            self.records.now += 0.02

    def _starts(self, me: int) -> None:
        """A process that has none starts a consumer."""
        if me not in self.records.ids:
            self.records.start(me)
        if not self.ended and self._may_fail() and self.choose.random() < FAILS_AT_START:
            self._fails(5000)

    def _may_fail(self) -> bool:
        allowed = self.positions.scope.budget.allows("append_failure")
        return allowed and self.windows < MOST_WINDOWS

    def _fails(self, most: float) -> None:
        """Nothing is appended from now on, for so many ms at most."""
        self.windows += 1
        self.failing = self.now + self.choose.uniform(1500, most)

    def _after(self, firing: Firing, before: State, after: State) -> None:
        """What the firing means for the process."""
        me = firing.me
        if me is None:
            return
        was, now = self._client(before, me), self._client(after, me)
        if now.running is not None and was.running is None:
            self.away[me] = self.now
            lasts = self.slow.pop(me, 1 + self._pause(15))
            self.busy[me] = max(self.busy.get(me, 0.0), self.now + lasts)
        elif was.running is not None and now.running is None:
            self.away.pop(me, None)

    def _ended(self, me: int) -> None:
        """The process has come to its end."""
        for known in (
            self.records.ids,
            self.frozen,
            self.busy,
            self.slow,
            self.lossy,
            self.away,
            self.failed,
        ):
            known.pop(me, None)
        self.positions.ended(me)

    # -- what is possible

    def _firings(self, instances: Any, state: State) -> Iterator[list[Option]]:
        for instance in instances:
            found = [
                (firing, after) for firing, after, _ in self.semantics.firings(instance, state)
            ]
            if found:
                yield found

    def _options(self, state: State) -> Iterator[Option]:
        for some in self._firings(self.semantics.ordinary, state):
            yield from some

    def _client(self, state: State, me: int) -> JavaMember:
        client: JavaMember = state[self.semantics.at["client", me]]
        return client

    def _link(self, state: State, me: int) -> Link:
        link: Link = state[self.semantics.at["link", me]]
        return link

    def _over(self, state: State) -> bool:
        if not self.ended:
            return False
        named = self.semantics.named(state)
        gone = all(client == JavaMember() for client in named["client"])
        quiet = not named["core"].members and not named["ghosts"] and named["walk"] == REST
        return gone and quiet and all(idle(link) for link in named["link"])

    # -- when

    def _planned(self, options: list[Option], state: State) -> Iterator[tuple[float, Option]]:
        """The steps that come by themselves, each with its time."""
        alive: set[tuple[str, int | None]] = set()
        for option in options:
            firing, after = option
            rule, _, label = firing.name.partition(":")
            key = rule, firing.me
            fails = self.failing > self.now
            if (label == "failed") > fails or (label == "removed" and fails):
                continue
            if not self._by_itself(rule, option, state):
                continue
            alive.add(key)
            if key not in self._due:
                self._due[key] = self.now + self._soon(rule)
            at = self._at(rule, firing, state, after)
            at = self._due[key] if at is None else at
            yield (max(at, self.failing) if self._whole(rule, firing, state) else at), option
        for gone in self._due.keys() - alive:
            del self._due[gone]

    def _whole(self, rule: str, firing: Firing, state: State) -> bool:
        """Does it only happen while records are appended? So do commits."""
        if rule in _WHOLE or firing.me is None:
            return rule in _WHOLE
        client = self._client(state, firing.me)
        if rule == java_rules.java_callback_returns.name and client.running is not None:
            return client.running.calls in (Calls.LEAVING, Calls.CLOSING)
        commits = client.state == Member.RECONCILING and client.taking is None
        return rule == java_rules.application_polls.name and commits

    def _by_itself(self, rule: str, option: Option, state: State) -> bool:
        """Does it come without a trouble? The next heartbeat may be the one that gets lost."""
        me = option[0].me
        if me is not None and _beats(rule):
            usual = FAILS if self.failing > self.now else java_rules.java_heartbeat.name
            return self.lossy.get(me, usual) == rule
        if rule == java_rules.application_subscribes.name and me is not None:
            scope = self.positions.scope
            by_pattern = bool(self._client(option[1], me).pattern)
            # two of three members
            return not scope.patterns or by_pattern == (me % 3 != 1)
        return rule not in _FAULTS or self._ends(option, state)

    def _ends(self, option: Option, state: State) -> bool:
        """At the end each process closes; one that cannot is ended."""
        rule = option[0].name.partition(":")[0]
        me = option[0].me
        if me is None:
            return False
        client = self._client(state, me)
        if rule == java_rules.application_closes.name:
            return self.ended
        if rule == client_faults.crash.name:
            stuck = client.state in (Member.FATAL, Member.UNSUBSCRIBED)
            return client.state == Member.FATAL or (self.ended and stuck)
        return False

    def _soon(self, rule: str) -> float:
        """How long something waits that is not bound to a time."""
        if rule == java_rules.application_subscribes.name:
            return self.choose.uniform(100, 6000)
        if rule in (java_rules.application_closes.name, client_faults.crash.name):
            return self.choose.uniform(500, 9000)
        if rule == java_rules.find_coordinator.name:
            return self.choose.uniform(5, 200)
        return self.choose.uniform(1, 60)

    def _at(self, rule: str, firing: Firing, state: State, after: State) -> float | None:
        """When a step comes whose time follows from others; None: soon."""
        me = firing.me
        if rule == timers.interval_passes.name:
            return self.records.planned + INTERVAL_MS
        if rule == timers.ghost_expires.name:
            return self.records.ghost_of(state, after).heard + SESSION_MS
        if me is None:
            return None
        if rule == timers.session_timeout.name:
            return self.records.of[me].heard + SESSION_MS
        if rule == timers.rebalance_timeout.name:
            return self.records.of[me].armed + POLL_MS
        thaws = self.frozen.get(me, 0.0)
        if rule == java_rules.application_subscribes.name and self.ended:
            return NEVER
        if rule == java_rules.java_poll_timeout.name:
            since = self.away.get(me)
            return NEVER if since is None else max(since + POLL_MS, thaws)
        if _beats(rule):
            return max(self._beat_at(me, state), thaws)
        if rule == java_rules.commit_ends.name and self.positions.repeats(me):
            return NEVER
        soon = self._due[rule, me]
        if rule in _OF_APPLICATION:
            soon = max(soon, self.busy.get(me, 0.0))
        return max(soon, thaws)

    def _beat_at(self, me: int, state: State) -> float:
        client = self._client(state, me)
        if self.failed.get(me) and me in self.sent:
            return self.sent[me] + min(RETRY_MS << self.failed[me], HEARTBEAT_MS)
        if client.state in _AT_ONCE or me in self.positions.hurried:
            return self._due.get((java_rules.java_heartbeat.name, me), self.now)
        last = self.sent.get(me, self.now - HEARTBEAT_MS)
        if me in self.lossy or not client.full:
            return last + HEARTBEAT_MS
        return min(last + HEARTBEAT_MS, self.now + 100)

    # -- troubles

    def _trouble(self, options: list[Option], state: State) -> Option | None:
        """A trouble begins; the step that it is, if it is one. They come one after another."""
        if self.failing > self.now:
            return None
        possible: dict[str, list[Option]] = {}
        for option in options:
            possible.setdefault(option[0].name.partition(":")[0], []).append(option)
        kinds = [k for k in TROUBLES if k in (FREEZE, BUSY, SLOW) or k in possible]
        if self._may_fail():
            kinds.append(FAILING)
        kind = self.choose.choices(kinds, [TROUBLES[k] for k in kinds])[0]
        live = [me for me in range(self.members) if self._settled(state, me)]
        if kind == FAILING:
            self._fails(8000)
            return None
        if kind in _OF_GROUP:
            return self.choose.choice(possible[kind])
        if not live:
            return None
        me = self.choose.choice(live)
        if kind == FREEZE:
            self.frozen[me] = self.now + self.choose.choice((2500, 3500, SESSION_MS + 2500))
        elif kind == BUSY:
            lasts = self.choose.choice((3000, 5000, POLL_MS + 3000))
            self.busy[me], self.away[me] = self.now + lasts, self.now
        elif kind == SLOW:
            self.slow[me] = self.choose.choice((800, 2500, POLL_MS + 4000))
        elif kind in LOSSES:
            self.lossy[me] = kind
        else:
            mine = [o for o in possible[kind] if o[0].me == me and not o[0].name.endswith("failed")]
            return self.choose.choice(mine) if mine else None
        self.troubled(me, kind)
        return None

    def _settled(self, state: State, me: int) -> bool:
        """Is it a member without trouble?"""
        client = self._client(state, me)
        calm = max(self.frozen.get(me, 0.0), self.busy.get(me, 0.0)) < self.now
        return client.beats and calm and me not in self.lossy and client.running is None


_OF_APPLICATION = (
    java_rules.application_polls.name,
    java_rules.application_subscribes.name,
    java_rules.unsubscribe_goes_on.name,
    java_rules.java_callback_returns.name,
    java_rules.application_closes.name,
)


def _beats(rule: str) -> bool:
    return rule == java_rules.java_heartbeat.name or rule == FAILS or rule in LOSSES


def _ends_process(firing: Firing) -> bool:
    rule, _, label = firing.name.partition(":")
    closes = rule in (java_rules.application_closes.name, java_rules.java_callback_returns.name)
    return (closes and label == "closed") or rule == client_faults.crash.name
