"""Ends and constraints during a search: predicates asked for many states at once, each evaluated
in Python once for each combination of the values that it reads.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from groupcheck.model.engine.errors import RuleError
from groupcheck.model.engine.fast.packed import Packed
from groupcheck.model.engine.fast.store import Words
from groupcheck.model.engine.promises import ALL, Predicate
from groupcheck.model.engine.step import State
from groupcheck.model.engine.symmetry import Move, Orbits
from groupcheck.model.engine.tabled.tables import Asked, Tables

Numbers = NDArray[np.int64]
FEW = 1 << 16  # different combinations that are counted off, not sorted
AT_ONCE = 1 << 20  # states


class Bulk:
    """Answers of predicates for states of the log."""

    def __init__(self, tables: Tables, packed: Packed, state_of: Callable[[int], State]) -> None:
        self.see, self.packed, self.state_of = tables.see, packed, state_of
        self._known: dict[tuple[int, int, tuple[int, ...]], bool] = {}
        # The key of a path to the state at a place, for a predicate at fault.
        self.key_to: Callable[[int], str] = lambda place: ""

    def holding(
        self, asked: Asked, places: Words, ids: Numbers, move: Move | None = None
    ) -> NDArray[np.bool_]:
        """In which of these states a predicate holds for every binding. `ids`: the numbers of the
        values, places of a state x states. `move`: how they were permuted.
        """
        p, bindings = asked
        left = np.arange(len(places))
        for number, (binding, read) in enumerate(bindings):
            if len(left):
                some = ids[list(read)][:, left]
                left = left[self.holding_for(p, number, binding, some, places[left], move)]
        holds = np.zeros(len(places), bool)
        holds[left] = True
        return holds

    def holding_for(
        self,
        p: Predicate,
        number: int,
        binding: dict[str, int],
        ids: Numbers,
        places: Words,
        move: Move | None = None,
    ) -> NDArray[np.bool_]:
        """The same for one binding, with its number. `ids`: the places that it reads x states.
        Raises `RuleError` with a key to the state at which the predicate fails.
        """
        firsts, which = different(ids)
        answers = []
        for k in firsts.tolist():
            key = (id(p), number, tuple(ids[:, k].tolist()))
            if key not in self._known:
                place = int(places[k])
                state = self.state_of(place)
                try:
                    answer = self.see.answer(p, ALL, binding, move(state) if move else state)
                    self._known[key] = answer
                except RuleError as error:
                    raise error.at(self.key_to(place)) from error
            answers.append(self._known[key])
        found: NDArray[np.bool_] = np.array(answers, bool)[which]
        return found

    def ids_of(self, states: Words) -> Numbers:
        """Places of a state x states. `states`: states x words."""
        return np.array(self.packed.ids(states), np.int64)


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
        ids = self.bulk.ids_of(packed_states)
        stuck: set[int] = set()
        for move in self.orbits.moves if self.orbits is not None else (tuple,):
            order = [*move(tuple(range(len(ids))))]
            stuck |= {*self._stuck(places, ids[order], move).tolist()}
        return int(places[min(stuck)]) if stuck else None

    def _stuck(self, places: Words, ids: Numbers, move: Move) -> Numbers:
        """Which of these states are no declared ends."""
        stuck = np.arange(len(places))
        for end in self.ends:
            stuck = stuck[~self.bulk.holding(end, places[stuck], ids[:, stuck], move)]
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
            ids, left = self.bulk.ids_of(states(some)), np.arange(len(some))
            for constraint in self.constraints:
                left = left[self.bulk.holding(constraint, some[left], ids[:, left])]
            found.append(some[left])
        return np.concatenate([np.zeros(0, np.uint64), *found])
