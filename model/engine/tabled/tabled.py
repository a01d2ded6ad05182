"""The machine under the searches: the values of a spec's slots numbered, its rules as rows that are
filled when they are first asked for.
"""

from __future__ import annotations

from collections.abc import Callable

from groupcheck.model.engine.pools import Pool, Taken
from groupcheck.model.engine.spec import Spec
from groupcheck.model.engine.step import State
from groupcheck.model.engine.tabled.findings import Findings
from groupcheck.model.engine.tabled.rows import Rows
from groupcheck.model.engine.tabled.tables import tables_of

Numbers = tuple[int, ...]  # a state: for each place the number of its value


class Tabled:
    """A spec whose states are numbers. One search after the other may go on with it."""

    def __init__(self, spec: Spec) -> None:
        self.spec = spec
        self.tables = tables_of(spec)
        self.see = self.tables.see
        by_name = {name: Pool(name, bool(slot.kinds)) for name, slot in spec.slots.items()}
        # The values of each place, and of each view instance.
        self.pools = [by_name[name] for name, _ in self.see.places]
        views: dict[int, Pool] = {}
        self.view_pools = [
            views.setdefault(id(v.view), Pool(v.view.name)) for v in self.tables.instances
        ]
        self.findings = Findings(self.tables)
        self.rows = Rows(self.tables, self.pools, self.findings.broken_step)

    def numbers(self, state: State) -> Numbers:
        """The numbers of the values of a state."""
        return tuple([pool.number(value) for pool, value in zip(self.pools, state)])

    def values(self, state: Numbers) -> State:
        """The values of a state."""
        return tuple([pool.values[n] for pool, n in zip(self.pools, state)])

    def starts(self, stored: Callable[[Numbers], Numbers]) -> tuple[list[Numbers], dict[str, int]]:
        """The different initial states at rest, and how often each outcome fired on the way there.
        `stored`: the state that a search stores for a state. Notes what is broken there. Raises
        `RuleError` for a rule at fault.
        """
        self.see.taken = Taken(self.spec)
        starts = self.see.starts()
        self.see.taken = None  # from now on `pools` hold what was taken
        fired = dict.fromkeys(self.tables.labels, 0)
        known: dict[Numbers, None] = {}
        for chain, _, rest in starts:
            for f in chain:
                fired[f.name] += 1
            known.setdefault(stored(self.numbers(rest)))
        for name, rest in self.see.broken_at_starts().items():
            place = list(known).index(stored(self.numbers(rest)))
            self.findings.wrong[name] = (0, place, "state")
        return list(known), fired

    @property
    def notes(self) -> list[str]:
        """Notes for the user about predicates that have no table."""
        return [
            f"{p.name} reads the whole state: it was evaluated in Python for every state, which is"
            " slow"
            for p in self.tables.constant
            if p.places
        ]
