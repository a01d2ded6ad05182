"""The search under random walks: it expands the states that walkers stand on, in no order of
levels, and tells their edges.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from attrs import define
from numpy.typing import NDArray

from groupcheck.model.engine.fast.kernels import registers as r
from groupcheck.model.engine.fast.loop import STRETCH
from groupcheck.model.engine.fast.search import Search
from groupcheck.model.engine.fast.store import Reserved

Places = NDArray[np.int64]
ROOM = 1 << 16  # edges for which there is room at least


@define(eq=False)
class Edges:
    """Steps from some states: of each state how many, and side by side where they lead to and the
    number of the first outcome, from 1 on.
    """

    degrees: Places
    targets: Places
    labels: Places

    def of(self, which: Places) -> tuple[Places, Places]:
        """The edges of the states of these numbers, in their order: of each which of `which` it
        belongs to, and its number.
        """
        ends = np.cumsum(self.degrees)
        count = self.degrees[which]
        owner = np.repeat(np.arange(len(which)), count)
        within = np.arange(len(owner)) - np.repeat(np.cumsum(count) - count, count)
        return owner, np.repeat(ends[which] - count, count) + within


class Walked(Search):
    """A search that expands what walkers stand on. Without symmetry, and in no order of levels."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._targets, self._labels = Reserved(1 << 33), Reserved(1 << 32)
        shape = self.packed.shape
        kinds = np.array(shape.kind_labels, np.uint64) + np.uint64(1)
        ordinary = np.zeros(len(kinds), bool)
        subsets = np.array(shape.kind_bases, np.int64)[: shape.to_ordinary].reshape(-1)
        for base, end in zip(subsets.tolist(), self._ends_of_kinds(subsets).tolist()):
            ordinary[base:end] = True
        self._kinds = np.where(ordinary, kinds, np.uint64(0))
        # The places of all that walkers of this generation have stood on, round by round; first
        # those on the ways to the states where they began.
        self.ways: list[Places] = []
        # The key of a path to the state at a place.
        self.keys: Callable[[int], str] = lambda place: ""
        # Of each state that was not there at first, one from which a walker saw it.
        self.seen_from = np.zeros(1 << 16, np.uint32)
        # Has each place been expanded?
        self.expanded = np.zeros(1 << 16, bool)
        # The places of the states that were expanded last.
        self.latest: Places = np.zeros(0, np.int64)

    def _ends_of_kinds(self, bases: Places) -> Places:
        """Where the kinds end that begin at these numbers."""
        shape = self.packed.shape
        every = np.unique(np.array(shape.kind_bases, np.int64).reshape(-1))
        every = np.append(every, len(shape.kind_labels))
        ends: Places = every[np.searchsorted(every, bases, "right")]
        return ends

    def edges(self, places: Places) -> Edges:
        """The edges of states that have been expanded."""
        registers, packed, listed = self.registers, self.packed, places.astype(np.uint64)
        needs = packed.arrays[r.KIND_NEEDS]
        packed.hold(r.KIND_NEEDS, self._kinds)
        packed.hold(r.DEGREES, np.zeros(len(places), np.uint32))
        registers[r.EDGE_COUNT] = done = 0
        try:
            with self.uncounted():
                while done < len(places):
                    before = int(registers[r.EDGE_COUNT])
                    room = before + ROOM + 2 * int(registers[r.BUFFER_SIZE])
                    self._targets.ensure(room // 2 + 1)
                    self._labels.ensure(room // 4 + 1)
                    packed.point(r.EDGES, self._targets)
                    packed.point(r.EDGE_CLASSES, self._labels)
                    registers[r.EDGE_ROOM] = room
                    self.run(r.EDGES_OF, done, len(places), listed)
                    assert not int(registers[r.DEFERRED_COUNT]) or int(registers[r.OVERFLOW])
                    registers[r.DEFERRED_COUNT] = 0
                    if int(registers[r.OVERFLOW]):
                        self.more_chain_memory()
                        registers[r.EDGE_COUNT] = before
                        continue
                    done = int(registers[r.FROM])
        finally:
            packed.hold(r.KIND_NEEDS, needs)
        degrees = packed.arrays.pop(r.DEGREES)
        packed.point(r.EDGES, None)
        packed.point(r.EDGE_CLASSES, None)
        n = int(registers[r.EDGE_COUNT])
        targets = self._targets.words.view(np.uint32)[:n].astype(np.int64)
        labels = self._labels.words.view(np.uint16)[:n].astype(np.int64)
        return Edges(degrees.astype(np.int64), targets, labels)

    def expand(self, places: Places, limit: Callable[[], str]) -> str:
        """Expands these states, which are not expanded yet. Returns the limit that ended it."""
        begun, first, end, reason = self.states, 0, len(places), ""
        self.log.levels.append(begun)
        self.frontier = places.astype(np.uint64)
        while first < end and not reason:
            first = self.stretch(first, min(end, first + STRETCH * self.threads.workers))
            reason = limit()
        self.look_at_whole_states(begun)
        if self.see.refined and first and not reason:
            self.refinements.look_at(self.frontier)
        if self.tables.constraints:
            self.outside += self.states - begun - len(self.within(begun, self.states))
        if self.states > len(self.expanded):
            more = np.zeros(2 * self.states, bool)
            more[: len(self.expanded)] = self.expanded
            self.expanded = more
        self.expanded[places[:first]] = True
        return reason

    def inside(self, places: Places) -> Places:
        """Those of these states that are no border states."""
        if not self.tables.constraints or not len(places):
            return places
        numbers = places.astype(np.uint64)
        return self.border.within(numbers, self.log.chosen).astype(np.int64)

    def note_parents(self, states: Places, sources: Places) -> None:
        """Walkers have seen these states for the first time; the first mention of each counts."""
        if self.log.states > len(self.seen_from):
            more = np.zeros(2 * self.log.states, np.uint32)
            more[: len(self.seen_from)] = self.seen_from
            self.seen_from = more
        different, firsts = np.unique(states, return_index=True)
        self.seen_from[different] = sources[firsts]

    def ways_to(self, places: Places) -> Places:
        """All states on the ways to some states from which walkers saw them."""
        found, now = [places], np.unique(places)
        while (now >= self.starts).any():
            now = np.unique(self.seen_from[now[now >= self.starts]].astype(np.int64))
            found.append(now)
        return np.unique(np.concatenate(found))

    def key_of(self, place: int) -> str:
        """The key of a path to a state that a walker stands on, as `keys` says."""
        return self.keys(place)
