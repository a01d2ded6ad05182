"""A comparison by day: of the rows with equal outcomes the first few, and the rows that lead on.
`conformed_scopes.py` executes all of them at night.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Set
from typing import Any

from groupcheck.oracles.conform.jobs import Row
from groupcheck.oracles.conform.row import Memory
from groupcheck.oracles.conform.tour import Tour

ENOUGH = 4  # rows with equal outcomes


class Thinned(Tour):
    """Executes the first `ENOUGH` rows with equal outcomes among those in which another rule than
    `same` fires, and the rows that lead on.
    """

    def __init__(self, *args: Any, same: Set[str] = frozenset(), **more: Any) -> None:
        super().__init__(*args, **more)
        self._same = same
        self._alike: Counter[frozenset[tuple[str, ...]]] = Counter()

    def _enter(self, memory: Memory) -> Iterator[Row]:
        for given in self._rows.inputs(memory):
            outcomes = self._rows.outcomes(memory, given)
            fired = {name.partition(":")[0] for o in outcomes for name in o.rules}
            alike = frozenset(tuple(o.rules) for o in outcomes)
            self._alike[alike] += 1
            is_new = not fired <= self._same and self._alike[alike] <= ENOUGH
            if not is_new and all(o.after in self._waiting for o in outcomes):
                continue
            self._waiting.update(dict.fromkeys(o.after for o in outcomes))
            yield self._ledger.enter(memory, given, outcomes)
