"""Compares groupcheck's functions with Kafka Connect's own assignors, round by round."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from types import ModuleType
from typing import Any, ClassVar

from attrs import define, frozen
from rich.console import RenderableType
from rich.text import Text

from groupcheck.model.assignors.connect import (
    Assigned,
    Config,
    Memory,
    Release,
    Round,
    Work,
    of_version,
    perform_assignment,
)
from groupcheck.oracles.connect import conform_connect_types
from groupcheck.oracles.connect.driver import Leaders
from groupcheck.oracles.connect.inputs import Family
from groupcheck.oracles.connect.rounds import MEMORY, Facts, Step, differences, expected, read
from groupcheck.oracles.kafka.comparison import block
from groupcheck.oracles.kafka.tallied import (
    REPORT_INTERVAL,
    FamilyTally,
    Progress,
    TalliedComparison,
    answered,
    values,
)
from groupcheck.oracles.processes.supervisor import until_interrupted
from groupcheck.oracles.show.json_schemas import ABSENT, printed

Perform = Callable[[Memory, Round, Release], Assigned]


@frozen
class Example:
    """The smallest input of a kind of difference, with both sides' facts that differ."""

    memory: Memory
    round: Round
    facts: tuple[Facts, Facts]
    names: tuple[str, ...]

    @property
    def size(self) -> int:
        """How much a reader has to read."""
        return len(str(printed(self.input_shown())))

    def input_shown(self) -> conform_connect_types.RoundInput:
        """The memory and the round."""
        return input_shown(self.memory, self.round)

    def answers_shown(self, sides: tuple[str, str]) -> dict[str, dict[str, Any]]:
        """Side -> fact that differs -> its value."""
        return {
            side: {name: shown(facts.get(name)) for name in self.names}
            for side, facts in zip(sides, self.facts)
        }


@define
class RoundTally(FamilyTally[Example]):
    """The results for the rounds of a family."""

    unit = "rounds"
    types: ClassVar[ModuleType] = conform_connect_types

    def count(self, memory: Memory, round_: Round, real: Facts, other: Facts) -> None:
        """Counts one input."""
        self.inputs += 1
        if names := differences(real, other):
            kind = tuple(sorted({_kind(name) for name in names}))
            self.note(kind, Example(memory, round_, (real, other), names))


def _kind(name: str) -> str:
    return name if name.startswith("memory: ") else name.rpartition(": ")[2]


class ConnectConformance(TalliedComparison[RoundTally]):
    """The result of a run."""

    schema = "groupcheck.conform-connect/1"
    command = "connect"
    columns = ("rounds", "compared", "agreeing", "differing", "rounds/s")

    def content(self) -> conform_connect_types.ConformConnectDocument:
        return conform_connect_types.ConformConnectDocument(
            compared=self.compared(), families=[tally.shown(self.sides) for tally in self.tallies]
        )

    def title(self) -> str:
        real, other = self.sides
        return f"Connect's leader, of {other} and of {real}"

    def details(self) -> Iterator[RenderableType]:
        """The bounds of the families, then the smallest input of each kind of difference."""
        yield Text()
        yield from (Text(f"  {t.name}", "dim") for t in self.tallies)
        for t in self.tallies:
            for said, example in t.examples("smallest input"):
                yield block(said)
                answers = example.answers_shown(self.sides)
                yield from values({"input": example.input_shown(), **answers})


def compare(
    leaders: Leaders,
    families: Iterable[Family],
    *,
    older: Leaders | None = None,
    perform: Perform = perform_assignment,
    seed: int = 0,
    progress: Progress | None = None,
) -> ConnectConformance:
    """Asks Kafka's classes of a version and groupcheck's functions (or the classes of an `older`
    version) for the same rounds. `perform` stands in for groupcheck's function.
    """
    release = of_version(leaders.version)
    tallies: list[RoundTally] = []
    stopped: list[str] = []
    with until_interrupted(stopped.append):
        for family in families:
            tally = RoundTally(family.bound)
            tallies.append(tally)
            began = time.perf_counter()
            real = answers(leaders, family)
            others = None if older is None else answers(older, family)
            for script, facts in real:
                mine = [
                    (memory, expected(assigned))
                    for memory, assigned in played(script, release, perform)
                ]
                theirs = [one for _, one in mine] if others is None else next(others)[1]
                for step, one, (memory, _), other in zip(script, facts, mine, theirs):
                    tally.count(memory, step.round, one, other)
                    if progress is not None and tally.inputs % REPORT_INTERVAL == 0:
                        progress(tally.title, tally.inputs, tally.differing)
            tally.seconds = time.perf_counter() - began
    sides = f"Kafka {leaders.version}", "groupcheck" if older is None else f"Kafka {older.version}"
    return ConnectConformance(sides, seed, tuple(tallies), stopped="".join(stopped))


def played(
    script: Sequence[Step], release: Release, perform: Perform
) -> Iterator[tuple[Memory, Assigned]]:
    """The memory of each step's leader, and its result for the round."""
    memories: dict[int, Memory] = {}
    for step in script:
        known = Memory() if step.starts else memories[step.process]
        memory = known if step.memory is None else step.memory
        assigned = perform(memory, step.round, release)
        memories[step.process] = assigned.memory
        yield memory, assigned


def answers(leaders: Leaders, family: Family) -> Iterator[tuple[Sequence[Step], list[Facts]]]:
    """Each script with the facts of Kafka's class."""
    for script, replies in answered(leaders.assign_all, family.scripts()):
        yield script, [read(reply, step.round.protocol) for step, reply in zip(script, replies)]


def shown(value: Any) -> Any:
    """A fact as plain JSON."""
    if isinstance(value, Work):
        return [*value.connectors, *(f"{connector}-{task}" for connector, task in value.tasks)]
    if isinstance(value, frozenset):
        return sorted(value)
    if isinstance(value, tuple):
        return [shown(one) for one in value]
    return value


def input_shown(memory: Memory, round_: Round) -> conform_connect_types.RoundInput:
    """A memory and a round as the document has them; what is as at the start is left out."""
    start = Memory()
    remembered = {
        name: shown(value)
        for name in MEMORY
        if (value := getattr(memory, name)) != getattr(start, name)
    }
    return conform_connect_types.RoundInput(
        protocol=round_.protocol.name.lower(),
        leader=round_.leader,
        now=round_.now,
        max_delay=round_.max_delay,
        generation=round_.generation_id,
        last_completed=round_.last_completed_generation_id,
        config=_config(round_.config),
        workers={
            worker.id: conform_connect_types.Worker(offset=worker.offset, runs=shown(worker.work))
            for worker in round_.workers
        },
        memory=conform_connect_types.Memory(**remembered),
        fresh=ABSENT if round_.fresh is None else _config(round_.fresh),
    )


def _config(read: Config) -> conform_connect_types.Config:
    return conform_connect_types.Config(offset=read.offset, configured=shown(read.work))
