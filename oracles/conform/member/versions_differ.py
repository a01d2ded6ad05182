"""Finds the changes between two versions of Kafka's Java client: executes the rows of the member on
both and compares everything that was seen of each.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, Self

from attrs import define, field, fields, frozen

from groupcheck.model.engine import UserError
from groupcheck.oracles.conform import conform_diff_types
from groupcheck.oracles.conform.conformance import DIFF_SCHEMA
from groupcheck.oracles.conform.member.changing import Changing, ChangingRow, Place
from groupcheck.oracles.conform.member.commit_styles import StyledRows, StyleRow
from groupcheck.oracles.conform.member.conformance import AnyTour, with_faults
from groupcheck.oracles.conform.member.every_row import every_row
from groupcheck.oracles.conform.member.member_memory import Memory
from groupcheck.oracles.conform.member.moves import Probe, Seen, Standing
from groupcheck.oracles.conform.member.rows import Rows
from groupcheck.oracles.conform.member.shown import kind_of, transcript
from groupcheck.oracles.conform.member.tour import (
    AnyRow,
    ChangingTour,
    Counts,
    Difference,
    P,
    R,
    Row,
    S,
    StyledTour,
    Tour,
    Touring,
)
from groupcheck.oracles.kafka.client import Look, Schedule, Sent, Thrown
from groupcheck.oracles.kafka.client_commands import Poll
from groupcheck.oracles.kafka.driver import Driver
from groupcheck.oracles.kafka.own_build import OwnBuild
from groupcheck.oracles.kafka.schedule import Lost
from groupcheck.oracles.kafka.side_by_side import side_by_side
from groupcheck.oracles.printable import printable
from groupcheck.oracles.show.json_schemas import ABSENT, document

TOGETHER = 256  # rows that each version executes in turn
KEPT = 20
MESSAGE = "message of an exception"
Result = Seen | Lost


@frozen
class Change:
    """A row in which two versions do different things."""

    row: AnyRow
    # What differs, by name.
    what: tuple[str, ...]
    old: Result
    new: Result

    def shown(self, versions: tuple[str, str]) -> conform_diff_types.Change:
        """The change as the document has it."""
        return conform_diff_types.Change(
            after=kind_of(self.row),
            differs=list(self.what),
            transcripts={
                version: [*transcript(Difference(self.row, (), seen)), *self._messages(seen)]
                for version, seen in zip(versions, (self.old, self.new))
            },
        )

    def _messages(self, seen: Result) -> list[str]:
        if MESSAGE not in self.what or isinstance(seen, Lost):
            return []
        return [f"{t.type} says: {printable(t.message)}" for _, _, t in seen.steps if t is not None]


@define
class Changes:
    """The changes, over all tours of a run."""

    # How many rows differ.
    rows: int = 0
    # The first row for each kind of change: what happens, and what differs then.
    kinds: dict[tuple[str, tuple[str, ...]], Change] = field(factory=dict)


class Beside(Touring[S, P, R]):
    """A tour led by the newer version; every row goes to the older one, too."""

    def beside(self, older: Driver, found: Changes) -> Self:
        """Sets the other version, and where to note what changed."""
        self._older, self._found = older, found
        return self

    def _execute(self, rows: Sequence[R]) -> Iterator[tuple[R, Result]]:
        waiting = iter(rows)
        while some := list(islice(waiting, TOGETHER)):
            probes: list[Probe] = [row.probe for row in some]
            new, old = (list(d.run_all(probes)) for d in (self.driver, self._older))
            for row, before, after in zip(some, old, new, strict=True):
                self._compare(row, before, after)
            yield from zip(some, new)

    def _compare(self, row: R, old: Result, new: Result) -> None:
        what = tuple(dict.fromkeys(difference(old, new)))
        if not what:
            return
        self._found.rows += 1
        kinds, kind = self._found.kinds, (kind_of(row), what)
        if kind not in kinds and len(kinds) < KEPT:
            kinds[kind] = Change(row, what, old, new)


class VersionTour(Beside[Rows, tuple[Memory, Standing], Row], Tour):
    """Rows of a member whose topics stay as they are, on two versions."""


class ChangingVersionTour(Beside[Changing, Place, ChangingRow], ChangingTour):
    """Rows of a member whose subscription and topics change, on two versions."""


class StyledVersionTour(Beside[StyledRows, StyleRow, StyleRow], StyledTour):
    """Rows of a style of commits, on two versions."""


def difference(old: Result, new: Result) -> Iterator[str]:
    """The names of what differs between two executions of one row."""
    if isinstance(old, Lost) or isinstance(new, Lost):
        if not (isinstance(old, Lost) and isinstance(new, Lost)):
            yield "one version cannot carry it out"
        return
    yield from (f"before: {name}" for name in _names(old.before, new.before))
    for (_, a, thrown), (_, b, other) in zip(old.steps, new.steps, strict=True):
        yield from _names(a, b)
        if _kind(thrown) != _kind(other):
            yield "exception"
        elif thrown != other:
            yield MESSAGE


def _kind(thrown: Thrown | None) -> tuple[str, int] | None:
    return None if thrown is None else (thrown.type, thrown.error)


def _names(a: Look, b: Look) -> Iterator[str]:
    for f in fields(Look):
        if getattr(a, f.name) != getattr(b, f.name):
            yield from _sent(a.sent, b.sent) if f.name == "sent" else [f.name.replace("_", " ")]


def _sent(a: tuple[Sent, ...], b: tuple[Sent, ...]) -> Iterator[str]:
    if [s.api for s in a] != [s.api for s in b]:
        yield "requests in flight"
        return
    for one, other in zip(a, b):
        for f in fields(Sent):
            if getattr(one, f.name) != getattr(other, f.name):
                name = {"v": "version", "data": "fields", "n": "number"}.get(f.name, f.name)
                yield f"{one.api}: {name}"


@frozen
class MemberVersions:
    """The changes between two versions, `old` and `new`."""

    variant: str
    versions: tuple[str, str]
    tours: tuple[AnyTour, ...]
    # Rows in which they differ.
    changed: int
    changes: tuple[Change, ...]
    seconds: float
    # What is newer, if it is no release.
    build: OwnBuild | None = None

    @property
    def counts(self) -> tuple[int, int]:
        """Rows, and how many of them were executed on both."""
        every = [tour.counts for tour in self.tours]
        return sum(c.rows for c in every), sum(c.executed for c in every)

    @property
    def reason(self) -> str:
        """Why not every row was executed; else empty."""
        return next((tour.reason for tour in self.tours if tour.reason), "")

    @property
    def exit_code(self) -> int:
        """0 where nothing changed, 1 where something did, 3 where not every row was executed."""
        return 1 if self.changes else 3 if self.reason else 0

    def document(self) -> dict[str, Any]:
        """All that `--diff --json` prints."""
        rows, executed = self.counts
        shown = conform_diff_types.ConformDiffDocument(
            side="member",
            variant=self.variant,
            scope=with_faults(self.tours[0].rows.scope),
            versions=list(self.versions),
            reason=self.reason,
            rows=rows,
            executed=executed,
            schedules=executed,
            schedules_that_differ=self.changed,
            changes=[change.shown(self.versions) for change in self.changes],
            build=ABSENT if self.build is None else self.build.shown(),
            seconds=round(self.seconds, 3),
        )
        return document(DIFF_SCHEMA, shown)


def member_versions_differ(
    variant: str,
    old: str | None,
    new: str | Path,
    *,
    generations: int | None = None,
    mutation: str | None = None,
    settings: Mapping[str, str] | None = None,
    max_rows: int | None = None,
    progress: Callable[[Counts], None] | None = None,
) -> MemberVersions:
    """Executes the rows of the variant's member on two versions of the client, or on a release
    (None: the nearest) and the build in a folder, and lists what differs. Options as for
    `conform_member`.
    """
    began = time.perf_counter()
    found, tours = Changes(), list[AnyTour]()
    found_rows = every_row(variant, generations, mutation, settings or {})
    with side_by_side((old, new)) as (older, newer):
        for driver in (older, newer):
            begins(driver)
        for rows in found_rows:
            left = None if max_rows is None else max_rows - sum(t.counts.rows for t in tours)
            # What the model says does not matter here, but the tour goes on where it agrees.
            tour: VersionTour | ChangingVersionTour | StyledVersionTour
            if isinstance(rows, Changing):
                tour = ChangingVersionTour(rows, newer, left, 0, progress)
            elif isinstance(rows, StyledRows):
                tour = StyledVersionTour(rows, newer, left, 0, progress)
            else:
                tour = VersionTour(rows, newer, left, 0, progress)
            tour.beside(older, found).run()
            tours.append(tour)
            if tour.reason:
                break
    changes = tuple(found.kinds.values())
    seconds = time.perf_counter() - began
    versions = (older.title, newer.title)
    return MemberVersions(
        variant, versions, tuple(tours), found.rows, changes, seconds, newer.build
    )


def begins(driver: Driver) -> None:
    """Raises `UserError` if the driver cannot make a member that polls: then it does not fit this
    client, and every row would differ.
    """
    result = driver.run(Schedule([Poll()]))
    if isinstance(result, Lost):
        why = printable(result.reason.partition("\n")[0])
        raise UserError(f"the driver cannot make a member of Kafka {driver.title}: {why}")
