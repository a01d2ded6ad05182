"""Compares groupcheck's assignors with Kafka's classes, input by input."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import Any

from attrs import define, field, frozen
from rich.console import RenderableType
from rich.text import Text

from groupcheck.model.assignors import Group, NoAssignment, Partitions, uniform
from groupcheck.oracles.assignment import group_types
from groupcheck.oracles.assignment.conform import conform_assignors_types
from groupcheck.oracles.assignment.conform.findings import AssignorFindings
from groupcheck.oracles.assignment.conform.inputs import families, random_groups
from groupcheck.oracles.assignment.groups import shown, size
from groupcheck.oracles.assignment.promises import ASSIGNORS, Solve, thrown
from groupcheck.oracles.assignment.promises import answer as answer_of
from groupcheck.oracles.assignment.validity import named
from groupcheck.oracles.kafka.assignors import NotSolved, Problem, solve
from groupcheck.oracles.kafka.comparison import block
from groupcheck.oracles.kafka.driver import Driver
from groupcheck.oracles.kafka.tallied import (
    REPORT_INTERVAL,
    Progress,
    TalliedComparison,
    Tally,
    answered,
    values,
)
from groupcheck.oracles.processes.supervisor import until_interrupted
from groupcheck.oracles.show.json_schemas import ABSENT

RANDOM = 10_000
LONGEST = 500  # characters of an example at the terminal
Answer = Mapping[str, Partitions] | NoAssignment


def ours(kafka: str) -> Mapping[str, Solve]:
    """groupcheck's assignors as that version of Kafka has them."""
    return {**ASSIGNORS, "uniform": partial(uniform, gives_up_the_extra=kafka != "4.0.0")}


Inputs = tuple[str, Callable[[], Iterator[Group]]]
"""Which groups, in words, and what makes them anew at each call."""


@frozen
class Example:
    """The smallest input of a kind of difference, with both answers."""

    group: Group
    answers: tuple[Answer, Answer]

    @property
    def size(self) -> tuple[int, ...]:
        """How large the group is."""
        return size(self.group)

    def input_shown(self) -> group_types.Group:
        """The group."""
        return shown(self.group)

    def answers_shown(self, sides: tuple[str, str]) -> dict[str, Any]:
        """Side -> its answer."""
        return {side: answer_shown(answer) for side, answer in zip(sides, self.answers)}


@define
class AssignorTally(Tally[str, Example]):
    """The results for the inputs of an assignor."""

    unit = "inputs"

    # Bounds in words, and how many inputs each has.
    bounds: list[tuple[str, int]] = field(factory=list)
    # Inputs over which Kafka's class throws.
    threw: int = 0
    # The promises that the answers of Kafka's class break, if that was asked.
    asked: AssignorFindings | None = None

    def numbers(self) -> tuple[int, ...]:
        """Also how often Kafka's class throws."""
        return *super().numbers(), self.threw

    def count(self, group: Group, real: Answer, other: Answer) -> None:
        """Counts one input: the answer of Kafka's class, and the one that it is compared with."""
        self.inputs += 1
        self.threw += isinstance(real, NoAssignment)
        if (kind := difference(real, other)) is not None:
            self.note(kind, Example(group, (real, other)))
        if self.asked is not None:
            self.asked.ask(group, real)

    def shown(self, sides: tuple[str, str]) -> conform_assignors_types.Assignor:
        """As the document has it."""
        return conform_assignors_types.Assignor(
            assignor=self.name,
            inputs=self.inputs,
            agreeing=self.inputs - self.differing,
            differing=self.differing,
            threw=self.threw,
            seconds=round(self.seconds, 3),
            bounds=[
                conform_assignors_types.Bound(bound=bound, inputs=number)
                for bound, number in self.bounds
            ],
            differences=[
                conform_assignors_types.Difference(
                    kind=kind,
                    inputs=number,
                    input=example.input_shown(),
                    answers=example.answers_shown(sides),
                )
                for kind, (number, example) in sorted(self.differences.items())
            ],
            asked=ABSENT if self.asked is None else self.asked.answers,
            findings=ABSENT if self.asked is None else findings_shown(self.asked),
        )


class AssignorConformance(TalliedComparison[AssignorTally]):
    """The result of a run."""

    schema = "groupcheck.conform-assignors/1"
    command = "assignors"
    columns = ("assignor", "inputs", "agreeing", "differing", "throws", "inputs/s")

    def content(self) -> conform_assignors_types.ConformAssignorsDocument:
        return conform_assignors_types.ConformAssignorsDocument(
            compared=self.compared(),
            assignors=[tally.shown(self.sides) for tally in self.tallies],
            build=ABSENT if self.build is None else self.build.shown(),
        )

    def title(self) -> str:
        real, other = self.sides
        return f"the assignors of {other} and of {real}"

    def details(self) -> Iterator[RenderableType]:
        """The bounds of each assignor, and the smallest input of each kind of difference."""
        for t in self.tallies:
            yield Text(f"\n{t.name}", "bold")
            yield from (Text(f"  {number:>9,}  {bound}", "dim") for bound, number in t.bounds)
            for kind, (number, example) in sorted(t.differences.items()):
                yield block(f"  {kind}, {number:,} times; the smallest input:")
                answers = example.answers_shown(self.sides)
                yield from values({"input": example.input_shown(), **answers}, LONGEST, 4)
            if t.asked is not None:
                yield from _findings(t.asked)


def _findings(asked: AssignorFindings) -> Iterator[RenderableType]:
    """The promises that Kafka's own answers break."""
    findings = findings_shown(asked)
    broken = ":" if findings else " and never broken"
    yield Text(f"  its promises were asked of {asked.answers:,} answers{broken}")
    for found in findings:
        why = "; ".join(found.circumstances) or "nothing unusual"
        yield block(f"  {found.promise} is broken by {found.answers:,} where {why}: {found.words}")
        yield from values({"input": found.input, "answer": found.answer}, LONGEST, 4)


def findings_shown(asked: AssignorFindings) -> list[conform_assignors_types.Finding]:
    """An assignor's findings, each with its smallest input and what Kafka's class makes of it."""
    return [
        conform_assignors_types.Finding(
            promise=promise,
            circumstances=sorted(why),
            answers=found.answers,
            words=found.words,
            input=shown(found.group),
            answer=answer_shown(found.answer),
        )
        for promise, why, found in asked.least()
    ]


def answer_shown(answer: Answer) -> Any:
    """{"A": ["t-0"]}, or what was thrown."""
    if isinstance(answer, NoAssignment):
        return {"throws": answer.thrown}
    return {member: [named(p) for p in sorted(given)] for member, given in sorted(answer.items())}


def difference(real: Answer, other: Answer) -> str | None:
    """The kind of difference between two answers, or None."""
    if isinstance(real, NoAssignment) or isinstance(other, NoAssignment):
        one, two = (
            answer.thrown if isinstance(answer, NoAssignment) else "nothing"
            for answer in (real, other)
        )
        return None if one == two else f"throws {one} against {two}"
    if real == other:
        return None
    if real.keys() != other.keys():
        return "other members"
    given = [sorted(p for partitions in a.values() for p in partitions) for a in (real, other)]
    if given[0] != given[1]:
        return "other partitions given away"
    if any(len(real[member]) != len(other[member]) for member in real):
        return "other numbers of partitions"
    return "other partitions for the same members"


def answers(
    driver: Driver, assignor: str, groups: Iterable[Group]
) -> Iterator[tuple[Group, Answer]]:
    """Each input with the answer of Kafka's class; what breaks the driver counts as thrown."""
    problems = (Problem(assignor, group) for group in groups)
    for problem, answer in answered(partial(solve, driver), problems):
        yield problem.group, thrown(answer.reason) if isinstance(answer, NotSolved) else answer


def all_inputs(assignor: str, members: int, random: int, seed: int) -> Iterator[Inputs]:
    """The families of an assignor, and last the random inputs."""
    for family in families(assignor, members):
        yield family.bound, family.groups
    if random:
        words = f"{random:,} larger ones at random"
        yield words, partial(random_groups, assignor, random, seed)


def compare(
    driver: Driver,
    assignors: Iterable[str],
    *,
    inputs: Callable[[str], Iterable[Inputs]],
    older: Driver | None = None,
    solvers: Mapping[str, Solve] | None = None,
    seed: int = 0,
    findings: bool = False,
    progress: Progress | None = None,
) -> AssignorConformance:
    """Asks Kafka's classes of the driver's version and groupcheck's functions (or the classes of an
    `older` version) for the same assignments.

    `findings`: the answers of Kafka's classes are also asked for what their assignor promises.
    `solvers` stand in for groupcheck's functions.
    """
    mine = solvers or ours(driver.version)
    tallies: list[AssignorTally] = []
    stopped: list[str] = []
    with until_interrupted(stopped.append):
        for assignor in assignors:
            tally = AssignorTally(assignor, asked=AssignorFindings(assignor) if findings else None)
            tallies.append(tally)
            began = time.perf_counter()
            for bound, groups in inputs(assignor):
                before = tally.inputs
                others = (
                    (answer_of(mine[assignor], group) for group in groups())
                    if older is None
                    else (answer for _, answer in answers(older, assignor, groups()))
                )
                for (group, answer), other in zip(answers(driver, assignor, groups()), others):
                    tally.count(group, answer, other)
                    if progress is not None and tally.inputs % REPORT_INTERVAL == 0:
                        progress(assignor, tally.inputs, tally.differing)
                tally.bounds.append((bound, tally.inputs - before))
            tally.seconds = time.perf_counter() - began
    sides = (f"Kafka {driver.title}", "groupcheck" if older is None else f"Kafka {older.title}")
    return AssignorConformance(sides, seed, tuple(tallies), driver.build, stopped="".join(stopped))
