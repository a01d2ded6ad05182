"""The processes of a simulated group, of any family: they start and stop, stand still, poll, and
work on what their members own.

An application works for a while between two polls. What a member has to do in a poll therefore
waits until the work at hand is done. Of these polls only those happen as events that matter: how
much of the work at hand is left at a random moment follows from the distribution of its length
(`Distribution.met`). A member that owns nothing has no work and waits in poll.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Generic, TypeVar

from groupcheck.oracles.simulate.parts import SimulatedGroup

NEVER = float("inf")
G = TypeVar("G", bound=SimulatedGroup)


class Processes(ABC, Generic[G]):
    """All processes of a group."""

    # The work is done by other threads than the one that polls.
    _aside = False

    def __init__(self, group: G) -> None:
        self.group = group
        n = group.size
        self._first = group.world.first["client"]
        self.up = [False] * n
        self._lives = [0] * n  # how often the process has ended: timers of a former life are void
        self.stalled_until = [0.0] * n
        self._slow_until = [0.0] * n  # it works on a message that takes long
        self._paused_until = [0.0] * n  # the whole process stands still
        self._backs_off = [0.0] * n  # it has lost a message, and tries again then
        self._busy_until = [0.0] * n  # when the next poll is, as far as that is decided
        self._next_beat = [NEVER] * n
        self._due = [False] * n  # a heartbeat is due, but a message is on its way
        self._wants = [False] * n  # something waits until the connection is free
        self._polls = [False] * n  # a poll is scheduled
        self._polling = -1  # the member that polls at this moment
        self._again: set[int] = set()  # it starts again as soon as it has closed
        self._stops: dict[int, str] = {}  # member -> the rule by which the scenario stops it
        # Member -> the partitions that it has got and does not work on yet, a mask for each answer
        # by its number.
        self._resumes: list[dict[int, int]] = [{} for _ in range(n)]
        self._got = 0

    def client(self, index: int) -> Any:
        return self.group.world.values[self._first + index]

    # -- what a family says

    @abstractmethod
    def workable(self, client: Any) -> int:
        """The partitions that a member may work on."""

    @abstractmethod
    def has_share(self, index: int) -> bool:
        """Has the member taken over its share, and is there nothing else to hear of?"""

    @abstractmethod
    def consider(self, index: int) -> None:
        """Decides what the member does next."""

    @abstractmethod
    def _stopped(self, index: int, rule: str) -> None:
        """The member closes, dies, or leaves since it polls too late, by this rule."""

    @abstractmethod
    def _beat(self, index: int, expected: float) -> None:
        """The timer of heartbeats expires; `expected`: the time of that timer."""

    @property
    @abstractmethod
    def heartbeat_interval_ms(self) -> float:
        """The time between two heartbeats."""

    @abstractmethod
    def phase(self, index: int) -> float:
        """How long ago (ms) the last heartbeat of a member was, where the group has rested for
        long.
        """

    # -- what the scenario does

    def start(self, index: int) -> None:
        """The process starts and polls; one that has still to close does so first. One that runs
        goes on.
        """
        if self._stops.get(index) == "close":
            self._again.add(index)
            return
        if self.up[index]:
            return
        self.up[index] = True
        self.group.observer.comes(index, self.group.clock.now)
        self.consider(index)

    def stop(self, index: int, rule: str) -> None:
        """The process ends, if it runs: `close`, or `crash`. A closing one waits for its answer."""
        now = self.group.clock.now
        if not self.up[index]:
            return
        if rule == "close" and not self.group.free(index):
            self._stops[index] = rule
            return
        self.up[index] = False
        self._lives[index] += 1
        self._stops.pop(index, None)
        self.stalled_until[index] = self._slow_until[index] = 0.0
        self.group.observer.gone(index, now)
        self._stopped(index, rule)
        self._next_beat[index] = NEVER
        self._due[index] = self._wants[index] = False
        if index in self._again:
            self._again.discard(index)
            self.start(index)

    def _stops_now(self, index: int) -> bool:
        """Does the process end, or leave, now that no message is on its way?"""
        rule = self._stops.pop(index, "")
        if rule == "poll_timeout":
            self._stopped(index, rule)
        elif rule:
            self.stop(index, rule)
        return bool(rule)

    def stall(self, index: int, length_ms: float) -> None:
        """The application does not poll for so long; the heartbeat thread goes on."""
        group = self.group
        now = group.clock.now
        self.stalled_until[index] = now + length_ms
        group.observer.gone(index, now)
        group.clock.at(now + length_ms, self._recovers, index, self._lives[index])
        if length_ms > group.assumptions.max_poll_interval_ms:
            late = now + group.assumptions.max_poll_interval_ms
            group.clock.at(late, self._late, index, self._lives[index])

    def slow(self, index: int, length_ms: float) -> None:
        """The member's next message takes so long. It works on it, and does not poll meanwhile; no
        second one begins before it is done, and none where the member has nothing to work on.
        """
        now = self.group.clock.now
        if self.group.observer.serving.get(index) and self._slow_until[index] <= now:
            self._slow_until[index] = now + length_ms

    def pauses_from(self, index: int) -> None:
        """The process stands still now and then (`Assumptions.pause_every_s`)."""
        a = self.group.assumptions
        if a.pause_every_s:
            gap = self.group.streams("pause", index).expovariate(1 / (a.pause_every_s * 1000))
            self.group.clock.at(self.group.clock.now + gap, self._pauses, index)

    def _pauses(self, index: int) -> None:
        if self.up[index]:
            length = self.group.assumptions.pause_ms.draw(self.group.streams("pause", index))
            self.pause(index, length)
        self.pauses_from(index)

    def pause(self, index: int, length_ms: float) -> None:
        """The whole process stands still for so long: it neither polls nor sends heartbeats."""
        until = self.group.clock.now + length_ms
        self._paused_until[index] = max(self._paused_until[index], until)
        self._busy_until[index] = max(self._busy_until[index], until)
        self.group.clock.at(until, self.consider, index)

    def freeze(self, index: int, length_ms: float) -> None:
        """A scenario pauses the whole process: as in a stall, its time does not count as lost."""
        now = self.group.clock.now
        self.stalled_until[index] = max(self.stalled_until[index], now + length_ms)
        self.group.observer.gone(index, now)
        self.pause(index, length_ms)
        self.group.clock.at(now + length_ms, self._recovers, index, self._lives[index])

    def _recovers(self, index: int, life: int) -> None:
        if self.up[index] and life == self._lives[index]:
            self._work(index, self.workable(self.client(index)))
            self.consider(index)

    def _late(self, index: int, life: int) -> None:
        """max.poll.interval.ms is over: the heartbeat thread leaves the group."""
        if self.up[index] and life == self._lives[index] and not self.healthy(index):
            if self.group.free(index):
                self._stopped(index, "poll_timeout")
            else:
                self._stops[index] = "poll_timeout"

    # -- work

    def healthy(self, index: int) -> bool:
        """Does the process run and poll?"""
        return self.up[index] and self.stalled_until[index] <= self.group.clock.now

    def _work(self, index: int, more: int) -> None:
        """The member works on what it owns, as far as it has begun with it, and on these partitions
        (a bit mask) from now on.
        """
        observer = self.group.observer
        if not self.healthy(index):
            return
        owned = self.workable(self.client(index))
        working = owned & (observer.serving.get(index, 0) | more)
        waits = not working and not (self.has_share(index) and not owned)
        observer.serves(index, working, self.group.clock.now, pauses=waits)

    def changed(self, index: int, old: Any) -> None:
        """The member's memory has changed."""
        group = self.group
        now = group.clock.now
        group.observer.believes(now)
        self._work(index, 0)
        before, after = self.workable(old), self.workable(self.client(index))
        if lost := before & ~after:  # if it gets them again, it begins anew
            resumes = self._resumes[index]
            self._resumes[index] = {got: mask & ~lost for got, mask in resumes.items()}
        if more := after & ~before:
            group.observer.gets(index, more)
            self._got += 1
            self._resumes[index][self._got] = more
            at = now + group.assumptions.resume_ms.draw(group.streams("resume", index))
            if self._aside:
                group.clock.at(at, self._resume, index, self._got)
            else:
                asks = now + group.assumptions.network_ms.draw(group.streams("position", index))
                group.clock.at(asks, self._looks_up, index, self._got, at)
        self.consider(index)

    def _looks_up(self, index: int, got: int, ready_ms: float) -> None:
        """The coordinator is asked for committed offsets; what the member has got is ready by as
        much later as that waits there.
        """
        group, now = self.group, self.group.clock.now
        service = group.assumptions.service_ms.draw(group.streams("position", index))
        waited = group.coordinator.work(now, service) - now
        group.clock.at(max(ready_ms + waited, now), self._resume, index, got)

    def _resume(self, index: int, got: int) -> None:
        """The member is ready to work on partitions that it has got."""
        if more := self._resumes[index].pop(got, 0):
            self._work(index, more)

    def rest(self) -> bool:
        """Has every process that runs taken over its share, with nothing on its way?"""
        return all(not up or self._rests(index) for index, up in enumerate(self.up))

    def _rests(self, index: int) -> bool:
        owned = self.workable(self.client(index))
        works = self.group.observer.serving.get(index, 0) == owned
        return works and self.healthy(index) and self.has_share(index)

    # -- polls

    def next_poll(self, index: int) -> float:
        """When the application polls next."""
        now = self.group.clock.now
        if self.stalled_until[index] > now:
            return self.stalled_until[index]
        if self._backs_off[index] > now:
            return self._backs_off[index]
        if (later := max(self._busy_until[index], self._slow_until[index])) > now:
            return later
        if self._polling == index or self._aside or not self.workable(self.client(index)):
            return now
        a, rng = self.group.assumptions, self.group.streams("processing", index)
        share, rest, whole = rng.random(), rng.random(), a.processing_ms.met(rng)
        if share < a.busy:
            self._busy_until[index] = now + rest * whole
        return max(now, self._busy_until[index])

    def _polled(self, index: int) -> None:
        """The poll ends, and the application works on what it has got."""
        self._polling = -1
        self._busy_until[index] = 0.0
        if not self._aside and self.workable(self.client(index)):
            a, rng = self.group.assumptions, self.group.streams("processing", index)
            share, length = rng.random(), a.processing_ms.draw(rng)
            if share < a.busy:
                self._busy_until[index] = self.group.clock.now + length

    # -- timers

    def beat_from(self, index: int, time_ms: float) -> None:
        """The next heartbeat is due then."""
        self._due[index] = False
        self._next_beat[index] = time_ms
        self.group.clock.at(time_ms, self._beat, index, time_ms)

    def looks_from(self, index: int) -> None:
        """The member begins to look at the topics now and then, where that does anything."""
