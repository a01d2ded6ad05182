"""The packed side of a search: fields, tables and outcomes as arrays that the kernels read, moved
to wider fields as slots take more values.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from groupcheck.model.engine.errors import UserError
from groupcheck.model.engine.fast.kernel_registers import KernelRegisters
from groupcheck.model.engine.fast.kernels import registers as r
from groupcheck.model.engine.fast.kernels.compiled import Kernel, Unit, load
from groupcheck.model.engine.fast.layout import Field, arrange, moved, width_of
from groupcheck.model.engine.fast.shape import Shape, Values
from groupcheck.model.engine.fast.store import Reserved, Words, aligned_zeros
from groupcheck.model.engine.fast.symmetry_arrays import Permuted
from groupcheck.model.engine.tabled.tables import group_of

ALL = (1 << 64) - 1
DIRECT = 1 << 63
DENSE_BITS = 22  # a table with more bits of input is found by hash
SMALL_BITS = 16  # one with fewer is dense even when nearly empty
KEYED_BITS = 64  # one with more is found by the words of the state, not by a key
LEAST_ROWS = 1 << 12  # slots of a hash of rows
SPARSE = 64  # cells for each filled row beyond which a larger dense table does not pay


def u64(values: Any) -> Words:
    return np.array(values, np.uint64).reshape(-1)


class Packed(KernelRegisters):
    """Registers, fields and tables. `widths` of places come first in `fields`, then those of view
    instances.
    """

    def __init__(self, shape: Shape, values: Values) -> None:
        self.shape, self.values = shape, values
        super().__init__()
        self.filled = [0] * len(shape.inputs)
        self.is_torn = False  # memory ran out while arrays and registers did not fit each other
        self.fields: list[Field] = []
        self.words = 0
        self.is_hashed = [False] * len(shape.inputs)  # without cells: by a key or by words
        self.is_keyed = [False] * len(shape.inputs)
        # bits that a key has for the inputs, beside the number of their table
        self.key_bits = 64 - (len(shape.inputs) + 1).bit_length()
        self.outcomes = Reserved(1 << 32)
        self.point(r.OUTCOMES, self.outcomes)
        self.most = [0] * shape.rules  # outcomes of the largest row of each table
        self._static()
        self.permuted = Permuted(self, shape, values) if shape.blocks else None
        self._widths = [width_of(1)] * (shape.places + shape.views)
        self.layout(None)

    @contextlib.contextmanager
    def changing(self) -> Iterator[None]:
        """While arrays and registers do not fit each other. After an error inside, no search runs
        on them any more.
        """
        before, self.is_torn = self.is_torn, True
        yield
        self.is_torn = before

    def _expect_whole(self) -> None:
        if self.is_torn:
            raise MemoryError("memory ran out while the tables were changed")

    @property
    def unit(self) -> Unit:
        return Unit(self.words, self.shape.has_urgent)

    def run_search(self) -> None:
        self._expect_whole()
        self._call("search", load(self.unit)["search"])

    def search_kernel(self) -> Kernel:
        """The search kernel, for the registers of another thread."""
        self._expect_whole()
        return load(self.unit)["search"]

    @property
    def out_degree(self) -> int:
        """A bound on the successors of one state, chains aside."""
        return sum(self.most[: self.shape.to_ordinary])

    # -- what does not change during a search

    def _static(self) -> None:
        s = self.shape
        chunks = len(s.columns) - 1
        starts = np.cumsum([0, *(len(c) for c in s.columns)])
        self.hold_all(
            {
                r.KIND_BASES: np.array(s.kind_bases, np.uint64).reshape(s.rules, s.labels),
                r.KIND_NEEDS: u64(s.kind_needs),
                r.KIND_LABELS: u64(s.kind_labels),
                r.KIND_URGENT: u64(s.kind_urgent),
                r.FIRED: np.zeros(max(1, len(s.kind_needs)), np.uint64),
                r.INPUT_FIRST: u64(np.cumsum([0, *(len(inputs) for inputs in s.inputs)])),
                r.PREDICATE_FIRST: self._group_starts(s.to_views, s.predicates),
                r.URGENT_FIRST: self._group_starts(s.to_ordinary, s.to_urgent - s.to_ordinary),
                r.VIEW_NEEDS: u64(s.view_needs),
                r.UNGUARDED: u64(s.unguarded),
                r.CHUNK_GUARDS: u64(starts),
            }
        )
        self.set(
            {
                r.OUTCOMES_USED: r.OUTCOMES_START,
                r.LABELS: s.labels,
                r.TABLES: s.to_ordinary,
                r.VIEWED_FROM: s.to_plain,
                r.VIEW_FIRST: s.to_urgent,
                r.VIEW_COUNT: s.views,
                r.CHUNKS: chunks,
                r.URGENT_UNGUARDED: self.get(r.UNGUARDED) + 8 * chunks,
                r.URGENT_GUARDS: int(starts[chunks]),
                r.URGENT_GUARDS_END: int(starts[chunks + 1]),
                r.WEIGHT: 1,
                r.SEGMENT_END: ALL,
            }
        )
        self._columns = [place for chunk in s.columns for place in chunk]

    @staticmethod
    def _group_starts(first: int, count: int) -> Words:
        """The first table that each of 64 bits stands for, and the end."""
        groups = [group_of(k, count) for k in range(count)]
        return u64(
            [
                first + next((k for k, g in enumerate(groups) if g >= bit), count)
                for bit in range(65)
            ]
        )

    # -- guards

    def _place_guards(self) -> None:
        """Arrays for the guards, for fields as they are now: of each place that guards read where
        its field is, where the bits for its values begin, and the tables that some value opens.
        """
        fields = [self.fields[place] for place in self._columns]
        bases = np.cumsum([0, *(1 << f.width for f in fields)]).tolist()
        entries = [x for f, base in zip(fields, bases) for x in (f.word, f.shift, f.mask, base, 0)]
        self.hold(r.GUARDS, u64(entries))
        self.hold(r.GUARD_BITS, np.zeros(max(1, bases[-1]), np.uint64))
        self.guarded = [0] * len(self._columns)
        self.extend_guards()

    def extend_guards(self) -> None:
        """Guards for values met since."""
        self.values.refresh()
        entries, bits = self.arrays[r.GUARDS], self.arrays[r.GUARD_BITS]
        counts = self.values.counts()
        for n, place in enumerate(self._columns):
            if self.guarded[n] < counts[place]:
                more = u64(self.values.open_tables(n, self.guarded[n]))
                at = int(entries[5 * n + 3]) + self.guarded[n]
                bits[at : at + len(more)] = more
                entries[5 * n + 4] |= np.bitwise_or.reduce(more)
                self.guarded[n] += len(more)
        if self.permuted is not None:
            self.permuted.extend()

    # -- fields

    @property
    def state_bits(self) -> int:
        """Bits that a state takes, if it takes one word."""
        return max(f.shift + f.width for f in self.state_fields)

    @property
    def state_fields(self) -> list[Field]:
        """The fields of places, without those of views."""
        return self.fields[: self.shape.places]

    @property
    def state_widths(self) -> list[int]:
        """The widths of these fields: what a block of states says of its layout."""
        return [f.width for f in self.state_fields]

    def in_layout(self, words: Words, widths: Sequence[int]) -> Words:
        """Packed states of a layout with these widths, as states x words of today's layout."""
        n_words, fields = self.arranged(widths)
        states = words.reshape(-1, n_words)
        if list(widths) == self.state_widths:
            return states
        return moved(states, fields, self.state_fields, self.words)

    def arranged(self, widths: Sequence[int]) -> tuple[int, list[Field]]:
        """Words and fields of a state with these widths."""
        return arrange(widths, self.shape.blocks)

    def needed_widths(self) -> list[int]:
        return [
            max(w, width_of(n)) for w, n in zip(self._widths, self.values.counts(), strict=True)
        ]

    def widen(self, widths: Sequence[int]) -> None:
        """Fields of places at least as wide, while there are no states."""
        self._widths[: self.shape.places] = [
            max(now, asked) for now, asked in zip(self._widths, widths, strict=False)
        ]
        self.layout(None)

    @property
    def fits(self) -> bool:
        """Has every value room in its field, and is no table that is found by hash dense?"""
        return self.needed_widths() == self._widths and not any(map(self._is_dense, self._hashed))

    def fit(self, log: Reserved | None) -> bool:
        """Wider fields if a pool has outgrown its own, or a table has become dense. True if states
        moved.
        """
        if self.fits:
            return False
        before = self.state_fields, self.words
        self.layout(log)
        return before != (self.state_fields, self.words)

    def layout(self, log: Reserved | None) -> None:
        """Fields for the widths needed; log, outcomes and tables move to them."""
        with self.changing():
            self._lay_out(log)

    def _lay_out(self, log: Reserved | None) -> None:
        old = None if not self.words else (self.words, self.fields, self.get(r.KEY_WORDS))
        self._widths = self.needed_widths()
        n = self.shape.places
        self.words, fields = self.arranged(self._widths[:n])
        self.view_words, view_fields = arrange(self._widths[n:]) if self.shape.views else (0, [])
        self.fields = [
            *fields,
            *(Field(self.words + f.word, f.shift, f.width) for f in view_fields),
        ]
        key_words = self.words + self.view_words
        self.set({r.WORDS: self.words, r.VIEW_WORDS: self.view_words, r.KEY_WORDS: key_words})
        most_inputs = max((len(inputs) for inputs in self.shape.inputs), default=0)
        self.hold_all(
            {
                r.SCRATCH: np.zeros(key_words + most_inputs + 1, np.uint64),
                r.VIEW_VALUES: np.zeros(self.view_words, np.uint64),
                r.VIEW_PLACES: u64([x for f in view_fields for x in (f.word, f.shift)]),
            }
        )
        mapping = np.zeros(0, np.uint32)
        if old is not None and (old[0], old[1][:n]) != (self.words, fields):
            mapping = self._move(log, *old[:2])
        self._place_tables(old, mapping)
        if self.permuted is not None:
            self.permuted.place(fields, self.words)
        self._place_guards()

    def _move(
        self, log: Reserved | None, old_words: int, old_fields: Sequence[Field]
    ) -> NDArray[np.uint32]:
        """States and outcomes from the old fields to the new ones. Returns where rows went, if they
        did.
        """
        moves = [
            (o.word, o.shift, o.mask, f.word, f.shift)
            for o, f in zip(old_fields[: self.shape.places], self.fields)
        ]
        self.hold(r.FIELDS, u64(moves))
        self.registers[r.FIELD_COUNT], self.registers[r.OLD_WORDS] = len(moves), old_words
        assert self.words >= old_words, "fewer words for wider fields"  # the log moves upwards
        if log is not None:
            states, n = self.get(r.STATES), self.shape.places
            is_moved = log.move(states, (old_words, old_fields[:n]), (self.words, self.fields[:n]))
            log.ensure(self.words * (states + 1))
            self.point(r.LOG, log)
            if not is_moved:
                self.kernel("repack_log")
        self.registers[r.SOURCE] = self.outcomes.address
        mapping = np.zeros(0, np.uint32)
        before = self.outcomes
        if self.words != old_words:
            mapping = np.zeros(self.get(r.OUTCOMES_USED), np.uint32)
            self.outcomes = Reserved(1 << 32)
            self.outcomes.ensure(self.get(r.OUTCOMES_USED) * self.words // old_words + 8)
            self.point(r.OUTCOMES, self.outcomes)
        mapping = self.hold(r.MOVED_TO, mapping)
        self.kernel("repack_outcomes")
        del before
        return mapping

    def pack(self, ids: Sequence[int]) -> list[int]:
        """The words of a state, from the numbers of its values."""
        words = [0] * self.words
        for f, number in zip(self.fields, ids):
            words[f.word] |= number << f.shift
        return words

    # -- tables

    def _bits(self, k: int) -> int:
        return sum(self.fields[p].width for p in self.shape.inputs[k])

    def _is_dense(self, k: int) -> bool:
        bits = self._table_bits[k]
        return bits <= SMALL_BITS or (bits <= DENSE_BITS and 1 << bits <= SPARSE * self.filled[k])

    def _place_tables(
        self, old: tuple[int, Sequence[Field], int] | None, mapping: NDArray[np.uint32]
    ) -> None:
        """Masks, shifts and cells for the fields as they are now; what was filled is moved over."""
        old_inputs, old_bases, old_cells = (
            self.arrays.get(x) for x in (r.INPUTS, r.BASES, r.CELLS)
        )
        old_hash, old_size = self.arrays.get(r.HASH), self.get(r.HASH_SIZE)
        old_keyed = self.arrays.get(r.KEYED)
        masks = np.zeros((len(self.shape.inputs), self.words + self.view_words), np.uint64)
        shifts = np.zeros((len(self.shape.inputs), self.words + self.view_words), np.uint64)
        inputs: list[int] = []
        bases: list[int] = []
        size = 0
        self._table_bits = [self._bits(k) for k in range(len(self.shape.inputs))]
        for k, places in enumerate(self.shape.inputs):
            at, offset = {}, 0
            for place in sorted(places, key=lambda p: (self.fields[p].word, self.fields[p].shift)):
                f = self.fields[place]
                if not masks[k, f.word]:
                    shifts[k, f.word] = offset
                masks[k, f.word] |= np.uint64(f.mask << f.shift)
                at[place] = offset
                offset += f.width
            for place in places:
                f = self.fields[place]
                inputs += [f.word, f.shift, f.mask, at[place]]
            self.is_hashed[k] = not self._is_dense(k)
            self.is_keyed[k] = self.is_hashed[k] and offset <= min(KEYED_BITS, self.key_bits)
            number = (k + 1) << self.key_bits
            bases.append(number if self.is_keyed[k] else ALL if self.is_hashed[k] else size)
            size += 0 if self.is_hashed[k] else 1 << offset
        self.hold_all(
            {
                r.MASKS: np.ascontiguousarray(masks[:, : self.words]),
                r.SHIFTS: np.ascontiguousarray(shifts[:, : self.words]),
                r.VIEW_MASKS: np.ascontiguousarray(masks[:, self.words :]),
                r.VIEW_SHIFTS: np.ascontiguousarray(shifts[:, self.words :]),
                r.INPUTS: u64(inputs),
                r.BASES: u64(bases),
                r.CELLS: np.zeros(max(1, size), np.uint32),
            }
        )
        self.registers[r.KEY_BITS] = self.key_bits
        self._hashed = [k for k, is_hashed in enumerate(self.is_hashed) if is_hashed]
        by_key = sum(f for f, keyed in zip(self.filled, self.is_keyed) if keyed)
        by_words = sum(f for f, h in zip(self.filled, self.is_hashed) if h) - by_key
        self._new_keyed(max(LEAST_ROWS, 2 * by_key))
        self._new_hash(max(LEAST_ROWS, 4 * by_words))
        if old is not None:
            self._respread(
                old[2], old_inputs, old_bases, old_cells, old_keyed, old_hash, old_size, mapping
            )

    def _respread(
        self, key_words: int, inputs: Any, bases: Any, cells: Any, keyed: Any, rows: Any, size: int,
        mapping: NDArray[np.uint32],
    ) -> None:  # fmt: skip
        old = {
            r.OLD_INPUTS: inputs,
            r.OLD_BASES: bases,
            r.OLD_CELLS: cells,
            r.OLD_KEYED: keyed,
            r.OLD_HASH: rows,
            r.MOVED_TO: mapping,
        }
        self.hold_all(old)
        kept = {r.FROM: self.get(r.FROM), r.TO: self.get(r.TO)}
        self.set({r.FROM: self.shape.to_urgent, r.TO: len(self.shape.inputs)})
        self.set({r.OLD_HASH_SIZE: size, r.OLD_KEY_WORDS: key_words})
        self.registers[r.OLD_KEYED_SIZE] = len(keyed) // 2
        self.kernel("respread")
        self.set(kept)
        for register in old:
            del self.arrays[register]

    def _new_hash(self, size: int) -> None:
        self.hold(r.HASH, aligned_zeros(size * (self.get(r.KEY_WORDS) + 1), np.uint64))
        self.registers[r.HASH_SIZE], self.registers[r.HASH_COUNT] = size, 0

    def _new_keyed(self, size: int) -> None:
        self.hold(r.KEYED, aligned_zeros(2 * size, np.uint64))
        self.registers[r.KEYED_SIZE], self.registers[r.KEYED_COUNT] = size, 0

    def hash_sizes(self, more: int) -> tuple[int, int]:
        """Slots for rows by key, and for rows by words, where so many more rows come of each kind
        that there is: as many as now, or more.
        """
        kinds = (
            (self.get(r.KEYED_SIZE), self.get(r.KEYED_COUNT), any(self.is_keyed)),
            (self.get(r.HASH_SIZE), self.get(r.HASH_COUNT), self.is_hashed != self.is_keyed),
        )
        by_key, by_words = (
            max(2 * size, 2 * (count + more)) if some and (count + more) * 10 > size * 7 else size
            for size, count, some in kinds
        )
        return by_key, by_words

    def ensure_hash_room(self, more: int) -> None:
        """Room in the hashes for so many more rows."""
        by_key, by_words = self.hash_sizes(more)
        no_dense, none = u64([ALL] * len(self.shape.inputs)), np.zeros(0, np.uint32)
        keyed, rows, size = none, none, self.get(r.HASH_SIZE)
        if by_key != self.get(r.KEYED_SIZE):
            keyed = self.arrays[r.KEYED]
            self._new_keyed(by_key)
        if by_words != size:
            rows = self.arrays[r.HASH]
            self._new_hash(by_words)
        if len(keyed) or len(rows):
            old_words = size if len(rows) else 0
            inputs, key_words = self.arrays[r.INPUTS], self.get(r.KEY_WORDS)
            self._respread(key_words, inputs, no_dense, none, keyed, rows, old_words, none)

    # -- writing rows

    def write(self, tape: Sequence[int] | Words, rows: int) -> None:
        """Rows from Python into the tables. Their numbers must fit the fields. Raises `UserError`
        if there are too many outcomes to number.
        """
        if not len(tape):
            return
        room = self.get(r.OUTCOMES_USED) + (len(tape) + 2 * rows) * self.words
        if room >= 1 << 32:
            raise UserError(
                "the outcomes of the rules do not fit in 4,294,967,296 words",
                where=self.shape.name,
                do="cut the slots smaller",
            )
        self.outcomes.ensure(room)
        self.point(r.OUTCOMES, self.outcomes)
        self.hold(r.TAPE, np.array(tape, np.uint64))
        self.registers[r.TAPE_LENGTH] = len(tape)
        self.ensure_hash_room(rows)
        self.kernel("write_rows")

    def dump(self) -> Words:
        """All rows of rules as a tape for `write`."""
        self._expect_whole()
        most = 1 + max((len(inputs) for inputs in self.shape.inputs[: self.shape.rules]), default=0)
        size = sum(self.filled[: self.shape.rules]) * (most + 1) + self.get(r.OUTCOMES_USED) * most
        tape = self.hold(r.TAPE, np.zeros(size, np.uint64))
        kept, self.registers[r.TO] = self.get(r.TO), self.shape.rules
        self.kernel("dump_rows")
        self.registers[r.TO] = kept
        return tape[: self.get(r.TAPE_LENGTH)]

    def ids(self, words: Words) -> list[list[int]]:
        """The numbers of all places for packed states, one list a place. `words`:
        states x words.
        """
        return [
            ((words[:, f.word] >> np.uint64(f.shift)) & np.uint64(f.mask)).tolist()
            for f in self.state_fields
        ]

    def highest(self, words: Words) -> list[int]:
        """The highest number of each place in some packed states."""
        return [
            int(((words[:, f.word] >> np.uint64(f.shift)) & np.uint64(f.mask)).max())
            for f in self.state_fields
        ]

    @property
    def bytes(self) -> int:
        """Memory of tables and outcomes."""
        return sum(a.nbytes for a in self.arrays.values()) + 8 * self.get(r.OUTCOMES_USED)
