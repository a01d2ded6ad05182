"""Ends, constraints and promises about runs: predicates asked for many states at once, each
evaluated in Python once for each combination of the values of its parameters. Views are evaluated
in the same way, so a predicate over views is asked for few combinations.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from attrs import field, frozen
from numpy.typing import NDArray

from groupcheck.model.engine.errors import RuleError
from groupcheck.model.engine.fast.layout import Field
from groupcheck.model.engine.fast.packed import Packed
from groupcheck.model.engine.fast.store import Words
from groupcheck.model.engine.pools import Pool
from groupcheck.model.engine.promises import ALL, Predicate
from groupcheck.model.engine.step import State
from groupcheck.model.engine.symmetry import Move, Orbits
from groupcheck.model.engine.tabled.predicates import grouped, numbered
from groupcheck.model.engine.tabled.tables import CasedPredicate, Tables, Views

Numbers = NDArray[np.int64]
FEW = 1 << 16  # different combinations that are counted off, not sorted
AT_ONCE = 1 << 20  # states


@frozen(eq=False)
class States:
    """States side by side."""

    places: Words
    # States x words, and where each place of a state stands in them.
    packed: Words
    fields: Sequence[Field]
    # How they were permuted: so were the fields.
    move: Move = tuple
    # Of view instances that were evaluated the numbers of their values.
    viewed: dict[int, Numbers] = field(factory=dict)

    def some(self, which: Any) -> States:
        """Those that an index array of numpy chooses."""
        viewed = {k: numbers[which] for k, numbers in self.viewed.items()}
        return States(self.places[which], self.packed[which], self.fields, self.move, viewed)

    def permuted(self, move: Move) -> States:
        """The states that a permutation makes of these."""
        return States(self.places, self.packed, move(tuple(self.fields)), move)

    def numbers(self, place: int) -> Numbers:
        """The numbers of the values at one place of each state."""
        f = self.fields[place]
        return ((self.packed[:, f.word] >> np.uint64(f.shift)) & np.uint64(f.mask)).astype(np.int64)


class Bulk:
    """Answers of predicates for states of the log."""

    def __init__(
        self,
        tables: Tables,
        packed: Packed,
        pools: Sequence[Pool],
        state_of: Callable[[int], State],
    ) -> None:
        self.see, self.packed, self.pools, self.state_of = tables.see, packed, pools, state_of
        self.views = Views(tables.see)
        self._view_pools: dict[int, Pool] = {}
        # Of a view or predicate, with the indexes that it takes: for the numbers of its arguments
        # that of its value, or whether it holds.
        self._known: dict[tuple[Any, ...], dict[tuple[int, ...], int]] = {}
        # The key of a path to the state at a place, for a predicate at fault.
        self.key_to: Callable[[int], str] = lambda place: ""

    def states(self, packed_states: Words, places: Words) -> States:
        """`packed_states`: states x words."""
        return States(places, packed_states, self.packed.state_fields)

    def holding(self, asked: CasedPredicate, states: States) -> NDArray[np.bool_]:
        """In which of these states a predicate holds for every binding."""
        p, cases = asked
        holds = np.ones(len(states.places), bool)
        for case, _ in cases:
            if holds.any():
                holds[holds] = self.answers(p, case, states.some(holds))
        return holds

    def answers(self, p: Predicate, case: dict[str, int], states: States) -> NDArray[np.bool_]:
        """In which of these states a predicate holds in one case. Raises `RuleError` with a key to
        the state at which it, or a view that it reads, fails.
        """
        left = [q for q in self.see.quantified(p, ALL) if q[1] not in case]
        if not left:
            return self._values(p, case, states) > 0
        quantifier, variable = left[0]
        holds = np.full(len(states.places), quantifier == ALL)
        for more in self.see.indexing(p).extended(case, [variable]):
            open_ = holds if quantifier == ALL else ~holds
            if open_.any():
                holds[open_] = self.answers(p, more, states.some(open_))
        return holds

    def _values(self, p: Predicate, binding: dict[str, int], states: States) -> Numbers:
        """Of a view the number of its value in each of these states, of a predicate 1 where it
        holds.
        """
        known = self._known.setdefault((id(p), *p.given(binding)), {})
        if self.views.is_whole(p):
            places = states.places.tolist()
            every = [self._of_state(p, binding, place, states.move) for place in places]
            return np.array(every, np.int64)
        sources = self.views.sources(p, binding)
        flat = [k for s in sources for k in ((s,) if isinstance(s, int) else s)]
        read = [self._source(k, states) for k in flat]
        columns = np.array([numbers for _, numbers in read], np.int64)
        columns = columns.reshape(len(flat), len(states.places))
        firsts, which = different(columns)
        found = []
        for k, key in zip(firsts.tolist(), columns[:, firsts].T.tolist()):
            numbers = tuple(key)
            if numbers not in known:
                values = [pool.values[n] for (pool, _), n in zip(read, numbers)]
                args = [*p.given(binding), *grouped(values, sources)]
                place = int(states.places[k])
                known[numbers] = self._told(p, place, partial(self.see.asked, p, args))
            found.append(known[numbers])
        return np.array(found, np.int64)[which]

    def _of_state(self, p: Predicate, binding: dict[str, int], place: int, move: Move) -> int:
        """The same in one state, for a view or predicate that reads all of it."""
        return self._told(
            p, place, lambda: self.see.evaluate(p, binding, move(self.state_of(place)))
        )

    def _told(self, p: Predicate, place: int, ask: Callable[[], Any]) -> int:
        """What is known of an answer, or of the value of a view."""
        try:
            value = ask()
            is_view = self.see.views.get(p.name) is p
            return numbered(self._pool_of(p), p, value) if is_view else int(bool(value))
        except RuleError as error:
            raise error.at(self.key_to(place)) from error

    def _pool_of(self, view: Predicate) -> Pool:
        return self._view_pools.setdefault(id(view), Pool(view.name))

    def _source(self, source: int, states: States) -> tuple[Pool, Numbers]:
        """The values that a parameter takes, and their numbers in these states."""
        if source < len(self.pools):
            return self.pools[source], states.numbers(source)
        view = self.views.instances[source - len(self.pools)]
        if source not in states.viewed:
            states.viewed[source] = self._values(view.view, dict(view.binding), states)
        return self._pool_of(view.view), states.viewed[source]


def different(columns: Numbers) -> tuple[Numbers, Numbers]:
    """The first place of each different column, and for every column which of these it equals.
    Numbers are 0 or more.
    """
    codes, most = np.zeros(columns.shape[1], np.int64), 1
    for row in columns:
        size = int(row.max()) + 1
        if most * size >= 1 << 62:
            _, codes = np.unique(codes, return_inverse=True)
            most = int(codes.max()) + 1
        codes, most = codes * size + row, most * size
    if most > FEW:
        _, firsts, which = np.unique(codes, return_index=True, return_inverse=True)
        return firsts, which
    at = np.full(most, -1)
    at[codes[::-1]] = np.arange(len(codes))[::-1]
    there = np.flatnonzero(at >= 0)
    rank = np.zeros(most, np.int64)
    rank[there] = np.arange(len(there))
    return at[there], rank[codes]


class Ends:
    """Which states without successors may rest."""

    def __init__(self, tables: Tables, bulk: Bulk) -> None:
        self.ends, self.bulk = tables.ends, bulk
        self.orbits: Orbits | None = None  # under symmetry

    def first_deadlock(self, places: Words, packed_states: Words) -> int | None:
        """The first of these states that is no declared end; under symmetry, of which a permutation
        is none. `packed_states`: states x words.
        """
        states = self.bulk.states(packed_states, places)
        stuck: set[int] = set()
        for move in self.orbits.moves if self.orbits is not None else (tuple,):
            stuck |= {*self._stuck(states.permuted(move)).tolist()}
        return int(places[min(stuck)]) if stuck else None

    def _stuck(self, states: States) -> Numbers:
        """Which of these states are no declared ends."""
        stuck = np.arange(len(states.places))
        for end in self.ends:
            stuck = stuck[~self.bulk.holding(end, states.some(stuck))]
        return stuck


class Border:
    """Which states are within the constraints; the others are border states."""

    def __init__(self, tables: Tables, bulk: Bulk) -> None:
        self.constraints, self.bulk = tables.constraints, bulk

    def within(self, places: Words, states: Callable[[Words], Words]) -> Words:
        """Those of these places whose states are within. `states`: of some places, states x words;
        in pieces.
        """
        found = []
        for first in range(0, len(places), AT_ONCE):
            some = places[first : first + AT_ONCE]
            left = self.bulk.states(states(some), some)
            for constraint in self.constraints:
                left = left.some(self.bulk.holding(constraint, left))
            found.append(left.places)
        return np.concatenate([np.zeros(0, np.uint64), *found])
