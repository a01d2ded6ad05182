"""Finds the changes between two Kafka versions: executes the schedules of the tour on both
coordinators and compares each answer, memory and record.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator
from itertools import islice
from typing import Any

from attrs import asdict, fields, frozen, has

from groupcheck.oracles.conform import conform_diff_types
from groupcheck.oracles.conform.jobs import Job
from groupcheck.oracles.conform.promises import name
from groupcheck.oracles.conform.tour import Tour
from groupcheck.oracles.conform.transcript import lines
from groupcheck.oracles.conform.versions import TOGETHER, Changes
from groupcheck.oracles.kafka.commands import Look
from groupcheck.oracles.kafka.driver import Driver
from groupcheck.oracles.kafka.memory import ClassicMemory, Memory
from groupcheck.oracles.kafka.schedule import LostSchedule, Step, Transcript
from groupcheck.oracles.printable import printable

LONGEST = 300  # characters of a value that differs

Result = Transcript | LostSchedule


@frozen
class Change:
    """A behaviour that differs: after which command, in what; and the shortest schedule that shows
    it, as each version carried it out.
    """

    after: str
    what: tuple[str, ...]
    old: Result
    new: Result

    def values(self) -> Iterator[conform_diff_types.Value]:
        """Each value that differs in the first step that differs, as both have it."""
        if isinstance(self.old, LostSchedule) or isinstance(self.new, LostSchedule):
            return
        for a, b in zip(self.old.steps, self.new.steps):
            if a != b:
                old, new = dict(leaves(a)), dict(leaves(b))
                for what in {**old, **new}:
                    before, now = old.get(what, "nothing"), new.get(what, "nothing")
                    if before != now:
                        yield conform_diff_types.Value(what=what, old=before, new=now)
                return

    def shown(self, versions: tuple[str, str]) -> conform_diff_types.Change:
        """The change as the document has it."""
        return conform_diff_types.Change(
            after=self.after,
            differs=list(self.what),
            values=list(self.values()),
            transcripts={
                version: lines(result) for version, result in zip(versions, (self.old, self.new))
            },
        )


class VersionTour(Tour):
    """A tour led by the coordinator of the newer version; every schedule goes to the older one,
    too.
    """

    def beside(self, older: Driver, found: Changes[Change]) -> VersionTour:
        """Sets the other version, and where to note what changed."""
        self._older, self._found = older, found
        return self

    def _execute(self, jobs: Iterable[Job]) -> Generator[tuple[Job, Result], None, None]:
        waiting = iter(jobs)
        scope = self._rows.scope
        while some := list(islice(waiting, TOGETHER)):
            results = list(super()._execute(some))
            older = self._older.run_all([job.schedule(scope) for job in some])
            for (_, new), old in zip(results, list(older)):
                self._compare(old, new)
            yield from results

    def _compare(self, old: Result, new: Result) -> None:
        found = difference(old, new)
        if found is not None:
            self._found.note(found, lambda: Change(*found, old, new))


def difference(old: Result, new: Result) -> tuple[str, tuple[str, ...]] | None:
    """The first step in which two transcripts of one schedule differ: its command, and the names of
    what differs.
    """
    if isinstance(old, LostSchedule) or isinstance(new, LostSchedule):
        return (
            None
            if isinstance(old, LostSchedule) and isinstance(new, LostSchedule)
            else ("the driver", ("one version broke",))
        )
    last = "nothing"
    for a, b in zip(old.steps, new.steps):
        if not isinstance(a.command, Look):
            last = name(a.command)
        if a != b:
            return last, tuple(_names(a, b))
    return (
        None
        if len(old.steps) == len(new.steps)
        else (last, ("one version refuses the next command",))
    )


def _names(a: Step, b: Step) -> Iterator[str]:
    if dict(a.answered) != dict(b.answered):
        yield "answers"
    if a.memory != b.memory:
        yield from _in_memory(a.memory, b.memory)
    yield from (
        f.name
        for f in fields(Step)
        if f.name not in ("answered", "memory") and getattr(a, f.name) != getattr(b, f.name)
    )


def _in_memory(a: Memory | None, b: Memory | None) -> Iterator[str]:
    if isinstance(a, ClassicMemory) and isinstance(b, ClassicMemory):
        yield from (
            f"memory: {f.name.replace('_', ' ')}"
            for f in fields(ClassicMemory)
            if getattr(a, f.name) != getattr(b, f.name)
        )
    else:
        yield "memory"


def leaves(value: Any, path: str = "") -> Iterator[tuple[str, str]]:
    """The plain values in a step or in a part of it, each with the way to it: a timer is named
    by its key, a member by its name.
    """
    if isinstance(value, Step):
        value = {**asdict(value, recurse=False), "answered": dict(value.answered)}
    elif has(type(value)):
        value = asdict(value, recurse=False)
    elif isinstance(value, tuple) and value and has(type(value[0])):
        value = {
            getattr(x, "key", None) or getattr(x, "member", None) or k: x
            for k, x in enumerate(value, 1)
        }
    if isinstance(value, dict):
        for name, part in value.items():
            yield from leaves(part, f"{path}, {name}" if path else str(name))
    elif value != "":
        shown = sorted(value) if isinstance(value, frozenset) else value
        yield path.replace("_", " "), printable(str(shown))[:LONGEST]
