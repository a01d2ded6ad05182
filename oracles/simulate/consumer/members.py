"""The members of a simulated consumer group: simple ones, at the pace of Java's.

- A heartbeat leaves each group.consumer.heartbeat.interval.ms, counted from the one before, and at
  once where a member joins, or has taken its share and says so (Java: shouldHeartbeatNow).
- The application takes part in its polls: in one poll the member begins to take its share, in
  another one onPartitionsRevoked is called, once the offsets are committed, and in a third one
  onPartitionsAssigned (Java since Kafka 4.3: KAFKA-20106). A member that owns nothing waits in
  poll, so that these follow each other at once.
- A member does not work on what it is about to give up, from the moment it begins.
- A last heartbeat is with the coordinator as soon as it is sent, as in the model.
- A member that is refused for good, as a static one is that comes back while the coordinator still
  waits for the one before it (UNRELEASED_INSTANCE_ID), ends with its process, which is started
  again after `restart_ms`.

Kafka: AbstractHeartbeatRequestManager, AbstractMembershipManager (maybeReconcile),
AsyncKafkaConsumer (processBackgroundEvents).
"""

from __future__ import annotations

from groupcheck.model.protocol.consumer.client import Client, Member
from groupcheck.model.protocol.consumer.memory import State
from groupcheck.oracles.simulate import losses
from groupcheck.oracles.simulate.consumer import drives
from groupcheck.oracles.simulate.consumer.parts import ConsumerParts
from groupcheck.oracles.simulate.processes import NEVER, Processes
from groupcheck.oracles.simulate.world import Bound

# They do not wait for the interval.
AT_ONCE = (Member.JOINING, Member.ACKNOWLEDGING)
# What fires in a poll, beside the callbacks.
IN_POLL = (drives.SUBSCRIBES, drives.POLLS_AGAIN, drives.TAKES)


class ConsumerMembers(Processes[ConsumerParts]):
    """All processes of a consumer group."""

    def __init__(self, group: ConsumerParts) -> None:
        super().__init__(group)
        rules = group.world.rules
        self._in_poll = [rules[name] for name in IN_POLL]
        self._returns = rules[drives.RETURNS]
        # By the identity of a client, which is interned: what fires in its next poll.
        self._in_next_poll: dict[int, Bound | None] = {}
        # When the offsets of what a member is about to give up are committed.
        self._committed_at = [0.0] * group.size
        # How often the scenario has ended a process: then nothing starts it again.
        self._ended = [0] * group.size

    def workable(self, client: Client) -> int:
        if client.state == Member.STALE:
            return 0  # it does not poll, and loses everything when it does
        taking = client.taking
        if taking is None or taking.assigns or taking.aborted:
            return client.holds
        return client.holds & taking.share

    def has_share(self, index: int) -> bool:
        client: Client = self.client(index)
        seat = self.group.seat(index)
        if client.state != Member.STABLE or not client.done or client.taking is not None:
            return False
        if seat is None or self.group.core.pending or seat.assigned != client.holds:
            return False
        return seat.current and seat.state == State.STABLE

    @property
    def heartbeat_interval_ms(self) -> float:
        return self.group.assumptions.consumer_heartbeat_interval_ms

    def phase(self, index: int) -> float:
        """A member keeps its own pace, whatever the others do."""
        return self.heartbeat_interval_ms * self.group.streams("heartbeat", index).random()

    # -- what the scenario does

    def _stopped(self, index: int, rule: str) -> None:
        group, now = self.group, self.group.clock.now
        if rule == "poll_timeout":
            group.fire(drives.POLL_TIMEOUT, index, now)
            return
        if rule == "close" and not losses.lost(group, index):
            bound = group.world.rules[drives.CLOSE]
            if found := group.world.outcomes(bound, index):
                group.take(bound, index, found[0], now)
                return
        seat = group.seat(index)
        if seat is not None and not group.link(index).static:
            group.coordinator.leaves_behind(index, seat)
        group.fire(drives.CRASH, index, now)
        group.coordinator.turn[index] += 1

    def stop(self, index: int, rule: str) -> None:
        self._ended[index] += 1
        super().stop(index, rule)

    def changed(self, index: int, old: Client) -> None:
        super().changed(index, old)
        if self.client(index).state == Member.FATAL:
            self.group.clock.at(self.group.clock.now, self._fails, index, self._ended[index])

    def _fails(self, index: int, ended: int) -> None:
        """The process ends because its member was refused for good."""
        if self.up[index] and ended == self._ended[index]:
            super().stop(index, "crash")
            later = self.group.clock.now + self.group.assumptions.restart_ms
            self.group.clock.at(later, self._restarts, index, ended)

    def _restarts(self, index: int, ended: int) -> None:
        if ended == self._ended[index]:
            self.start(index)

    # -- what a member does next

    def consider(self, index: int) -> None:
        if not self.up[index]:
            return
        if index in self._stops and self.group.free(index):
            self._stops_now(index)
            return
        if not self._polls[index] and self._has_to_poll(index):
            self._polls[index] = True
            self.group.clock.at(self.next_poll(index), self._poll, index)
        self._sends(index)

    def _has_to_poll(self, index: int) -> bool:
        client: Client = self.client(index)
        if client.taking is not None:
            return self._committed_at[index] <= self.group.clock.now
        return self._rule_in_poll(index) is not None

    def _rule_in_poll(self, index: int) -> Bound | None:
        """What fires in the next poll of a member that runs no callback. These rules look at the
        client alone.
        """
        key = id(self.client(index))
        if key not in self._in_next_poll:
            able = (b for b in self._in_poll if self.group.world.outcomes(b, index))
            self._in_next_poll[key] = next(able, None)
        return self._in_next_poll[key]

    def _poll(self, index: int) -> None:
        now = self.group.clock.now
        later = max(self.stalled_until[index], self._paused_until[index])
        if self.up[index] and later > now:
            self.group.clock.at(later, self._poll, index)
            return
        if self.up[index] and self._has_to_poll(index):
            self._takes_part(index, now)
        self._polls[index] = False
        self._polled(index)
        self.consider(index)

    def _takes_part(self, index: int, now: float) -> None:
        group, client = self.group, self.client(index)
        if client.taking is not None:
            (outcome,) = group.world.outcomes(self._returns, index)
            group.take(self._returns, index, outcome, now)
            return
        bound = self._rule_in_poll(index)
        assert bound is not None
        group.take(bound, index, group.world.outcomes(bound, index)[0], now)
        taking = self.client(index).taking
        if taking is not None and not taking.assigns:
            a = group.assumptions
            ready = now + a.revoke_ms.draw(group.streams("revoke", index))
            arrives = now + a.network_ms.draw(group.streams("commit", index))
            self._committed_at[index] = NEVER
            group.clock.at(arrives, self._commits, index, self._lives[index], ready)

    def _commits(self, index: int, life: int, ready_ms: float) -> None:
        """The offsets of what a member gives up arrive at the coordinator. They are committed at
        `ready_ms`, and by as much later as they wait there.
        """
        group, now = self.group, self.group.clock.now
        service = group.assumptions.service_ms.draw(group.streams("commit", index))
        ready = max(ready_ms + group.coordinator.work(now, service) - now, now)
        if life == self._lives[index]:
            self._committed_at[index] = ready
            group.clock.at(ready, self.consider, index)

    # -- heartbeats

    def _beat(self, index: int, expected: float) -> None:
        if expected == self._next_beat[index]:
            self._next_beat[index] = NEVER
            self._due[index] = True
            self.consider(index)

    def _sends(self, index: int) -> None:
        """A heartbeat leaves, if one is due and nothing stands in its way."""
        group, now = self.group, self.group.clock.now
        client: Client = self.client(index)
        if not client.beats or not (self._due[index] or client.state in AT_ONCE):
            return
        if not group.free(index) or max(self._paused_until[index], self._backs_off[index]) > now:
            return
        self.beat_from(index, now + self.heartbeat_interval_ms)
        if losses.lost(group, index):
            group.fire(drives.LOSES_REQUEST, index, now)
            self._tries_again(index)
            return
        group.fire(drives.HEARTBEAT, index, now)
        group.coordinator.travels(index)

    def _tries_again(self, index: int) -> None:
        """A heartbeat or its answer is lost with its connection: after a backoff the next one
        leaves.
        """
        now = self.group.clock.now
        self._backs_off[index] = now + self.group.assumptions.retry_backoff_ms
        self._due[index] = True
        self.group.clock.at(self._backs_off[index], self.consider, index)

    def unheard(self, index: int, turn: int) -> None:
        """An answer is lost."""
        if turn == self.group.coordinator.turn[index] and self.up[index]:
            self.group.fire(drives.LOSES_ANSWER, index, self.group.clock.now)
            self._tries_again(index)

    def receive(self, index: int, turn: int) -> None:
        """An answer arrives."""
        group, now = self.group, self.group.clock.now
        if turn != group.coordinator.turn[index] or group.link(index).back is None:
            return
        if (later := self._paused_until[index]) > now and self.up[index]:
            group.clock.at(later, self.receive, index, turn)
            return
        group.fire(drives.ANSWER_ARRIVES, index, now)
        self._work(index, 0)  # it may have heard that it has nothing to wait for
        self.consider(index)
