"""The verdict on an assignment: what is wrong with it, the optimum, and an assignment that is
right.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Any

from attrs import evolve, frozen

from groupcheck.model.assignors import Assignment, NoAssignment, Partition
from groupcheck.oracles.assignment import constraints
from groupcheck.oracles.assignment.handover import claimants, moves
from groupcheck.oracles.assignment.judge.question import Question
from groupcheck.oracles.assignment.optimum import Optimum
from groupcheck.oracles.assignment.promises import (
    ASSIGNORS,
    MOST_TOLD,
    PROMISES,
    Case,
    answer,
    judged,
    promised,
)
from groupcheck.oracles.assignment.solve.by_z3 import Right
from groupcheck.oracles.assignment.solve.solving import solve
from groupcheck.oracles.assignment.validity import Assigned, Violation, complete, named, valid
from groupcheck.oracles.kafka.values import by_topic

Progress = Callable[[str], None]
"""Told what is done next."""

SCHEMA = "groupcheck.assign/1"
RIGHT, WRONG = "right", "wrong"
NO_OPTIMUM = (
    'Kafka\'s sticky promises no optimum for such a group ("promises" can ask for the fewest moves)'
)
# The right answer of these is the one with the fewest moves; of the others it is their own answer.
BY_OPTIMUM = (None, "sticky", "cooperative-sticky")


@frozen
class Judged:
    """An assignment, and the verdict on it."""

    question: Question
    # What is judged. None: the assignor throws.
    assigned: Assigned | None
    # What was asked of it.
    promises: tuple[str, ...]
    # Those of them that mean nothing here: one that they need is broken, or nothing was assigned.
    not_judged: tuple[str, ...]
    violations: tuple[Violation, ...]
    # Partitions that another member claims: (from, to); to nobody if they wait for a round. None:
    # partitions are given wrongly or not at all, so that moves mean nothing.
    moved: dict[Partition, tuple[str, str | None]] | None
    best: Optimum
    right: Right
    notes: tuple[str, ...]
    # Of wall clock.
    seconds: float

    @property
    def verdict(self) -> str:
        """`right` or `wrong`."""
        return WRONG if self.violations or self.right.core else RIGHT

    def document(self) -> dict[str, Any]:
        """All that `groupcheck assign --json` prints."""
        sizes = self.best.sizes
        return {
            "schema": SCHEMA,
            "verdict": self.verdict,
            "about": self.question.about,
            "assignor": self.question.assignor,
            "judged": None if self.assigned is None else shown(self.assigned),
            "promises": {name: PROMISES[name].statement for name in self.promises},
            "constraints": [c.words() for c in self.question.constraints],
            "violations": [{"promise": v.promise, "words": v.words} for v in self.violations],
            "moves": None
            if self.moved is None
            else [
                {"partition": named(p), "from": frm, "to": to}
                for p, (frm, to) in self.moved.items()
            ],
            "optimum": {
                "moves": self.best.moves,
                "least": min(sizes.values()),
                "most": max(sizes.values()),
                "sizes": sizes,
            },
            "right": None if self.right.assigned is None else shown(self.right.assigned),
            "origin": self.right.origin,
            "core": list(self.right.core),
            "notes": list(self.notes),
            "seconds": round(self.seconds, 3),
        }


def judge(question: Question, progress: Progress = lambda words: None) -> Judged:
    """Judges the assignment that is proposed, or that the assignor answers."""
    began = time.perf_counter()
    constrained = bool(question.constraints or question.weights)
    names = question.promises
    if names is None:
        names = promised(question.assignor, question.group, constrained)
    given: Assigned | NoAssignment | None = question.assigned
    if given is None:
        progress(f"{question.assignor} answers")
        given = answer(ASSIGNORS[str(question.assignor)], question.group)
    assigned = None if isinstance(given, NoAssignment) else given
    case = Case(question.group, assigned or {}, question.weights)
    progress("looking for the fewest moves")
    best = case.best
    progress(f"judging {len(names)} promises")
    notes: list[str] = []
    if isinstance(given, NoAssignment):
        violations = [Violation("answers", f"Kafka's class answers nothing: {given}")]
        not_judged = list(names)
    else:
        violations, not_judged, notes = _broken(question, case, names)
    progress("looking for an assignment that is right")
    right = (
        Right(assigned, "the one judged")
        if assigned is not None and not violations
        else _right(question, names, case)
    )
    moved = None if assigned is None else _moved(case, names)
    no_optimum = (
        question.assignor == "sticky" and question.promises is None and "fewest moves" not in names
    )
    if no_optimum and moved and len(moved) > best.moves:
        notes.append(f"{len(moved)} moves where {best.moves} would do is not wrong: {NO_OPTIMUM}")
    return Judged(
        question,
        assigned,
        names,
        tuple(not_judged),
        tuple(violations),
        moved,
        best,
        right,
        tuple(notes),
        time.perf_counter() - began,
    )


def _broken(
    question: Question, case: Case, names: Iterable[str]
) -> tuple[list[Violation], list[str], list[str]]:
    """The violations, the promises that could not be judged, and notes about both."""
    violations: list[Violation] = []
    not_judged: list[str] = []
    notes: list[str] = []
    for name, found in judged(case, names):
        if found is None:
            not_judged.append(name)
            continue
        violations += found[:MOST_TOLD]
        if len(found) > MOST_TOLD:
            notes.append(
                f"{name} is broken in more than {MOST_TOLD:,} ways; the first of them are told"
            )
    if not_judged:
        notes.append(
            f"not judged where partitions are given wrongly or not at all: {', '.join(not_judged)}"
        )
    for constraint in question.constraints:
        broken = constraints.broken(constraint, case.group, case.assigned)
        violations += islice(broken, MOST_TOLD)
    return violations, not_judged, notes


def shown(assigned: Assigned) -> dict[str, dict[str, list[int]]]:
    """Member -> topic -> numbers."""
    return {member: by_topic(partitions) for member, partitions in assigned.items()}


def _moved(case: Case, names: Iterable[str]) -> dict[Partition, tuple[str, str | None]] | None:
    """None if a partition has two owners, or has none and nothing says that it may wait."""
    may_wait = "complete later" in names
    wrong = [
        valid(case.group, case.assigned),
        complete(case.group, case.assigned, may_wait=may_wait),
    ]
    if any(True for violations in wrong for _ in violations):
        return None
    claimed = claimants(case.group)
    waiting: dict[Partition, tuple[str, str | None]] = {
        p: (claimed[p], None) for p in case.waiting if p in claimed
    }
    return dict(sorted({**moves(case.group, case.assigned), **waiting}.items()))


def holds(question: Question, case: Case, names: Iterable[str], assigned: Assigned) -> bool:
    """Does another assignment for the case keep all promises and constraints?"""
    tried = evolve(case, assigned=assigned, known=case.best)
    return all(not found for _, found in judged(tried, names)) and not any(
        True for c in question.constraints for _ in c.broken(case.group, assigned)
    )


def _right(question: Question, names: tuple[str, ...], case: Case) -> Right:
    """The first candidate that breaks nothing."""
    for origin, candidate in _candidates(question, case):
        if holds(question, case, names, candidate):
            return Right(candidate, origin)
    return solve(
        case, names, question.constraints, lambda found: holds(question, case, names, found)
    )


def _candidates(question: Question, case: Case) -> Iterator[tuple[str, Assignment]]:
    best = "balanced, with the fewest moves"
    own_first = question.assignor not in BY_OPTIMUM
    if own_first:
        yield from _own_answer(question)
    yield best, case.best.assigned
    yield f"{best}, less what has to be let go of first", _let_go_of(question, case.best.assigned)
    if not own_first:
        yield from _own_answer(question)


def _own_answer(question: Question) -> Iterator[tuple[str, Assignment]]:
    if question.assignor is not None:
        given = answer(ASSIGNORS[question.assignor], question.group)
        if not isinstance(given, NoAssignment):
            yield f"what {question.assignor} answers", given


def _let_go_of(question: Question, assigned: Assignment) -> Assignment:
    """Without the partitions that others still own: they are for the next round (KIP-429)."""
    owners: dict[Partition, dict[str, int]] = {}
    for member in question.group.members:
        for partition in member.owned:
            owners.setdefault(partition, {})[member.id] = member.generation

    def free(member: str, partition: Partition) -> bool:
        claims = owners.get(partition)
        return not claims or claims.get(member) == max(claims.values())

    return {
        member: frozenset(p for p in partitions if free(member, p))
        for member, partitions in assigned.items()
    }
