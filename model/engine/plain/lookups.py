"""Rows as a search in plain Python looks them up: what each outcome changes, and what must be
looked at afterwards.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import Any

from groupcheck.model.engine.tabled.guards import Guards
from groupcheck.model.engine.tabled.predicates import Predicates
from groupcheck.model.engine.tabled.tabled import Numbers, Tabled
from groupcheck.model.engine.tabled.tables import Table

# An outcome: its label, (place, number of the new value) of what it changes, the urgent tables that
# it may make possible, the tables of predicates that it concerns, both as bits, and whether it
# changes what guards of urgent rules read.
Outcome = tuple[int, tuple[tuple[int, int], ...], int, int, bool]


class Lookup:
    """One table: its rows by the numbers of what it reads. A single input is its own key."""

    __slots__ = ("get", "inputs", "number", "rows")

    def __init__(self, number: int, table: Table) -> None:
        self.number, self.inputs = number, table.inputs
        # Of what reads nothing there is one row.
        self.get: Callable[[Sequence[int]], Any] = (
            itemgetter(*table.inputs) if table.inputs else lambda state: ()
        )
        self.rows: dict[Any, Any] = {}

    def ids(self, key: Any) -> Numbers:
        """The numbers of the inputs that a key stands for."""
        return (key,) if len(self.inputs) == 1 else key


class Lookups:
    """All tables of a spec."""

    def __init__(self, tabled: Tabled, predicates: Predicates) -> None:
        t = self.tables = tabled.tables
        self.tabled, self.predicates = tabled, predicates
        every = [Lookup(k, table) for k, table in enumerate(t.all)]
        self.ordinary, self.urgent = every[: t.ordinary], every[t.ordinary : t.urgent]
        self.views, self.asked = every[t.urgent : t.views], every[t.views :]
        self.guards = Guards(tabled.rows.members[: t.ordinary])
        self.urgent_guards = Guards(tabled.rows.members[t.ordinary :])
        places = range(len(tabled.pools))
        # For each place the urgent tables, and the tables of predicates, that read it.
        self._urgent = [_bits(place in lookup.inputs for lookup in self.urgent) for place in places]
        read = [t.read(table) for table in t.predicates]
        self._predicates = [_bits(place in some for some in read) for place in places]
        # Rows of rules as they were made, for a search that goes on with them.
        self.tape: list[int] = []
        # Looks whether a row is like those of permuted arguments: its table, the numbers of its
        # inputs, and the state that asks.
        self.compare: Callable[[int, Numbers, int], None] | None = None
        self._known = -1  # values when guards were asked last

    def free(self) -> None:
        """Gives all rows back."""
        self.tape.clear()
        for lookup in (*self.ordinary, *self.urgent, *self.views, *self.asked):
            lookup.rows.clear()

    def refresh(self) -> None:
        """Asks guards about values that are new."""
        if self._known != len(self.tabled.rows.origins):
            self._known = len(self.tabled.rows.origins)
            self.tabled.rows.extend_guards()
            self.guards.extend()
            self.urgent_guards.extend()

    def fill(self, lookup: Lookup, key: Any, place: int) -> list[Outcome]:
        """The outcomes of a table of rules for a key that was not asked before. `place`: the state
        that asks. Raises `RuleError` for a rule at fault.
        """
        rows, tape, ids = self.tabled.rows, self.tape, lookup.ids(key)
        begin = len(tape)
        rows.prepare(lookup.number)
        try:
            rows.row(lookup.number, ids, place, tape)
        except BaseException:
            del tape[begin:]
            raise
        if self.compare is not None:
            self.compare(lookup.number, ids, place)
        width = len(ids) + 1
        found = []
        for o in range(begin + 1 + width, len(tape), width):
            changes = tuple(
                [
                    (k, n)
                    for k, n, old in zip(lookup.inputs, tape[o + 1 : o + width], ids)
                    if n != old
                ]
            )
            urgent = needs = 0
            for k, _ in changes:
                urgent |= self._urgent[k]
                needs |= self._predicates[k]
            moves = any(k in self.urgent_guards.read for k, _ in changes)
            found.append((tape[o], changes, urgent, needs, moves))
        lookup.rows[key] = found
        self.refresh()
        return found

    def look(self, needs: int, state: Numbers, place: int) -> None:
        """Looks at the tables of predicates that a new state concerns, as bits."""
        asked, n = self.asked, len(self.tabled.pools)
        while needs:
            bit = needs & -needs
            needs ^= bit
            lookup = asked[bit.bit_length() - 1]
            if lookup.inputs[-1] >= n:
                ids = tuple([state[k] if k < n else self._view(k - n, state, place)
                             for k in lookup.inputs])  # fmt: skip
                key: Any = ids
            else:
                key = lookup.get(state)
                ids = lookup.ids(key)
            if key not in lookup.rows:
                lookup.rows[key] = True
                for bound in self.tables.all[lookup.number].bound:
                    self.predicates.look(lookup.number, bound, (ids,), (place,))

    def _view(self, number: int, state: Numbers, place: int) -> int:
        """The number of the value of a view instance in a state."""
        lookup = self.views[number]
        key = lookup.get(state)
        found = lookup.rows.get(key)
        if found is None:
            view = self.tables.instances[number]
            (found,) = self.predicates.view_numbers(
                lookup.number, view, (lookup.ids(key),), (place,)
            )
            lookup.rows[key] = found
        return int(found)

    def live(self) -> int:
        """The tables of predicates of which something is not known yet, as bits."""
        known = self.predicates.findings.is_known
        return _bits(not all(known(b.predicate) for b in t.bound) for t in self.tables.predicates)


def _bits(given: Any) -> int:
    return sum(1 << k for k, is_set in enumerate(given) if is_set)
