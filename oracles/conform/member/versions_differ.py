"""Finds the changes between two versions of Kafka's Java client: executes the rows of the member on
both and compares everything that was seen of each.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, Self

from attrs import fields, frozen

from groupcheck.model.engine import UserError
from groupcheck.oracles.conform import conform_diff_types
from groupcheck.oracles.conform.member.changing import Changing, ChangingRow, Place
from groupcheck.oracles.conform.member.commit_styles import StyledRows, StyleRow
from groupcheck.oracles.conform.member.conformance import (
    AnyTour,
    conform_member,
)
from groupcheck.oracles.conform.member.every_row import AnyRows, every_row
from groupcheck.oracles.conform.member.member_memory import Memory
from groupcheck.oracles.conform.member.moves import Observations, Probe, Standing
from groupcheck.oracles.conform.member.rows import Rows
from groupcheck.oracles.conform.member.shown import kind_of, transcript
from groupcheck.oracles.conform.member.tour import (
    AnyRow,
    ChangingTour,
    Counts,
    Difference,
    MemberRow,
    P,
    R,
    S,
    StyledTour,
    Tour,
    Touring,
)
from groupcheck.oracles.conform.versions import TOGETHER, Changes, Versions
from groupcheck.oracles.kafka.client import Look, OpenRequest, Schedule, Thrown
from groupcheck.oracles.kafka.client_commands import Poll
from groupcheck.oracles.kafka.driver import Driver
from groupcheck.oracles.kafka.schedule import LostSchedule
from groupcheck.oracles.kafka.side_by_side import side_by_side
from groupcheck.oracles.printable import printable

MESSAGE = "message of an exception"
Result = Observations | LostSchedule


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
        if MESSAGE not in self.what or isinstance(seen, LostSchedule):
            return []
        return [f"{t.type} says: {printable(t.message)}" for _, _, t in seen.steps if t is not None]


class Beside(Touring[S, P, R]):
    """A tour led by the newer version; every row goes to the older one, too."""

    def beside(self, older: Driver, found: Changes[Change]) -> Self:
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
        if what:
            self._found.note((kind_of(row), what), lambda: Change(row, what, old, new))


class VersionTour(Beside[Rows, tuple[Memory, Standing], MemberRow], Tour):
    """Rows of a member whose topics stay as they are, on two versions."""


class ChangingVersionTour(Beside[Changing, Place, ChangingRow], ChangingTour):
    """Rows of a member whose subscription and topics change, on two versions."""


class StyledVersionTour(Beside[StyledRows, StyleRow, StyleRow], StyledTour):
    """Rows of a style of commits, on two versions."""


def difference(old: Result, new: Result) -> Iterator[str]:
    """The names of what differs between two executions of one row."""
    if isinstance(old, LostSchedule) or isinstance(new, LostSchedule):
        if not (isinstance(old, LostSchedule) and isinstance(new, LostSchedule)):
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


def _sent(a: tuple[OpenRequest, ...], b: tuple[OpenRequest, ...]) -> Iterator[str]:
    if [s.api for s in a] != [s.api for s in b]:
        yield "requests in flight"
        return
    for one, other in zip(a, b):
        for f in fields(OpenRequest):
            if getattr(one, f.name) != getattr(other, f.name):
                name = {"v": "version", "data": "fields", "n": "number"}.get(f.name, f.name)
                yield f"{one.api}: {name}"


def member_versions_differ(
    variant: str,
    old: str | None,
    new: str | Path,
    *,
    progress: Callable[[Counts, int, int], None] | None = None,
    **options: Any,
) -> Versions:
    """Executes the rows of the variant's member on two versions of the client, or on a release
    (None: the nearest) and the build in a folder, and lists what differs. Options as for
    `conform_member`.
    """
    found = Changes[Change]()
    scope = (options.get("generations"), options.get("mutation"), options.get("settings") or {})
    every_row(variant, *scope)  # what does not exist is refused before two JVMs start
    with side_by_side((old, new)) as (older, newer):
        for driver in (older, newer):
            begins(driver)

        def tour(rows: AnyRows, *how: Any) -> AnyTour:
            led: VersionTour | ChangingVersionTour | StyledVersionTour
            if isinstance(rows, Changing):
                led = ChangingVersionTour(rows, *how)
            elif isinstance(rows, StyledRows):
                led = StyledVersionTour(rows, *how)
            else:
                led = VersionTour(rows, *how)
            return led.beside(older, found)

        options["max_differences"] = 0  # what the model says does not matter here
        told = conform_member(
            variant, kafka=newer.title, driver=newer, progress=progress, tour=tour, **options
        )
    versions = (older.title, newer.title)
    return Versions(versions, told, found.number, found.found, newer.build)


def begins(driver: Driver) -> None:
    """Raises `UserError` if the driver cannot make a member that polls: then it does not fit this
    client, and every row would differ.
    """
    result = driver.run(Schedule([Poll()]))
    if isinstance(result, LostSchedule):
        why = printable(result.reason.partition("\n")[0])
        raise UserError(f"the driver cannot make a member of Kafka {driver.title}: {why}")
