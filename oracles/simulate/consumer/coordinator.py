"""The coordinator of a simulated consumer group: one thread, the log, and timers.

An answer leaves when everything that the coordinator has written until then is committed, also that
of other members (CoordinatorRuntime). Its memory changes at once. Nothing is pushed: a member hears
of anything in the answer to its next heartbeat.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from attrs import define

from groupcheck.model.engine import evolve
from groupcheck.model.protocol.codes import NONE
from groupcheck.model.protocol.consumer.memory import Core, Seat, Timer, order
from groupcheck.model.protocol.consumer.memory import State as SeatState
from groupcheck.oracles.simulate import losses
from groupcheck.oracles.simulate.consumer import drives
from groupcheck.oracles.simulate.consumer.parts import ConsumerParts
from groupcheck.oracles.simulate.thread import Thread


@define(eq=False)
class Heard:
    """When the coordinator last heard of a member (ms)."""

    at: float


@define(eq=False)
class Ghost:
    """The record of a process that is gone, and which one that was."""

    index: int
    seat: Seat
    heard: Heard


class ConsumerCoordinator(Thread[ConsumerParts]):
    """The thread, the timers and the connections of one coordinator."""

    def __init__(self, group: ConsumerParts) -> None:
        super().__init__(group)
        self.turn = [0] * group.size
        self._heard: list[Heard | None] = [None] * group.size
        # Member -> the number of its rebalance timer that runs.
        self._rebalances: dict[int, int] = {}
        self._numbered = 0
        self._ghosts: list[Ghost] = []
        # When all that is written is committed.
        self._committed_at = 0.0

    # -- requests

    def travels(self, index: int) -> None:
        """A heartbeat of this member is on its way."""
        group = self.group
        group.observer.requests["ConsumerGroupHeartbeat"] += 1
        turn = self.turn[index] = self.turn[index] + 1
        latency = group.assumptions.network_ms.draw(group.streams("network", index))
        group.clock.at(group.clock.now + latency, self._arrive, index, turn)

    def _arrive(self, index: int, turn: int) -> None:
        group = self.group
        if turn != self.turn[index] or group.link(index).out is None:
            return  # its connection is gone
        a = group.assumptions
        now = group.clock.now
        done = self.work(now, a.service_ms.draw(group.streams("service", index)))
        before = group.seat(index)
        bound = group.world.rules[drives.REQUEST_ARRIVES]
        (outcome,) = group.world.outcomes(bound, index)
        wrote = group.take(bound, index, outcome, done)
        done = self._writes(done, wrote)
        answer = group.link(index).back
        well = answer is not None and answer.code == NONE
        if (heard := self._heard[index]) is not None and well:  # a refused one keeps nothing alive
            heard.at = max(heard.at, done)
        self._rebalance_timer(index, before, done)
        if group.link(index).back is not None:
            turn = self.turn[index] = turn + 1
            latency = a.network_ms.draw(group.streams("network", index))
            arrives = max(done, self._committed_at) + latency
            if losses.lost(group, index):
                group.clock.at(arrives, group.members.unheard, index, turn)
            else:
                group.clock.at(arrives, group.members.receive, index, turn)

    def _writes(self, done: float, wrote: bool) -> float:
        """The thread is done with a step, which has perhaps written records. Returns when."""
        done, self._longer = done + self._longer, 0.0
        self.busy_until(done)
        if wrote:
            group = self.group
            append = group.assumptions.append_ms.draw(group.streams("append"))
            self._committed_at = max(self._committed_at, done + append)
        return done

    def _fires(self, rule: str, index: int) -> None:
        """A timer of a member fires this rule."""
        group = self.group
        service = group.assumptions.service_ms.draw(group.streams("coordinator"))
        done = self.work(group.clock.now, service)
        group.fire(rule, index, done)
        self._writes(done, True)

    # -- timers of the group

    def core_changed(self, old: Core, now: float) -> None:
        """The assignment interval begins with a new target."""
        group = self.group
        core: Core = group.core
        if core.pending != old.pending:
            group.observer.changed = max(group.observer.changed, now)
        if old.due and not core.due:
            interval = group.assumptions.consumer_assignment_interval_ms
            group.clock.at(now + interval, self._due)

    def _due(self) -> None:
        """The assignment interval is over. The next heartbeat finds that."""
        self.group.fire(drives.INTERVAL, 0, self.group.clock.now)

    # -- timers of members

    def seat_changed(self, index: int, now: float) -> None:
        """Members come and go."""
        if self.group.seat(index) is None:
            self._heard[index] = None
            self._rebalances.pop(index, None)
        elif self._heard[index] is None:
            heard = self._heard[index] = Heard(now)
            patience = self.group.assumptions.consumer_session_timeout_ms
            self.group.clock.at(now + patience, self._look, index, heard)

    def _look(self, index: int, heard: Heard) -> None:
        """Has the coordinator heard of this member in time?"""
        if self._heard[index] is not heard:
            return
        over = heard.at + self.group.assumptions.consumer_session_timeout_ms
        if self.group.clock.now < over:
            self.group.clock.at(over, self._look, index, heard)
            return
        self.group.observer.expired += self.group.members.up[index]
        self._fires(drives.SESSION, index)

    def _rebalance_timer(self, index: int, before: Seat | None, now: float) -> None:
        """It begins anew with each record of a member that has to give up something."""
        seat = self.group.seat(index)
        if seat is None or seat.rebalance != Timer.ON:
            self._rebalances.pop(index, None)
        elif seat != before or index not in self._rebalances:
            self._numbered += 1
            self._rebalances[index] = self._numbered
            timeout = self.group.assumptions.max_poll_interval_ms
            self.group.clock.at(now + timeout, self._removes, index, self._numbered)

    def _removes(self, index: int, number: int) -> None:
        if self._rebalances.get(index) == number:
            del self._rebalances[index]
            self._fires(drives.REBALANCE, index)

    # -- members whose processes are gone

    def leaves_behind(self, index: int, seat: Seat) -> None:
        """The process dies, and its record stays until its session is over."""
        ghost = Ghost(index, seat, self._heard[index] or Heard(self.group.clock.now))
        self._ghosts.append(ghost)
        over = ghost.heard.at + self.group.assumptions.consumer_session_timeout_ms
        self.group.clock.at(over, self._expires, ghost)

    def gives_ghosts(self, before: Sequence[Seat], shares: Sequence[int]) -> None:
        """A new target gives these records, in their order, these shares."""
        left = [*self._ghosts]
        for seat, share in zip(before, shares, strict=True):
            ghost = next(ghost for ghost in left if ghost.seat == seat)
            left.remove(ghost)
            ghost.seat = evolve(seat, target=share, current=False)

    def _expires(self, ghost: Ghost) -> None:
        group = self.group
        self._ghosts.remove(ghost)
        rest = [*group.world["ghosts", 0]]
        rest.remove(ghost.seat)
        bound = group.world.rules[drives.GHOST_SESSION]
        at = bound.rule.slots.index("ghosts")
        found = group.world.outcomes(bound, 0)
        outcome = next(one for one in found if one[1][at] == order(rest))
        service = group.assumptions.service_ms.draw(group.streams("coordinator"))
        done = self.work(group.clock.now, service)
        group.take(bound, ghost.index, outcome, done)
        self._writes(done, True)

    # -- rest

    def rests(self) -> bool:
        """Is the group at its target, and each member?"""
        group = self.group
        if group.core.pending:
            return False
        seats = [group.seat(index) for index in range(group.size)]
        return all(s is None or (s.current and s.state == SeatState.STABLE) for s in seats)

    def knows_all(self) -> bool:
        """Are the members that the coordinator knows those whose processes run?"""
        group = self.group
        known = (group.seat(index) is not None for index in range(group.size))
        return not self._ghosts and all(a == b for a, b in zip(known, group.members.up))

    def ages(self, phase_of: Callable[[int], float]) -> None:
        """As `Coordinator.ages`."""
        group = self.group
        patience = group.assumptions.consumer_session_timeout_ms
        for index, heard in enumerate(self._heard):
            if heard is not None:
                heard.at = -phase_of(index)
                group.clock.at(heard.at + patience, self._look, index, heard)
        self._due()
        self._committed_at = 0.0
        self.rested()
