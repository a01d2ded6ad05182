"""Predicates and views over numbers: each is evaluated once for each combination of the values that
it reads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from operator import itemgetter
from typing import Any

from attrs import frozen

from groupcheck.model.engine.element import Element
from groupcheck.model.engine.errors import RuleError, UserError
from groupcheck.model.engine.functions import AnswerError
from groupcheck.model.engine.pools import Pool, flaw
from groupcheck.model.engine.promises import Predicate
from groupcheck.model.engine.sameness import SURE
from groupcheck.model.engine.step import Semantics, State
from groupcheck.model.engine.symmetry import Orbits
from groupcheck.model.engine.tabled.findings import Findings
from groupcheck.model.engine.tabled.generated_calls import asker
from groupcheck.model.engine.tabled.tables import Binding, Bound, Source, Tables, ViewInstance


@frozen
class Plan:
    """How the arguments of a predicate or view are found, and what it answered."""

    # The indexes that it takes.
    given: tuple[int | Element, ...]
    # For each place or view that it reads the values there, and where it is among the inputs.
    flat: list[tuple[list[Any], int]]
    # The numbers of the arguments, from those of the inputs.
    key: Callable[[tuple[int, ...]], Any]
    # Asks for the inputs with these numbers; None where that is not one call.
    ask: Callable[[tuple[int, ...]], Any] | None
    # Of each key whether the predicate has answered, or the number of what the view gave. One
    # evaluation serves all indexes that the function does not take: plans share this.
    met: dict[Any, int]


def grouped(values: Sequence[Any], sources: tuple[Source, ...]) -> list[Any]:
    """One argument for each parameter: whole arrays as tuples."""
    rest = iter(values)
    return [next(rest) if isinstance(s, int) else tuple([next(rest) for _ in s]) for s in sources]


def numbered(pool: Pool, view: Predicate, value: Any) -> int:
    """The number of a value that a view gave. Raises `RuleError` if it cannot be one."""
    try:
        return pool.number(value)
    except AnswerError as error:
        what = f"gave a {type(value).__name__}, which {error}"
        raise RuleError(view.name, what, {}, kind="view") from None
    except Exception as error:
        what = (
            f"gave a {type(value).__name__} that raises {type(error).__name__} when it is compared"
        )
        raise RuleError(view.name, what, {}, kind="view") from error


def _is_truth(answer: Any) -> bool:
    """May a predicate give this?"""
    return answer is True or answer is False


def _is_value(answer: Any) -> bool:
    """Is it surely a value that a view may give?"""
    return answer.__class__ in SURE or not flaw(answer, answer)


class Predicates:
    """Views and predicates of a spec, evaluated on the values of their inputs.

    The state that asks is the first with these inputs. What is broken or met there is known from
    then on, so of a combination that was looked at nothing else is kept.
    """

    def __init__(
        self,
        tables: Tables,
        pools: Sequence[Pool],
        view_pools: Sequence[Pool],
        findings: Findings,
        state_of: Callable[[int], State],
    ) -> None:
        self.tables, self.findings, self.state_of = tables, findings, state_of
        self.pools, self.view_pools = pools, view_pools
        self.see: Semantics = tables.see
        # What was answered, by predicate or view and the indexes that it takes.
        self.met: dict[tuple[Any, ...], dict[Any, int]] = {}
        self.plans: dict[tuple[int, int, Binding], Plan] = {}
        # The state for which a predicate or view was evaluated last.
        self.place = 0
        self.orbits: Orbits | None = None  # under symmetry

    def view_numbers(
        self,
        number: int,
        view: ViewInstance,
        rows: Sequence[tuple[int, ...]],
        places: Sequence[int],
    ) -> Iterator[int]:
        """The number of a view's value for each of these combinations of the inputs of its table.
        `places`: of the states that ask. Raises `RuleError` if the view is at fault.
        """
        plan = self._plan(number, view.view, view.binding, view.sources, True)
        key_of, met = plan.key, plan.met
        pool = self.view_pools[number - self.tables.urgent]
        for ids, place in zip(rows, places):
            key = key_of(ids)
            known = met.get(key)
            if known is None:
                self.place = place
                if plan.ask is None or view.sources is None:
                    value = self.see.evaluate(view.view, dict(view.binding), self.state_of(place))
                else:
                    value = self._answer(plan, view.view, view.sources, ids, _is_value)
                known = met[key] = numbered(pool, view.view, value)
            yield known

    def look(
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
            if plan.ask is None or bound.sources is None:
                answer = self._decided(number, bound, ids)
            else:
                answer = self._answer(plan, p, bound.sources, ids, _is_truth)
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

    def _answer(
        self,
        plan: Plan,
        p: Predicate,
        sources: tuple[Source, ...],
        ids: tuple[int, ...],
        is_fine: Callable[[Any], bool],
    ) -> Any:
        """What a predicate or view gives for these inputs. One that raises, or gives something odd,
        is asked again by the plain semantics, which say what is wrong. Raises `RuleError` then.
        """
        assert plan.ask is not None
        try:
            answer = plan.ask(ids)
            if is_fine(answer):
                return answer
        except UserError:
            raise
        except (Exception, SystemExit):
            pass
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
            return self.plans.setdefault(which, Plan((), [], tuple, None, {}))
        inputs, values = self.tables.all[number].inputs, dict(of)
        flat = [k for s in sources for k in ((s,) if isinstance(s, int) else s)]
        pools = [*self.pools, *self.view_pools]
        given = p.given(values)
        at = [inputs.index(k) for k in flat]
        key = itemgetter(*at) if at else lambda ids: ()
        read = [(pools[k].values, where) for k, where in zip(flat, at)]
        met = self.met.setdefault((is_view, id(p), *given), {})
        tail = (self.see.spec.scope,) if p.takes_scope else ()
        ask = asker(
            p.call, given, read, [None if isinstance(s, int) else len(s) for s in sources], tail
        )
        return self.plans.setdefault(which, Plan(given, read, key, ask, met))

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
