"""The coordinator's side of a classic group: one thread that works on one request after the other,
timers, and the answers that it sends.

Since nobody else looks at its memory, the state changes when a request arrives, in that order, and
what follows (answers, timers) happens when the thread is done with it.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from groupcheck.model.protocol.classic import timers
from groupcheck.model.protocol.classic.group import Core, Phase
from groupcheck.model.protocol.codes import NONE
from groupcheck.model.protocol.link import Link
from groupcheck.model.protocol.messages import JoinGroup, Store
from groupcheck.oracles.simulate import losses
from groupcheck.oracles.simulate.drives import APPENDS, COMMIT, TIMERS, commit_key
from groupcheck.oracles.simulate.parts import Parts
from groupcheck.oracles.simulate.sizes import join_answer_bytes
from groupcheck.oracles.simulate.thread import Thread
from groupcheck.oracles.simulate.world import Bound


def _leader(seats: Any) -> int | None:
    """The id of the group's leader, if it is one of this process. Where the coordinator plans,
    nobody leads.
    """
    return getattr(seats, "leader", None)


class Coordinator(Thread[Parts]):
    """The thread, the timers and the connections of one coordinator."""

    def __init__(self, group: Parts) -> None:
        super().__init__(group)
        rules = group.world.rules
        own = {name: timer for name, timer in TIMERS.items() if name in rules}
        self._timers = {n: t for n, t in own.items() if "seats" not in rules[n].rule.slots}
        # Rules that concern one process, and what they wait for: an append, or a timer.
        appends = [(rules[name], True) for name in APPENDS if name in rules]
        self._of_one = [*appends, *((rules[n], False) for n in own if n not in self._timers)]
        self._running: dict[Hashable, Hashable] = {}  # timer -> its key
        self._numbered = 0
        self._extension = 0.0  # by how much the initial delay may still be extended
        # Member -> id -> when the coordinator last heard of it.
        self._heard: list[dict[int, list[float]]] = [{} for _ in range(group.size)]
        # The number of each member's last message: what is on its way for an earlier one is void.
        self.turn = [0] * group.size
        self._outgoing: list[tuple[int, Link]] = []

    # -- requests

    def arrive(self, index: int, turn: int) -> None:
        """A request arrives, and is handled behind all that came before."""
        link = self.group.link(index)
        if turn != self.turn[index] or link.request is None:
            return  # its connection is gone
        a = self.group.assumptions
        now = self.group.clock.now
        service = a.service_ms.draw(self.group.streams("service", index))
        if isinstance(link.request, JoinGroup):
            service += a.join_ms_per_member * self.group.core.members
        self._handle(index, self.work(now, service))

    def _commits(self, index: int, turn: int, leaves_ms: float) -> None:
        """The offsets of a member that gives up partitions arrive. Its JoinGroup would arrive at
        `leaves_ms`, and by as much later as the commit waits here.
        """
        group, now = self.group, self.group.clock.now
        service = group.assumptions.service_ms.draw(group.streams("commit", index))
        waited = self.work(now, service) - now
        group.clock.at(max(leaves_ms + waited, now), self.arrive, index, turn)

    def stored(self, index: int, turn: int) -> None:
        """Handles the commit of what the coordinator has appended for this member."""
        if turn == self.turn[index] and self.group.link(index).request is not None:
            self._handle(index, self.work(self.group.clock.now, 0.0))

    def _handle(self, index: int, done: float) -> None:
        group = self.group
        link = group.link(index)
        bound = group.handler(link)
        found = group.world.outcomes(bound, index)
        assert len(found) == 1, f"{bound.name} has {len(found)} outcomes"
        said = getattr(link.request, "id", None)
        group.take(bound, index, found[0], done, of_member=False)
        self._hears(index, said, done)

    # -- links

    def link_changed(self, index: int, old: Link, now: float, of_member: bool) -> None:
        """A request travels, an answer is to be sent, or the next request is read."""
        group = self.group
        link = group.link(index)
        if of_member and len(link.queue) > len(old.queue):
            group.observer.sent(link.queue[-1])
        request = link.request
        if request is not None and request != old.request:
            turn = self.turn[index] = self.turn[index] + 1
            if of_member:
                group.observer.sent(request)
                network = group.assumptions.network_ms
                arrives = now + network.draw(group.streams("network", index))
                revokes = 0.0
                if isinstance(request, JoinGroup):
                    revokes = group.members.preparing(index)
                    arrives += revokes + losses.delayed(group, index, request)
                if revokes and group.members.commits:
                    commit = now + network.draw(group.streams("commit", index))
                    group.clock.at(commit, self._commits, index, turn, arrives)
                else:
                    group.clock.at(arrives, self.arrive, index, turn)
            elif isinstance(request, Store):
                append = group.assumptions.append_ms.draw(group.streams("append", index))
                group.clock.at(now + append, self.stored, index, turn)
            else:
                group.clock.at(now, self.arrive, index, turn)
        elif link.answer is not None and link.answer != old.answer:
            self._outgoing.append((index, old))
        elif request is None and link.answer is None and link.queue and link.parked is None:
            group.clock.at(now, self._read, index)
        if link.orphaned and not old.orphaned:
            gives_up = now + group.assumptions.request_timeout_ms
            group.clock.at(gives_up, group.members.gives_up, index, link.parked)

    def _read(self, index: int) -> None:
        group = self.group
        bound = group.world.rules[timers.read_next.name]
        if group.free(index) and (found := group.world.outcomes(bound, index)):
            group.take(bound, index, found[0], group.clock.now, of_member=False)

    def flush(self, done: float) -> None:
        """The answers of a step go out, one after the other."""
        done, self._longer = done + self._longer, 0.0
        if not self._outgoing:
            self.busy_until(done)
            return
        group, a = self.group, self.group.assumptions
        sent, self._outgoing = self._outgoing, []
        at = done
        for index, old in sent:
            answer = group.link(index).answer
            assert answer is not None
            if answer.request == old.parked:
                at += a.answer_ms
            size = 0
            if isinstance(answer.request, JoinGroup):
                leads = answer.code == NONE and _leader(group.seats(index)) == answer.id
                size = join_answer_bytes(group, leads)
                group.observer.join_bytes += size
            latency = a.network_ms.draw(group.streams("network", index))
            turn = self.turn[index] = self.turn[index] + 1
            arrives = at + size / a.bytes_per_ms + latency
            group.clock.at(arrives, group.members.receive, index, turn)
            self._hears(index, answer.id, at)
        self.busy_until(at)

    # -- timers of the group

    def core_changed(self, old: Core, now: float) -> None:
        """Timers start and stop."""
        group = self.group
        core: Core = group.core
        if core.generation != old.generation:
            group.observer.begins(core.generation - old.generation)
        if core.phase != old.phase or core.generation != old.generation:
            group.observer.changed = max(group.observer.changed, now)
        for name, timer in self._timers.items():
            key = timer.key(core)
            if key != self._running.get(name):
                self._running[name] = key
                if key is not None:
                    delay = timer.delay(core, group.assumptions)
                    if name == timers.initial_delay.name:
                        self._extension = max(group.assumptions.max_poll_interval_ms - delay, 0.0)
                    group.clock.at(now + delay, self._expire, name, key)
        key = commit_key(core) if COMMIT in group.world.rules else None
        if key != self._running.get(COMMIT):
            self._running[COMMIT] = key
            if key is not None:
                append = group.assumptions.append_ms.draw(group.streams("append"))
                group.clock.at(now + append, self._expire, COMMIT, key)

    def _expire(self, name: str, key: Hashable) -> None:
        """A timer of the group fires, unless it has been stopped."""
        if self._running.get(name) != key:
            return
        group = self.group
        bound = group.world.rules[name]
        found = group.world.outcomes(bound, 0)
        if not found:
            return
        a = group.assumptions
        outcome = found[0]
        if name == timers.initial_delay.name and self._extension > 0:
            outcome = next((o for o in found if o[0].endswith(":extended")), outcome)
        now = group.clock.now
        if outcome[0].endswith(":extended"):
            delay = min(a.initial_rebalance_delay_ms, self._extension)
            self._extension -= delay
            group.clock.at(now + delay, self._expire, name, key)
        elif outcome[0].endswith(":postponed"):
            group.clock.at(now + a.max_poll_interval_ms, self._expire, name, key)
        else:
            self._running[name] = None
        done = self.work(now, a.service_ms.draw(group.streams("coordinator")))
        group.take(bound, 0, outcome, done, of_member=False)

    # -- timers of members

    def _hears(self, index: int, id: int | None, now: float) -> None:
        heard = None if id is None else self._heard[index].get(id)
        if heard is not None:
            heard[0] = max(heard[0], now)

    def seats_changed(self, index: int, now: float) -> None:
        """Ids come and go, and appends that concern one member begin."""
        group = self.group
        known = dict(group.seats(index).ids)
        mine = self._heard[index]
        for id in [id for id in mine if id not in known]:
            del mine[id]
        for id in known:
            if id not in mine:
                heard = mine[id] = [now]
                patience = min(
                    group.assumptions.session_timeout_ms, group.assumptions.new_member_timeout_ms
                )
                group.clock.at(now + patience, self._look, index, id, heard)
        a = group.assumptions
        for bound, append in self._of_one:
            timer = (bound.name, index)
            if not group.world.outcomes(bound, index):
                self._running.pop(timer, None)
            elif timer not in self._running:
                self._numbered += 1
                self._running[timer] = self._numbered
                rng = group.streams("append", index)
                delay = a.append_ms.draw(rng) if append else a.max_poll_interval_ms
                group.clock.at(now + delay, self._over, bound, index, self._numbered)

    def _over(self, bound: Bound, index: int, number: int) -> None:
        """An append, or a timer, that concerns one process is over."""
        group = self.group
        timer = (bound.name, index)
        if self._running.get(timer) != number:
            return
        del self._running[timer]
        found = group.world.outcomes(bound, index)
        if found:
            done = self.work(group.clock.now, 0.0)
            group.take(bound, index, found[0], done, of_member=False)

    def _look(self, index: int, id: int, heard: list[float]) -> None:
        """Has the coordinator heard of this id in time?"""
        if self._heard[index].get(id) is not heard:
            return
        group, a = self.group, self.group.assumptions
        now = group.clock.now
        seat = group.seats(index)[id]
        new = getattr(seat, "new", False)
        waits = new and not seat.hurried
        patience = a.new_member_timeout_ms if waits else a.session_timeout_ms
        rule = "new_member_timeout" if new else "session_timeout"
        if now < heard[0] + patience:
            group.clock.at(heard[0] + patience, self._look, index, id, heard)
            return
        bound = group.world.rules.get(rule)
        found = group.world.outcomes(bound, index) if bound else []
        removing = [o for o in found if self._removes(bound, o, id)]
        if not removing:  # it waits for the coordinator itself
            group.clock.at(now + patience, self._look, index, id, heard)
            return
        done = self.work(now, a.service_ms.draw(group.streams("coordinator")))
        assert bound is not None
        client = group.members.client(index)
        group.observer.expired += group.members.up[index] and client.id == id
        group.take(bound, index, removing[0], done, of_member=False)

    @staticmethod
    def _removes(bound: Any, outcome: Any, id: int) -> bool:
        seats = outcome[1][bound.rule.slots.index("seats")]
        return seats[id] is None

    def rests(self) -> bool:
        """Is the group Stable, with nothing appended?"""
        core: Core = self.group.core
        waits = getattr(core, "pending", 0) or getattr(core, "due", 0)
        return core.phase == Phase.STABLE and not waits

    def knows_all(self) -> bool:
        """Are the ids that the coordinator knows those of the processes that run?"""
        group = self.group
        return all(len(group.seats(index).ids) == up for index, up in enumerate(group.members.up))

    def ages(self, phase_of: Any) -> None:
        """The group has been at rest for long: `phase_of` gives for each member how long ago its
        last heartbeat was, in milliseconds.
        """
        group = self.group
        patience = group.assumptions.session_timeout_ms
        for index, mine in enumerate(self._heard):
            for id, heard in mine.items():
                heard[0] = -phase_of(index)
                group.clock.at(heard[0] + patience, self._look, index, id, heard)
        self.rested()
