"""HiGHS (scipy) on a program: an assignment that keeps promises and constraints at the least price
and then with the fewest moves, at scale.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from math import inf
from typing import Any

from attrs import evolve, frozen

from groupcheck.oracles.assignment.constraints import Constraint
from groupcheck.oracles.assignment.promises import Case
from groupcheck.oracles.assignment.solve.program import BoundedSum, Program, too_many_racks
from groupcheck.oracles.assignment.solve.stating import state_all
from groupcheck.oracles.assignment.solvers import solver
from groupcheck.oracles.assignment.validity import Assigned

MOST_COLUMNS = 500_000
MOST_ENTRIES = 10_000_000
MANY_SWITCHES = 20  # so many cost HiGHS seconds already
MOST_SWITCHES = 3_000  # with more of them HiGHS neither decides nor ends in time


@frozen
class HighsAnswer:
    """The answer of HiGHS. If nothing was found and `none` is false, it did not decide, or the
    program would be too large.
    """

    # An assignment that keeps everything.
    found: Assigned | None = None
    # No assignment that keeps everything needs fewer moves.
    fewest: bool = False
    # No assignment that keeps everything costs less.
    cheapest: bool = False
    # It is certain that no assignment keeps everything.
    none: bool = False


def plan(
    case: Case, names: tuple[str, ...], constraints: Sequence[Constraint], seconds: float
) -> HighsAnswer:
    """Asks HiGHS, for that long. Raises `UserError` if scipy is not installed.

    A balanced assignment is locally balanced. Where many subscriptions overlap, `locally balanced`
    takes a switch for each pair of members; then an assignment that is balanced is looked for
    first.
    """
    if too_many_racks(case, constraints):
        return HighsAnswer()
    program = Program(case, names, constraints)
    if program.size > MOST_COLUMNS:
        return HighsAnswer()
    state_all(program)
    if program.switches > MANY_SWITCHES:
        stricter = tuple("balanced" if name == "locally balanced" else name for name in names)
        if stricter != names:
            found = plan(case, stricter, constraints, seconds).found
            if found is not None:
                return HighsAnswer(found)
        if program.switches > MOST_SWITCHES:
            return HighsAnswer()
    return _solved(program, seconds)


def _solved(program: Program, seconds: float) -> HighsAnswer:
    sparse, optimize = (
        solver(module, "constraints are solved") for module in ("scipy.sparse", "scipy.optimize")
    )
    if not all(row.total for row in program.rows):
        return HighsAnswer(none=True)
    if sum(len(row.total) for row in program.rows) > MOST_ENTRIES:
        return HighsAnswer()
    if len(program.value) > MOST_COLUMNS:
        return HighsAnswer()

    def least(costs: Sequence[int], more: Sequence[BoundedSum], seconds: float) -> Any:
        rows = [*program.rows, *more]
        columns = [column for row in rows for column in row.total]
        factors = [float(factor) for row in rows for factor in row.total.values()]
        starts = list(accumulate((len(row.total) for row in rows), initial=0))
        matrix = sparse.csr_array((factors, columns, starts), shape=(len(rows), len(costs)))
        return optimize.milp(
            costs,
            integrality=1,
            bounds=optimize.Bounds(0, program.most),
            constraints=optimize.LinearConstraint(
                matrix, [row.least for row in rows], [row.most for row in rows]
            ),
            options={"time_limit": seconds, "mip_rel_gap": 0},
        )

    prices = program.prices()
    if not any(prices):
        return _planned(program, least(program.value, (), seconds), cheapest=True)
    cheap = least(prices, (), seconds / 2)
    if cheap.x is None or not any(program.value):
        return _planned(program, cheap, cheapest=cheap.status == 0)
    price = sum(cost * round(x) for cost, x in zip(prices, cheap.x))
    no_more = BoundedSum(
        "", {column: cost for column, cost in enumerate(prices) if cost}, -inf, price
    )
    answer = least(program.value, (no_more,), seconds / 2)
    if answer.x is None:
        return evolve(_planned(program, cheap, cheapest=cheap.status == 0), fewest=False)
    return _planned(program, answer, cheapest=cheap.status == 0)


def _planned(program: Program, answer: Any, *, cheapest: bool) -> HighsAnswer:
    if answer.x is None:
        return HighsAnswer(none=answer.status == 2)
    found = program.assigned([round(value) for value in answer.x])
    return HighsAnswer(found, fewest=answer.status == 0, cheapest=cheapest)
