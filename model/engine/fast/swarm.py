"""Many walkers side by side: each goes one step a round, and all states that they stand on are
expanded together, as a level of a search is. So rows are filled in batches, threads help,
every successor of a state on a walk is looked at, and states are exact.

Walkers differ (Holzmann, Joshi and Groce 2011, Swarm Verification Techniques; Groce et al. 2012,
Swarm Testing): each has weights of its own for the outcomes of rules, some of which it avoids, and
a taste for states that nobody has expanded. Three of four go on from a state that an earlier one
passed by, and one that has met nothing new for some steps ends. What a walker draws depends on the
seed, its number and the states alone, never on places in the log, which depend on the number of
threads.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from attrs import define, field, frozen
from numpy.typing import NDArray

from groupcheck.model.engine.fast.walked import Places, Walked

WEIGHTS = (1 / 64, 1 / 4, 1.0, 1.0, 4.0)  # of an outcome: one of these for each walker
KEPT = 1 << 17  # states that were passed by, from which walkers may go on
FROM_THE_START = 4  # one of so many walkers begins at an initial state
BORED = 12  # steps without a new state after which a walk ends
TASTES = (1.0, 4.0, 32.0)  # for states that are not expanded yet, by walker


@frozen(eq=False)
class Walkers:
    """Walkers under way."""

    # The places where they are, and how many steps these are from an initial state.
    at: Places
    depth: Places
    # How many steps each has gone since its last new state; less than 0 before its first one.
    idle: Places
    # Of each the weights of outcomes, from number 1 on, and the taste for new states.
    weights: NDArray[np.float32]
    tastes: NDArray[np.float32]

    def where(self, which: NDArray[Any]) -> Walkers:
        """Some of them, by their numbers or by a truth value for each."""
        every = self.at, self.depth, self.idle, self.weights, self.tastes
        return Walkers(*(one[which] for one in every))


@define(eq=False)
class Swarm:
    """Generations of walkers that begin together."""

    search: Walked
    seed: int
    # The most steps of a walk.
    length: int
    # Says why the walks end here, if they do.
    limit: Callable[[], str]
    # Places that walkers passed by, and after how many steps from an initial state.
    passed: Places = field(factory=lambda: np.zeros((0, 2), np.int64))
    # Generations, walks, steps of walkers so far, and of the longest walk.
    generations: int = 0
    done: int = 0
    steps: int = 0
    longest: int = 0
    # States from this place on were found in the round in hand.
    fresh: int = 0
    # Why they end.
    reason: str = ""

    def generation(self, walkers: int) -> None:
        """So many walks, until something is wrong or a limit is reached."""
        s = self.search
        random = np.random.default_rng([self.seed, self.generations])
        weights = random.choice(np.array(WEIGHTS, np.float32), (walkers, s.packed.shape.labels + 1))
        tastes = random.choice(np.array(TASTES, np.float32), walkers)
        some = self._begin(random, walkers, weights, tastes)
        s.ways = [s.ways_to(some.at)]
        passed = [self.passed]
        while len(some.at) and not s.findings.wrong and not self.reason:
            some = some.where(np.isin(some.at, s.inside(np.unique(some.at))))
            some = some.where((some.depth < self.length) & (some.idle < BORED))
            if not len(some.at):
                break
            places = np.unique(some.at)
            s.findings.depth = int(some.depth.max()) + 1
            self._expand(places)
            if not self.reason:
                some = self._step(random, places, some, passed)
                self.steps += len(some.at)
                self.longest = max(self.longest, int(some.depth.max(initial=0)))
        self._keep(random, np.concatenate(passed))
        self.generations += 1
        self.done += walkers

    def _begin(
        self,
        random: np.random.Generator,
        walkers: int,
        weights: NDArray[np.float32],
        tastes: NDArray[np.float32],
    ) -> Walkers:
        """Where the walkers of a generation begin."""
        at: Places = random.integers(0, self.search.starts, walkers)
        depth, idle = np.zeros(walkers, np.int64), np.full(walkers, -self.length)
        goes_on = np.arange(walkers) % FROM_THE_START > 0
        if len(self.passed) and goes_on.any():
            wanted, there = int(goes_on.sum()), len(self.passed)
            chosen = random.permutation(there)[:wanted]
            chosen = np.resize(chosen, wanted)  # again from the first where there are too few
            at[goes_on], depth[goes_on] = self.passed[chosen].T
            idle[goes_on] = 0
        return Walkers(at, depth, idle, weights, tastes)

    def _keep(self, random: np.random.Generator, passed: Places) -> None:
        """Keeps some of the states that were passed by and that nobody has expanded since."""
        passed = passed[~self.search.expanded[passed[:, 0]]]
        passed = passed[np.sort(np.unique(passed[:, 0], return_index=True)[1])]
        if len(passed) > KEPT:
            passed = passed[np.sort(random.choice(len(passed), KEPT, replace=False))]
        self.passed = passed

    def _expand(self, places: Places) -> None:
        """Expands those of some states that are not yet."""
        s = self.search
        s.ways.append(places)
        self.fresh, s.latest = s.states, places[~s.expanded[places]]
        self.reason = s.expand(s.latest, self.limit)

    def _step(
        self, random: np.random.Generator, places: Places, some: Walkers, passed: list[Places]
    ) -> Walkers:
        """One step of each walker that has one to another state.

        The outcome with the least of exponentially distributed times is drawn, the rate of each its
        weight: an outcome of twice the weight is drawn twice as often.
        """
        s = self.search
        edges = s.edges(places)
        owner, number = edges.of(np.searchsorted(places, some.at))
        targets = edges.targets[number]
        fresh = targets >= self.fresh
        s.note_parents(targets[fresh], some.at[owner[fresh]])
        is_new = ~s.expanded[targets]
        passed.append(np.column_stack([targets, some.depth[owner] + 1])[is_new])
        rate = some.weights[owner, edges.labels[number]]
        rate = rate * np.where(is_new, some.tastes[owner], np.float32(1))
        time = random.exponential(size=len(owner)) / rate
        time[targets == some.at[owner]] = np.inf
        order = np.lexsort((time, owner))
        owner, time = owner[order], time[order]
        firsts = np.flatnonzero(np.diff(owner, prepend=-1))
        firsts = firsts[np.isfinite(time[firsts])]
        gone, chosen = some.where(owner[firsts]), order[firsts]
        idle = np.where(is_new[chosen], 0, gone.idle + 1)
        return Walkers(targets[chosen], gone.depth + 1, idle, gone.weights, gone.tastes)
