"""The verdict on an assignment: what is wrong with it, the best that there is, and an assignment
that is right.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

from attrs import evolve, frozen

from groupcheck.model.assignors import Assignment, NoAssignment, Partition
from groupcheck.oracles.assignment.handover import moves
from groupcheck.oracles.assignment.optimum import Optimum, claimants
from groupcheck.oracles.assignment.promises import ASSIGNORS, PROMISES, Case, promised
from groupcheck.oracles.assignment.question import Question
from groupcheck.oracles.assignment.solving import Right, solve
from groupcheck.oracles.assignment.validity import Assigned, Violation, complete, named, valid

SCHEMA = "groupcheck.assign/1"
RIGHT, WRONG = "right", "wrong"
NO_OPTIMUM = (
    'Kafka\'s sticky promises no optimum for such a group ("promises" can ask for the fewest moves)'
)
MOST_TOLD = 1_000  # violations of one promise
BY_OPTIMUM = (
    None,
    "sticky",
    "cooperative-sticky",
)  # whose right answer is the one with the fewest moves; of the others it is their own


@frozen
class Judged:
    """`moved`: (from, to) of what was claimed by another, to nobody where it waits for a round;
    None where that means nothing.
    """

    question: Question
    assigned: Assigned | None
    promises: tuple[str, ...]
    violations: tuple[Violation, ...]
    moved: dict[Partition, tuple[str, str | None]] | None
    best: Optimum
    right: Right
    notes: tuple[str, ...]
    seconds: float

    @property
    def verdict(self) -> str:
        """`right` or `wrong`."""
        return WRONG if self.violations or self.right.core else RIGHT

    @property
    def not_judged(self) -> tuple[str, ...]:
        """The promises that mean nothing here: nothing was assigned, or one that they need is
        broken.
        """
        if self.assigned is None:
            return self.promises
        case = Case(self.question.group, self.assigned, self.question.weights)
        needed = {need for name in self.promises for need in PROMISES[name].needs}
        fallen = {need for need in needed if any(True for _ in PROMISES[need].broken(case))}
        return tuple(name for name in self.promises if fallen.intersection(PROMISES[name].needs))

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
            "moves": (
                None
                if self.moved is None
                else [
                    {"partition": named(p), "from": frm, "to": to}
                    for p, (frm, to) in self.moved.items()
                ]
            ),
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


def judge(question: Question) -> Judged:
    """Judges the assignment that is proposed, or that the assignor answers."""
    began = time.perf_counter()
    constrained = bool(question.constraints or question.weights)
    names = (
        question.promises
        if question.promises is not None
        else promised(question.assignor, question.group, constrained)
    )
    assigned, thrown = _proposed(question)
    case = Case(question.group, assigned or {}, question.weights)
    notes: list[str] = []
    if thrown:
        violations = [Violation("answers", thrown)]
    else:
        violations = list(broken(question, case, names, notes))
    right = (
        Right(assigned, "the one judged")
        if assigned is not None and not violations
        else _right(question, names, case)
    )
    moved = _moved(case, names) if assigned is not None else None
    if (
        question.assignor == "sticky"
        and question.promises is None
        and "fewest moves" not in names
        and len(moved or ()) > case.best.moves
    ):
        notes.append(
            f"{len(moved or ())} moves where {case.best.moves} would do is not wrong: {NO_OPTIMUM}"
        )
    return Judged(
        question,
        assigned,
        names,
        tuple(violations),
        moved,
        case.best,
        right,
        tuple(notes),
        time.perf_counter() - began,
    )


def broken(
    question: Question, case: Case, names: Iterable[str], notes: list[str]
) -> Iterator[Violation]:
    """What of the promises and constraints does not hold; `notes` takes what could not be judged,
    or not be told whole.
    """
    holds: dict[str, bool] = {}
    not_judged = []
    for name in names:
        promise = PROMISES[name]
        for needed in promise.needs:
            if needed not in holds:
                holds[needed] = next(iter(PROMISES[needed].broken(case)), None) is None
        if not all(holds[needed] for needed in promise.needs):
            not_judged.append(name)
            continue
        found = list(islice(promise.broken(case), MOST_TOLD + 1))
        if len(found) > MOST_TOLD:
            notes.append(
                f"{name} is broken in more than {MOST_TOLD:,} ways; the first of them are told"
            )
        holds[name] = not found
        yield from found[:MOST_TOLD]
    if not_judged:
        notes.append(
            f"not judged where partitions are given wrongly or not at all: {', '.join(not_judged)}"
        )
    for constraint in question.constraints:
        yield from islice(constraint.broken(case.group, case.assigned), MOST_TOLD)


def shown(assigned: Assigned) -> dict[str, dict[str, list[int]]]:
    """member -> topic -> numbers."""
    told: dict[str, dict[str, list[int]]] = {}
    for member, partitions in assigned.items():
        told[member] = {}
        for topic, number in sorted(partitions):
            told[member].setdefault(topic, []).append(number)
    return told


def _proposed(question: Question) -> tuple[Assigned | None, str]:
    if question.assigned is not None:
        return question.assigned, ""
    assert question.assignor is not None
    try:
        return ASSIGNORS[question.assignor](question.group), ""
    except NoAssignment as error:
        return None, f"Kafka's class answers nothing: {error}"


def _moved(case: Case, names: Iterable[str]) -> dict[Partition, tuple[str, str | None]] | None:
    """None where a partition has two owners, or none and nothing says that it may wait."""
    may_wait = "complete later" in names
    if any(True for _ in valid(case.group, case.assigned)) or any(
        True for _ in complete(case.group, case.assigned, may_wait=may_wait)
    ):
        return None
    claimed = claimants(case.group)
    waiting: dict[Partition, tuple[str, str | None]] = {
        p: (claimed[p], None) for p in case.waiting if p in claimed
    }
    return dict(sorted({**moves(case.group, case.assigned), **waiting}.items()))


def _right(question: Question, names: tuple[str, ...], case: Case) -> Right:
    """The first candidate that breaks nothing."""

    def holds(assigned: Assigned) -> bool:
        return (
            next(
                broken(question, evolve(case, assigned=assigned, known=case.best), names, []), None
            )
            is None
        )

    for origin, candidate in _candidates(question, case):
        if holds(candidate):
            return Right(candidate, origin)
    return solve(question, names, case, holds)


def _candidates(question: Question, case: Case) -> Iterator[tuple[str, Assignment]]:
    if question.assignor not in BY_OPTIMUM:
        yield from _own_answer(question)
    best = case.best.assigned
    yield "balanced, with the fewest moves", best
    yield (
        "balanced, with the fewest moves, less what has to be let go of first",
        _let_go_of(question, best),
    )
    if question.assignor in BY_OPTIMUM:
        yield from _own_answer(question)


def _own_answer(question: Question) -> Iterator[tuple[str, Assignment]]:
    if question.assignor is not None:
        try:
            yield f"what {question.assignor} answers", ASSIGNORS[question.assignor](question.group)
        except NoAssignment:
            return


def _let_go_of(question: Question, assigned: Assignment) -> Assignment:
    """Without the partitions that others still own: they are for the next round (KIP-429)."""
    owners: dict[Partition, list[tuple[int, str]]] = {}
    for member in question.group.members:
        for partition in member.owned:
            owners.setdefault(partition, []).append((member.generation, member.id))

    def free(member: str, partition: Partition) -> bool:
        claims = owners.get(partition, [])
        mine = [generation for generation, name in claims if name == member]
        return not claims or (bool(mine) and all(generation <= mine[0] for generation, _ in claims))

    return {
        member: frozenset(p for p in partitions if free(member, p))
        for member, partitions in assigned.items()
    }
