"""An executor's copy of the driver's tables, kept up to date by updates that hold numbers alone: it
knows neither rules nor values.

An update is all that the driver learned since the one before: how many values there are, which
guards they pass, rows of rules and predicates. Applied in their order, updates give the same layout
of fields everywhere.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from attrs import frozen

from groupcheck.model.engine.fast.kernels import registers as r
from groupcheck.model.engine.fast.kernels.compiled import PACKING, load
from groupcheck.model.engine.fast.log import Log
from groupcheck.model.engine.fast.loop import Loop
from groupcheck.model.engine.fast.packed import DIRECT, Packed
from groupcheck.model.engine.fast.shape import Shape
from groupcheck.model.engine.fast.shards.store import Block, Store
from groupcheck.model.engine.fast.store import Reserved, Words, address, joined

SCRATCH_WORDS = 1 << 27
COUNTS = (
    r.TRANSITIONS,
    r.DEFERRED_COUNT,
    r.QUIET_COUNT,
    r.UNSURE_COUNT,
    r.PUT_OFF_COUNT,
    r.OVERFLOW,
    r.ENDLESS,
)


@frozen(eq=False)
class Update:
    """The facts that the driver has learned since the update before."""

    # How many values each place and view has by now.
    counts: list[int]
    # For each column of guards the open tables, as bits, of each new value.
    opened: list[Words]
    # For each slot that directs walks 1 or 0 for each new value, as `Values.directed`.
    directed: list[Words]
    # How many rows each table has by now.
    filled: list[int]
    # How many outcomes the largest row of each rule table has by now.
    most: list[int]
    # Where the new values come from.
    origins: Words
    # The new rows of rules, and of predicates and views.
    rules: Words
    looks: Words
    # How many rows these two tapes hold.
    rows: tuple[int, int]

    def write(self, store: Store, name: str) -> None:
        """Writes the update as a block."""
        header = {
            "counts": self.counts,
            "filled": self.filled,
            "most": self.most,
            "opened": [len(bits) for bits in self.opened],
            "directed": [len(bits) for bits in self.directed],
            "rows": self.rows,
        }
        store.write(
            name,
            header,
            [
                self.origins,
                self.rules,
                self.looks,
                joined(self.opened),
                joined(self.directed),
            ],
        )

    @staticmethod
    def read(block: Block) -> Update:
        """The update in a block."""
        h = block.header
        origins, rules, looks, opened, directed = block.sections
        return Update(
            h["counts"],
            _split(opened, h["opened"]),
            _split(directed, h["directed"]),
            h["filled"],
            h["most"],
            origins,
            rules,
            looks,
            tuple(h["rows"]),
        )


def _split(bits: Words, lengths: Sequence[int]) -> list[Words]:
    return np.split(bits, np.cumsum(lengths)[:-1]) if lengths else []


class Sent:
    """The `Values` of which only their number, their guards, and which of them direct walks are
    known.
    """

    def __init__(self, shape: Shape) -> None:
        self._counts = [1] * (shape.places + shape.views)
        self._open: list[Words] = [np.zeros(0, np.uint64) for chunk in shape.columns for _ in chunk]
        directing = shape.ordered.directing if shape.ordered else ()
        self._directed: list[Words] = [np.zeros(0, np.uint64) for _ in directing]

    def counts(self) -> list[int]:
        return self._counts

    def refresh(self) -> None:
        """Guards were evaluated by the driver."""

    def open_tables(self, column: int, first: int) -> Sequence[int]:
        found: list[int] = self._open[column][first:].tolist()
        return found

    def directed(self, number: int, first: int) -> Sequence[int]:
        """As in `Values`."""
        found: list[int] = self._directed[number][first:].tolist()
        return found

    def learn(self, update: Update) -> None:
        """Takes in what is new."""
        self._counts = update.counts
        self._open = [
            np.concatenate([known, new])
            for known, new in zip(self._open, update.opened, strict=True)
        ]
        self._directed = [
            np.concatenate([known, new])
            for known, new in zip(self._directed, update.directed, strict=True)
        ]


def found_in(block: Block, section: int, packed: Packed) -> tuple[Words, Words]:
    """(states x words in today's layout, the predicates to be looked at) of a section of what
    `found` gave.
    """
    widths = block.header["widths"]
    rows = block.sections[section].reshape(-1, packed.arranged(widths)[0] + 1)
    return packed.in_layout(rows[:, :-1], widths), np.ascontiguousarray(rows[:, -1])


def scratch_log(packed: Packed) -> Log:
    """A log for what is in hand. It reserves little, because containers may bound the address
    space, and grows with copies.
    """
    return Log(packed, Reserved(SCRATCH_WORDS), keeps_needs=True)


def found(log: Log, first: int) -> Words:
    """States x words + 1 of a log from a place on: the state, and the predicates to be
    looked at.
    """
    return np.column_stack([log.packed_states(first, log.states), log.needs(first, log.states)])


def dealt(packed: Packed, states: Words, shards: int) -> list[Words]:
    """States, dealt to the shards that own them. `states`: states x words, or more columns."""
    n, w = states.shape
    out, counts = np.zeros((n, w), np.uint64), np.zeros(2 * shards, np.uint64)
    fields = np.array(
        [x for f in packed.state_fields for x in (f.word, f.shift, f.mask, 0, 0)],
        np.uint64,
    )
    arrays = {
        r.SOURCE: np.ascontiguousarray(states),
        r.LOG: out,
        r.FIELDS: fields,
        r.LIST: counts,
        r.INDEX: np.zeros(max(1, n), np.uint32),
    }
    numbers = {r.FIELD_COUNT: packed.shape.places, r.INDEX_SLOTS: shards, r.WORDS: w, r.TO: n}
    registers = np.zeros(r.COUNT, np.uint64)
    for register, number in (numbers | {k: address(a) for k, a in arrays.items()}).items():
        registers[register] = number
    load(PACKING)["deal"](address(registers))
    return np.split(out, np.cumsum(counts[:shards].astype(np.int64))[:-1])


class EndlessError(Exception):
    """Urgent rules do not come to rest in a step from the state at a place of the log in hand."""

    def __init__(self, place: int) -> None:
        self.place = place
        super().__init__(place)


class UnequalError(Exception):
    """Permutations make a difference: why, and the urgent table in which that shows."""

    def __init__(self, why: int, table: int) -> None:
        self.why, self.table = why, table
        super().__init__(why, table)


class Replica(Loop):
    """Tables of one run in one process, and the log in hand."""

    def __init__(self, shape: Shape) -> None:
        self.values = Sent(shape)
        packed = Packed(shape, self.values)
        super().__init__(packed, scratch_log(packed))
        self.scratch = self.log
        self.applied: list[str] = []
        self._unanswered: list[
            list[int]
        ] = []  # rows of a tape that makes what was asked for unknown again

    def apply(self, name: str, update: Update) -> None:
        """Takes an update into the tables. Between two tasks only: what lies in logs is
        not moved.
        """
        p = self.packed
        self.values.learn(update)
        p.filled, p.most = update.filled, update.most
        self.registers[r.STATES] = 0
        p.fit(None)
        p.extend_guards()
        for tape, rows in zip((update.rules, update.looks), update.rows):
            p.write(tape, rows)
        self.resize()
        self.applied.append(name)

    def asked(self) -> Words:
        """Places of the states that asked for rows since the last time."""
        p = self.packed
        stride = p.words + p.view_words + 2
        asked = self.taken(r.ASKED, r.ASKED_COUNT, stride).reshape(-1, stride)
        for row in asked.tolist():
            fields = [p.fields[k] for k in p.shape.inputs[row[-2]]]
            self._unanswered.append(
                [row[-2], DIRECT | r.UNKNOWN, *((row[f.word] >> f.shift) & f.mask for f in fields)]
            )
        places: Words = asked[:, -1]
        return places

    def forget(self) -> None:
        """As it is between two tasks, whatever one that failed left: counters at 0, queues empty,
        and rows that were asked for unknown again.

        A row that is asked for keeps others from asking; the task that asked may never have been
        heard.
        """
        self.asked()
        self.packed.write([n for row in self._unanswered for n in row], len(self._unanswered))
        self._unanswered = []
        self.registers[[*COUNTS]] = 0
        self.packed.arrays[r.FIRED][:] = 0

    def scratch_with(self, states: Words) -> None:
        """The scratch log in hand, with these states (states x words, all different) and nothing
        else.
        """
        self.log = self.scratch
        self.hold_only(states)

    def drop_asked(self) -> None:
        """Forgets which rows were asked for, so that they can be asked for again."""
        self.asked()

    def never_rests(self, place: int) -> None:
        """Raises `EndlessError`: urgent rules do not come to rest after the state at this place."""
        self.registers[r.ENDLESS] = 0
        raise EndlessError(place)

    def unequal(self, why: int, table: int) -> None:
        """Raises `UnequalError`."""
        self.registers[r.UNEQUAL] = 0
        raise UnequalError(why, table)
