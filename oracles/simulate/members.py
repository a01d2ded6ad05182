"""The members' side of a classic group: which rules of theirs fire in a poll, when they send
heartbeats, and how they read answers (`processes` has what the processes of all families do).

A worker of Connect runs what it owns (`Client.owned` is `Worker.runs`, since no configuration
changes and the coordinator is always found).

Kafka: AbstractCoordinator (HeartbeatThread, ensureActiveGroup), Heartbeat.
"""

from __future__ import annotations

import math
from typing import Any

from groupcheck.model.protocol.classic import client as client_rules
from groupcheck.model.protocol.messages import JoinGroup, SyncGroup
from groupcheck.oracles.simulate import losses
from groupcheck.oracles.simulate.drives import AT_ONCE, AT_POLL, HEARTBEAT, REFRESHES
from groupcheck.oracles.simulate.observer import settled
from groupcheck.oracles.simulate.parts import Parts
from groupcheck.oracles.simulate.processes import NEVER, Processes

SENDS = (client_rules.send_join.name, client_rules.send_sync.name)

# The labels of a rule by which a process stops, the most usual one first.
LABELS = {"poll_timeout": ("heard", "silent")}
ENDS = ("heard", "silent", "behind", "unheard")


class Members(Processes[Parts]):
    """All processes of a classic group."""

    def __init__(self, group: Parts) -> None:
        super().__init__(group)
        n = group.size
        rules = group.world.rules
        self._at_poll = [rules[name] for name in AT_POLL if name in rules]
        self._at_once = [rules[name] for name in AT_ONCE if name in rules]
        self._heartbeat = rules[HEARTBEAT]
        # A worker of Connect does its work in other threads than the one that polls.
        self._aside = "worker" in group.world.first
        self._acts = [False] * n  # it is scheduled
        self._revoked = [False] * n  # it has given up partitions since its last JoinGroup

    def workable(self, client: Any) -> int:
        owned: int = client.owned
        return owned

    def has_share(self, index: int) -> bool:
        return settled(self.client(index))

    @property
    def heartbeat_interval_ms(self) -> float:
        return self.group.assumptions.heartbeat_interval_ms

    def phase(self, index: int) -> float:
        """All began together with the last round; each heartbeat was late by up to
        retry_backoff_ms.
        """
        a, rng = self.group.assumptions, self.group.streams("heartbeat", index)
        beats = a.group_age_s * 1000 / (a.heartbeat_interval_ms + a.retry_backoff_ms / 2)
        late = beats * a.retry_backoff_ms / 2
        late += rng.gauss(0, 1) * a.retry_backoff_ms * math.sqrt(beats / 12)
        return (a.group_age_s * 1000 - late) % a.heartbeat_interval_ms

    # -- what the scenario does

    def _stopped(self, index: int, rule: str) -> None:
        group, labels = self.group, LABELS.get(rule, ENDS)
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
        if rule != "poll_timeout":
            self._revoked[index] = False

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

    @property
    def commits(self) -> bool:
        """Does a member commit offsets before it joins again?"""
        return not self._aside

    def link_changed(self, index: int) -> None:
        """A message has come or gone."""
        if self._wants[index] and self.group.free(index):
            self.consider(index)

    def consider(self, index: int) -> None:
        if not self.up[index]:
            return
        group = self.group
        if not group.free(index):
            self._wants[index] = True
            return
        self._wants[index] = False
        if self._stops_now(index):
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

    # -- heartbeats

    def _beat(self, index: int, expected: float) -> None:
        """The heartbeat thread finds its timer expired."""
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
