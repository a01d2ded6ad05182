"""A simulated consumer group: its steps.

A message is sent, and arrives, by rules of the model. What needs no message follows at once: the
coordinator handles a heartbeat that has arrived, and a member follows an answer. A new target is
one plan, which the model's own assignor makes of all members at once. The walk that would read the
members is left out, and the walk that gives out the shares is shown one share before each visit.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from groupcheck.model.engine import Spec, evolve
from groupcheck.model.protocol.consumer import targets
from groupcheck.model.protocol.consumer.client import hear_answer
from groupcheck.model.protocol.consumer.client_faults import leave_ghost
from groupcheck.model.protocol.consumer.heartbeats import (
    consumer_heartbeat,
    leave_consumer_group,
    reconcile_member,
)
from groupcheck.model.protocol.consumer.memory import Collect, Core, Deal, Seat
from groupcheck.model.protocol.consumer.messages import Link, idle
from groupcheck.model.protocol.consumer.plans import key_of, plans
from groupcheck.oracles.simulate.assumptions import Assumptions
from groupcheck.oracles.simulate.consumer.coordinator import ConsumerCoordinator
from groupcheck.oracles.simulate.consumer.members import ConsumerMembers
from groupcheck.oracles.simulate.consumer.parts import ConsumerParts
from groupcheck.oracles.simulate.world import Bound, Outcome

# What follows a message at once, by the link of the process.
AT_ONCE = (consumer_heartbeat, leave_consumer_group, reconcile_member, hear_answer, leave_ghost)


class ConsumerGroup(ConsumerParts):
    """One consumer group at its coordinator. `watch` is told each rule that has fired, with its
    index.
    """

    workers = None

    def __init__(
        self,
        spec: Spec,
        assumptions: Assumptions,
        seed: str,
        watch: Callable[[Any, str, int], None] | None = None,
    ) -> None:
        super().__init__(spec, assumptions, seed)
        self.watch = watch
        rules = self.world.rules
        self._at_once = [rules[rule.name] for rule in AT_ONCE]
        self._begin = rules[targets.begin_errand.name]
        self._gives = rules[targets.give_target.name]
        self._gives_ghosts = rules[targets.give_ghosts.name]
        self._ends = rules[targets.target_written.name]
        # By the identity of a link, which is interned: the rules that may follow.
        self._following: dict[int, list[Bound]] = {}
        self.coordinator: ConsumerCoordinator = ConsumerCoordinator(self)
        self.members: ConsumerMembers = ConsumerMembers(self)

    def take(self, bound: Bound, index: int, outcome: Outcome, now: float) -> bool:
        before: dict[tuple[str, int], Any] = {}
        self._fire(bound, index, outcome, before)
        while self.core.errand is not None or self._follow(index, before):
            if self.core.errand is not None:
                self._gives_targets(before)
        values, first = self.world.values, self.world.first
        changed = [
            (slot, i, old)
            for (slot, i), old in before.items()
            if values[first[slot] + i] is not old
        ]
        for slot, i, old in changed:
            if slot == "core":
                self.coordinator.core_changed(old, now)
            elif slot == "seat":
                self.coordinator.seat_changed(i, now)
            elif slot == "client":
                self.members.changed(i, old)
        return any(slot in ("core", "seat") for slot, *_ in changed)

    def _fire(
        self, bound: Bound, index: int, outcome: Outcome, before: dict[tuple[str, int], Any]
    ) -> None:
        for slot, i, old in self.world.fire(bound, index, outcome):
            before.setdefault((slot, i), old)
        if self.watch is not None:
            self.watch(self, outcome[0], index)

    def _follow(self, index: int, before: dict[tuple[str, int], Any]) -> bool:
        """An urgent rule fires for this process, if one can."""
        link = self.link(index)
        found = self._following.get(id(link))
        if found is None:
            found = [b for b in self._at_once if b.rule.guard and b.rule.guard.call(link)]
            self._following[id(link)] = found
        for bound in found:
            if outcomes := self.world.outcomes(bound, index):
                assert len(outcomes) == 1, f"{bound.name} has {len(outcomes)} outcomes"
                self._fire(bound, index, outcomes[0], before)
                return True
        return False

    def _gives_targets(self, before: dict[tuple[str, int], Any]) -> None:
        """The coordinator makes a plan, and gives each member its share."""
        world, scope = self.world, self.world.spec.scope
        core: Core = self.core
        assert isinstance(core.errand, Collect)
        seats = [self.seat(index) for index in range(self.size)]
        ghosts: tuple[Seat, ...] = world["ghosts", 0]
        everyone = [*seats, *ghosts]
        keys = [
            None if seat is None else key_of(seat, number, scope)
            for number, seat in enumerate(everyone)
        ]
        asked = tuple(sorted(key for key in keys if key is not None))
        (plan,) = plans(asked, core.topics, scope, core.errand.named)
        shares = dict(plan)
        given = [() if key is None else ((key, shares[key]),) for key in keys]
        world.put("core", 0, evolve(core, errand=Deal(fails=False, shares=())))
        self._fire(self._begin, 0, world.outcomes(self._begin, 0)[0], before)
        for index, share in enumerate(given[: self.size]):
            if share:
                self._shows(share)
            self._fire(self._gives, index, world.outcomes(self._gives, index)[0], before)
        of_ghosts = given[self.size :]
        self._shows(tuple(one for share in of_ghosts for one in share))
        self._fire(self._gives_ghosts, 0, world.outcomes(self._gives_ghosts, 0)[0], before)
        self.coordinator.gives_ghosts(ghosts, [shares[key] for key in keys[self.size :] if key])
        self._fire(self._ends, 0, world.outcomes(self._ends, 0)[0], before)
        self.observer.begins(1)
        self.coordinator.plans()

    def _shows(self, shares: Any) -> None:
        walk = self.world["walk", 0]
        self.world.put("walk", 0, evolve(walk, errand=Deal(fails=False, shares=shares)))

    def free(self, index: int) -> bool:
        return idle(self.link(index))

    def link(self, index: int) -> Link:
        link: Link = self.world.values[self._links + index]
        return link

    def seat(self, index: int) -> Seat | None:
        seat: Seat | None = self.world.values[self._seats + index]
        return seat
