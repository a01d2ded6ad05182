"""Does a spec factor: do its tables need far fewer rows than there are states?

Early in every search most rows are new. In a spec that factors the new rows for each state then
become fewer and fewer; where a rule reads nearly all of a state, nearly every state needs a row of
its own for good. That is certain where it reads every slot; elsewhere it takes many states to tell.
Counts alone decide, so that the same search always goes the same way.

Where a row serves one state only, making it (numbers for values, fields that grow, writing the row)
costs several times the call of the rule. The search then goes on with plain values (`direct`).
There is no way back. A search with a checkpoint, a constraint or a depth bound stays with its
tables.
"""

from __future__ import annotations

from collections.abc import Sequence

from attrs import define

from groupcheck.model.engine.fast.shape import CHANGE_BITS
from groupcheck.model.engine.tabled.tables import Tables

LEAST = 200  # states of the first window; each later one is as long as all before
MANY = 16_000  # states from which on a table may be judged that does not read every slot
NEARLY_ALL = 0.7  # rows of one table for each state from which on it is taken as not factoring
MOST = 0.5  # the same of a table of predicates: a row costs as much as three calls of a predicate
STEADY = 0.85  # a rate that falls to less than this from one window to the next will fall further
# What is done once, in microseconds (measured, all within a factor of 2): a row of a table, its
# outcomes aside; in a search over values a call, and a transition of a rule that does factor.
ROW, CALL, TRANSITION = 6.0, 0.35, 0.8


@define
class Factoring:
    """Windows over a search: from one look to the next."""

    # Of each table: does it read every slot?
    reads_all: Sequence[bool]
    # Of each table the rows; the new ones for each state of the last window that was expanded, or,
    # of views and predicates, that was found; the same where that is as in the window before,
    # elsewhere 0.
    rows: Sequence[int] = ()
    rates: Sequence[float] = ()
    steady: Sequence[float] = ()
    # Of each table of rules the transitions, all and for each state of the last window.
    moves: Sequence[int] = ()
    moved: Sequence[float] = ()
    # States expanded, and found.
    expanded: int = 0
    found: int = 0
    # The next look, in states expanded.
    next: int = LEAST

    def look(self, rows: Sequence[int], moves: Sequence[int], expanded: int, found: int) -> None:
        """The end of a window. `rows` of all tables and `moves` of those of rules so far."""
        states, before = expanded - self.expanded, self.rates
        none, n = [0] * len(rows), len(moves)
        of = [states] * n + [max(1, found - self.found)] * (len(rows) - n)
        self.rates = [(now - then) / k for now, then, k in zip(rows, self.rows or none, of)]
        self.moved = [(now - then) / states for now, then in zip(moves, self.moves or none)]
        self.steady = [
            now if now >= STEADY * then and (reads_all or expanded >= MANY) else 0.0
            for now, then, reads_all in zip(self.rates, before, self.reads_all)
        ]
        self.rows, self.moves = tuple(rows), tuple(moves)
        self.expanded, self.found, self.next = expanded, found, 2 * expanded

    def fails(self, instances: int) -> bool:
        """Would a search over values be quicker, as far as the last window tells? `instances`:
        rules with their indexes, which that search would call for each state.
        """
        rates = self.steady[: len(self.moved)]
        saved = sum(rate for rate in rates if rate >= NEARLY_ALL)
        others = sum(n for n, rate in zip(self.moved, rates) if rate < NEARLY_ALL)
        return ROW * saved > CALL * instances + TRANSITION * others

    def culprits(self, t: Tables) -> list[str]:
        """The rules of which nearly every state needs a row."""
        many = [table for table, rate in zip(t.rules, self.steady) if rate >= NEARLY_ALL]
        return list(dict.fromkeys(m.rule.name for table in many for m in table.members))

    def needs_no_table(self, number: int) -> bool:
        """Would this table of predicates be looked up in vain?"""
        return bool(self.steady) and self.steady[number] >= MOST


def by_table(t: Tables, of_kinds: Sequence[int]) -> list[int]:
    """Sums over the kinds of outcome of each table of rules; they are numbered in this order."""
    sums, first = [], 0
    for table in t.rules:
        names = {name for m in table.members for name in m.rule.names}
        end = first + (len(names) << min(CHANGE_BITS, len(table.inputs)))
        sums.append(sum(of_kinds[first:end]))
        first = end
    return sums
