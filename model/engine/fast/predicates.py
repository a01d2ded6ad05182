"""The rows of predicates and views that the kernels look up."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from groupcheck.model.engine.fast.kernels import registers as r
from groupcheck.model.engine.fast.packed import DIRECT, Packed
from groupcheck.model.engine.pools import Pool
from groupcheck.model.engine.promises import Predicate
from groupcheck.model.engine.step import State
from groupcheck.model.engine.tabled.findings import Findings
from groupcheck.model.engine.tabled.predicates import Predicates
from groupcheck.model.engine.tabled.tables import Tables, group_of


class PackedPredicates(Predicates):
    """Predicates whose rows stand in packed tables."""

    def __init__(
        self,
        tables: Tables,
        packed: Packed,
        pools: Sequence[Pool],
        view_pools: Sequence[Pool],
        findings: Findings,
        state_of: Callable[[int], State],
    ) -> None:
        super().__init__(tables, pools, view_pools, findings, state_of)
        self.packed = packed
        # Predicates that no table holds any more.
        self.aside: tuple[Predicate, ...] = ()
        self.refresh()

    def refresh(self) -> None:
        """Leaves out what needs no more looking at in tables: goals met, invariants known to be
        broken, predicates that are evaluated without.
        """
        if not self.findings.news:
            return
        self.findings.news = False
        every = self.tables.predicates
        live = {
            group_of(k, len(every))
            for k, table in enumerate(every)
            if not all(
                self.findings.is_known(b.predicate) or b.predicate in self.aside
                for b in table.bound
            )
        }
        self.packed.registers[r.LIVE] = sum(1 << bit for bit in live)

    def set_aside(self, taken: Sequence[Predicate]) -> None:
        """No table holds these predicates from now on."""
        self.aside = tuple(dict.fromkeys((*self.aside, *taken)))
        self.findings.news = True
        self.refresh()

    def fill(
        self,
        number: int,
        rows: Sequence[tuple[int, ...]],
        places: Sequence[int],
        tape: list[int],
    ) -> None:
        """Appends the rows of a view or predicate table for combinations of inputs. `places`: of
        the states that ask for them.
        """
        table = self.tables.all[number]
        if table.view is not None:
            for ids, known in zip(rows, self.view_numbers(number, table.view, rows, places)):
                tape += (number, DIRECT | r.NOTHING + known, *ids)
            return
        for bound in table.bound:
            self.look(number, bound, rows, places)
        for ids in rows:
            tape += (number, DIRECT | r.NOTHING, *ids)
