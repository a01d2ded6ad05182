"""The states that a search has found as a graph: each state is expanded again, and its steps are
kept, with what fairness has to know of them.

An edge is the place of its target and the set of fair actions that it is a step of. While edges are
made, these sets stand in the place of the tables of predicates that a transition concerns, so the
loop stays as it is. States without all their edges (a limit, a border) belong to no component. A
component is fair if each action is disabled in one of its states or taken inside it. A part of an
unfair component is unfair, too, so promises are looked at inside fair components alone.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from groupcheck.model.engine.errors import UserError
from groupcheck.model.engine.fast.exploration import Exploration
from groupcheck.model.engine.fast.kernels import registers as r
from groupcheck.model.engine.fast.kernels.compiled import GRAPH, load
from groupcheck.model.engine.fast.loop import STRETCH
from groupcheck.model.engine.fast.shape import CHANGE_BITS
from groupcheck.model.engine.fast.store import Reserved, Words, address
from groupcheck.model.engine.lasso import Action
from groupcheck.model.engine.verdict import Firing

ROOM = 1 << 22  # edges for which memory is made at once
MOST_CLASSES = 1 << 16
BYTES_OF_EDGE, BYTES_OF_STATE = 6, 60  # of a graph, and of what works on it

Flags = NDArray[np.bool_]
Places = NDArray[np.uint32]
Numbers = NDArray[np.int64]


@frozen
class Edges:
    """Edges side by side: where each begins and ends, and its class."""

    sources: Numbers
    targets: Numbers
    classes: NDArray[np.uint16]


@frozen(eq=False)
class Graph:
    """States by their places in the log, with their edges. An edge of class c is a step of the fair
    actions whose bits are set in `masks[c]`.
    """

    # states + 1: where the edges of each state begin.
    offsets: Words
    # Of each edge the state that it leads to; itself for a state that was not found.
    targets: Places
    classes: NDArray[np.uint16]
    # Classes x words.
    masks: Words
    # How many fair actions there are.
    actions: int
    # States with all their edges, without those on the border.
    whole: Flags
    # Are there others, within the constraints; and are there states on the border?
    is_cut: bool
    has_border: bool
    # Places where levels begin.
    levels: Sequence[int]

    @property
    def states(self) -> int:
        return len(self.offsets) - 1

    @property
    def every(self) -> Words:
        """The bits of all fair actions."""
        bits = [min(64, max(0, self.actions - 64 * w)) for w in range(self.masks.shape[1])]
        return np.array([(1 << n) - 1 for n in bits], np.uint64)

    def edges_of(self, states: Numbers) -> Edges:
        """The edges of some states, in their order."""
        begin = self.offsets[states].astype(np.int64)
        count = self.offsets[states + 1].astype(np.int64) - begin
        sources = np.repeat(states, count)
        at = np.arange(len(sources)) + np.repeat(begin - (np.cumsum(count) - count), count)
        return Edges(sources, self.targets[at].astype(np.int64), self.classes[at])

    def enabled(self, states: Numbers) -> Words:
        """The fair actions that are enabled in some states: states x words."""
        edges = self.edges_of(states)
        bits = self.masks[edges.classes]
        bits[edges.sources == edges.targets] = 0
        found = np.zeros((len(states), self.masks.shape[1]), np.uint64)
        count = (self.offsets[states + 1] - self.offsets[states]).astype(np.int64)
        has = np.flatnonzero(count)
        if len(has):
            begin = (np.cumsum(count) - count)[has]
            found[has] = np.bitwise_or.reduceat(bits, begin, axis=0)
        return found


class Components:
    """Strongly connected components of parts of a graph, one call after the other."""

    def __init__(self, graph: Graph) -> None:
        self.graph, n = graph, graph.states
        self._flags, self._numbers = np.zeros(n, np.uint16), np.zeros(n, np.uint32)
        # Written before they are read; the system gives memory as they are written.
        self._stack, self._states, self._lows = (np.empty(n, np.uint32) for _ in range(3))
        self._edges = np.empty(n, np.uint64)

    def fair(self, region: Flags, wanted: Flags | None = None) -> Places:
        """Of each state of a fair component of a region, in which some state is wanted (default:
        any), a number of the component, from 1 on; 0 of the others.
        """
        found = np.zeros(self.graph.states, np.uint32)
        self._flags[:] = r.WANTED if wanted is None else wanted * np.uint16(r.WANTED)
        self._run(region, found)
        return found

    def reaching(self, goal: Flags) -> Flags:
        """The states from which a path leads to a goal, or to a state that lacks edges."""
        self._flags[:] = (goal | ~self.graph.whole) * np.uint16(r.REACHES)
        self._run(np.ones(self.graph.states, bool), None)
        return (self._flags & r.REACHES) > 0

    def _run(self, region: Flags, fair: Places | None) -> None:
        g = self.graph
        self._numbers[:] = np.where(region, np.uint32(0), np.uint32(r.CLOSED))
        registers = np.zeros(r.G_COUNT, np.uint64)
        every, masks = g.every, np.ascontiguousarray(g.masks)
        for register, array in (
            (r.G_OFFSETS, g.offsets),
            (r.G_TARGETS, g.targets),
            (r.G_CLASSES, g.classes),
            (r.G_FLAGS, self._flags),
            (r.G_NUMBERS, self._numbers),
            (r.G_MASKS, masks),
            (r.G_ALL, every),
            (r.G_STACK, self._stack),
            (r.G_FRAME_STATES, self._states),
            (r.G_FRAME_EDGES, self._edges),
            (r.G_FRAME_LOWS, self._lows),
        ):
            registers[register] = address(array)
        registers[r.G_STATES], registers[r.G_MASK_WORDS] = g.states, masks.shape[1]
        registers[r.G_FAIR] = 0 if fair is None else address(fair)
        load(GRAPH)["components"](address(registers))


def bytes_of(states: int, transitions: int) -> int:
    """Memory of a graph, and of what works on it."""
    return BYTES_OF_EDGE * transitions + BYTES_OF_STATE * states


def graph_of(search: Exploration, actions: Sequence[Action], is_complete: bool) -> Graph:
    """The graph of all states of the log. `is_complete`: all of them were expanded, and may be
    again. Otherwise those take part of which all rows are there.
    """
    registers, packed, n = search.registers, search.packed, search.log.states
    search.log.hold_places()
    kinds, masks = _classes(search, actions)
    needs = packed.arrays[r.KIND_NEEDS]
    targets, classes = Reserved(1 << 33), Reserved(1 << 32)
    packed.hold(r.KIND_NEEDS, kinds)
    packed.hold(r.DEGREES, np.zeros(n, np.uint32))
    registers[r.EDGE_COUNT] = done = 0
    try:
        with search.uncounted():
            while done < n:
                room = int(registers[r.EDGE_COUNT]) + ROOM + int(registers[r.BUFFER_SIZE])
                targets.ensure(room // 2 + 1)
                classes.ensure(room // 4 + 1)
                packed.point(r.EDGES, targets)
                packed.point(r.EDGE_CLASSES, classes)
                registers[r.EDGE_ROOM] = room
                done = _link(search, done, min(n, done + STRETCH), is_complete)
    finally:
        packed.hold(r.KIND_NEEDS, needs)
    degrees = packed.arrays.pop(r.DEGREES)
    packed.point(r.EDGES, None)
    packed.point(r.EDGE_CLASSES, None)
    count = int(registers[r.EDGE_COUNT])
    return _whole(
        search,
        degrees,
        targets.words.view(np.uint32)[:count],
        classes.words.view(np.uint16)[:count],
        masks,
        len(actions),
    )


def _link(search: Exploration, first: int, end: int, is_complete: bool) -> int:
    """Notes the edges of a stretch of the log; returns the next state. Where plain Python has
    expanded a state, kernels may lack a row of it, which is filled.
    """
    registers = search.registers
    before = int(registers[r.EDGE_COUNT])
    search.run(r.LINK, first, end)
    registers[r.DEFERRED_COUNT] = 0
    has_asked = is_complete and int(registers[r.ASKED_COUNT]) > 0
    if has_asked:
        search.fill()
    search.drop_asked()
    has_overflown = int(registers[r.OVERFLOW]) > 0
    if has_overflown:
        search.more_chain_memory()
    if has_overflown or has_asked:
        registers[r.EDGE_COUNT] = before
        return first
    return int(registers[r.FROM])


def _whole(
    search: Exploration,
    degrees: Places,
    targets: Places,
    classes: NDArray[np.uint16],
    masks: Words,
    actions: int,
) -> Graph:
    """The graph, with states marked that lack edges."""
    n = len(degrees)
    whole = degrees != r.OPEN
    degrees[~whole] = 0
    offsets = np.zeros(n + 1, np.uint64)
    np.cumsum(degrees, out=offsets[1:])
    lost = np.flatnonzero(targets == r.NOWHERE)
    sources = np.searchsorted(offsets, lost.astype(np.uint64), "right") - 1
    targets[lost] = sources
    whole[sources] = False
    within = np.ones(n, bool)
    if search.tables.constraints:
        within[:] = False
        within[search.within(0, n)] = True
    is_cut, has_border = bool((within & ~whole).any()), not within.all()
    whole &= within
    levels = search.log.levels
    return Graph(offsets, targets, classes, masks, actions, whole, is_cut, has_border, levels)


def _classes(search: Exploration, actions: Sequence[Action]) -> tuple[Words, Words]:
    """Of each kind of outcome its class, and of each class the actions as bits: classes x words. An
    outcome of an urgent rule is of class 0, so that chains are of the class of their first one.
    """
    tables, shape = search.tables, search.packed.shape
    numbering = {name: n for n, name in enumerate(tables.labels)}
    kinds = np.zeros(len(shape.kind_labels), np.uint64)
    known = {0: 0}
    for table, bases in zip(tables.all[: tables.ordinary], shape.kind_bases):
        subsets = 1 << min(CHANGE_BITS, len(table.inputs))
        for i in table.members:
            for name in i.rule.names:
                base, firing = bases[numbering[name]], Firing(name, i.me, 0, i.index[1:])
                bits = sum(1 << k for k, a in enumerate(actions) if a.has(firing))
                kinds[base : base + subsets] = known.setdefault(bits, len(known))
    if len(known) > MOST_CLASSES:
        raise UserError(
            f"{len(known):,} kinds of fair steps, {MOST_CLASSES:,} are possible",
            where=tables.see.spec.name,
            do="make fewer rules fair, or several of them one action",
        )
    words = max(1, -(-len(actions) // 64))
    masks = [[bits >> 64 * w & (1 << 64) - 1 for w in range(words)] for bits in known]
    return kinds, np.array(masks, np.uint64)
