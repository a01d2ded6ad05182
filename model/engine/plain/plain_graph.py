"""Progress judged on the states of a search in plain Python: as `liveness` does it, with the places
of states in their stead, and steps from rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from attrs import evolve

from groupcheck.model.engine.lasso import Binding
from groupcheck.model.engine.liveness import Graph
from groupcheck.model.engine.plain.lookups import Outcome
from groupcheck.model.engine.plain.plain_search import PlainSearch
from groupcheck.model.engine.promises import ALL, Predicate
from groupcheck.model.engine.step import State
from groupcheck.model.engine.tabled.rows import Member
from groupcheck.model.engine.tabled.tabled import Numbers
from groupcheck.model.engine.tabled.tables import read_by
from groupcheck.model.engine.verdict import Firing, Path, Step


class PlainGraph(Graph):
    """The graph of a search that has ended. A state is its place."""

    def __init__(self, search: PlainSearch, expanded: int) -> None:
        """`expanded`: the place of the first state that was not expanded."""
        self.search, self.expanded = search, expanded
        # With fairness, instances of a rule stand in tables of their own, so table and name tell
        # which one it was.
        self._member: dict[tuple[int, str], Member] = {
            (table, name): member
            for table, members in enumerate(search.tabled.rows.members)
            for member in members
            for name in member.rule.names
        }
        self._firings: dict[int, list[Firing]] = {}  # of a row
        # Of a predicate in one case the places that it reads, and what it answered for them.
        self._known: dict[tuple[int, tuple[int, ...]], tuple[Numbers, dict[Numbers, bool]]] = {}
        super().__init__(search.see, 0, 0)

    def _starts(self) -> Iterable[int]:
        return range(self.search.starts)

    def _is_border(self, state: int) -> bool:
        return not self.search.is_inside(state)

    def _is_expanded(self, state: int) -> bool:
        return state < self.expanded

    def _steps_from(self, state: int) -> list[Step]:
        found = []
        for table, row in self.search.rows(state):
            firings = self._firings.get(id(row))
            if firings is None:
                firings = self._firings[id(row)] = self._firings_of(table, row)
            for firing, outcome in zip(firings, row):
                places: list[Any] = self.search.after(state, outcome)
                found += [Step(firing, (), place) for place in places]
        return found

    def _firings_of(self, table: int, row: list[Outcome]) -> list[Firing]:
        names, found, first = self.search.tabled.tables.labels, list[Firing](), dict[int, int]()
        for k, outcome in enumerate(row):
            name = names[outcome[0]]
            member = self._member[table, name]
            choice = k - first.setdefault(member.number, k)
            i = member.instance
            found.append(Firing(name, i.me, choice, i.index[1:]))
        return found

    def _holds(self, p: Predicate, binding: Binding, state: int) -> bool:
        case = id(p), (*binding.values(),)
        if case not in self._known:
            self._known[case] = read_by(self.see, p, binding), {}
        read, known = self._known[case]
        numbers = self.search.states[state]
        key = tuple([numbers[k] for k in read])
        if key not in known:
            known[key] = self.see.answer(p, ALL, binding, self.search.state(state))
        return known[key]

    def _told(self, path: Path) -> Path:
        """The path with values, its steps taken again."""
        places: Sequence[Any] = path.states
        states = [self.search.state(place) for place in places]
        chain = next(c for c, _, rest in self.see.starts() if rest == states[0])
        steps = [
            self._told_step(before, step.firing, after)
            for before, step, after in zip(states, path.steps, states[1:])
        ]
        return evolve(path, initial=states[0], settled=chain, steps=tuple(steps))

    def _told_step(self, before: State, firing: Firing, after: State) -> Step:
        """Without fairness, tables do not tell a rule's indexes apart: then any step will do."""
        every = [step for step, _ in self.see.steps(before) if step.state == after]
        return next((step for step in every if step.firing == firing), every[0])
