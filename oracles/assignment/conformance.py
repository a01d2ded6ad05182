"""`groupcheck conform assignors`: compares groupcheck's assignors with Kafka's, by input."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import Any

from attrs import define, field, frozen

from groupcheck.model.assignors import (
    Assignment,
    Group,
    NoAssignment,
    Partitions,
    cooperative_sticky,
    range_,
    round_robin,
    server_range,
    sticky,
    uniform,
)
from groupcheck.oracles.assignment.conform_findings import Asked
from groupcheck.oracles.assignment.conform_inputs import families, random_groups, shown, size
from groupcheck.oracles.assignment.validity import named
from groupcheck.oracles.kafka.assignors import NotSolved, Problem, solve
from groupcheck.oracles.kafka.driver import Driver

SCHEMA = "groupcheck.conform-assignors/1"
RANDOM = 10_000
EVERY = 2_000  # inputs between two reports of progress
Solve = Callable[[Group], Assignment]
Answer = Mapping[str, Partitions] | NoAssignment
Progress = Callable[[str, int, int], None]
"""Called with the assignor, inputs so far, and those that differ."""


def ours(kafka: str) -> Mapping[str, Solve]:
    """groupcheck's assignors as that version of Kafka has them."""
    return {
        "range": range_,
        "roundrobin": round_robin,
        "sticky": sticky,
        "cooperative-sticky": cooperative_sticky,
        "uniform": partial(uniform, gives_up_the_extra=kafka != "4.0.0"),
        "server-range": server_range,
    }


@frozen
class Inputs:
    """What is asked. `bound` says it in words; `groups` makes it anew at each call."""

    bound: str
    groups: Callable[[], Iterator[Group]]


@frozen
class Example:
    """The smallest input of a kind of difference, with both answers."""

    group: Group
    answers: tuple[Answer, Answer]


@define
class Tally:
    """What became of an assignor's inputs. `differences`: kind -> number and smallest example;
    `threw`: inputs over which Kafka's class throws.
    """

    assignor: str
    bounds: list[tuple[str, int]] = field(factory=list)
    inputs: int = 0
    differing: int = 0
    threw: int = 0
    seconds: float = 0.0
    differences: dict[str, tuple[int, Example]] = field(factory=dict)
    asked: Asked | None = None

    def count(self, group: Group, real: Answer, other: Answer) -> None:
        """One input with the answer of Kafka's class, and the one that it is compared with."""
        self.inputs += 1
        self.threw += isinstance(real, NoAssignment)
        kind = difference(real, other)
        if kind is not None:
            self.differing += 1
            number, example = self.differences.get(kind, (0, None))
            if example is None or size(group) < size(example.group):
                example = Example(group, (real, other))
            self.differences[kind] = number + 1, example
        if self.asked is not None:
            self.asked.ask(group, real)


@frozen
class AssignorConformance:
    """What a run found. `sides`: whose answers stand first and second in the examples."""

    sides: tuple[str, str]
    seed: int
    tallies: tuple[Tally, ...]

    @property
    def differing(self) -> int:
        return sum(tally.differing for tally in self.tallies)

    @property
    def exit_code(self) -> int:
        """0 where all agree, 1 where some differ."""
        return 1 if self.differing else 0

    def document(self) -> dict[str, Any]:
        """All that `--json` prints. `seconds` apart, the same question gives the same document."""
        return {
            "schema": SCHEMA,
            "compared": list(self.sides),
            "seed": self.seed,
            "verdict": "differs" if self.differing else "agrees",
            "inputs": sum(tally.inputs for tally in self.tallies),
            "differing": self.differing,
            "assignors": [_tally_shown(tally, self.sides) for tally in self.tallies],
        }


def _tally_shown(tally: Tally, sides: tuple[str, str]) -> dict[str, Any]:
    kinds = [
        {"kind": kind, "inputs": number, **example_shown(example, sides)}
        for kind, (number, example) in sorted(tally.differences.items())
    ]
    return {
        "assignor": tally.assignor,
        "inputs": tally.inputs,
        "agreeing": tally.inputs - tally.differing,
        "differing": tally.differing,
        "threw": tally.threw,
        "seconds": round(tally.seconds, 3),
        "bounds": [{"bound": bound, "inputs": number} for bound, number in tally.bounds],
        "differences": kinds,
    } | (
        {}
        if tally.asked is None
        else {"asked": tally.asked.answers, "findings": findings_shown(tally.asked)}
    )


def findings_shown(asked: Asked) -> list[dict[str, Any]]:
    """An assignor's findings, each with its smallest input and what Kafka's class makes of it."""
    return [
        {
            "promise": promise,
            "circumstances": sorted(why),
            "answers": found.answers,
            "words": found.words,
            "input": shown(found.group),
            "answer": answer_shown(found.answer),
        }
        for promise, why, found in asked.least()
    ]


def example_shown(example: Example, sides: tuple[str, str]) -> dict[str, Any]:
    """An input and what each side makes of it."""
    return {
        "input": shown(example.group),
        **{side: answer_shown(answer) for side, answer in zip(sides, example.answers)},
    }


def answer_shown(answer: Answer) -> Any:
    """{"A": ["t-0"]}, or what was thrown."""
    if isinstance(answer, NoAssignment):
        return {"throws": answer.thrown}
    return {
        member: [named(p) for p in sorted(partitions)]
        for member, partitions in sorted(answer.items())
    }


def difference(real: Answer, other: Answer) -> str | None:
    """What kind of difference there is between two answers, or None."""
    if isinstance(real, NoAssignment) or isinstance(other, NoAssignment):
        thrown = [
            answer.thrown if isinstance(answer, NoAssignment) else "nothing"
            for answer in (real, other)
        ]
        return None if thrown[0] == thrown[1] else f"throws {thrown[0]} against {thrown[1]}"
    if real == other:
        return None
    if real.keys() != other.keys():
        return "other members"
    if sorted(p for given in real.values() for p in given) != sorted(
        p for given in other.values() for p in given
    ):
        return "other partitions given away"
    if {member: len(given) for member, given in real.items()} != {
        member: len(given) for member, given in other.items()
    }:
        return "other numbers of partitions"
    return "other partitions for the same members"


def answers(
    driver: Driver, assignor: str, groups: Iterable[Group]
) -> Iterator[tuple[Group, Answer]]:
    """Each input with the answer of Kafka's class; what breaks the driver counts as thrown."""
    waiting: deque[Group] = deque()

    def problems() -> Iterator[Problem]:
        for group in groups:
            waiting.append(group)
            yield Problem(assignor, group)

    for answer in solve(driver, problems()):
        yield waiting.popleft(), thrown(answer.reason) if isinstance(answer, NotSolved) else answer


def thrown(reason: str) -> NoAssignment:
    """`java.lang.IllegalStateException: no more members` as an answer."""
    name, _, why = reason.partition(":")
    return NoAssignment(name.rpartition(".")[2], why.strip())


def _asked_of(solver: Solve, group: Group) -> Answer:
    try:
        return solver(group)
    except NoAssignment as thrown:
        return thrown


def all_inputs(assignor: str, members: int, random: int, seed: int) -> Iterator[Inputs]:
    """The families of an assignor, and last the random inputs."""
    for family in families(assignor, members):
        yield Inputs(family.bound, family.groups)
    if random:
        yield Inputs(
            f"{random:,} larger ones at random", partial(random_groups, assignor, random, seed)
        )


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
    tallies = []
    for assignor in assignors:
        tally = Tally(assignor, asked=Asked(assignor) if findings else None)
        began = time.perf_counter()
        for some in inputs(assignor):
            before = tally.inputs
            real = answers(driver, assignor, some.groups())
            if older is None:
                both = ((group, answer, _asked_of(mine[assignor], group)) for group, answer in real)
            else:
                both = (
                    (group, new, old)
                    for (group, new), (_, old) in zip(real, answers(older, assignor, some.groups()))
                )
            for group, answer, other in both:
                tally.count(group, answer, other)
                if progress is not None and tally.inputs % EVERY == 0:
                    progress(assignor, tally.inputs, tally.differing)
            tally.bounds.append((some.bound, tally.inputs - before))
        tally.seconds = time.perf_counter() - began
        tallies.append(tally)
    sides = (f"Kafka {driver.version}", "groupcheck" if older is None else f"Kafka {older.version}")
    return AssignorConformance(sides, seed, tuple(tallies))
