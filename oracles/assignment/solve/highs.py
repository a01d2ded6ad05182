"""HiGHS (scipy) on a program: an assignment that keeps promises and constraints with the fewest
moves, at scale.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

from attrs import frozen

from groupcheck.oracles.assignment.constraints import Constraint
from groupcheck.oracles.assignment.promises import Case
from groupcheck.oracles.assignment.solve.program import Program
from groupcheck.oracles.assignment.solvers import solver
from groupcheck.oracles.assignment.validity import Assigned

MOST_COLUMNS = 500_000
MOST_ENTRIES = 10_000_000
MANY_SWITCHES = 20  # so many cost HiGHS seconds already
MOST_SWITCHES = 3_000  # with more of them HiGHS neither decides nor ends in time


@frozen
class Planned:
    """What HiGHS says. If nothing was found and `none` is false, it did not decide, or the program
    would be too large.
    """

    # An assignment that keeps everything.
    found: Assigned | None = None
    # No assignment that keeps everything needs fewer moves.
    fewest: bool = False
    # It is certain that no assignment keeps everything.
    none: bool = False


def plan(
    case: Case, names: tuple[str, ...], constraints: Sequence[Constraint], seconds: float
) -> Planned:
    """Asks HiGHS, for that long. Raises `UserError` if scipy is not installed.

    A balanced assignment is locally balanced. Where many subscriptions overlap, `locally balanced`
    takes a switch for each pair of members; then an assignment that is balanced is looked for
    first.
    """
    program = Program(case, names, constraints)
    if program.size > MOST_COLUMNS:
        return Planned()
    program.state()
    if program.switches > MANY_SWITCHES:
        stricter = tuple("balanced" if name == "locally balanced" else name for name in names)
        if stricter != names:
            found = plan(case, stricter, constraints, seconds).found
            if found is not None:
                return Planned(found)
        if program.switches > MOST_SWITCHES:
            return Planned()
    return _solved(program, seconds)


def _solved(program: Program, seconds: float) -> Planned:
    sparse, optimize = (
        solver(module, "constraints are solved") for module in ("scipy.sparse", "scipy.optimize")
    )
    totals = [row.total for row in program.rows]
    if not all(totals):
        return Planned(none=True)
    if sum(map(len, totals)) > MOST_ENTRIES or len(program.value) > MOST_COLUMNS:
        return Planned()
    columns = [column for total in totals for column in total]
    factors = [float(factor) for total in totals for factor in total.values()]
    starts = list(accumulate(map(len, totals), initial=0))
    matrix = sparse.csr_array((factors, columns, starts), shape=(len(totals), len(program.value)))
    answer = optimize.milp(
        program.value,
        integrality=1,
        bounds=optimize.Bounds(0, program.most),
        constraints=optimize.LinearConstraint(
            matrix, [row.least for row in program.rows], [row.most for row in program.rows]
        ),
        options={"time_limit": seconds, "mip_rel_gap": 0},
    )
    if answer.x is None:
        return Planned(none=answer.status == 2)
    found = program.assigned([round(value) for value in answer.x])
    return Planned(found, fewest=answer.status == 0)
