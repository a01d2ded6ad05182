"""A simulated group: the world, the clock, and what stands between them.

A step of the model is cut where a message travels. A member's rule puts a request on its link; the
request arrives after its latency, waits for the coordinator's thread, and only then the urgent rule
that handles it fires. All urgent rules that need no message (walks over the members, for example)
follow at once, as in the model. Answers travel back in the same way. While a message of a member is
on its way, the member sends no other one.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

from groupcheck.model.engine import Spec, evolve
from groupcheck.model.protocol.classic.group import ENDED, REST, Walk
from groupcheck.model.protocol.classic.walks import begin_walk
from groupcheck.model.protocol.connect.leader import Survey
from groupcheck.model.protocol.link import Link
from groupcheck.oracles.simulate.assumptions import Assumptions
from groupcheck.oracles.simulate.coordinator import Coordinator
from groupcheck.oracles.simulate.members import Members
from groupcheck.oracles.simulate.parts import Parts
from groupcheck.oracles.simulate.plan import Plan, planned
from groupcheck.oracles.simulate.workers import Workers
from groupcheck.oracles.simulate.world import Bound, Outcome

# What a step has changed: slot and index -> the value before.
Changed = dict[tuple[str, int], Any]
Watch = Callable[["Group", str, int], None]


class Group(Parts):
    """One group at its coordinator. `watch` is told each rule that has fired, with its index."""

    def __init__(
        self,
        spec: Spec,
        coordinator_rules: Collection[str],
        assumptions: Assumptions,
        seed: str,
        watch: Watch | None = None,
    ) -> None:
        super().__init__(spec, assumptions, seed)
        self.watch = watch
        urgent = [b for b in self.world.rules.values() if b.rule.urgent]
        by_link = [b for b in urgent if b.rule.guard and b.rule.guard.slot == "link"]
        self._requests = [b for b in by_link if b.name in coordinator_rules]
        self._answers = [b for b in by_link if b.name not in coordinator_rules]
        walks = [b for b in urgent if "walk" in b.rule.slots]
        self._begin = self.world.rules[begin_walk.name]
        self._visits = [b for b in walks if "seats" in b.rule.slots]
        self._ends = [b for b in walks if b not in (self._begin, *self._visits)]
        # The others need neither a message nor a walk. (slot of the guard -> rules)
        self._at_once: dict[str, list[Bound]] = {}
        for b in urgent:
            if b not in by_link and b not in walks:
                assert b.rule.guard is not None, f"{b.name} has no guard"
                self._at_once.setdefault(b.rule.guard.slot, []).append(b)
        # By the identity of a link, which is interned: the rule that handles or receives.
        self._handler: dict[int, Bound] = {}
        self._receiver: dict[int, Bound] = {}
        self.coordinator: Coordinator = Coordinator(self)
        self.members: Members = Members(self)
        self.workers = Workers(self) if "worker" in self.world.first else None

    def handler(self, link: Link) -> Bound:
        """The urgent rule that handles the request."""
        return self._of(self._handler, self._requests, link)

    def receiver(self, link: Link) -> Bound:
        """The urgent rule that receives the answer."""
        return self._of(self._receiver, self._answers, link)

    @staticmethod
    def _of(known: dict[int, Bound], rules: list[Bound], link: Link) -> Bound:
        found = known.get(id(link))
        if found is None:
            found = next(b for b in rules if b.rule.guard is not None and b.rule.guard.call(link))
            known[id(link)] = found
        return found

    # -- steps

    def take(self, bound: Bound, index: int, outcome: Outcome, now: float, of_member: bool) -> None:
        """A rule fires with this outcome, and what follows without a message follows."""
        changes = self.world.fire(bound, index, outcome)
        if self.watch is not None:
            self.watch(self, outcome[0], index)
        if len(changes) == 1 and changes[0][0] == "link":  # a heartbeat, nearly always
            _, i, old = changes[0]
            self.coordinator.link_changed(i, old, now, of_member)
            self.members.link_changed(i)
            self.coordinator.flush(now)
            return
        changed: Changed = {(slot, i): old for slot, i, old in changes}
        core = ("core", 0)
        while core in changed and (self.core.errands or self._stands("core", 0)):
            if self.core.errands:
                self._walk(changed)
            elif not self._follow("core", 0, changed):
                break
        assert not self.core.errands, "a step ends, and a walk over the members is still to come"
        for slot in self._at_once:
            for name, i in [key for key in changed if key[0] == slot]:
                while self._follow(name, i, changed):
                    pass
        self._tell(changed, now, of_member)

    def _stands(self, slot: str, index: int) -> bool:
        return any(self.world.opens(b, index) for b in self._at_once.get(slot, ()))

    def _follow(self, slot: str, index: int, changed: Changed) -> bool:
        """An urgent rule with its guard on this slot fires, if one can."""
        for bound in self._at_once.get(slot, ()):
            if self.world.opens(bound, index):
                found = self.world.outcomes(bound, index)
                if found:
                    self._fire(bound, index, found[0], changed)
                    return True
        return False

    def _fire(self, bound: Bound, index: int, outcome: Outcome, changed: Changed) -> None:
        for slot, i, old in self.world.fire(bound, index, outcome):
            changed.setdefault((slot, i), old)
        if self.watch is not None:
            self.watch(self, outcome[0], index)

    def _walk(self, changed: Changed) -> None:
        """A walk over all seats, from its begin to its end."""
        world, at = self.world, self.world.first["walk"]
        plan = self._plan()
        self._fire(self._begin, 0, world.outcomes(self._begin, 0)[0], changed)
        visit: Bound | None = None
        while True:
            walk: Walk[Any] = world.values[at]
            if walk is REST or walk == REST:
                return
            if walk.at == ENDED:
                end = next(b for b in self._ends if world.opens(b, 0))
                self._fire(end, 0, world.outcomes(end, 0)[0], changed)
                visit = None
                continue
            if plan is not None:
                walk = evolve(walk, errand=evolve(walk.errand, chosen=plan.chosen[walk.at]))
                world.put("walk", 0, walk)
            if visit is None:
                visit = next(b for b in self._visits if world.opens(b, walk.at))
            found = world.outcomes(visit, walk.at)
            self._fire(visit, walk.at, found[self._choice(walk, len(found))], changed)

    def _plan(self) -> Plan | None:
        """The plan, if the walk that begins next is about one: then it gives that out at once."""
        world, errand = self.world, self.core.errands[0]
        seats = world.values[self._seats : self._seats + self.size]
        if self.workers is not None and isinstance(errand, Survey):
            plan = self.workers.plan(errand)
        else:
            plan = planned(errand, self.core, seats, world.spec.scope)
        if plan is not None:
            world.put("core", 0, evolve(self.core, errands=(plan.errand,)))
            if plan.by_coordinator:
                self.coordinator.plans()
        return plan

    def _choice(self, walk: Walk[Any], ways: int) -> int:
        """Which of several ways a visit takes: whoever of those that are left is chosen as leader
        is chosen with equal probability. (Kafka takes the first in the hash order of random ids.)
        Of two ids of one process each takes the share that the plan has for it, which is the first.
        """
        left: int | None = getattr(walk.errand, "left", None)
        if ways == 1 or left is None:
            return 0
        return 0 if self.streams("coordinator").random() * left < 1 else ways - 1

    def _tell(self, changed: Changed, now: float, of_member: bool) -> None:
        """Who waits for a change hears of it."""
        values, first = self.world.values, self.world.first
        seats, links, clients, workers = [], [], [], []
        for (slot, i), old in changed.items():
            if values[first[slot] + i] is old:
                continue
            if slot == "link":
                links.append((i, old))
            elif slot == "client":
                clients.append((i, old))
            elif slot == "seats":
                seats.append(i)
            elif slot == "worker":
                workers.append((i, old))
            elif slot == "core":
                self.coordinator.core_changed(old, now)
        for i in seats:
            self.coordinator.seats_changed(i, now)
        for i, old in clients:
            self.members.revoked(i, old)
        for i, old in links:
            self.coordinator.link_changed(i, old, now, of_member)
        for i, old in clients:
            self.members.changed(i, old)
        for i, _ in links:
            self.members.link_changed(i)
        if self.workers is not None:
            for i, old in workers:
                self.workers.changed(i, old)
        self.coordinator.flush(now)
