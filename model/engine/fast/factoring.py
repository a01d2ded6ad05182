"""Does a spec factor: do its tables need far fewer rows than there are states?

Early in every search most rows are new. In a spec that factors the new rows for each state then
become fewer and fewer; where a rule reads nearly all of a state, nearly every state needs a row of
its own for good. Counts alone decide, so that the same search always goes the same way.
"""

from __future__ import annotations

from collections.abc import Sequence

from attrs import define

from groupcheck.model.engine.fast.shape import CHANGE_BITS
from groupcheck.model.engine.fast.tables import Tables

LEAST = 1000  # states of the first window; each later one is as long as all before
NEARLY_ALL = 0.7  # rows of one table for each state from which on it is taken as not factoring
STEADY = 0.85  # a rate that falls to less than this from one window to the next will fall further
# What is done once, in microseconds (measured, all within a factor of 2): a row of a table, its
# outcomes aside; in a search over values a call, and a transition of a rule that does factor.
ROW, CALL, TRANSITION = 6.0, 0.35, 0.8


@define
class Factoring:
    """Windows over a search: from one look to the next."""

    # Of each table of rules the rows, and the new ones for each state of the last window.
    rows: Sequence[int] = ()
    rates: Sequence[float] = ()
    # Of each table of rules the transitions.
    moves: Sequence[int] = ()
    # States expanded.
    expanded: int = 0
    # The next look, in states expanded.
    next: int = LEAST

    def fails(
        self, rows: Sequence[int], moves: Sequence[int], expanded: int, instances: int
    ) -> bool:
        """Would a search over values be quicker, as far as the last window tells? `rows` and
        `moves`: those of each table of rules so far; `instances`: rules with their indexes, which
        that search would call for each state.
        """
        states, before = expanded - self.expanded, self.rates
        none = [0] * len(rows)
        rates = [(now - then) / states for now, then in zip(rows, self.rows or none)]
        moved = [(now - then) / states for now, then in zip(moves, self.moves or none)]
        self.rows, self.rates, self.moves = tuple(rows), rates, tuple(moves)
        self.expanded, self.next = expanded, 2 * expanded
        steady = [now >= max(NEARLY_ALL, STEADY * then) for now, then in zip(rates, before)]
        saved = sum(rate for rate, is_steady in zip(rates, steady) if is_steady)
        others = sum(n for n, is_steady in zip(moved, steady) if not is_steady)
        return ROW * saved > CALL * instances + TRANSITION * others


def by_table(t: Tables, of_kinds: Sequence[int]) -> list[int]:
    """Sums over the kinds of outcome of each table of rules; they are numbered in this order."""
    sums, first = [], 0
    for table in t.rules:
        names = {name for i in table.members for name in i.rule.names}
        end = first + (len(names) << min(CHANGE_BITS, len(table.inputs)))
        sums.append(sum(of_kinds[first:end]))
        first = end
    return sums
