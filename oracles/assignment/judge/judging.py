"""The verdict on an assignment: what is wrong with it, the optimum, and an assignment that is
right.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from fractions import Fraction
from itertools import islice
from typing import Any, Final, Literal

from attrs import evolve, frozen

from groupcheck.model.assignors import Assignment, Group, NoAssignment, Partition
from groupcheck.oracles.assignment import constraints
from groupcheck.oracles.assignment.handover import claimants, moves
from groupcheck.oracles.assignment.judge import assign_types
from groupcheck.oracles.assignment.judge.question import Question
from groupcheck.oracles.assignment.optimum import Optimum
from groupcheck.oracles.assignment.promises import (
    ASSIGNORS,
    MOST_TOLD,
    Case,
    answer,
    judged,
    promised,
    statement,
)
from groupcheck.oracles.assignment.solve.by_z3 import Right
from groupcheck.oracles.assignment.solve.solving import solve
from groupcheck.oracles.assignment.validity import Assigned, Violation, complete, named, valid
from groupcheck.oracles.kafka.values import by_topic
from groupcheck.oracles.show.json_schemas import document
from groupcheck.traces.phrases import plural

Progress = Callable[[str], None]
"""Told what is done next."""

SCHEMA = "groupcheck.assign/1"
RIGHT: Final = "right"
WRONG: Final = "wrong"
NO_OPTIMUM = "Kafka's sticky promises no optimum for such a group"
BY_CLAIMS = ("sticky", "cooperative-sticky", "uniform", "connect")
"""Assignors that read claims, so that partitions should not move without need."""
# The right answer of these is the one with the fewest moves; of the others it is their own answer.
BY_OPTIMUM = (None, "sticky", "cooperative-sticky")


@frozen
class JudgedAssignment:
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
    def verdict(self) -> Literal["right", "wrong"]:
        """`right` or `wrong`."""
        return WRONG if self.violations or self.right.core else RIGHT

    def price(self) -> assign_types.Price:
        """The costs of the soft constraints: the assignment judged, and the right one."""
        soft = [c for c in self.question.constraints if c.soft is not None]
        case = Case(self.question.group, {}, drained=self.question.drained)
        here, there = (
            None if assigned is None else constraints.due(soft, case.open, assigned)
            for assigned in (self.assigned, self.right.assigned)
        )
        return assign_types.Price(
            judged=None if here is None else float(sum(one.price for one in here)),
            right=None if there is None else float(sum(one.price for one in there)),
            of=[
                assign_types.PriceItem(
                    constraint=constraints.constraint_words(constraint),
                    judged=None if here is None else float(here[k].price),
                    right=None if there is None else float(there[k].price),
                    words=[] if here is None else list(here[k].words[:MOST_TOLD]),
                )
                for k, constraint in enumerate(soft)
            ],
        )

    @property
    def sizes(self) -> list[int]:
        """How many partitions each member has in the optimum. Members that are drained are left
        out.
        """
        drained = self.question.drained
        sizes = [size for m, size in self.best.sizes.items() if m not in drained]
        return sizes or [0]

    def document(self) -> dict[str, Any]:
        """All that `groupcheck assign --json` prints."""
        found = assign_types.AssignDocument(
            verdict=self.verdict,
            about=self.question.about,
            assignor=self.question.assignor,
            judged=None if self.assigned is None else shown(self.assigned),
            promises={name: statement(name) for name in self.promises},
            constraints=[constraints.constraint_words(c) for c in self.question.constraints],
            violations=self.violations_shown(),
            moves=self.moves_shown(),
            optimum=assign_types.Optimum(
                moves=self.best.moves,
                least=min(self.sizes),
                most=max(self.sizes),
                sizes=dict(self.best.sizes),
            ),
            right=None if self.right.assigned is None else shown(self.right.assigned),
            origin=self.right.origin,
            core=list(self.right.core),
            because=list(self.right.because),
            price=self.price(),
            notes=list(self.notes),
            seconds=round(self.seconds, 3),
        )
        return document(SCHEMA, found)

    def round_shown(self) -> assign_types.Round:
        """The assignment as one round of a sequence."""
        return assign_types.Round(
            claims=shown({m.id: m.owned for m in self.question.group.members}),
            judged=None if self.assigned is None else shown(self.assigned),
            violations=self.violations_shown(),
            moves=self.moves_shown(),
            right=None if self.right.assigned is None else shown(self.right.assigned),
            origin=self.right.origin,
            notes=list(self.notes),
        )

    def violations_shown(self) -> list[assign_types.Violation]:
        """The violations as a document has them."""
        return [assign_types.Violation(promise=v.promise, words=v.words) for v in self.violations]

    def moves_shown(self) -> list[assign_types.Move] | None:
        """The moves as a document has them."""
        if self.moved is None:
            return None
        return [
            assign_types.Move(partition=named(p), from_=owner, to=to)
            for p, (owner, to) in self.moved.items()
        ]


def judge(question: Question, progress: Progress = lambda words: None) -> JudgedAssignment:
    """Judges the assignment that is proposed, or that the assignor answers."""
    began = time.perf_counter()
    found = verdict(question, progress)
    case, assigned, names, violations = found.case, found.assigned, found.names, found.violations
    best, notes = case.best, list(found.notes)
    progress("looking for an assignment that is right")
    costs = None if assigned is None else _price(question, case, assigned)
    if assigned is not None and not violations and not costs:
        right = Right(assigned, "the one judged")
    else:
        right = _right(question, names, case)
        if costs is not None and not violations:
            right = _no_cheaper(question, case, right)
            if right.assigned is not assigned and right.assigned is not None:
                less = _price(question, case, right.assigned)
                notes.append(f"it costs {_number(costs)}, and {_number(less)} would do")
    moves = None if assigned is None else moved(case, names)
    if moves and len(moves) > best.moves and not violations:
        notes.extend(_of_moves(question, case, names, len(moves)))
    return JudgedAssignment(
        question,
        assigned,
        names if assigned is not None else ("answers", *names),
        found.not_judged,
        violations,
        moves,
        best,
        right,
        tuple(notes),
        time.perf_counter() - began,
    )


REFUSE_MOVES = ("sticks", "fewest moves", "balanced in topics")
"""Promises that an assignment breaks which moves more than it must, or moves without need."""


def _of_moves(question: Question, case: Case, names: tuple[str, ...], moves: int) -> Iterator[str]:
    """Says of an assignment that is right which promises, if they were asked, would refuse it."""
    if question.assignor not in BY_CLAIMS or question.promises is not None:
        return
    best = case.best.moves
    said = f"{moves} moves where {best} would do is not wrong"
    if not best:
        them = f"{plural(moves, 'partition')} {'moves' if moves == 1 else 'move'}"
        said = f"the claims are balanced as they are, and {them}: that is not wrong"
    why = f": {NO_OPTIMUM}" if question.assignor == "sticky" else ""
    asked = [name for name in REFUSE_MOVES if name not in names]
    refuse = [name for name, found in judged(case, asked) if found]
    would = f'; "promises" with {" or ".join(refuse)} would refuse it' if refuse else ""
    yield f"{said}{why}{would}"


@frozen
class AssignmentFaults:
    """The faults of an assignment, and the promises that it was asked for."""

    case: Case
    # What is judged. None: the assignor throws.
    assigned: Assigned | None
    names: tuple[str, ...]
    violations: tuple[Violation, ...]
    not_judged: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def verdict(question: Question, progress: Progress = lambda words: None) -> AssignmentFaults:
    """The faults of the assignment that is proposed, or that the assignor answers."""
    constrained = bool(question.constraints or question.weights)
    names = question.promises
    if names is None:
        names = promised(question.assignor, _sharing(question), constrained)
    given: Assigned | NoAssignment | None = question.assigned
    if given is None:
        progress(f"{question.assignor} answers")
        given = answer(ASSIGNORS[str(question.assignor)], question.group)
    assigned = None if isinstance(given, NoAssignment) else given
    case = Case(
        question.group,
        assigned or {},
        question.weights,
        drained=question.drained,
        like=question.assignor,
    )
    if isinstance(given, NoAssignment):
        thrown = Violation("answers", f"Kafka's class answers nothing: {given}")
        return AssignmentFaults(case, None, names, (thrown,), names)
    progress("looking for the fewest moves")
    assert case.best
    progress(f"judging {len(names)} promises")
    violations, not_judged, notes = _broken(question, case, names)
    return AssignmentFaults(
        case, assigned, names, tuple(violations), tuple(not_judged), tuple(notes)
    )


def _sharing(question: Question) -> Group:
    """The members that are not drained: what is promised follows from their subscriptions."""
    group, drained = question.group, question.drained
    members = [m for m in group.members if m.id not in drained]
    return evolve(group, members=members or group.members)


def _price(question: Question, case: Case, assigned: Assigned) -> Fraction:
    return constraints.price(question.constraints, case.open, assigned)


def _no_cheaper(question: Question, case: Case, right: Right) -> Right:
    """The one judged, unless a right one that costs less was found."""
    judged = Right(case.assigned, "the one judged")
    if right.assigned is None:
        return evolve(judged, origin=f"the one judged; a lower price may do ({right.origin})")
    if _price(question, case, right.assigned) < _price(question, case, case.assigned):
        return right
    least = "at the least price" in right.origin
    return evolve(judged, origin="the one judged, at the least price") if least else judged


def _number(value: Fraction) -> str:
    return f"{float(value):g}"


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
        broken = constraints.broken(constraint, case.open, case.assigned)
        violations += islice(broken, MOST_TOLD)
    return violations, not_judged, notes


def shown(assigned: Assigned) -> dict[str, dict[str, list[int]]]:
    """Member -> topic -> numbers."""
    return {member: by_topic(partitions) for member, partitions in assigned.items()}


def moved(case: Case, names: Iterable[str]) -> dict[Partition, tuple[str, str | None]] | None:
    """The partitions that move; None if one has two owners, or has none and nothing says that it
    may wait.
    """
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
        True for c in question.constraints for _ in constraints.broken(c, case.open, assigned)
    )


def _right(question: Question, names: tuple[str, ...], case: Case) -> Right:
    """The first candidate that breaks nothing and costs nothing."""
    for origin, candidate in _candidates(question, case):
        free = not _price(question, case, candidate)
        if free and holds(question, case, names, candidate):
            return Right(candidate, origin)
    return solve(
        case, names, question.constraints, lambda found: holds(question, case, names, found)
    )


def _candidates(question: Question, case: Case) -> Iterator[tuple[str, Assignment]]:
    best = "balanced, with the fewest moves"
    own_first = question.assignor not in BY_OPTIMUM
    if own_first:
        yield from _own_answer(question, case)
    yield best, case.best.assigned
    yield f"{best}, less what has to be let go of first", _let_go_of(question, case.best.assigned)
    if not own_first:
        yield from _own_answer(question, case)


def _own_answer(question: Question, case: Case) -> Iterator[tuple[str, Assignment]]:
    if question.assignor is not None:
        given = answer(ASSIGNORS[question.assignor], case.open)
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
