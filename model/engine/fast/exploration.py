"""One search: kernels expand and insert, Python fills the rows they ask for, level by level."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator
from typing import Any

import numpy as np
from attrs import define, field

from groupcheck.model.engine.errors import AsymmetryError, RuleError
from groupcheck.model.engine.fast.kernels import registers as r
from groupcheck.model.engine.fast.layout import moved
from groupcheck.model.engine.fast.log import Log
from groupcheck.model.engine.fast.loop import BLOCK, QUEUE, Loop
from groupcheck.model.engine.fast.many_states import Border, Bulk, Ends
from groupcheck.model.engine.fast.packed import Packed
from groupcheck.model.engine.fast.predicates import PackedPredicates
from groupcheck.model.engine.fast.shape import Known, asking, guarded_by, shape_of
from groupcheck.model.engine.fast.store import Words, address
from groupcheck.model.engine.spec import Spec
from groupcheck.model.engine.step import State
from groupcheck.model.engine.symmetry import NO_SYMMETRY, Orbits, Symmetry
from groupcheck.model.engine.tabled.tabled import Numbers, Tabled
from groupcheck.model.engine.verdict import DEADLOCK

AT_ONCE = 1 << 20  # states that `seen` looks at together
PULSE = 0.02  # seconds between two looks at limits while rules are called
# For each table: its number, the rows that are asked for, and the places of the states that ask.
Work = list[tuple[int, list[tuple[int, ...]], list[int]]]


WHY = {
    r.TWO_AT_ONCE: "urgent rule {rule} is possible at two indexes at once (guard it by a single"
    " slot that says whose turn it is)",
    r.DIRECTED_AT_REST: "a state at rest names an index (let the walk that it directs go to its"
    " end in the same step)",
    r.IN_A_WALK: "urgent rule {rule} fires while a walk goes on (let it wait for the walk's end)",
    r.ORDER_SHOWS: "the walk of {rule} comes to another end if it visits indexes in another order"
    " (let no visit depend on those before it)",
    r.TOO_MANY_ENDS: "the walk of {rule} has too many ends to compare (let visits have fewer"
    " outcomes)",
}


@define
class Kept:
    """Rows as they are written, for somebody who saves or sends them."""

    # Tapes with rows of rules.
    rules: list[Words] = field(factory=list)
    # Tapes with rows of predicates and views.
    looks: list[Words] = field(factory=list)
    # How many rows are on the tapes of each kind.
    rows: tuple[int, int] = (0, 0)

    def add(self, rules: list[int], looks: list[int], rows: tuple[int, int]) -> None:
        """Keeps two tapes. `rows`: how many rows each holds."""
        self.rules.append(np.array(rules, np.uint64))
        self.looks.append(np.array(looks, np.uint64))
        self.rows = (self.rows[0] + rows[0], self.rows[1] + rows[1])


class Exploration(Loop):
    """The state of a search between two calls of a kernel. One thread explores; in `search.Search`
    several do.
    """

    def __init__(
        self,
        spec: Spec,
        symmetry: Symmetry = NO_SYMMETRY,
        tabled: Tabled | None = None,
        new_log: Callable[[Packed], Log] = Log,
    ) -> None:
        """`tabled`: the spec as another search knows it, which is taken over."""
        self.spec, self.symmetry = spec, symmetry
        self.tabled = Tabled(spec) if tabled is None else tabled
        self.tables, self.see = self.tabled.tables, self.tabled.see
        self.orbits = Orbits(self.see, symmetry.groups) if symmetry.groups else None
        self.pools, self.view_pools = self.tabled.pools, self.tabled.view_pools
        self.findings, self.rows = self.tabled.findings, self.tabled.rows
        # Firings before the first state at rest.
        starts, self.extra = self.tabled.starts(self.stored)
        guarded = guarded_by(self.tables, self.rows.members)
        packed = Packed(
            shape_of(self.tables, guarded, symmetry, self.orbits),
            Known(
                guarded,
                self.pools,
                self.view_pools,
                self.rows.extend_guards,
                asking(self.tables, self.rows.members, symmetry),
            ),
        )
        super().__init__(packed, new_log(packed))
        self.predicates = PackedPredicates(
            self.tables, self.packed, self.pools, self.view_pools, self.findings, self.state
        )
        bulk = Bulk(self.tables, self.packed, self.pools, self.state)
        bulk.key_to = lambda place: self.key_to(place)
        self.bulk = bulk
        self.ends, self.border = Ends(self.tables, bulk), Border(self.tables, bulk)
        self.predicates.orbits = self.ends.orbits = self.orbits
        # Where there are constraints: the places of the states to expand, and how many states of
        # the levels so far are border states.
        self.frontier: Words | None = None
        self.outside = 0
        self.peak = 0
        # Of each table the seconds that its rows took in this process.
        self.spent: dict[int, float] = {}
        self._pulsed = 0.0  # when limits were looked at last, by `time.perf_counter`
        self.kept: Kept | None = None
        self.key_to: Callable[[int], str] = lambda place: ""
        self.pulse: Callable[[], None] = lambda: (
            None
        )  # called now and then while rules are called; it may raise to stop the search
        for ids in starts:
            self.log.append(list(ids))
        self.starts = len(starts)

    def stored(self, state: Numbers) -> Numbers:
        """The numbers of the state that is stored for a state: of its orbit the one whose blocks
        ascend, as in the kernels.
        """
        if self.orbits is None:
            return state
        ids = list(state)
        for group in self.orbits.blocks:
            ordered = sorted([ids[k] for k in block] for block in group)
            for block, numbers in zip(group, ordered):
                for k, number in zip(block, numbers):
                    ids[k] = number
        return tuple(ids)

    def state(self, place: int) -> State:
        """The values of the state at a place."""
        return tuple([pool.values[n] for pool, n in zip(self.pools, self.log.ids(place))])

    def seen(self, names: Collection[str]) -> Iterator[tuple[Any, ...]]:
        """Every combination of values that the slots of these names have in some state, in the
        order of `see.places`.
        """
        at = [k for k, (name, _) in enumerate(self.see.places) if name in names]
        fields = [self.packed.state_fields[k] for k in at]
        masks = np.zeros(self.packed.words, np.uint64)
        for f in fields:
            masks[f.word] |= np.uint64(f.mask << f.shift)
        found = np.empty((0, self.packed.words), np.uint64)
        for first in range(0, self.log.states, AT_ONCE):
            states = self.log.packed_states(first, min(first + AT_ONCE, self.log.states))
            found = np.unique(np.concatenate([found, states & masks]), axis=0)
        for words in found.tolist():
            numbers = [(words[f.word] >> f.shift) & f.mask for f in fields]
            yield tuple([self.pools[k].values[n] for k, n in zip(at, numbers)])

    # -- running

    def begin(self, resumed: bool = False) -> None:
        """Makes the index, and looks at the initial states."""
        self.log.make_room()
        for place in range(0 if resumed else self.starts):
            self.predicates.arrive_first(self.state(place), place)
        self.predicates.refresh()
        if self.tables.constraints:
            before = self.log.levels[-1]
            self.outside = before - len(self.within(0, before))

    def open_level(self, first: int, end: int) -> tuple[int, int]:
        """The states of a new level, from `first` to before `end`, are to be expanded, without
        those on the border: what `stretch` counts from and to.
        """
        if not self.tables.constraints:
            return first, end
        self.frontier = self.within(first, end)
        self.outside += end - first - len(self.frontier)
        return 0, len(self.frontier)

    def open_rest(self, first: int, end: int) -> tuple[int, int]:
        """The same for what is left of a level that was opened before."""
        if not self.tables.constraints:
            return first, end
        self.frontier = self.within(first, end)
        return 0, len(self.frontier)

    def opened(self, first: int, end: int) -> Words:
        """The places of the states that `stretch` counts from `first` to before `end`."""
        if self.frontier is not None:
            return self.frontier[first:end]
        return np.arange(first, end, dtype=np.uint64)

    def within(self, first: int, end: int) -> Words:
        """The places of states from `first` to before `end` that are no border states."""
        return self.border.within(np.arange(first, end, dtype=np.uint64), self.log.chosen)

    def begin_stretch(self) -> int:
        """The mode in which the kernel finds the states to expand: in the log, or by `frontier`,
        which it is pointed to.
        """
        if self.frontier is None:
            return r.EXPAND
        self.registers[r.LIST] = address(self.frontier)
        return r.LISTED

    def stretch_alone(self, first: int, end: int, below: int = 0) -> int:
        """Expands states from `first` on, at most to `end`, completely, in this thread; returns the
        next one. Where there is a `frontier`, these are numbers in it. Levels that end before place
        `below` and ask for nothing follow at once.
        """
        self.registers[r.LEVEL_STOP] = below
        self.run(self.begin_stretch(), first, end)
        self.registers[r.LEVEL_STOP] = 0
        reached = int(self.registers[r.FROM])
        begun = self.taken(r.LEVELS, r.LEVEL_COUNT).tolist()
        self.log.levels += begun
        self.findings.depth += len(begun)
        quiet = self.taken(r.QUIET, r.QUIET_COUNT)
        unsure = self.taken(r.UNSURE, r.UNSURE_COUNT)
        self.settle()
        self.rest(quiet, unsure)
        return reached

    def rest(self, quiet: Words, unsure: Words) -> None:
        """Looks for a deadlock among the places of states without successors. `unsure`: places of
        states that seemed to have none before rows were filled.
        """
        self.note_deadlock(quiet, self.findings.depth - 1)
        self.note_deadlock(self.without_successors(unsure), self.findings.depth - 1)

    def note_deadlock(self, quiet: Words, depth: int) -> None:
        """Notes the first of these states without successors that is no declared end."""
        if len(quiet) and self.spec.deadlock and DEADLOCK not in self.findings.wrong:
            stuck = self.ends.first_deadlock(quiet, self.log.chosen(quiet))
            if stuck is not None:
                self.findings.wrong[DEADLOCK] = (depth, stuck, "deadlock")

    def never_rests(self, place: int) -> None:
        """Raises `RuleError`, which names the urgent rule that does not come to rest."""
        for _ in self.see.steps(self.state(place)):
            pass
        raise AssertionError("urgent rules came to rest after all")

    def unequal(self, why: int, table: int) -> None:
        """Raises `AsymmetryError`, which says how permutations make a difference."""
        name = self.tables.all[table].members[0].rule.name if table else ""
        raise AsymmetryError(WHY[why].format(rule=name))

    def settle(self) -> None:
        """Fills rows and goes on with the pairs that were put off, until none are left."""
        while True:
            asked = int(self.registers[r.ASKED_COUNT])
            deferred = self.taken(r.DEFERRED, r.DEFERRED_COUNT, 2)
            put_off = self.taken(r.PUT_OFF, r.PUT_OFF_COUNT, 2)
            is_left = len(self.left_over) > 0
            if asked:
                self.fill()
            if int(self.registers[r.OVERFLOW]):
                self.more_chain_memory()
            if is_left:
                self.enter_left_over()
            if not len(deferred) and not len(put_off) and not is_left:
                return
            if len(put_off):
                self.run(r.RECHECK, 0, len(put_off) // 2, put_off)
            done, n = 0, len(deferred) // 2
            while done < n:
                self.run(r.RETRY, done, n, deferred)
                if int(self.registers[r.FROM]) == done:
                    break  # a queue is full
                done = int(self.registers[r.FROM])
            if done < n:
                rest = np.concatenate(
                    [self.taken(r.DEFERRED, r.DEFERRED_COUNT, 2), deferred[2 * done :]]
                )
                self.requeue(rest)

    def requeue(self, pairs: Words) -> None:
        """Puts (place, table) pairs, as a flat array, into the queue of pairs that are put off."""
        queue = self.packed.arrays[r.DEFERRED]
        if len(pairs) > len(queue):
            queue = self.deferred_room(len(pairs) // 2 + QUEUE)
        queue[: len(pairs)] = pairs
        self.registers[r.DEFERRED_COUNT] = len(pairs) // 2

    # -- rows

    def fill(self) -> None:
        """Evaluates the rows asked for, makes fields wider where needed, and writes the rows."""
        p, t = self.packed, self.tables
        stride = p.words + p.view_words + 2
        asked = self.taken(r.ASKED, r.ASKED_COUNT, stride).reshape(-1, stride)
        asked = asked[np.argsort(asked[:, -2], kind="stable")]
        places = asked[:, -1].tolist()
        numbers, firsts = np.unique(asked[:, -2], return_index=True)
        work: Work = []
        bounds = [*firsts.tolist(), len(asked)]
        for number, begin, end in zip(numbers.tolist(), bounds, bounds[1:]):
            words = asked[begin:end].T
            fields = [p.fields[k] for k in t.all[number].inputs]
            columns = [
                ((words[f.word] >> np.uint64(f.shift)) & np.uint64(f.mask)).tolist() for f in fields
            ]
            rows: list[tuple[int, ...]] = list(zip(*columns)) if columns else [()] * (end - begin)
            work.append((number, rows, places[begin:end]))
            p.filled[number] += end - begin
        rules = [x for x in work if x[0] < t.urgent]
        tape: list[int] = []
        calls = self.rows.calls
        try:
            self.evaluate(rules, tape)
            end_of_rules = len(tape)
            self.evaluate(work[len(rules) :], tape)
            self.pulse()  # the last moment before wider fields take memory
        except BaseException:
            self.rows.calls = calls  # of a batch that was given up no row is kept
            raise
        self.predicates.refresh()
        self._relay()
        p.write(tape, len(asked))
        if self.kept is not None:
            of_rules = sum(len(rows) for _, rows, _ in rules)
            self.kept.add(
                tape[:end_of_rules], tape[end_of_rules:], (of_rules, len(asked) - of_rules)
            )
        if BLOCK + p.out_degree + 2 > int(self.registers[r.BUFFER_SIZE]):
            self.resize()
        self.peak = max(self.peak, self.bytes)

    def evaluate(self, work: Work, tape: list[int]) -> None:
        """Appends rows to the tape. Raises `RuleError` for a rule at fault, with a key to the state
        that asked.
        """
        number = 0
        try:
            for number, rows, places in work:
                self.pulse_in_time()
                began = time.perf_counter()
                if number >= self.tables.urgent:
                    self.predicates.fill(number, rows, places, tape)
                    self._spent_on(number, began)
                    continue
                self.rows.prepare(number)
                most = self.rows.batch(number, rows, places, tape, self.pulse_in_time)
                self.packed.most[number] = max(self.packed.most[number], most)
                self._spent_on(number, began)
        except RuleError as error:
            if error.key:
                raise
            at = self.rows.place if number < self.tables.urgent else self.predicates.place
            raise error.at(self.key_to(at)) from error

    def pulse_in_time(self) -> None:
        """Looks at limits, unless that was done a moment ago: it takes as long as a few rules.
        Raises what `pulse` raises.
        """
        if time.perf_counter() - self._pulsed > PULSE:
            self.pulse()
            self._pulsed = time.perf_counter()

    def _spent_on(self, number: int, began: float) -> None:
        self.spent[number] = self.spent.get(number, 0.0) + time.perf_counter() - began

    def _relay(self) -> None:
        """Makes fields wider where a pool has outgrown them, and resizes what depends on the words
        of a state.
        """
        before = self.packed.words, self.packed.view_words
        old = self.packed.state_fields
        with self.packed.changing():
            is_moved = self.packed.fit(self.log.memory)
            self.packed.extend_guards()
            if (self.packed.words, self.packed.view_words) != before:
                self.sized_by_words()
        if is_moved:
            new, words = self.packed.state_fields, self.packed.words
            self.left_over = [(moved(s, old, new, words), needs) for s, needs in self.left_over]
            self.clear_sieve()
            self.log.reindex(self.log.slots_for(self.log.states))

    def look_at_whole_states(self, first: int) -> None:
        """Predicates over the whole state, for the states from `first` on, in Python."""
        for place in range(first, self.log.states) if self.tables.constant else ():
            self.pulse_in_time()
            self.predicates.arrive(self.state(place), place, self.tables.constant)

    def give_up(self) -> None:
        """Gives back what only a search that goes on needs; paths can still be found."""
        self.packed.hold(r.INDEX, np.zeros(0, np.uint32))
        self.registers[r.INDEX_SLOTS] = self.registers[r.BUCKETS] = 0

    def free(self) -> None:
        """Gives the states and outcomes back; the exploration cannot be used any more."""
        self.log.memory.free()
        self.packed.outcomes.free()

    # -- numbers

    @property
    def transitions(self) -> int:
        return int(self.registers[r.TRANSITIONS])

    @property
    def fired(self) -> dict[str, int]:
        out = dict(self.extra)
        for kind, n in enumerate(self.packed.arrays[r.FIRED].tolist()):
            if n:
                out[self.tables.labels[self.packed.shape.kind_labels[kind]]] += n
        return out

    @property
    def bytes(self) -> int:
        """Memory of log, index, tables, outcomes and queues; not the Python values."""
        return self.log.bytes + self.packed.bytes
