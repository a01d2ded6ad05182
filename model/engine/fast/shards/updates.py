"""The updates that the driver sends to executors: everything that its search learned since it told
them last.
"""

from __future__ import annotations

import uuid

import numpy as np
from attrs import define, field

from groupcheck.model.engine.fast.checkpoint import rows_again, values_again
from groupcheck.model.engine.fast.exploration import Kept
from groupcheck.model.engine.fast.search import Search
from groupcheck.model.engine.fast.shards.replica import Update
from groupcheck.model.engine.fast.shards.store import Store
from groupcheck.model.engine.fast.store import Words, joined


@define
class Telling:
    """Updates of one search, by one run."""

    search: Search
    store: Store
    run: str
    # The blocks written so far.
    names: list[str] = field(factory=list)
    # How many numbers of origins they hold, and for how many values of each column the guards.
    _origins: int = 0
    _guards: list[int] = field(factory=list)
    # For how many values of each slot that directs walks they say whether it does.
    _directed: list[int] = field(factory=list)

    def __attrs_post_init__(self) -> None:
        self._guards = [0] * sum(len(chunk) for chunk in self.search.packed.shape.columns)
        self._directed = [0] * len(self.search.symmetry.directing)
        if self.search.kept is None:
            self.search.kept = Kept()

    def tell(self) -> None:
        """Writes what is new, if anything is."""
        s = self.search
        assert s.kept is not None
        is_new = s.kept.rules or s.kept.looks or self._origins != len(s.rows.origins)
        if self.names and not is_new:
            return
        update = Update(
            s.packed.values.counts(),
            self._opened(),
            self._directing(),
            list(s.packed.filled),
            list(s.packed.most),
            np.array(s.rows.origins[self._origins :], np.int64).view(np.uint64),
            joined(s.kept.rules),
            joined(s.kept.looks),
            s.kept.rows,
        )
        name = f"{self.run}/updates/{len(self.names):05}-{uuid.uuid4().hex[:12]}"
        update.write(self.store, name)
        self.note(name)

    def note(self, name: str) -> None:
        """Everything so far is in this block and those before it."""
        self.names.append(name)
        self.search.kept = Kept()
        self._origins = len(self.search.rows.origins)

    def _opened(self) -> list[Words]:
        """Guards for values that are new since the last update."""
        values = self.search.packed.values
        values.refresh()
        opened = [
            np.array(values.open_tables(n, first), np.uint64)
            for n, first in enumerate(self._guards)
        ]
        self._guards = [first + len(bits) for first, bits in zip(self._guards, opened)]
        return opened

    def _directing(self) -> list[Words]:
        """Whether values direct walks that are new since the last update."""
        values = self.search.packed.values
        found = [
            np.array(values.directed(n, first), np.uint64) for n, first in enumerate(self._directed)
        ]
        self._directed = [first + len(bits) for first, bits in zip(self._directed, found)]
        return found


def relearned(search: Search, store: Store, run: str, names: list[str]) -> Telling:
    """A search that knows again what it told in these updates: values by calling rules, views by
    evaluating them, rows as they were.
    """
    updates = [Update.read(store.read(name)) for name in names]
    for update in updates:
        values_again(search, update.origins.view(np.int64).tolist())
    search.packed.fit(None)
    search.resize()
    looks = [look for update in updates for look in _looks(search, update.looks.tolist())]
    for table, ids in looks:
        _view_again(search, table, ids)
    rows_again(search, joined([update.rules for update in updates]).tolist())
    search.packed.filled = list(updates[-1].filled)
    search.packed.fit(None)
    search.packed.write(joined([update.looks for update in updates]), len(looks))
    telling = Telling(search, store, run)
    telling._opened()
    telling._directing()
    for name in names:
        telling.note(name)
    return telling


def _view_again(search: Search, number: int, ids: tuple[int, ...]) -> None:
    """Numbers the value of a view as it was numbered before."""
    table = search.tables.all[number]
    if table.view is not None:
        at = dict(zip(table.inputs, ids))
        state = tuple(pool.values[at.get(place, 0)] for place, pool in enumerate(search.pools))
        search.predicates.state_of = lambda _: state  # what a view of views reads
        search.predicates.fill(number, [ids], [0], [])
        search.predicates.state_of = search.state


def _looks(search: Search, tape: list[int]) -> list[tuple[int, tuple[int, ...]]]:
    """(table, numbers of its inputs) of the rows of predicates on a tape."""
    found, at = [], 0
    while at < len(tape):
        end = at + 2 + len(search.tables.all[tape[at]].inputs)
        found.append((tape[at], tuple(tape[at + 2 : end])))
        at = end
    return found
