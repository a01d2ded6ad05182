"""The packed side of a search: fields, tables and outcomes as arrays that the kernels read, moved to wider fields as slots take more values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from groupcheck.model.engine.errors import UserError
from groupcheck.model.engine.kernels import registers as r
from groupcheck.model.engine.kernels.compiled import PACKING, Kernel, Unit, load
from groupcheck.model.engine.layout import Field, arrange, width_of
from groupcheck.model.engine.pools import Pool
from groupcheck.model.engine.rows import Rows
from groupcheck.model.engine.store import Reserved, Words, address
from groupcheck.model.engine.tables import MOST_KINDS, Tables, group_of

ALL = (1 << 64) - 1
DIRECT = 1 << 63
DENSE_BITS = 22  # a table with more bits of input is found by hash
SMALL_BITS = 16  # one with fewer is dense even when nearly empty
SPARSE = 64  # cells for each filled row beyond which a larger dense table does not pay
CHANGE_BITS = 6  # an outcome's kind says which inputs changed, input i at bit i % 6


def u64(values: Any) -> Words:
    return np.array(values, np.uint64).reshape(-1)


class Packed:
    """Registers, fields and tables. `widths` of places come first in `fields`, then those of view instances."""

    def __init__(self, tables: Tables, rows: Rows, pools: Sequence[Pool], view_pools: Sequence[Pool]) -> None:
        self.tables, self.rows, self.pools, self.view_pools = tables, rows, pools, view_pools
        self.registers = np.zeros(r.COUNT, np.uint64)
        self.arrays: dict[int, NDArray[Any]] = {}  # what registers point to, kept alive
        self.filled = [0] * len(tables.all)
        self.repacks = 0
        self.fields: list[Field] = []
        self._search: Kernel | None = None
        self._searched = 0
        self.words = 0
        self.is_hashed = [False] * len(tables.all)
        self.outcomes = Reserved(1 << 32)
        self.registers[r.OUTCOMES] = self.outcomes.address
        self.registers[r.OUTCOMES_USED] = r.OUTCOMES_START
        self.most = [0] * len(tables.rules)  # outcomes of the largest row of each table
        self._kinds()
        self._static()
        self._widths = [width_of(1)] * (len(pools) + len(view_pools))
        self._guard_columns()
        self.layout(None)

    # -- registers

    def hold(self, register: int, array: NDArray[Any]) -> NDArray[Any]:
        """Points a register to an array and keeps the array."""
        self.arrays[register] = array
        self.registers[register] = address(array) if array.size else 0
        return array

    def get(self, register: int) -> int:
        return int(self.registers[register])

    def kernel(self, name: str) -> None:
        load(PACKING)[name](address(self.registers))

    @property
    def unit(self) -> Unit:
        return Unit(self.words, len(self.tables.rules) > self.tables.ordinary)

    def run_search(self) -> None:
        if self._search is None or self._searched != self.words:
            self._search, self._searched = load(self.unit)["search"], self.words
        self._search(address(self.registers))

    @property
    def out_degree(self) -> int:
        """A bound on the successors of one state, chains aside."""
        return sum(self.most[: self.tables.ordinary])

    # -- what does not change during a search

    def _concerned(self, changed: int, inputs: tuple[int, ...], tables: Sequence[tuple[int, frozenset[int]]]) -> int:
        """The bits of tables that read an input of which the kind says that it changed."""
        places = {k for i, k in enumerate(inputs) if changed >> i % CHANGE_BITS & 1}
        mask = 0
        for bit, reads in tables:
            if reads & places:
                mask |= 1 << bit
        return mask

    def _kinds(self) -> None:
        """A kind of outcome is a table, a label and a set of changed inputs; it says what must be looked at afterwards."""
        t = self.tables
        predicates = [(group_of(k, len(t.predicates)), t.read(table)) for k, table in enumerate(t.predicates)]
        urgent = t.all[t.ordinary : t.urgent]
        possible = [(group_of(k, len(urgent)), frozenset(table.inputs)) for k, table in enumerate(urgent)]
        numbering = {name: n for n, name in enumerate(t.labels)}
        bases = np.zeros((len(t.rules), len(t.labels)), np.uint64)
        needs: list[int] = []
        chains: list[int] = []
        self.kind_labels: list[int] = []
        for k, table in enumerate(t.rules):
            subsets = 1 << min(CHANGE_BITS, len(table.inputs))
            concerned = [self._concerned(c, table.inputs, predicates) for c in range(subsets)]
            after = [self._concerned(c, table.inputs, possible) for c in range(subsets)]
            for name in dict.fromkeys(n for rule, _, _ in table.members for n in rule.names):
                bases[k, numbering[name]] = len(needs)
                needs += concerned
                chains += after
                self.kind_labels += [numbering[name]] * subsets
        if len(needs) >= MOST_KINDS:
            raise UserError(
                f"the rules have {len(needs):,} kinds of outcome, {MOST_KINDS:,} are possible",
                where=t.see.spec.name,
                do="use fewer labels or indexes",
            )
        self.hold(r.KIND_BASES, bases)
        self.hold(r.KIND_NEEDS, u64(needs))
        self.hold(r.KIND_LABELS, u64(self.kind_labels))
        self.hold(r.KIND_URGENT, u64(chains))
        self.fired = self.hold(r.FIRED, np.zeros(max(1, len(needs)), np.uint64))
        self.registers[r.LABELS] = len(t.labels)

    def _static(self) -> None:
        t, n = self.tables, len(self.pools)
        self.registers[r.TABLES] = t.ordinary
        self.registers[r.VIEWED_FROM], self.registers[r.VIEW_FIRST], self.registers[r.VIEW_COUNT] = t.plain, t.urgent, len(t.instances)
        self.hold(r.INPUT_FIRST, u64(np.cumsum([0, *(len(table.inputs) for table in t.all)])))
        self.hold(r.PREDICATE_FIRST, self._group_starts(t.views, len(t.predicates)))
        self.hold(r.URGENT_FIRST, self._group_starts(t.ordinary, t.urgent - t.ordinary))
        needs = [0] * 64
        for k, table in enumerate(t.predicates):
            for place in table.inputs:
                if place >= n:
                    needs[group_of(k, len(t.predicates))] |= 1 << (place - n) % 64
        self.hold(r.VIEW_NEEDS, u64(needs))

    @staticmethod
    def _group_starts(first: int, count: int) -> Words:
        """For each of 64 bits the first table that it stands for, and the end."""
        groups = [group_of(k, count) for k in range(count)]
        return u64([first + next((k for k, g in enumerate(groups) if g >= bit), count) for bit in range(65)])

    # -- guards

    def _guard_columns(self) -> None:
        """A column for each place that guards read, for each chunk of 64 ordinary tables and for the urgent ones: open tables by value."""
        t = self.tables
        chunks = (t.ordinary + 63) // 64
        unguarded = [0] * (chunks + 1)
        self.columns: list[list[tuple[int, list[tuple[int, Any]]]]] = [[] for _ in range(chunks + 1)]
        for k, members in enumerate(self.rows.members):
            is_urgent = k >= t.ordinary
            chunk = chunks if is_urgent else k // 64
            bit = group_of(k - t.ordinary, t.urgent - t.ordinary) if is_urgent else k % 64
            if any(m.guard is None for m in members):
                unguarded[chunk] |= 1 << bit
                continue
            for m in members:
                place = m.where[m.guard_at]
                column = next((c for p, c in self.columns[chunk] if p == place), None)
                if column is None:
                    column = []
                    self.columns[chunk].append((place, column))
                column.append((bit, m.guard))
        self.registers[r.CHUNKS] = chunks
        self.hold(r.UNGUARDED, u64(unguarded))
        self.registers[r.URGENT_UNGUARDED] = self.get(r.UNGUARDED) + 8 * chunks
        starts = np.cumsum([0, *(len(c) for c in self.columns)])
        self.hold(r.CHUNK_GUARDS, u64(starts))
        self.registers[r.URGENT_GUARDS], self.registers[r.URGENT_GUARDS_END] = int(starts[chunks]), int(starts[chunks + 1])

    def _place_guards(self) -> None:
        """Arrays for the guards, for fields as they are now."""
        entries: list[int] = []
        base = 0
        for place, _ in (column for chunk in self.columns for column in chunk):
            f = self.fields[place]
            entries += [f.word, f.shift, f.mask, base]
            base += 1 << f.width
        self.hold(r.GUARDS, u64(entries))
        self.hold(r.GUARD_BITS, np.zeros(max(1, base), np.uint64))
        self.guarded = [0] * sum(len(c) for c in self.columns)
        self.extend_guards()

    def extend_guards(self) -> None:
        """Guards for values met since."""
        self.rows.extend_guards()
        entries, bits = self.arrays[r.GUARDS], self.arrays[r.GUARD_BITS]
        for n, (place, column) in enumerate(c for chunk in self.columns for c in chunk):
            done, known = self.guarded[n], len(self.pools[place].values)
            if done < known:
                base = int(entries[4 * n + 3])
                for bit, guard in column:
                    bits[base + done : base + known] |= np.array(guard.open[done:known], np.uint64) << np.uint64(bit)
                self.guarded[n] = known

    # -- fields

    def needed_widths(self) -> list[int]:
        return [max(w, width_of(len(p.values))) for w, p in zip(self._widths, (*self.pools, *self.view_pools))]

    def fit(self, log: Reserved | None) -> bool:
        """Wider fields if a pool has outgrown its own, or a table has become dense. True if states moved."""
        if self.needed_widths() == self._widths and not any(h and self._is_dense(k) for k, h in enumerate(self.is_hashed)):
            return False
        before = self.fields[: len(self.pools)], self.words
        self.layout(log)
        return before != (self.fields[: len(self.pools)], self.words)

    def layout(self, log: Reserved | None) -> None:
        """Fields for the widths needed; log, outcomes and tables move to them."""
        old = None if not self.words else (self.words, self.fields, self.get(r.KEY_WORDS))
        self._widths = self.needed_widths()
        n = len(self.pools)
        self.words, fields = arrange(self._widths[:n])
        self.view_words, view_fields = arrange(self._widths[n:]) if self.view_pools else (0, [])
        self.fields = [*fields, *(Field(self.words + f.word, f.shift, f.width) for f in view_fields)]
        self.registers[r.WORDS], self.registers[r.VIEW_WORDS] = self.words, self.view_words
        self.registers[r.KEY_WORDS] = self.words + self.view_words
        most_inputs = max((len(t.inputs) for t in self.tables.all), default=0)
        self.hold(r.SCRATCH, np.zeros(self.words + self.view_words + most_inputs + 1, np.uint64))
        self.hold(r.VIEW_VALUES, np.zeros(self.view_words + 1, np.uint64))
        self.hold(r.VIEW_PLACES, u64([x for f in view_fields for x in (f.word, f.shift)]))
        moved = old is not None and (old[0], old[1][:n]) != (self.words, fields)
        mapping = self._move(log, *old[:2]) if old is not None and moved else np.zeros(0, np.uint32)
        self._place_tables(old, mapping)
        self._place_guards()
        self.repacks += moved

    def _move(self, log: Reserved | None, old_words: int, old_fields: Sequence[Field]) -> NDArray[np.uint32]:
        """States and outcomes from the old fields to the new ones. Returns where rows went, if they did."""
        moves = [(o.word, o.shift, o.mask, f.word, f.shift) for o, f in zip(old_fields[: len(self.pools)], self.fields)]
        self.hold(r.FIELDS, u64(moves))
        self.registers[r.FIELD_COUNT], self.registers[r.OLD_WORDS] = len(moves), old_words
        if log is not None:
            log.ensure(self.words * (self.get(r.STATES) + 1))
            self.registers[r.LOG] = log.address
            self.kernel("repack_log")
        self.registers[r.SOURCE] = self.outcomes.address
        mapping = np.zeros(0, np.uint32)
        before = self.outcomes
        if self.words != old_words:
            mapping = np.zeros(self.get(r.OUTCOMES_USED), np.uint32)
            self.outcomes = Reserved(1 << 32)
            self.outcomes.ensure(self.get(r.OUTCOMES_USED) * self.words // old_words + 8)
            self.registers[r.OUTCOMES] = self.outcomes.address
        self.hold(r.MOVED_TO, mapping)
        self.kernel("repack_outcomes")
        del before
        return mapping

    # -- tables

    def _bits(self, k: int) -> int:
        return sum(self.fields[p].width for p in self.tables.all[k].inputs)

    def _is_dense(self, k: int) -> bool:
        bits = self._bits(k)
        return bits <= SMALL_BITS or (bits <= DENSE_BITS and 1 << bits <= SPARSE * self.filled[k])

    def _place_tables(self, old: tuple[int, Sequence[Field], int] | None, mapping: NDArray[np.uint32]) -> None:
        """Masks, shifts and cells for the fields as they are now; what was filled is moved over."""
        t = self.tables
        old_inputs, old_bases, old_cells = (self.arrays.get(x) for x in (r.INPUTS, r.BASES, r.CELLS))
        old_keys, old_values, old_size = self.arrays.get(r.HASH_KEYS), self.arrays.get(r.HASH_VALUES), self.get(r.HASH_SIZE)
        masks = np.zeros((len(t.all), self.words + self.view_words), np.uint64)
        shifts = np.zeros((len(t.all), self.words + self.view_words), np.uint64)
        inputs: list[int] = []
        bases: list[int] = []
        size = 0
        for k, table in enumerate(t.all):
            at, offset = {}, 0
            for place in sorted(table.inputs, key=lambda p: (self.fields[p].word, self.fields[p].shift)):
                f = self.fields[place]
                if not masks[k, f.word]:
                    shifts[k, f.word] = offset
                masks[k, f.word] |= np.uint64(f.mask << f.shift)
                at[place] = offset
                offset += f.width
            for place in table.inputs:
                f = self.fields[place]
                inputs += [f.word, f.shift, f.mask, at[place]]
            self.is_hashed[k] = not self._is_dense(k)
            bases.append(ALL if self.is_hashed[k] else size)
            size += 0 if self.is_hashed[k] else 1 << offset
        for register, array in ((r.MASKS, masks), (r.SHIFTS, shifts)):
            self.hold(register, np.ascontiguousarray(array[:, : self.words]))
        self.hold(r.VIEW_MASKS, np.ascontiguousarray(masks[:, self.words :]))
        self.hold(r.VIEW_SHIFTS, np.ascontiguousarray(shifts[:, self.words :]))
        self.hold(r.INPUTS, u64(inputs))
        self.hold(r.BASES, u64(bases))
        self.hold(r.CELLS, np.zeros(max(1, size), np.uint32))
        self._new_hash(max(1 << 12, 4 * sum(f for f, h in zip(self.filled, self.is_hashed) if h)))
        if old is not None:
            self._respread(old[2], old_inputs, old_bases, old_cells, old_keys, old_values, old_size, mapping)

    def _respread(
        self, key_words: int, inputs: Any, bases: Any, cells: Any, keys: Any, values: Any, size: int, mapping: NDArray[np.uint32]
    ) -> None:
        for register, array in (
            (r.OLD_INPUTS, inputs),
            (r.OLD_BASES, bases),
            (r.OLD_CELLS, cells),
            (r.OLD_KEYS, keys),
            (r.OLD_VALUES, values),
        ):
            self.hold(register, array)
        self.hold(r.MOVED_TO, mapping)
        self.registers[r.OLD_HASH_SIZE], self.registers[r.OLD_KEY_WORDS] = size, key_words
        kept = self.get(r.FROM), self.get(r.TO)
        self.registers[r.FROM], self.registers[r.TO] = self.tables.urgent, len(self.tables.all)
        self.kernel("respread")
        self.registers[r.FROM], self.registers[r.TO] = kept
        for register in (r.OLD_INPUTS, r.OLD_BASES, r.OLD_CELLS, r.OLD_KEYS, r.OLD_VALUES, r.MOVED_TO):
            del self.arrays[register]

    def _new_hash(self, size: int) -> None:
        self.hold(r.HASH_KEYS, np.zeros(size * self.get(r.KEY_WORDS), np.uint64))
        self.hold(r.HASH_VALUES, np.zeros(size, np.uint64))
        self.registers[r.HASH_SIZE], self.registers[r.HASH_COUNT] = size, 0

    def ensure_hash_room(self, more: int) -> None:
        """Room in the hash for so many more rows."""
        if (self.get(r.HASH_COUNT) + more) * 10 > self.get(r.HASH_SIZE) * 6:
            keys, values, size = self.arrays[r.HASH_KEYS], self.arrays[r.HASH_VALUES], self.get(r.HASH_SIZE)
            self._new_hash(max(2 * size, 2 * (self.get(r.HASH_COUNT) + more)))
            no_dense, none = u64([ALL] * len(self.tables.all)), np.zeros(0, np.uint32)
            self._respread(self.get(r.KEY_WORDS), self.arrays[r.INPUTS], no_dense, none, keys, values, size, none)

    # -- writing rows

    def write(self, tape: Sequence[int] | Words, rows: int) -> None:
        """Rows from Python into the tables. Their numbers must fit the fields."""
        if not len(tape):
            return
        room = self.get(r.OUTCOMES_USED) + (len(tape) + 2 * rows) * self.words
        if room >= 1 << 32:
            raise UserError(
                "the outcomes of the rules do not fit in 4,294,967,296 words", where=self.tables.see.spec.name, do="cut the slots smaller"
            )
        self.outcomes.ensure(room)
        self.registers[r.OUTCOMES] = self.outcomes.address
        self.hold(r.TAPE, np.array(tape, np.uint64))
        self.registers[r.TAPE_LENGTH] = len(tape)
        self.ensure_hash_room(rows)
        self.kernel("write_rows")

    def dump(self) -> Words:
        """All rows of rules as a tape for `write`."""
        most = 1 + max((len(t.inputs) for t in self.tables.rules), default=0)
        size = sum(self.filled[: self.tables.urgent]) * (most + 1) + self.get(r.OUTCOMES_USED) * most
        tape = self.hold(r.TAPE, np.zeros(size, np.uint64))
        kept = self.get(r.TO)
        self.registers[r.TO] = self.tables.urgent
        self.kernel("dump_rows")
        self.registers[r.TO] = kept
        return tape[: self.get(r.TAPE_LENGTH)]

    def ids(self, words: Words) -> list[list[int]]:
        """The numbers of all places for packed states, one list a place. `words`: states x words."""
        return [((words[:, f.word] >> np.uint64(f.shift)) & np.uint64(f.mask)).tolist() for f in self.fields[: len(self.pools)]]

    @property
    def bytes(self) -> int:
        """Memory of tables and outcomes."""
        return sum(a.nbytes for a in self.arrays.values()) + 8 * self.get(r.OUTCOMES_USED)
