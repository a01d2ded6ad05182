"""The promises of each of Kafka's assignors, asked of every answer of its class."""

from __future__ import annotations

from collections.abc import Iterator

from attrs import define, evolve, field, frozen

from groupcheck.model.assignors import Group, NoAssignment
from groupcheck.oracles.assignment.groups import circumstances, size
from groupcheck.oracles.assignment.promises import MADE, PROMISES, Case, judged
from groupcheck.oracles.assignment.validity import Assigned, Violation

# Not asked of every answer: they compute the optimum; and a cooperative sticky answer need not be
# balanced, as the one of the round after it is.
NOT_ASKED = ("fewest moves", "balanced at rest")
ASKED = {
    assignor: [name for name in made if not PROMISES[name].exact and name not in NOT_ASKED]
    for assignor, made in MADE.items()
}


def broken(assignor: str, group: Group, answer: Assigned) -> Iterator[Violation]:
    """How an answer breaks the assignor's promises: the first way of each."""
    names = (name for name in ASKED[assignor] if PROMISES[name].made_for(group))
    for _, found in judged(Case(group, answer), names):
        yield from (found or ())[:1]


@frozen
class BrokenPromise:
    """A promise that was broken under some circumstances."""

    # How often.
    answers: int
    # The smallest input, its size, and what was answered.
    size: tuple[int, ...]
    group: Group
    answer: Assigned | NoAssignment
    # How that answer breaks the promise.
    words: str


@define
class AssignorFindings:
    """The questions to the class of an assignor, and how its answers broke promises."""

    assignor: str
    # How many answers were asked for.
    answers: int = 0
    # (promise, circumstances) -> what was found.
    found: dict[tuple[str, frozenset[str]], BrokenPromise] = field(factory=dict)

    def ask(self, group: Group, answer: Assigned | NoAssignment) -> None:
        """Judges one answer. A class that throws breaks the promise to answer."""
        self.answers += 1
        if isinstance(answer, NoAssignment):
            self._note(Violation("answers", f"throws {answer}"), group, answer)
            return
        for violation in broken(self.assignor, group, answer):
            self._note(violation, group, answer)

    def _note(self, violation: Violation, group: Group, answer: Assigned | NoAssignment) -> None:
        key = violation.promise, circumstances(group)
        before, now = (
            self.found.get(key),
            BrokenPromise(1, size(group), group, answer, violation.words),
        )
        if before is not None:
            smaller = now if now.size < before.size else before
            now = evolve(smaller, answers=before.answers + 1)
        self.found[key] = now

    def least(self) -> list[tuple[str, frozenset[str], BrokenPromise]]:
        """The findings of the least circumstances. What also happens under fewer circumstances is
        no finding of its own.
        """
        return [
            (promise, why, found)
            for (promise, why), found in sorted(
                self.found.items(), key=lambda item: (item[0][0], item[1].size)
            )
            if not any(other == promise and fewer < why for other, fewer in self.found)
        ]
