"""The changes between two versions of real code, while one of them is compared with the model."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from typing import Any, ClassVar, Generic, Literal, Protocol, TypeVar

from attrs import define, field, frozen
from rich.console import RenderableType
from rich.text import Text

from groupcheck.oracles.conform import conform_diff_types
from groupcheck.oracles.conform.comparison import ModelComparison
from groupcheck.oracles.kafka.comparison import Comparison, block
from groupcheck.oracles.kafka.own_build import OwnBuild
from groupcheck.oracles.show.json_schemas import ABSENT
from groupcheck.oracles.show.suite import ERROR, FAILURE, Case, Suite
from groupcheck.traces.findings.anomalies import plural

TOGETHER = 256  # schedules that each version gets in turn
KEPT = 20  # kinds of changes
VALUES = 6  # values of a change that a report tells


class Change(Protocol):
    """A behaviour that differs."""

    def shown(self, versions: tuple[str, str]) -> conform_diff_types.Change:
        """The change as the document has it."""


C = TypeVar("C", bound=Change)
M = TypeVar("M", bound=ModelComparison)


@define
class Changes(Generic[C]):
    """The changes, over all tours of a run."""

    # How many schedules or rows end differently.
    number: int = 0
    # The first one of each kind: what happens, and what differs then.
    kinds: dict[tuple[str, tuple[str, ...]], C] = field(factory=dict)

    def note(self, kind: tuple[str, tuple[str, ...]], change: Callable[[], C]) -> None:
        """One more ends differently, in this way."""
        self.number += 1
        if kind not in self.kinds and len(self.kinds) < KEPT:
            self.kinds[kind] = change()

    @property
    def found(self) -> tuple[C, ...]:
        """The changes that are kept."""
        return tuple(self.kinds.values())


@frozen
class Versions(Comparison, Generic[M]):
    """The changes between two versions, `old` and `new`, within the scope of the tour that `tour`
    tells of.
    """

    schema = "groupcheck.conform-diff/1"
    side: ClassVar[Literal["coordinator", "member"]]
    # The command, and what stands before the name of a change in the report.
    command: ClassVar[str]
    when: ClassVar[str]

    versions: tuple[str, str]
    tour: M
    number: int
    changes: Sequence[Change]
    # What is newer, if it is no release.
    build: OwnBuild | None = None

    @property
    def differs(self) -> bool:
        """Is there a change?"""
        return bool(self.changes)

    @property
    def reason(self) -> str:
        """Why not every row was executed; else empty."""
        return self.tour.stopped

    @abstractmethod
    def bounds(self) -> dict[str, Any]:
        """The fields of the document that say what was executed."""

    def content(self) -> conform_diff_types.ConformDiffDocument:
        """The document."""
        return conform_diff_types.ConformDiffDocument(
            **self.bounds(),
            side=self.side,
            variant=self.tour.variant,
            versions=list(self.versions),
            reason=self.reason,
            schedules_that_differ=self.number,
            changes=[change.shown(self.versions) for change in self.changes],
            build=ABSENT if self.build is None else self.build.shown(),
            seconds=round(self.tour.seconds, 3),
        )

    def counts(self) -> dict[str, int]:
        """What differs -> how often."""
        return {"change": len(self.changes)}

    def headline(self) -> Text:
        """How many changes there are, between what, and why not all is known."""
        said = ", ".join(plural(n, what) for what, n in self.counts().items() if n)
        parts = (said or "no difference", self.title(), self.reason)
        return Text("  ".join(filter(None, parts)), "bold")

    def details(self) -> Iterator[RenderableType]:
        """Each change with its shortest schedule, as both carried it out."""
        old, new = self.versions
        for change in self.changes:
            told = change.shown(self.versions)
            lines: list[str | tuple[str, str]] = [*_values(told, old, new)[:VALUES]]
            for version, transcript in told.transcripts.items():
                lines += [(f"Kafka {version}", "bold"), *transcript]
            yield block(f"{self.when}{told.after}: {', '.join(told.differs)}", *lines)

    def suite(self) -> Suite:
        """One case for each change; a single one that passes if there is none."""
        old, new = self.versions
        cases = []
        for number, change in enumerate(self.changes, 1):
            told = change.shown(self.versions)
            text = _values(told, old, new)
            for version, transcript in told.transcripts.items():
                text += [f"Kafka {version}", *transcript]
            name = f"{number} after {told.after}"
            cases.append(Case(name, FAILURE, ", ".join(told.differs), "\n".join(text)))
        if self.reason:
            cases.append(Case("every row is executed", ERROR, f"unknown: {self.reason}"))
        same = Case("no difference", seconds=self.tour.seconds)
        option = "--jars" if self.build else "--diff"
        name = f"{self.command} {option}, Kafka {' and '.join(self.versions)}"
        return Suite(name, tuple(cases or [same]))


def _values(told: conform_diff_types.Change, old: str, new: str) -> list[str]:
    return [
        f"{one.what}: {one.old} in {old}, {one.new} in {new}"
        for one in (() if told.values is ABSENT else told.values)
    ]
