"""Invariants, goals and views during a search: rows of their tables, and what was found broken or
met.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from attrs import frozen

from groupcheck.model.engine.errors import RuleError
from groupcheck.model.engine.fast.kernels import registers as r
from groupcheck.model.engine.fast.packed import DIRECT, Packed
from groupcheck.model.engine.fast.tables import Binding, Bound, Source, Tables, group_of
from groupcheck.model.engine.pools import Pool
from groupcheck.model.engine.promises import Predicate
from groupcheck.model.engine.step import Semantics, State
from groupcheck.model.engine.symmetry import Orbits


@frozen
class Plan:
    """How the arguments of a predicate are found."""

    # The indexes that it takes.
    given: tuple[int, ...]
    # For each place or view that it reads the values there, and where it is among the inputs.
    flat: list[tuple[list[Any], int]]


def grouped(values: Sequence[Any], sources: tuple[Source, ...]) -> list[Any]:
    """One argument for each parameter: whole arrays as tuples."""
    rest = iter(values)
    return [next(rest) if isinstance(s, int) else tuple([next(rest) for _ in s]) for s in sources]


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
        self.plans: dict[tuple[int, int, Binding], Plan] = {}
        # Predicates that no table holds any more.
        self.aside: tuple[Predicate, ...] = ()
        self.orbits: Orbits | None = None  # under symmetry
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

    def row(self, number: int, ids: Sequence[int], place: int, tape: list[int]) -> None:
        """Appends the row of a view or predicate table for one combination of inputs."""
        table = self.tables.all[number]
        cell = r.NOTHING
        if table.view is not None:
            view = table.view
            value = self._once(number, view.view, view.binding, view.sources, ids, place)
            try:
                cell += self.view_pools[number - self.tables.urgent].number(value)
            except Exception as error:
                what = (
                    f"gave a {type(value).__name__} that raises {type(error).__name__} when it is"
                    " compared"
                )
                raise RuleError(view.view.name, what, {}, kind="view") from error
        for bound in table.bound:
            p, of_interest = bound.predicate, self.findings.is_goal(bound.predicate)
            if not self.findings.is_known(p) and (
                self._answer(number, bound, ids, place) == of_interest
            ):
                self.findings.note(p, place)
        tape += (number, DIRECT | cell, *ids)

    def _answer(self, number: int, bound: Bound, ids: Sequence[int], place: int) -> bool:
        """Is a predicate true in a case?"""
        p = bound.predicate
        if bound.sources is not None:
            return bool(self._once(number, p, bound.case, bound.sources, ids, place))
        inputs, n = self.tables.all[number].inputs, len(self.pools)
        found = {
            binding: self.view_pools[source - n].values[ids[inputs.index(source)]]
            for binding, source in bound.answers
        }
        return self.see.decided(p, bound.usual, dict(bound.case), lambda b: found[tuple(b.items())])

    def _once(
        self,
        number: int,
        p: Predicate,
        of: Binding,
        sources: tuple[Source, ...] | None,
        ids: Sequence[int],
        place: int,
    ) -> Any:
        """The value of a predicate or view, evaluated once for the same arguments, whatever the
        table and the indexes.

        The key holds the indexes that it takes and the arguments' numbers in the order of the
        parameters, each of which always takes its values from the same pool. The order of a table's
        inputs would not do: views are numbered at their first use, so it differs from one binding
        to the next.
        """
        if sources is None:
            key: tuple[Any, ...] = (id(p), number, *ids)
            if key not in self.met:
                self.met[key] = self.see.evaluate(p, dict(of), self.state_of(place))
            return self.met[key]
        which = (number, id(p), of)
        plan = self.plans.get(which) or self.plans.setdefault(
            which, self._plan(number, p, of, sources)
        )
        key = (id(p), *plan.given, *[ids[at] for _, at in plan.flat])
        if key not in self.met:
            values = [pool[ids[at]] for pool, at in plan.flat]
            self.met[key] = self.see.asked(p, [*plan.given, *grouped(values, sources)])
        return self.met[key]

    def _plan(self, number: int, p: Predicate, of: Binding, sources: tuple[Source, ...]) -> Plan:
        inputs, values = self.tables.all[number].inputs, dict(of)
        flat = [k for s in sources for k in ((s,) if isinstance(s, int) else s)]
        pools = [*self.pools, *self.view_pools]
        return Plan(
            tuple(values[v] for v in p.takes), [(pools[k].values, inputs.index(k)) for k in flat]
        )

    def arrive(self, state: State, place: int, predicates: Sequence[Predicate]) -> None:
        """Evaluates predicates on one state in Python; under symmetry on all states of its
        orbit.
        """
        images = self.orbits.images(state) if self.orbits and predicates else (state,)
        for p in predicates:
            if self.findings.is_known(p):
                continue
            is_goal = self.findings.is_goal(p)
            for image in images:
                if self.see.met(p, image) if is_goal else not self.see.holds(p, image):
                    self.findings.note(p, place)
                    break

    def arrive_first(self, state: State, place: int) -> None:
        """An initial state: everything, since there is no state before in which it was
        looked at.
        """
        every = (*self.findings.spec.invariants, *self.findings.spec.goals)
        self.arrive(state, place, [p for p in every if isinstance(p, Predicate)])
