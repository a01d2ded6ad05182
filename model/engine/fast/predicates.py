"""Invariants, goals and views during a search: rows of their tables, and what was found broken or
met.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from groupcheck.model.engine.errors import RuleError
from groupcheck.model.engine.fast.kernels import registers as r
from groupcheck.model.engine.fast.packed import DIRECT, Packed
from groupcheck.model.engine.fast.tables import Tables, group_of
from groupcheck.model.engine.pools import Pool
from groupcheck.model.engine.promises import Predicate
from groupcheck.model.engine.step import Semantics, State

Binding = tuple[tuple[str, int], ...]  # index variables and their values
Plan = list[tuple[list[Any], int]]  # for each argument its values, and its place among the inputs


class Findings:
    """What is known so far: goals with the depth at which they were first met, violations with a
    witness.

    A witness is (depth, place, kind): the state itself for `state` and `deadlock`, for `step` the
    state before the step.
    """

    def __init__(self, tables: Tables) -> None:
        self.spec = tables.see.spec
        self.goals: dict[str, int | None] = {g.name: None for g in self.spec.goals}
        self.wrong: dict[str, tuple[int, int, str]] = {}
        self.depth = 0
        self.news = True
        self._goals = {id(g) for g in self.spec.goals}

    def is_goal(self, p: Predicate) -> bool:
        return id(p) in self._goals

    def is_known(self, p: Predicate) -> bool:
        return self.goals[p.name] is not None if self.is_goal(p) else p.name in self.wrong

    def note(self, p: Predicate, place: int) -> None:
        """The predicate is of interest in this state: a goal met, an invariant broken."""
        if self.is_known(p):
            return
        self.news = True
        if self.is_goal(p):
            self.goals[p.name] = self.depth
        else:
            self.wrong[p.name] = (self.depth, place, "state")

    def in_order(self) -> list[tuple[str, int, int, str]]:
        """(name, depth, place, kind) of what is wrong, the shallowest first."""
        return sorted(((name, *at) for name, at in self.wrong.items()), key=lambda w: (w[1], w[0]))

    def broken_step(self, name: str, place: int) -> None:
        self.wrong.setdefault(name, (self.depth, place, "step"))


class Predicates:
    """Rows of views and predicates, evaluated on the values of their inputs.

    The state that asks for a row is the first with these inputs. What is broken or met there is
    known from then on, so a predicate's cell says only that the combination was seen.
    """

    def __init__(
        self,
        tables: Tables,
        packed: Packed,
        pools: Sequence[Pool],
        view_pools: Sequence[Pool],
        findings: Findings,
        state_of: Callable[[int], State],
    ) -> None:
        self.tables, self.packed, self.findings, self.state_of = tables, packed, findings, state_of
        self.pools, self.view_pools = pools, view_pools
        self.see: Semantics = tables.see
        # Answers by predicate and numbers of arguments: one evaluation serves all indexes.
        self.met: dict[tuple[int, ...], Any] = {}
        self.plans: dict[tuple[int, int, Binding], Plan | None] = {}
        self.refresh()

    def refresh(self) -> None:
        """Leaves out what needs no more looking at: goals met, invariants known to be broken."""
        if not self.findings.news:
            return
        self.findings.news = False
        every = self.tables.predicates
        live = {
            group_of(k, len(every))
            for k, table in enumerate(every)
            if not all(self.findings.is_known(p) for p, _ in table.bound)
        }
        self.packed.registers[r.LIVE] = sum(1 << bit for bit in live)

    def row(self, number: int, ids: Sequence[int], place: int, tape: list[int]) -> None:
        """Appends the row of a view or predicate table for one combination of inputs."""
        table = self.tables.all[number]
        cell = r.NOTHING
        if table.view is not None:
            of: Binding = () if table.view.index is None else (("i", table.view.index),)
            value = self._once(number, table.view.view, of, ids, place)
            try:
                cell += self.view_pools[number - self.tables.urgent].number(value)
            except Exception as error:
                what = (
                    f"gave a {type(value).__name__} that raises {type(error).__name__} when it is"
                    " compared"
                )
                raise RuleError(table.view.view.name, what, {}, kind="view") from error
        for p, of in table.bound:
            if not self.findings.is_known(p) and bool(
                self._once(number, p, of, ids, place)
            ) == self.findings.is_goal(p):
                self.findings.note(p, place)
        tape += (number, DIRECT | cell, *ids)

    def _once(self, number: int, p: Predicate, of: Binding, ids: Sequence[int], place: int) -> Any:
        """The value of a predicate or view, evaluated once for the same arguments, whatever the
        table and the indexes.

        The key holds the arguments' numbers in the order of the parameters, each of which always
        takes its values from the same pool. The order of a table's inputs would not do: views are
        numbered at their first use, so it differs from one binding to the next.
        """
        which = (number, id(p), of)
        if which not in self.plans:
            self.plans[which] = self._arguments(number, p, dict(of))
        plan = self.plans[which]
        key = (id(p), number, *ids) if plan is None else (id(p), *[ids[at] for _, at in plan])
        if key not in self.met:
            self.met[key] = (
                self.see.evaluate(p, dict(of), self.state_of(place))
                if plan is None
                else self.see.asked(p, [values[ids[at]] for values, at in plan])
            )
        return self.met[key]

    def _arguments(self, number: int, p: Predicate, binding: dict[str, int]) -> Plan | None:
        """For each argument of a predicate the values that it takes and its place among the inputs
        of its table; None for a view of another view, whose table reads slots alone.
        """
        only = next(iter(binding.values())) if len(binding) == 1 else None
        inputs = self.tables.all[number].inputs
        found = []
        for name, var in p.places:
            index = binding.get(var or "i", only)
            at = next((at for at, k in enumerate(inputs) if self._stands_for(k, name, index)), None)
            if at is None:
                return None
            found.append(([*self.pools, *self.view_pools][inputs[at]].values, at))
        return found

    def _stands_for(self, k: int, name: str, index: int | None) -> bool:
        """Is this input of a table that slot or view at that index?"""
        views = [(v.view.name, v.index) for v in self.tables.instances]
        there, of = [*self.see.places, *views][k]
        return there == name and of in (None, index)

    def arrive(self, state: State, place: int, predicates: Sequence[Predicate]) -> None:
        """Evaluates predicates on one state in Python."""
        for p in predicates:
            if not self.findings.is_known(p):
                is_goal = self.findings.is_goal(p)
                if self.see.met(p, state) if is_goal else not self.see.holds(p, state):
                    self.findings.note(p, place)

    def arrive_first(self, state: State, place: int) -> None:
        """An initial state: everything, since there is no state before in which it was
        looked at.
        """
        every = (*self.findings.spec.invariants, *self.findings.spec.goals)
        self.arrive(state, place, [p for p in every if isinstance(p, Predicate)])
