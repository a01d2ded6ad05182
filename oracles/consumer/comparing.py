"""Compares the model's coordinator of consumer groups with Kafka's own, row by row."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from types import ModuleType
from typing import Any, ClassVar, Protocol

from attrs import define, evolve, field, frozen
from rich.console import RenderableType
from rich.text import Text

from groupcheck.model.engine import Spec
from groupcheck.model.protocol.consumer.commits import offset_commit
from groupcheck.model.protocol.consumer.rules import COORDINATOR
from groupcheck.model.protocol.consumer.timers import interval_passes
from groupcheck.model.protocol.consumer.transactions import txn_offset_commit
from groupcheck.model.variants import load
from groupcheck.oracles.consumer import conform_consumer_types
from groupcheck.oracles.consumer.conform_consumer_types import Side
from groupcheck.oracles.consumer.exploring import Beside, Compared, explore, explore_beside
from groupcheck.oracles.consumer.families import Family
from groupcheck.oracles.consumer.rows import ConsumerRows
from groupcheck.oracles.kafka.comparison import block
from groupcheck.oracles.kafka.driver import Driver
from groupcheck.oracles.kafka.own_build import OwnBuild
from groupcheck.oracles.kafka.tallied import FamilyTally, Progress, TalliedComparison, values
from groupcheck.oracles.processes.supervisor import until_interrupted
from groupcheck.oracles.show.json_schemas import ABSENT

EVERY = 500  # rows between two reports of progress
MAX_DIFFERENCES = 20
# From Kafka 4.3 on.
BY_PARTITION = tuple(f"{rule.name}:by_partition" for rule in (offset_commit, txn_offset_commit))
SIDES: Mapping[Side, str] = {
    "coordinator": "the coordinator of consumer groups",
    "member": "Java's member of consumer groups",
    "whole": "whole consumer groups",
    "share": "the coordinator of share groups",
    "share_partition": "the leader of a share partition",
    "streams": "the coordinator of streams groups",
    "migration": "the coordinator of groups that migrate",
}


class Machine(Protocol):
    """What executes rows."""

    @property
    def title(self) -> str:
        """Its version, in words."""

    @property
    def build(self) -> OwnBuild | None:
        """What it is, if it is no release."""


class ExecutedRow(Protocol):
    """A row that was executed, of either side."""

    @property
    def place(self) -> Any:
        """Where it begins: a `state`, and the `commands` that lead there."""

    @property
    def same(self) -> Any:
        """What the model does that Kafka does (`fired`: its outcomes); None: nothing."""

    @property
    def differs(self) -> Mapping[str, tuple[object, object]]:
        """Fact -> its values in the model and in Kafka."""

    @property
    def shown(self) -> tuple[str, ...]:
        """The commands."""


@frozen
class RowFamily:
    """A family whose rows are executed."""

    bound: str
    # The outcomes that its rows may have.
    outcomes: frozenset[str]
    # Executes so many rows, at most; None: all.
    rows: Callable[[int | None], Iterator[ExecutedRow]]
    # Only so many rows; None: all.
    most: int | None = None


@frozen
class Example:
    """The shortest schedule that shows a kind of difference."""

    commands: tuple[str, ...]
    differs: Mapping[str, tuple[object, object]]

    @property
    def size(self) -> int:
        """How much a reader has to read."""
        return sum(map(len, self.commands))

    def input_shown(self) -> list[str]:
        """The commands."""
        return [*self.commands]

    def answers_shown(self, sides: tuple[str, str]) -> dict[str, dict[str, Any]]:
        """Side -> fact that differs -> its value. The model's comes first in `differs`."""
        kafka, model = sides
        return {
            kafka: {name: real for name, (_, real) in self.differs.items()},
            model: {name: mine for name, (mine, _) in self.differs.items()},
        }


@define
class RowTally(FamilyTally[Example]):
    """The results for the rows of a family."""

    unit = "rows"
    types: ClassVar[ModuleType] = conform_consumer_types

    memories: set[Any] = field(factory=set, kw_only=True)
    fired: set[str] = field(factory=set, kw_only=True)

    def count(self, row: ExecutedRow) -> None:
        """Counts one row."""
        self.inputs += 1
        self.memories.add(row.place.state)
        differs = row.differs
        if not differs:
            self.fired |= {*row.same.fired} if row.same is not None else set()
            return
        kind = tuple(sorted({name.rstrip("0123456789 ") for name in differs}))
        self.note(kind, Example(row.shown, differs))

    def shown(self, sides: tuple[str, str], **more: Any) -> Any:
        """As the document has it."""
        return super().shown(sides, memories=len(self.memories), **more)


@frozen
class ConsumerConformance(TalliedComparison[RowTally]):
    """The result of a run."""

    schema = "groupcheck.conform-consumer/1"
    command = "consumer"
    columns = ("rows", "compared", "agreeing", "differing", "rows/s")

    # What is compared.
    side: Side = field(default="coordinator", kw_only=True)
    mutation: str | None = field(default=None, kw_only=True)
    # Outcomes of the model's side that fired in no row that agrees.
    never_executed: tuple[str, ...] = field(default=(), kw_only=True)

    @property
    def reason(self) -> str:
        if self.stopped or self.differs or not self.never_executed:
            return self.stopped
        return f"no row executed {', '.join(self.never_executed)}"

    def content(self) -> conform_consumer_types.ConformConsumerDocument:
        return conform_consumer_types.ConformConsumerDocument(
            compared=self.compared(),
            side=self.side,
            mutation=self.mutation,
            never_executed=list(self.never_executed),
            families=[tally.shown(self.sides) for tally in self.tallies],
            build=ABSENT if self.build is None else self.build.shown(),
        )

    def title(self) -> str:
        one, other = self.sides
        bug = f" with {self.mutation}" if self.mutation else ""
        return f"{SIDES[self.side]}, of {other}{bug} and of {one}"

    def details(self) -> Iterator[RenderableType]:
        """The bounds of the families, then the shortest schedule of each kind of difference."""
        yield Text()
        yield from (Text(f"  {t.name}", "dim") for t in self.tallies)
        for t in self.tallies:
            for said, example in t.examples("shortest schedule"):
                yield block(said, *example.commands)
                yield from values(example.answers_shown(self.sides))


def compare(
    driver: Driver,
    asked: Iterable[tuple[Family, Spec]],
    *,
    rows: type[ConsumerRows] = ConsumerRows,
    outcomes: Callable[[Spec], Iterable[str]] | None = None,
    older: Driver | None = None,
    seed: int = 0,
    **options: Any,
) -> ConsumerConformance:
    """Executes the rows of each family, and compares with the model, or with an `older` version,
    whose rules the specs have then. `rows`: of which kind of group; `outcomes`: what a spec's rows
    may show; the other `options` are those of `tallied`.
    """
    found = outcomes or _coordinators
    families = [
        RowFamily(
            family.bound,
            frozenset(found(spec)),
            partial(executed, rows(spec, seed), driver, older),
            family.most,
        )
        for family, spec in asked
    ]
    return tallied(driver, families, older=older, seed=seed, **options)


def tallied(
    driver: Machine,
    asked: Iterable[RowFamily],
    *,
    side: Side = "coordinator",
    older: Driver | None = None,
    bookkeeping: Iterable[str] = load("consumer").bookkeeping,
    seed: int = 0,
    mutation: str | None = None,
    max_rows: int | None = None,
    max_differences: int | None = None,
    progress: Progress | None = None,
) -> ConsumerConformance:
    """Executes the rows of each family, of either side, as `compare` says. `bookkeeping`: outcomes
    that no row has; `max_differences`: a family ends once so many rows differ (`MAX_DIFFERENCES`,
    if None; 0: never).
    """
    enough = MAX_DIFFERENCES if max_differences is None else max_differences
    tallies: list[RowTally] = []
    stopped: list[str] = []
    outcomes: set[str] = set()
    with until_interrupted(stopped.append):
        for family in asked:
            tally = RowTally(family.bound)
            tallies.append(tally)
            outcomes |= family.outcomes
            began = time.perf_counter()
            left = None if max_rows is None else max_rows - sum(t.inputs for t in tallies)
            most = min((n for n in (left, family.most) if n is not None), default=None)
            for row in family.rows(most):
                tally.count(row)
                if progress is not None and tally.inputs % EVERY == 0:
                    progress(tally.title, tally.inputs, tally.differing)
                if enough and tally.differing >= enough:
                    break
            tally.seconds = time.perf_counter() - began
            if max_rows is not None and sum(t.inputs for t in tallies) >= max_rows:
                stopped.append(f"stopped after {max_rows:,} rows")
                break
    fired = {name for tally in tallies for name in tally.fired}
    never = tuple(sorted(outcomes - fired - {*bookkeeping}))
    kafka, other = f"Kafka {driver.title}", f"Kafka {older.title}" if older else "groupcheck"
    result = ConsumerConformance(
        (other, kafka) if older else (kafka, other),
        seed,
        tuple(tallies),
        driver.build,
        stopped="".join(stopped),
    )
    return evolve(result, side=side, mutation=mutation, never_executed=() if older else never)


def executed(
    rows: ConsumerRows, driver: Driver, older: Driver | None, most: int | None
) -> Iterator[Compared | Beside]:
    """Executes the rows beside the model, or beside an `older` version; `most`: only so many."""
    if older is None:
        return explore(rows, driver, most)
    return explore_beside(rows, older, driver, most)


def _coordinators(spec: Spec) -> set[str]:
    """The outcomes of its rules that its version of Kafka has."""
    rules = [r for r in spec.rules if r.name in COORDINATOR]
    return {name for r in rules for name in r.names} - _lacking(spec.scope)


def _lacking(scope: Any) -> set[str]:
    """What the coordinator of its version does not do."""
    release = scope.release
    lacks = {
        interval_passes.name: release.interval,
        **dict.fromkeys(BY_PARTITION, release.keeps_given),
    }
    return {name for name, there in lacks.items() if not there}
