"""The comparison of a variant's model with real code, and what its kinds show alike."""

from __future__ import annotations

from abc import abstractmethod
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, ClassVar, Literal

from attrs import frozen
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from groupcheck.oracles.conform import conform_types
from groupcheck.oracles.conform.shown import situations_shown
from groupcheck.oracles.conform.situations.running import SituationResult
from groupcheck.oracles.kafka.comparison import SHOWN, Comparison, block
from groupcheck.oracles.show.suite import ERROR, FAILURE, Case
from groupcheck.oracles.show.text import facts_table


@frozen(kw_only=True)
class ModelComparison(Comparison):
    """The result of comparing the model of a variant."""

    schema = "groupcheck.conform/1"

    variant: str
    kafka: str
    # The known bug that was put into the model.
    mutation: str | None = None
    seed: int = 0
    # Of wall clock.
    seconds: float

    @property
    def stopped(self) -> str:
        """Why the run stopped early; else empty."""
        return ""

    @property
    @abstractmethod
    def differing(self) -> int:
        """How many rows, steps or schedules differ."""

    @property
    def differs(self) -> bool:
        """Does any of them differ?"""
        return self.differing > 0

    @property
    @abstractmethod
    def missing(self) -> str:
        """Outcomes that were not executed or seen, though the run came to its end; else empty."""

    @property
    def reason(self) -> str:
        """Why the run stopped early, or why the verdict is unknown; else empty."""
        return self.stopped or ("" if self.differing else self.missing)

    @property
    def model(self) -> str:
        """The variant, and the bug."""
        return f"{self.variant} with {self.mutation}" if self.mutation else self.variant

    def head(self) -> dict[str, Any]:
        """The fields that every document of a comparison with the model has."""
        return {
            "variant": self.variant,
            "kafka": self.kafka,
            "mutation": self.mutation,
            "seed": self.seed,
            "verdict": self.verdict,
            "reason": self.reason,
            "seconds": round(self.seconds, 3),
        }

    @abstractmethod
    def facts(self) -> list[tuple[str, str]]:
        """The figures, in words."""

    def figures(self) -> Table:
        """The facts as a table."""
        return facts_table(self.facts())

    def speed(self, done: int, unit: str) -> str:
        """`2.4 s, 561 rows/s`."""
        rate = f", {done / self.seconds:,.0f} {unit}/s" if self.seconds else ""
        return f"{self.seconds:.1f} s{rate}"


@frozen(kw_only=True)
class RowsComparison(ModelComparison):
    """The result of comparing one side of the group, row by row."""

    side: ClassVar[Literal["coordinator", "member"]]
    # The option of the command, and what stands before the name of a change between versions.
    option: ClassVar[str]
    when: ClassVar[str]

    # Were the promises of the real code checked?
    asks: bool = False
    # Outcomes of the model that fired in no row that agrees.
    never_executed: tuple[str, ...] = ()
    # What became of each situation; None if none was executed.
    situations: tuple[SituationResult, ...] | None = None

    @property
    def broken(self) -> int:
        """How many situations differ."""
        return sum(bool(one.differs) for one in self.situations or ())

    @property
    def differs(self) -> bool:
        """Does a row or a situation differ?"""
        return self.differing + self.broken > 0

    @abstractmethod
    def asked_for(self) -> conform_types.Scope:
        """The scope that was asked for."""

    @abstractmethod
    def executed(self) -> dict[str, int]:
        """How many `rows` there are, how many were `executed`, and in how many `schedules`."""

    @abstractmethod
    def beside(self, old: str, new: str) -> str:
        """The subjects of a comparison of two versions."""

    @abstractmethod
    def on_both(self, number: int) -> str:
        """The figures then; so many end differently."""

    def counted(self) -> list[tuple[str, str]]:
        """How many situations agree, if they were executed."""
        if self.situations is None:
            return []
        told = situations_shown(self.situations)
        return [("situations", f"{told.executed} executed, {told.agreeing} agreeing")]

    def situations_view(self) -> Iterator[RenderableType]:
        """The first situations that differ."""
        for told in situations_shown(self.situations or ()).differences[:SHOWN]:
            differs = (f"real: {what}" for what in told.differs)
            yield block(f"Situation: {told.situation} ({told.source})", *differs, *told.transcript)

    def situations_case(self) -> list[Case]:
        """The situations as one test case, if they were executed."""
        if self.situations is None:
            return []
        if not (told := situations_shown(self.situations).differences):
            return [Case("situations")]
        text = "\n".join([told[0].situation, *told[0].differs, *told[0].transcript])
        why = f"{len(told)} of {len(self.situations)} situations differ"
        return [Case("situations", FAILURE, why, text)]

    def kind_cases(
        self,
        listed: Sequence[tuple[str, bool | None]],
        first: Callable[[str], conform_types.Difference | None],
        left_out: str,
    ) -> Iterator[Case]:
        """One test case for each kind of row: a request, or what happens by itself. A kind of which
        not every row was executed is an error.

        `listed`: the kind of each row, and whether it agrees (None: it was not executed). `first`:
        the first row of a kind that differs. `left_out`: why rows were not executed. One tour
        executes all rows, so its time is divided among the cases by their rows.
        """
        kinds: dict[str, list[bool | None]] = defaultdict(list)
        for kind, agrees in listed:
            kinds[kind].append(agrees)
        for kind, rows in sorted(kinds.items()):
            seconds = self.seconds * len(rows) / len(listed)
            differing, left = rows.count(False), rows.count(None)
            of = f"of {len(rows):,} rows"
            if differing:
                yield failure(kind, f"{differing:,} {of} differ", first(kind), seconds)
            elif left:
                why = f"unknown: {left:,} {of} were not executed: {left_out}"
                yield Case(kind, ERROR, why, seconds=seconds)
            else:
                yield Case(kind, seconds=seconds)

    def table_of(self, rows: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
        """The rows of a table, with what is the same in all."""
        same = {"variant": self.variant, "kafka": self.kafka, "mutation": self.mutation}
        return [{**same, **row} for row in rows]


def failure(
    name: str, why: str, told: conform_types.Difference | None, seconds: float = 0.0
) -> Case:
    """A test case that fails, with an example."""
    text = [told.input, *told.differs, *told.transcript] if told else []
    return Case(name, FAILURE, why, "\n".join(text), seconds)


def findings_view(title: str, found: Iterable[conform_types.Finding]) -> Iterator[RenderableType]:
    """The promises that the real code breaks."""
    yield Text(f"\n{title}", "bold")
    for told in found:
        yield block(f"{told.promise} ({told.kind}): {told.statement}", *told.transcript)
