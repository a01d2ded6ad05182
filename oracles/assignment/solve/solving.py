"""An assignment that keeps promises and constraints together, of which no assignor knows: HiGHS
finds it, and z3 says why there is none.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from attrs import evolve

from groupcheck.oracles.assignment.constraints import Constraint
from groupcheck.oracles.assignment.placement import Drain
from groupcheck.oracles.assignment.promises import Case
from groupcheck.oracles.assignment.solve.arithmetic import arithmetic
from groupcheck.oracles.assignment.solve.by_z3 import SECONDS, Right, by_z3, found_by
from groupcheck.oracles.assignment.solve.highs import plan
from groupcheck.oracles.assignment.solve.program import IN_THE_FORM, promise_words
from groupcheck.oracles.assignment.validity import Assigned

SECONDS_TO_FIND = 30.0  # for HiGHS
SECONDS_WHY = 3.0  # for z3 where HiGHS is certain that there is no assignment


def solve(
    case: Case,
    names: tuple[str, ...],
    constraints: Sequence[Constraint],
    holds: Callable[[Assigned], bool],
) -> Right:
    """An assignment that keeps these promises and constraints, at a low price and with few moves;
    or why there is none.

    HiGHS finds it at scale, but counts in floating point: `holds` judges what it finds. If it finds
    none, z3 says whether there is one, or why not. Raises `UserError` if one of the two is needed
    and not installed.
    """
    planned = plan(case, names, constraints, SECONDS_TO_FIND)
    if planned.found is not None and holds(planned.found):
        priced = any(c.soft is not None for c in constraints)
        origin = found_by("HiGHS", priced, planned.cheapest, planned.fewest)
        return Right(planned.found, origin)
    right = by_z3(case, names, constraints, SECONDS_WHY if planned.none else SECONDS)
    if planned.none and right.assigned is None and not right.core:
        hard = [c for c in constraints if c.soft is None]
        right = Right(None, "there is none", _core_by_leaving_out(case, names, hard))
    if right.core:
        right = evolve(right, because=arithmetic(case, names, constraints, right.core))
    return right


def _core_by_leaving_out(
    case: Case, names: tuple[str, ...], constraints: Sequence[Constraint]
) -> tuple[str, ...]:
    """The words of what excludes each other. HiGHS is asked again without each promise and
    constraint in turn, and one that it does not need is left out. If the time ends, more than
    necessary remains.
    """
    until = time.monotonic() + SECONDS_TO_FIND
    form = tuple(name for name in names if name in IN_THE_FORM)
    kept: list[str | Constraint] = [*(name for name in names if name not in form), *constraints]
    for one in list(kept):
        rest = [other for other in kept if other is not one]
        left = until - time.monotonic()
        asked = (*form, *(name for name in rest if isinstance(name, str)))
        asked_constraints = [other for other in rest if not isinstance(other, str)]
        drained = frozenset(c.member for c in asked_constraints if isinstance(c, Drain))
        tried = evolve(case, drained=drained)
        if left > 0 and plan(tried, asked, asked_constraints, left).none:
            kept = rest
    return tuple(promise_words(one) if isinstance(one, str) else one.words() for one in kept)
