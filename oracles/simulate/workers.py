"""Kafka Connect's workers under the clock: the plan that their leader makes, and the delays that it
gives out.

The leader makes its plan as soon as the coordinator has answered its JoinGroup, and not when that
answer arrives: nothing that it knows changes on the way. Its clock begins then, too, so a delay is
over at the leader before a worker that was told of it joins again.

Kafka: IncrementalCooperativeAssignor (scheduledRebalance, numSuccessiveRevokingRebalances),
DistributedHerder.tick (scheduledRebalance of a worker).

A leader of Connect plans when its JoinGroup is answered, not when it reads the answer. Nothing that
it knows changes between the two, so the plan is the same, and a round that begins in between finds
no survey half done. A process that died while it waited makes no plan: the rule that would receive
the answer is asked.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Any

from groupcheck.model.engine import evolve
from groupcheck.model.protocol.classic.client import Client, Prepare
from groupcheck.model.protocol.classic.group import Seat, Walk
from groupcheck.model.protocol.connect.leader import Deal, Leader, Survey, claim_of, planned
from groupcheck.model.protocol.connect.memory import Memory, Schedule
from groupcheck.model.protocol.connect.plans import Claim, Order, Planned, Times, plan
from groupcheck.model.protocol.connect.scope import ConnectScope
from groupcheck.model.protocol.connect.worker import Led, Worker
from groupcheck.model.protocol.link import Link
from groupcheck.oracles.simulate.drives import AFTER_DELAY, DELAY
from groupcheck.oracles.simulate.parts import Parts
from groupcheck.oracles.simulate.plan import Plan


class Workers:
    """The leader's clock, and the workers that wait for it."""

    def __init__(self, group: Parts) -> None:
        self.group = group
        self._due_ms = 0  # when the leader's delay is over; 0: none was scheduled
        self._delay_ms = 0  # what its last plan tells the workers
        self._revoking = 0  # numSuccessiveRevokingRebalances

    # -- the leader

    def plan(self, survey: Survey) -> Plan | None:
        """The leader's plan, which changes its memory; None: no leader hears of the round."""
        group = self.group
        scope: ConnectScope = group.world.spec.scope
        seats = [group.seats(index) for index in range(group.size)]
        leader = next((i for i, mine in enumerate(seats) if mine.leader is not None), None)
        if leader is None or not self._hears(leader, survey.generation):
            return None
        worker: Worker = group.world["worker", leader]
        mine: Seat = seats[leader][seats[leader].leader]
        claims = [[claim_of(seat) for _, seat in there if seat.member] for there in seats]
        reports = [seat.more.offset for there in seats for _, seat in there if seat.member]
        known = evolve(
            survey,
            claims=tuple(chain.from_iterable(claims)),
            offset=max(reports),
            leader=Leader(mine.more.offset, worker.read, worker.led),
        )
        if worker.led == Led.NO:
            self._revoking = 0
        before: Memory = group.world["memory", 0]
        ((_, walk, memory),) = planned(Walk(0, known), before, scope, self._one)
        group.world.put("memory", 0, memory)
        deal = walk.errand
        assert isinstance(deal, Deal)
        return Plan(evolve(deal, chosen=()), _by_process(claims, deal.chosen), False)

    def _hears(self, leader: int, generation: int) -> bool:
        """Will the leader know that it leads, once it reads what is on its way to it?"""
        link: Link = self.group.link(leader)
        if link.answer is None:
            return False
        bound = self.group.receiver(link)
        _, values = self.group.world.outcomes(bound, leader)[0]
        client: Client = values[bound.rule.slots.index("client")]
        return client.prepare == Prepare.SYNC and client.generation == generation

    def _one(
        self,
        memory: Memory,
        settled: bool,
        claims: tuple[Claim, ...],
        configured: int,
        scope: ConnectScope,
    ) -> list[Planned]:
        """The plan where workers are called, and candidates have come, in the order of their
        indexes; with the leader's clock.
        """
        everyone = range(len(claims))
        order = Order(everyone, everyone, [k for k in everyone if claims[k].candidate])
        now = int(self.group.clock.now)
        longest = int(self.group.assumptions.rebalance_delay_ms)
        times = Times(now, self._due_ms, longest, self._revoking)
        made, after = plan(memory, settled, claims, configured, scope, order, times)
        self._revoking = after.num_successive_revoking_rebalances
        self._delay_ms = after.delay
        if after.delay:
            self._due_ms = after.scheduled_rebalance
            self.group.clock.at(self._due_ms, self._over, self._due_ms)
        return [made]

    def _over(self, due_ms: int) -> None:
        """The leader's delay is over, unless it has another one now."""
        group = self.group
        bound = group.world.rules[DELAY]
        if due_ms == self._due_ms and (found := group.world.outcomes(bound, 0)):
            group.take(bound, 0, found[0], group.clock.now, of_member=True)

    # -- the others

    def changed(self, index: int, old: Worker) -> None:
        """A worker has completed a round whose answer held a delay: it joins again after that."""
        worker: Worker = self.group.world["worker", index]
        if worker.waits and worker.delay != old.delay:
            at = self.group.clock.now + self._delay_ms
            self.group.clock.at(at, self._joins_again, index, worker.delay)

    def _joins_again(self, index: int, delay: int) -> None:
        group = self.group
        worker: Worker = group.world["worker", index]
        bound = group.world.rules[AFTER_DELAY]
        found = group.world.outcomes(bound, index)
        if worker.delay == delay and found:
            group.take(bound, index, found[0], group.clock.now, of_member=True)

    def rest(self) -> bool:
        """Does nobody wait for a delay?"""
        world = self.group.world
        waits = any(world["worker", index].waits for index in range(self.group.size))
        return not waits and world["memory", 0].schedule != Schedule.RUNNING


def _by_process(
    claims: Sequence[Sequence[Claim]], chosen: Sequence[tuple[Claim, Any]]
) -> tuple[tuple[tuple[Claim, Any], ...], ...]:
    rest = iter(chosen)
    return tuple(tuple(next(rest) for _ in mine) for mine in claims)
