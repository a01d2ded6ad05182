"""Invariants, goals and views during a search: rows of their tables, and what was found broken or
met.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import Any

from attrs import frozen

from groupcheck.model.engine.errors import RuleError
from groupcheck.model.engine.fast.kernels import registers as r
from groupcheck.model.engine.fast.packed import DIRECT, Packed
from groupcheck.model.engine.fast.tables import (
    Binding,
    Bound,
    Source,
    Tables,
    ViewInstance,
    group_of,
)
from groupcheck.model.engine.functions import AnswerError
from groupcheck.model.engine.pools import Pool
from groupcheck.model.engine.promises import Predicate
from groupcheck.model.engine.step import Semantics, State
from groupcheck.model.engine.symmetry import Orbits


@frozen
class Plan:
    """How the arguments of a predicate or view are found, and what it answered."""

    # The indexes that it takes.
    given: tuple[int, ...]
    # For each place or view that it reads the values there, and where it is among the inputs.
    flat: list[tuple[list[Any], int]]
    # The numbers of the arguments, from those of the inputs.
    key: Callable[[tuple[int, ...]], Any]
    # Of each key whether the predicate has answered, or the number of what the view gave. One
    # evaluation serves all indexes that the function does not take: plans share this.
    met: dict[Any, int]


def grouped(values: Sequence[Any], sources: tuple[Source, ...]) -> list[Any]:
    """One argument for each parameter: whole arrays as tuples."""
    rest = iter(values)
    return [next(rest) if isinstance(s, int) else tuple([next(rest) for _ in s]) for s in sources]


class Findings:
    """The findings so far: goals with the depth at which they were first met, violations with a
    witness.

    A witness is (depth, place, kind): the state itself for `state` and `deadlock`, for `step` the
    state before the step.
    """

    def __init__(self, tables: Tables) -> None:
        self.spec = tables.see.spec
        self.goals: dict[str, int | None] = {g.name: None for g in self.spec.goals}
        # Goal -> the place of the first state that meets it; not of those of an earlier run.
        self.first: dict[str, int] = {}
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
            self.first[p.name] = place
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
        # What was answered, by predicate or view and the indexes that it takes.
        self.met: dict[tuple[int, ...], dict[Any, int]] = {}
        self.plans: dict[tuple[int, int, Binding], Plan] = {}
        # The state for which a predicate or view was evaluated last.
        self.place = 0
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
            self._fill_view(number, table.view, rows, places, tape)
            return
        for bound in table.bound:
            self._look(number, bound, rows, places)
        for ids in rows:
            tape += (number, DIRECT | r.NOTHING, *ids)

    def _fill_view(
        self,
        number: int,
        view: ViewInstance,
        rows: Sequence[tuple[int, ...]],
        places: Sequence[int],
        tape: list[int],
    ) -> None:
        plan = self._plan(number, view.view, view.binding, view.sources, True)
        key_of, met = plan.key, plan.met
        for ids, place in zip(rows, places):
            key = key_of(ids)
            known = met.get(key)
            if known is None:
                self.place = place
                if view.sources is None:
                    value = self.see.evaluate(view.view, dict(view.binding), self.state_of(place))
                else:
                    value = self._asked(view.view, plan, view.sources, ids)
                known = met[key] = self._numbered(number, view.view, value)
            tape += (number, DIRECT | r.NOTHING + known, *ids)

    def _numbered(self, number: int, view: Predicate, value: Any) -> int:
        try:
            return self.view_pools[number - self.tables.urgent].number(value)
        except AnswerError as error:
            what = f"gave a {type(value).__name__}, which {error}"
            raise RuleError(view.name, what, {}, kind="view") from None
        except Exception as error:
            what = (
                f"gave a {type(value).__name__} that raises {type(error).__name__} when it is"
                " compared"
            )
            raise RuleError(view.name, what, {}, kind="view") from error

    def _look(
        self,
        number: int,
        bound: Bound,
        rows: Sequence[tuple[int, ...]],
        places: Sequence[int],
    ) -> None:
        """Notes a predicate if it is of interest for one of these combinations. One that was met
        before needs no look: it would be known by now.
        """
        p, of_interest = bound.predicate, self.findings.is_goal(bound.predicate)
        if self.findings.is_known(p):
            return
        plan = self._plan(number, p, bound.case, bound.sources, False)
        key_of, met = plan.key, plan.met
        for ids, place in zip(rows, places):
            key = key_of(ids)
            if key in met:
                continue
            self.place = place
            if bound.sources is None:
                answer = self._decided(number, bound, ids)
            else:
                answer = self._asked(p, plan, bound.sources, ids)
            met[key] = 1
            if bool(answer) == of_interest:
                self.findings.note(p, place)
                return

    def _decided(self, number: int, bound: Bound, ids: Sequence[int]) -> bool:
        """Is a predicate true in a case, by what view instances say for its other variables?"""
        inputs, n = self.tables.all[number].inputs, len(self.pools)
        found = {
            binding: self.view_pools[source - n].values[ids[inputs.index(source)]]
            for binding, source in bound.answers
        }
        case = dict(bound.case)
        return self.see.decided(
            bound.predicate, bound.usual, case, lambda b: found[tuple(b.items())]
        )

    def _asked(
        self, p: Predicate, plan: Plan, sources: tuple[Source, ...], ids: Sequence[int]
    ) -> Any:
        values = [pool[ids[at]] for pool, at in plan.flat]
        return self.see.asked(p, [*plan.given, *grouped(values, sources)])

    def _plan(
        self,
        number: int,
        p: Predicate,
        of: Binding,
        sources: tuple[Source, ...] | None,
        is_view: bool,
    ) -> Plan:
        """How a predicate or view is asked for one binding in a table.

        The key has the arguments' numbers in the order of the parameters, each of which always
        takes its values from the same pool. The order of a table's inputs would not do: views are
        numbered at their first use, so it differs from one binding to the next. What has no sources
        is known by table, binding and inputs.
        """
        which = (number, id(p), of)
        if which in self.plans:
            return self.plans[which]
        if sources is None:
            return self.plans.setdefault(which, Plan((), [], tuple, {}))
        inputs, values = self.tables.all[number].inputs, dict(of)
        flat = [k for s in sources for k in ((s,) if isinstance(s, int) else s)]
        pools = [*self.pools, *self.view_pools]
        given = tuple(values[v] for v in p.takes)
        at = [inputs.index(k) for k in flat]
        key = itemgetter(*at) if at else lambda ids: ()
        read = [(pools[k].values, where) for k, where in zip(flat, at)]
        met = self.met.setdefault((is_view, id(p), *given), {})
        return self.plans.setdefault(which, Plan(given, read, key, met))

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
