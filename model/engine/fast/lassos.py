"""Progress judged on the graph of a whole search: the same answers as `liveness`. Under symmetry
it is the graph of orbits (`symmetry.on_orbits`).

For each promise and each binding of its index variables, the states are marked in which it does not
hold; the components of that region are found; and from the nearest state of a fair one a lasso is
made. Before it is told, the plain semantics look at it: it must be a fair run that breaks the
promise.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property

import numpy as np

from groupcheck.model.engine.errors import RuleError
from groupcheck.model.engine.fast.graph import (
    Components,
    Edges,
    Flags,
    Numbers,
    Places,
    graph_of,
)
from groupcheck.model.engine.fast.many_states import AT_ONCE
from groupcheck.model.engine.fast.search import Search
from groupcheck.model.engine.fast.store import Words
from groupcheck.model.engine.lasso import Answers, Binding, actions_of, breaks, unfair_to
from groupcheck.model.engine.progress import Liveness
from groupcheck.model.engine.promises import Predicate
from groupcheck.model.engine.step import State
from groupcheck.model.engine.verdict import HOLDS, UNKNOWN, VIOLATED, Kind, Path, Step

CANDIDATES = 16  # nearest states from which a loop is made, to tell the shortest
Walk = list[
    tuple[int, int | None]
]  # states to go to, each with the class of the step, if it counts


def answers(search: Search, halt: Callable[[], str], is_complete: bool) -> Answers:
    """The answers on the progress promises of a spec, when its search has ended. `halt`: says why
    nothing more may be looked at; empty: go on. `is_complete`: were all states expanded?
    """
    lassos = Lassos(search, is_complete)
    found: dict[str, tuple[Kind, Path | None]] = {}
    why = ""
    for promise in search.spec.progress:
        best: Path | None = None
        for binding in search.see.instances(promise.bound):
            why = why or halt()
            path = None if why else lassos.counterexample(promise, binding)
            if path and (best is None or len(path.steps) < len(best.steps)):
                best = path
        kept: Kind = UNKNOWN if why or lassos.is_open(promise) else HOLDS
        found[promise.name] = (VIOLATED if best else kept, best)
    return Answers(found, why)


class Lassos:
    """Counterexamples of progress promises on the graph of a search."""

    def __init__(self, search: Search, is_complete: bool) -> None:
        self.search, self.see = search, search.see
        # Promises that are judged on orbits need no fairness.
        self.actions = () if search.orbits else actions_of(search.see)
        self.graph = graph_of(search, self.actions, is_complete)
        self.components = Components(self.graph)

    @cached_property
    def fair(self) -> Places:
        """The fair components of all states. An unfair one has no fair part: what is enabled all
        over it and never taken in it is so in each part.
        """
        return self.components.fair(self.graph.whole)

    def is_open(self, promise: Liveness) -> bool:
        """May states that were not expanded break a promise, or keep it?"""
        reaches_border = promise.kind == "always_possible" and self.graph.has_border
        return self.graph.is_cut or reaches_border

    def counterexample(self, promise: Liveness, binding: Binding) -> Path | None:
        """A run that breaks a promise for a binding; None if there is none."""
        g = self.graph
        good = self._truth(promise.goal, binding)
        if promise.kind == "always_possible":
            lost = ~self.components.reaching(good)
            return self.search.path_to(int(np.argmax(lost))) if lost.any() else None
        if promise.kind == "settles":
            bad = np.unique(self.fair[~good])
            fair = np.where(np.isin(self.fair, bad), self.fair, np.uint32(0))
            return self._lasso(promise, binding, g.whole, g.whole, fair, ~good)
        region = g.whole & ~good
        within = region & (self.fair > 0)
        if not within.any():
            return None
        if promise.kind == "eventually":
            seeds = np.zeros(g.states, bool)
            seeds[: self.search.starts] = region[: self.search.starts]
        elif promise.when is None:
            seeds = region
        else:
            seeds = region & self._truth(promise.when, binding)
        if not seeds.any():
            return None
        fair = self.components.fair(within)
        return self._lasso(promise, binding, seeds, region, fair, None)

    def _truth(self, p: Predicate, binding: Binding) -> Flags:
        """In which states a predicate holds for one binding."""
        bulk, log = self.search.bulk, self.search.log
        found = np.zeros(log.states, bool)
        for first in range(0, log.states, AT_ONCE):
            end = min(first + AT_ONCE, log.states)
            places = np.arange(first, end, dtype=np.uint64)
            states = bulk.states(log.packed_states(first, end), places)
            found[first:end] = bulk.answers(p, binding, states)
        return found

    # -- lassos

    def _lasso(
        self,
        promise: Liveness,
        binding: Binding,
        seeds: Flags,
        region: Flags,
        fair: Places,
        wanted: Flags | None,
    ) -> Path | None:
        """From the nearest state of a fair component that is reached from seeds inside a region: a
        path to it and a loop, with a wanted state in it (None: any is). None if there is no such
        state.
        """
        ways = list(self._nearest(seeds, region, fair > 0))
        loops = [(way, self._loop(way[-1], fair, wanted)) for way in ways]
        if not loops:
            return None
        way, loop = min(loops, key=lambda x: len(x[1]))
        path = self.search.path_to(way[0])
        path = self._extended(path, [(place, None) for place in way[1:]])
        lasso = self._extended(path, loop)
        lasso = Path(lasso.places, lasso.initial, lasso.settled, lasso.steps, len(path.steps))
        if unfair_to(self.see, lasso) or not breaks(self.see, promise, binding, lasso):
            raise self._not_again(path.states[-1])
        return lasso

    def _nearest(self, seeds: Flags, region: Flags, hits: Flags) -> Iterator[list[int]]:
        """Paths to the hits that are nearest to an initial state by way of seeds: the states from a
        seed on.
        """
        g = self.graph
        if not (hits & region).any():
            return
        if seeds is region:  # the nearest is a seed itself
            first = int(np.argmax(hits & region))
            end = next((n for n in g.levels if n > first), g.states)
            places = np.flatnonzero((hits & region)[first:end])[:CANDIDATES] + first
            yield from ([int(place)] for place in places)
            return
        came = np.full(g.states, -1, np.int64)  # the state before it; itself for a seed
        waiting = np.flatnonzero(seeds & region)
        frontier = np.zeros(0, np.int64)
        level = 0
        while len(frontier) or len(waiting):
            end = g.levels[level + 1] if level + 1 < len(g.levels) else g.states
            split = int(np.searchsorted(waiting, end))
            here, waiting = waiting[:split], waiting[split:]
            here = here[came[here] < 0]
            came[here] = here
            frontier = np.union1d(frontier, here)
            found = frontier[hits[frontier]]
            if len(found):
                yield from (self._way_back(came, int(place)) for place in found[:CANDIDATES])
                return
            edges = g.edges_of(frontier)
            new = region[edges.targets] & (came[edges.targets] < 0)
            came[edges.targets[new]] = edges.sources[new]
            frontier = np.unique(edges.targets[new])
            level += 1

    @staticmethod
    def _way_back(came: Numbers, place: int) -> list[int]:
        way = [place]
        while came[way[-1]] != way[-1]:
            way.append(int(came[way[-1]]))
        return way[::-1]

    def _loop(self, start: int, fair: Places, wanted: Flags | None) -> Walk:
        """A loop inside a fair component that is a fair run, with a wanted state in it. It goes to
        what is nearest of what is still missing, and then back.
        """
        g, mine = self.graph, fair[start]
        left = g.enabled(np.array([start]))[0] & g.every
        misses = wanted is not None and not wanted[start]
        walk: Walk = []

        def helps(edges: Edges) -> Flags:
            found = ((g.masks[edges.classes] & left) != 0).any(axis=1)
            found |= ((~g.enabled(edges.targets) & left) != 0).any(axis=1)
            if misses and wanted is not None:
                found |= wanted[edges.targets]
            return np.asarray(found, bool)

        now = start
        while left.any() or misses:
            for place, kind in self._way(now, fair, mine, helps):
                walk.append((place, kind))
                assert kind is not None
                now = place
                left = left & ~g.masks[kind] & g.enabled(np.array([now]))[0]
                misses = misses and wanted is not None and not wanted[now]
        if now != start:
            walk += self._way(now, fair, mine, lambda edges: edges.targets == start)
        return walk

    def _way(
        self, start: int, fair: Places, mine: np.uint32, wanted: Callable[[Edges], Flags]
    ) -> Walk:
        """A shortest way inside a component that ends with a wanted edge."""
        came: dict[int, tuple[int, int]] = {}
        frontier = np.array([start])
        seen = {start}
        while len(frontier):
            edges = self.graph.edges_of(frontier)
            inside = (fair[edges.targets] == mine) & (edges.targets != edges.sources)
            edges = Edges(edges.sources[inside], edges.targets[inside], edges.classes[inside])
            found = np.flatnonzero(wanted(edges))
            if len(found):
                k = int(found[0])
                walk: Walk = [(int(edges.targets[k]), int(edges.classes[k]))]
                at = int(edges.sources[k])
                while at != start:
                    before, kind = came[at]
                    walk.append((at, kind))
                    at = before
                return walk[::-1]
            new = []
            for source, target, kind in zip(
                edges.sources.tolist(), edges.targets.tolist(), edges.classes.tolist()
            ):
                if target not in seen:
                    seen.add(target)
                    came[target] = source, kind
                    new.append(target)
            frontier = np.array(new, np.int64)
        raise AssertionError("a component is not strongly connected")

    # -- steps of the spec

    def _extended(self, path: Path, walk: Walk) -> Path:
        """A path with more steps, each of the class that it must have."""
        steps: list[Step] = list(path.steps)
        now = path.states[-1]
        for place, kind in walk:
            after = self.search.state(place)
            step = next((x for x in self._steps(now, after) if self._is_of(x, kind)), None)
            if step is None:
                raise self._not_again(now)
            steps.append(step)
            now = after
        return Path(path.places, path.initial, path.settled, tuple(steps))

    def _steps(self, now: State, after: State) -> Iterator[Step]:
        return (step for step, _ in self.see.steps(now) if step.state == after)

    def _is_of(self, step: Step, kind: int | None) -> bool:
        if kind is None:
            return True
        bits = sum(1 << k for k, a in enumerate(self.actions) if a.has(step.firing))
        return bits == self._bits(self.graph.masks[kind])

    @staticmethod
    def _bits(words: Words) -> int:
        return sum(int(word) << 64 * w for w, word in enumerate(words))

    def _not_again(self, state: State) -> RuleError:
        problem = "a lasso cannot be repeated: some rule is not deterministic"
        return RuleError("?", problem, self.see.named(state))
