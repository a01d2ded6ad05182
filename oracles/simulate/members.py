"""The members' side of a simulation: when a process polls, sends heartbeats, starts and stops.

An application works for a while between two polls. What a member has to do in a poll (send
JoinGroup, read its answer or that of SyncGroup) therefore waits until the work at hand is done. Of
these polls only those happen as events that matter: how much of the work at hand is left at a
random moment follows from the distribution of its length (`Distribution.met`). A member that owns
nothing has no work and waits in poll.

A worker of Connect runs what it owns (`Client.owned` is `Worker.runs`, since no configuration
changes and the coordinator is always found).

Kafka: AbstractCoordinator (HeartbeatThread, ensureActiveGroup), Heartbeat.
"""

from __future__ import annotations

from typing import Any

from groupcheck.model.protocol.classic import client as client_rules
from groupcheck.model.protocol.messages import JoinGroup, SyncGroup
from groupcheck.oracles.simulate import losses
from groupcheck.oracles.simulate.drives import AT_ONCE, AT_POLL, HEARTBEAT, REFRESHES
from groupcheck.oracles.simulate.observer import settled
from groupcheck.oracles.simulate.parts import Parts

SENDS = (client_rules.send_join.name, client_rules.send_sync.name)

NEVER = float("inf")


class Members:
    """All processes of a group."""

    def __init__(self, group: Parts) -> None:
        self.group = group
        n = group.size
        rules = group.world.rules
        self._at_poll = [rules[name] for name in AT_POLL if name in rules]
        self._at_once = [rules[name] for name in AT_ONCE if name in rules]
        self._heartbeat = rules[HEARTBEAT]
        self._first = group.world.first["client"]
        # A worker of Connect does its work in other threads than the one that polls.
        self._aside = "worker" in group.world.first
        self.up = [False] * n
        self.stalled_until = [0.0] * n
        self._slow_until = [0.0] * n  # it works on a message that takes long
        self._paused_until = [0.0] * n  # the whole process stands still
        self._backs_off = [0.0] * n  # it has lost a message, and tries again then
        self._busy_until = [0.0] * n  # when the next poll is, as far as that is decided
        self._next_beat = [NEVER] * n
        self._due = [False] * n  # a heartbeat is due, but a message is on its way
        self._wants = [False] * n  # something waits until the connection is free
        self._acts = [False] * n  # it is scheduled
        self._polls = [False] * n
        self._revoked = [False] * n  # it has given up partitions since its last JoinGroup
        self._polling = -1  # the member that polls at this moment
        self._again: set[int] = set()  # it starts again as soon as it has closed
        self._stops: dict[int, str] = {}  # member -> the rule by which the scenario stops it
        # Member -> the partitions that it has got and does not work on yet, a mask for each answer.
        self._resumes: list[dict[float, int]] = [{} for _ in range(n)]

    def client(self, index: int) -> Any:
        return self.group.world.values[self._first + index]

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
        self._stops.pop(index, None)
        self.stalled_until[index] = self._slow_until[index] = 0.0
        self.group.observer.gone(index, now)
        self._stopped(index, rule, ("heard", "silent", "behind", "unheard"))
        self._next_beat[index] = NEVER
        self._due[index] = self._wants[index] = self._revoked[index] = False
        if index in self._again:
            self._again.discard(index)
            self.start(index)

    def stall(self, index: int, length_ms: float) -> None:
        """The application does not poll for so long; the heartbeat thread goes on."""
        group = self.group
        now = group.clock.now
        self.stalled_until[index] = now + length_ms
        group.observer.gone(index, now)
        group.clock.at(now + length_ms, self._recovers, index)
        if length_ms > group.assumptions.max_poll_interval_ms:
            group.clock.at(now + group.assumptions.max_poll_interval_ms, self._late, index)

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
        self.group.clock.at(now + length_ms, self._recovers, index)

    def _recovers(self, index: int) -> None:
        if self.up[index]:
            self._work(index, self.client(index).owned)
            self.consider(index)

    def _late(self, index: int) -> None:
        """max.poll.interval.ms is over: the heartbeat thread leaves the group."""
        if self.up[index] and not self.healthy(index):
            if self.group.free(index):
                self._stopped(index, "poll_timeout", ("heard", "silent"))
            else:
                self._stops[index] = "poll_timeout"

    def _stopped(self, index: int, rule: str, labels: tuple[str, ...]) -> None:
        group = self.group
        # A family without the rule: leaving late is like closing, and coming back.
        bound = group.world.rules[rule if rule in group.world.rules else "close"]
        found = {o[0].rpartition(":")[2]: o for o in group.world.outcomes(bound, index)}
        if rule != "crash" and losses.lost(group, index):
            labels = labels[::-1] if rule == "close" else ("unheard", *labels)
        if bound.rule.labels:
            outcome = next((found[label] for label in labels if label in found), None)
        else:
            outcome = found.get(rule)
        if outcome is None and rule == "close":  # it has no id yet: nobody knows it
            crash = group.world.rules["crash"]
            found_crash = group.world.outcomes(crash, index)
            bound, outcome = crash, found_crash[0] if found_crash else None
        if outcome is not None:
            group.take(bound, index, outcome, group.clock.now, of_member=True)

    def healthy(self, index: int) -> bool:
        """Does the process run and poll?"""
        return self.up[index] and self.stalled_until[index] <= self.group.clock.now

    def _work(self, index: int, more: int) -> None:
        """The member works on what it owns, as far as it has begun with it, and on these partitions
        (a bit mask) from now on.
        """
        observer = self.group.observer
        client = self.client(index)
        if not self.healthy(index):
            return
        working = client.owned & (observer.serving.get(index, 0) | more)
        waits = not working and not (settled(client) and not client.owned)
        observer.serves(index, working, self.group.clock.now, pauses=waits)

    # -- what follows from a change

    def revoked(self, index: int, old: Any) -> None:
        """Has the member given up something? Then its next JoinGroup leaves later."""
        self._revoked[index] |= bool(old.owned & ~self.client(index).owned)

    def preparing(self, index: int) -> float:
        """How long a member that sends JoinGroup has been busy with giving up partitions."""
        if not self._revoked[index]:
            return 0.0
        self._revoked[index] = False
        return self.group.assumptions.revoke_ms.draw(self.group.streams("revoke", index))

    def changed(self, index: int, old: Any) -> None:
        """The member's memory has changed."""
        group = self.group
        new = self.client(index)
        now = group.clock.now
        group.observer.believes(now)
        self._work(index, 0)
        if lost := old.owned & ~new.owned:  # if it gets them again, it begins anew
            resumes = self._resumes[index]
            self._resumes[index] = {at: mask & ~lost for at, mask in resumes.items()}
        if more := new.owned & ~old.owned:
            group.observer.gets(index, more)
            at = now + group.assumptions.resume_ms.draw(group.streams("resume", index))
            self._resumes[index][at] = self._resumes[index].get(at, 0) | more
            group.clock.at(at, self._resume, index)
        self.consider(index)

    def _resume(self, index: int) -> None:
        """The member is ready to work on partitions that it has got."""
        if more := self._resumes[index].pop(self.group.clock.now, 0):
            self._work(index, more)

    def link_changed(self, index: int) -> None:
        """A message has come or gone."""
        if self._wants[index] and self.group.free(index):
            self.consider(index)

    def consider(self, index: int) -> None:
        """Decides what the member does next."""
        if not self.up[index]:
            return
        group = self.group
        if not group.free(index):
            self._wants[index] = True
            return
        self._wants[index] = False
        if rule := self._stops.pop(index, ""):
            if rule == "poll_timeout":
                self._stopped(index, rule, ("heard", "silent"))
            else:
                self.stop(index, rule)
            return
        world, now = group.world, group.clock.now
        if not self._acts[index] and any(world.outcomes(b, index) for b in self._at_once):
            self._acts[index] = True
            group.clock.at(now + self._planning(index), self._act, index)
        elif not self._polls[index] and any(world.outcomes(b, index) for b in self._at_poll):
            self._polls[index] = True
            group.clock.at(self.next_poll(index), self._poll, index)
        elif self._due[index] and world.outcomes(self._heartbeat, index):
            self._beat(index, NEVER)

    def _planning(self, index: int) -> float:
        """How long the leader works on the plan before it sends SyncGroup."""
        group = self.group
        if not self._at_once or group.seats(index).leader != self.client(index).id:
            return 0.0
        return group.assumptions.assign_ms_per_partition * group.observer.partitions

    def _act(self, index: int) -> None:
        self._acts[index] = False
        self._fire_first(index, self._at_once)

    def _poll(self, index: int) -> None:
        later = max(self.stalled_until[index], self._paused_until[index])
        if self.up[index] and later > self.group.clock.now:
            self.group.clock.at(later, self._poll, index)
            return
        self._polls[index] = False
        self._polling = index
        self._fire_first(index, self._at_poll)
        self._polled(index)

    def _fire_first(self, index: int, rules: list[Any]) -> None:
        group = self.group
        if not self.up[index]:
            return
        if not group.free(index):
            self._wants[index] = True
            return
        for bound in rules:
            found = group.world.outcomes(bound, index)
            if found:
                outcome = found[0]
                if group.assumptions.loss and bound.name in SENDS:
                    asked, (bound, outcome) = bound, losses.sent(group, bound, index, outcome)
                    if bound is not asked:
                        backoff = group.assumptions.retry_backoff_ms
                        self._backs_off[index] = group.clock.now + backoff
                group.take(bound, index, outcome, group.clock.now, of_member=True)
                if group.assumptions.loss:
                    self.consider(index)  # a loss may leave the member as it was
                return

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
        if self._polling == index or not self.client(index).owned or self._aside:
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
        if self.client(index).owned and not self._aside:
            a, rng = self.group.assumptions, self.group.streams("processing", index)
            share, length = rng.random(), a.processing_ms.draw(rng)
            if share < a.busy:
                self._busy_until[index] = self.group.clock.now + length

    # -- heartbeats

    def beat_from(self, index: int, time_ms: float) -> None:
        """The next heartbeat is due then."""
        self._due[index] = False
        self._next_beat[index] = time_ms
        self.group.clock.at(time_ms, self._beat, index, time_ms)

    def _beat(self, index: int, expected: float) -> None:
        """The heartbeat thread finds its timer expired; `expected`: the time of that timer."""
        if expected not in (NEVER, self._next_beat[index]):
            return  # the timer was reset
        group = self.group
        if (later := self._paused_until[index]) > group.clock.now:
            if expected != NEVER:
                self._next_beat[index] = later
                group.clock.at(later, self._beat, index, later)
            return
        if not group.free(index):
            self._due[index] = self._wants[index] = True
            return
        found = group.world.outcomes(self._heartbeat, index)
        if not found:
            self._due[index] = True
            return
        now = group.clock.now
        a = group.assumptions
        jitter = a.retry_backoff_ms * group.streams("heartbeat", index).random()
        self.beat_from(index, now + a.heartbeat_interval_ms + jitter)
        losses.beats(group, index, self._heartbeat, found[0], now)

    # -- topics

    def looks_from(self, index: int) -> None:
        """The member looks at the topics every metadata.max.age.ms, beginning somewhere in that
        time.
        """
        if REFRESHES in self.group.world.rules:
            age = self.group.assumptions.metadata_max_age_ms
            at = age * self.group.streams("metadata", index).random()
            self.group.clock.at(at, self._refresh, index)

    def _refresh(self, index: int) -> None:
        group = self.group
        bound = group.world.rules[REFRESHES]
        if self.up[index] and (found := group.world.outcomes(bound, index)):
            group.take(bound, index, found[0], group.clock.now, of_member=True)
        age = group.assumptions.metadata_max_age_ms
        group.clock.at(group.clock.now + age, self._refresh, index)

    # -- answers

    def receive(self, index: int, turn: int) -> None:
        """An answer arrives. Those of JoinGroup and SyncGroup are read in a poll."""
        group = self.group
        link = group.link(index)
        if turn != group.coordinator.turn[index] or link.answer is None:
            return
        if (later := self._paused_until[index]) > group.clock.now and self.up[index]:
            group.clock.at(later, self.receive, index, turn)
            return
        in_poll = isinstance(link.answer.request, JoinGroup | SyncGroup)
        if in_poll and self.up[index]:
            poll = self.next_poll(index)
            if poll > group.clock.now:
                group.clock.at(poll, self.receive, index, turn)
                return
            self._polling = index
        bound = group.receiver(link)
        outcome = group.world.outcomes(bound, index)[0]
        group.take(bound, index, outcome, group.clock.now, of_member=True)
        if getattr(
            self.client(index), "closing", False
        ):  # the last answer that a closing member waits for?
            closed = group.world.rules["closed"]
            for one in group.world.outcomes(closed, index):
                group.take(closed, index, one, group.clock.now, of_member=True)
        if in_poll:
            self._polled(index)
            self.consider(index)  # an answer such as "join again" may leave the member as it was
        if outcome[0] == f"{client_rules.join_answer.name}:joined":  # HeartbeatThread.enable
            self.beat_from(index, group.clock.now + group.assumptions.heartbeat_interval_ms)

    def gives_up(self, index: int, request: Any) -> None:
        """request.timeout.ms is over, and the coordinator will not answer."""
        group = self.group
        link = group.link(index)
        if link.orphaned and link.parked == request:
            bound = group.world.rules[client_rules.request_timeout.name]
            found = group.world.outcomes(bound, index)
            if found:
                group.take(bound, index, found[0], group.clock.now, of_member=True)
                self.consider(index)

    def rest(self) -> bool:
        """Has every process that runs taken over its share, with nothing on its way?"""
        return all(not up or self._rests(index) for index, up in enumerate(self.up))

    def _rests(self, index: int) -> bool:
        client = self.client(index)
        works = self.group.observer.serving.get(index, 0) == client.owned
        return works and self.healthy(index) and settled(client)
