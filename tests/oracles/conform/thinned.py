"""A comparison by day: of the rows that are alike the first few, and the rows that lead on.
`conformed_scopes.py` executes all of them at night.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator, Sequence, Set
from typing import Any

from groupcheck.oracles.conform.jobs import Row
from groupcheck.oracles.conform.row import Fires, Input, Memory, Outcome
from groupcheck.oracles.conform.tour import Tour

ENOUGH = 4  # rows that are alike


def kind(memory: Memory, given: Input, outcomes: Sequence[Outcome]) -> Hashable:
    """Rows of one kind are alike: the phase of the group, what happens, and what comes of it. A
    wrong model may have the same outcome in another phase.
    """
    what = given.rule if isinstance(given, Fires) else type(given.request)
    return memory.core.phase, what, frozenset(tuple(o.rules) for o in outcomes)


class Thinned(Tour):
    """Executes the first `ENOUGH` rows of each kind among those in which another rule than `same`
    fires, and the rows that lead on.
    """

    def __init__(self, *args: Any, same: Set[str] = frozenset(), **more: Any) -> None:
        super().__init__(*args, **more)
        self._same = same
        self._alike: Counter[Hashable] = Counter()

    def _enter(self, memory: Memory) -> Iterator[Row]:
        for given in self._rows.inputs(memory):
            outcomes = self._rows.outcomes(memory, given)
            fired = {name.partition(":")[0] for o in outcomes for name in o.rules}
            alike = kind(memory, given, outcomes)
            self._alike[alike] += 1
            is_new = not fired <= self._same and self._alike[alike] <= ENOUGH
            if not is_new and all(o.after in self._waiting for o in outcomes):
                continue
            self._waiting.update(dict.fromkeys(o.after for o in outcomes))
            yield self._ledger.enter(memory, given, outcomes)
