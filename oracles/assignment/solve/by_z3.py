"""z3 on a program: an assignment that keeps promises and constraints, or why there is none."""

from __future__ import annotations

import time
from collections.abc import Sequence
from math import inf
from typing import Any

from attrs import frozen

from groupcheck.oracles.assignment.constraints import Constraint
from groupcheck.oracles.assignment.promises import Case
from groupcheck.oracles.assignment.solve.program import BoundedSum, Program, too_many_racks
from groupcheck.oracles.assignment.solve.stating import state_all
from groupcheck.oracles.assignment.solvers import solver
from groupcheck.oracles.assignment.validity import Assigned

SECONDS = 10.0  # for all that z3 is asked about one question
MOST_ENTRIES = 100_000  # of the program


@frozen
class Right:
    """An assignment that keeps all promises and constraints."""

    # None: none is known.
    assigned: Assigned | None
    # Where it comes from, or why none is known.
    origin: str
    # Promises and constraints that exclude each other. Empty, unless it is known that there is no
    # such assignment.
    core: tuple[str, ...] = ()
    # Sums that show why they do, where such are found: "4 members x at most 2 = 8 < 10 partitions".
    because: tuple[str, ...] = ()


def found_by(solver: str, priced: bool, cheapest: bool, fewest: bool) -> str:
    """The origin of an assignment, and how good it is."""
    price = ["at the least price" if cheapest else "a lower price may do"] if priced else []
    moves = "with the fewest moves" if fewest and cheapest else "fewer moves may do"
    return ", ".join([f"found by {solver}", *price, moves])


def by_z3(
    case: Case,
    names: tuple[str, ...],
    constraints: Sequence[Constraint],
    seconds: float = SECONDS,
) -> Right:
    """z3's answer, with few moves. A core is minimal: without any one of it there would be an
    assignment. Raises `UserError` if z3 is not installed.
    """
    z3 = solver("z3", "constraints are solved")
    if too_many_racks(case, constraints):
        return Right(None, "none of those tried is right, and the racks are too many for z3")
    program = Program(case, names, constraints, explain=True)
    many = (
        f"{len(case.group.members)} members with {program.every:,} partitions are too many for z3"
    )
    too_many = Right(None, f"none of those tried is right, and {many}")
    if program.size > MOST_ENTRIES:
        return too_many
    state_all(program)
    if sum(len(row.total) for row in program.rows) > MOST_ENTRIES:
        return too_many
    stated = _Stated(z3, program, time.monotonic() + seconds)
    answer = stated.check(list(stated.literals))
    if answer == "unknown":
        return Right(
            None, f"neither HiGHS nor z3 in {seconds:g} s has decided whether there is one"
        )
    if answer == "unsat":
        return Right(None, "there is none", stated.core())
    return stated.best()


class _Stated:
    """A program as z3 has it. Each promise and constraint can be taken back by its literal."""

    def __init__(self, z3: Any, program: Program, until: float) -> None:
        self.z3, self.program, self.until = z3, program, until
        self.x = [z3.Int(f"x{column}") for column in range(len(program.most))]
        self.solver = z3.SolverFor("QF_LIA")
        # Literal -> the words of what it stands for.
        self.literals: dict[Any, str] = {}
        literal_of: dict[str, Any] = {}
        for x, most in zip(self.x, program.most):
            self.solver.add(x >= 0, x <= most)
        for row in program.rows:
            said = tuple(filter(None, (row.words, *row.also)))
            for words in said:
                if words not in literal_of:
                    literal_of[words] = z3.Bool(f"literal {len(literal_of)}")
                    self.literals[literal_of[words]] = words
            holds = self._row(row)
            self.solver.add(z3.Implies(z3.And([literal_of[words] for words in said]), holds))

    def _row(self, row: BoundedSum) -> Any:
        total = self.z3.Sum([factor * self.x[column] for column, factor in row.total.items()])
        bounds = []
        if row.least > -inf:
            bounds.append(total >= int(row.least))
        if row.most < inf:
            bounds.append(total <= int(row.most))
        return self.z3.And(bounds)

    def check(self, literals: Sequence[Any]) -> str:
        """`sat`, `unsat` or `unknown`."""
        left = int(1000 * (self.until - time.monotonic()))
        if left <= 0:
            return "unknown"
        self.solver.set("timeout", left)
        return str(self.solver.check(*literals))

    def core(self) -> tuple[str, ...]:
        """The words of what excludes each other. Each literal in turn is left out if the others
        still exclude each other.
        """
        found = set(self.solver.unsat_core())
        core = [literal for literal in self.literals if literal in found]
        for literal in list(core):
            rest = [other for other in core if other is not literal]
            if self.check(rest) == "unsat":
                core = rest
        return tuple(self.literals[literal] for literal in core)

    def best(self) -> Right:
        """The solution of the last check, made better as long as one is found that costs less, and
        then as long as one is found that keeps more.
        """
        x, cheapest = self._least(self.program.prices(), self._values())
        x, fewest = self._least(self.program.value, x)
        priced = any(self.program.price)
        return Right(self.program.assigned(x), found_by("z3", priced, cheapest, fewest))

    def _values(self) -> list[int]:
        model = self.solver.model()
        return [model.eval(one, model_completion=True).as_long() for one in self.x]

    def _least(self, costs: Sequence[int], x: list[int]) -> tuple[list[int], bool]:
        """The solution that costs least, from one that is known, and whether it is proved that none
        costs less. No later solution costs more.
        """
        if not any(costs):
            return x, True
        total = self.z3.Sum([cost * one for cost, one in zip(costs, self.x) if cost])
        answer = "sat"
        while answer == "sat":
            cost = sum(cost * one for cost, one in zip(costs, x))
            self.solver.push()
            self.solver.add(total < cost)
            answer = self.check(list(self.literals))
            if answer == "sat":
                x = self._values()
            self.solver.pop()
        self.solver.add(total <= cost)
        return x, answer == "unsat"
