"""The changes between two versions of real code, while one of them is compared with the model."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Generic, Protocol, TypeVar

from attrs import define, field, frozen
from rich.console import RenderableType
from rich.text import Text

from groupcheck.oracles.conform import conform_diff_types
from groupcheck.oracles.conform.comparison import RowsComparison
from groupcheck.oracles.conform.shown import situations_shown
from groupcheck.oracles.kafka.comparison import Comparison, block
from groupcheck.oracles.kafka.own_build import OwnBuild
from groupcheck.oracles.show.json_schemas import ABSENT
from groupcheck.oracles.show.suite import ERROR, FAILURE, Case, Suite
from groupcheck.traces.phrases import plural

TOGETHER = 256  # schedules that each version gets in turn
KINDS_KEPT = 20  # kinds of changes
VALUES = 6  # values of a change that a report tells


class Change(Protocol):
    """A behaviour that differs."""

    def shown(self, versions: tuple[str, str]) -> conform_diff_types.Change:
        """The change as the document has it."""


C = TypeVar("C", bound=Change)


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
        if kind not in self.kinds and len(self.kinds) < KINDS_KEPT:
            self.kinds[kind] = change()

    @property
    def found(self) -> tuple[C, ...]:
        """The changes that are kept."""
        return tuple(self.kinds.values())


@frozen
class Versions(Comparison):
    """The changes between two versions, `old` and `new`, within the scope of the tour that `tour`
    tells of.
    """

    schema = "groupcheck.conform-diff/1"

    versions: tuple[str, str]
    tour: RowsComparison
    # How many schedules or rows end differently.
    number: int
    changes: Sequence[Change]
    # What is newer, if it is no release. It executes the situations, too.
    build: OwnBuild | None = None

    @property
    def differs(self) -> bool:
        return bool(self.changes) or self.tour.broken > 0

    @property
    def reason(self) -> str:
        """Why not every row was executed; else empty."""
        return self.tour.stopped

    def content(self) -> conform_diff_types.ConformDiffDocument:
        situations = self.tour.situations
        return conform_diff_types.ConformDiffDocument(
            **self.tour.executed(),
            side=self.tour.side,
            variant=self.tour.variant,
            scope=self.tour.asked_for(),
            versions=list(self.versions),
            reason=self.reason,
            schedules_that_differ=self.number,
            changes=[change.shown(self.versions) for change in self.changes],
            build=ABSENT if self.build is None else self.build.shown(),
            situations=ABSENT if situations is None else situations_shown(situations),
            seconds=round(self.tour.seconds, 3),
        )

    def title(self) -> str:
        return self.tour.beside(*self.versions)

    def headline(self) -> Text:
        """How many changes there are, between what, and why not all is known."""
        counts = ((len(self.changes), "change"), (self.tour.broken, "differing situation"))
        said = ", ".join(plural(n, what) for n, what in counts if n) or "no difference"
        return Text("  ".join(filter(None, (said, self.title(), self.reason))), "bold")

    def figures(self) -> Text:
        counted = (f"{what}: {words}" for what, words in self.tour.counted())
        return Text("\n".join([self.tour.on_both(self.number), *counted]))

    def details(self) -> Iterator[RenderableType]:
        """Each change with its shortest schedule, as both carried it out, and the situations that
        differ.
        """
        for change in self.changes:
            told = change.shown(self.versions)
            lines: list[str | tuple[str, str]] = [*self._values(told)[:VALUES]]
            for version, transcript in told.transcripts.items():
                lines += [(f"Kafka {version}", "bold"), *transcript]
            yield block(f"{self.tour.when}{told.after}: {', '.join(told.differs)}", *lines)
        yield from self.tour.situations_view()

    def suite(self) -> Suite:
        """One case for each change; a single one that passes if there is none."""
        cases = []
        for number, change in enumerate(self.changes, 1):
            told = change.shown(self.versions)
            text = self._values(told)
            for version, transcript in told.transcripts.items():
                text += [f"Kafka {version}", *transcript]
            name = f"{number} after {told.after}"
            cases.append(Case(name, FAILURE, ", ".join(told.differs), "\n".join(text)))
        if self.reason:
            cases.append(Case("every row is executed", ERROR, f"unknown: {self.reason}"))
        cases = cases or [Case("no difference", seconds=self.tour.seconds)]
        option = "--jars" if self.build else "--diff"
        name = f"conform{self.tour.option} {option}, Kafka {' and '.join(self.versions)}"
        return Suite(name, (*cases, *self.tour.situations_case()))

    def _values(self, told: conform_diff_types.Change) -> list[str]:
        old, new = self.versions
        return [
            f"{one.what}: {one.old} in {old}, {one.new} in {new}"
            for one in (() if told.values is ABSENT else told.values)
        ]
