"""Executes every reachable row of the member on Kafka's own member."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Generic, TypeVar

from attrs import define, field, frozen

from groupcheck.model.engine import OutageError
from groupcheck.oracles.conform.member.abstractions import excuses
from groupcheck.oracles.conform.member.changing import Changing, ChangingRow, Place, worlds_of
from groupcheck.oracles.conform.member.changing import Memory as ChangingMemory
from groupcheck.oracles.conform.member.commit_styles import StyledRows, StyleRow
from groupcheck.oracles.conform.member.comparing import (
    LeftOver,
    before_differs,
    differences,
    left_over,
)
from groupcheck.oracles.conform.member.member_memory import Input, Memory, Outcome
from groupcheck.oracles.conform.member.moves import Observations, Probe, Standing, move, setup_of
from groupcheck.oracles.conform.member.promises import Finding, broken
from groupcheck.oracles.conform.member.rows import Rows
from groupcheck.oracles.kafka.driver import Driver
from groupcheck.oracles.kafka.schedule import LostSchedule
from groupcheck.oracles.processes.supervisor import until_interrupted

NO_ROW = "the member can get this input, and the model has no row for it"


@frozen
class MemberRow:
    """One row: what the member remembers, what happens, what the model's member does."""

    before: Memory
    given: Input
    # None if the model says nothing, which is a mistake of the model.
    outcome: Outcome | None
    standing: Standing
    # It was executed from another real memory before.
    again: bool = False

    @property
    def allowed(self) -> int:
        """How many outcomes the model allows."""
        return int(self.outcome is not None)

    @property
    def probe(self) -> Probe:
        """The schedule that executes the row."""
        if self.outcome is None:
            return Probe(self.standing, ())
        assignor = self.standing.setup.assignors[0]  # the group votes for the first one
        return Probe(self.standing, move(self.before, self.given, self.outcome, assignor))


AnyRow = MemberRow | ChangingRow | StyleRow


@frozen
class Difference:
    """A row on which they differ, and what was seen of it."""

    row: AnyRow
    what: tuple[str, ...]
    seen: Observations | LostSchedule


@define
class Counts:
    """How far a tour has come."""

    rows: int = 0
    executed: int = 0
    agreeing: int = 0
    differing: int = 0
    memories: int = 0
    # Different real memories behind them, and how many rows were executed from those that are not
    # the first.
    real_memories: int = 0
    again: int = 0
    commands: int = 0
    # Steps of the shortest schedules to the memories that are taken up now.
    level: int = 0


S = TypeVar("S")  # what gives the rows
P = TypeVar("P")  # where the member is before its rows
R = TypeVar("R", bound="AnyRow")


@define
class Touring(ABC, Generic[S, P, R]):
    """All rows, breadth first, from places that the shortest schedule has led to. Where a row
    differs, the tour does not go on, because the real member is somewhere else.
    """

    rows: S
    driver: Driver
    # Give up after so many rows; None: never.
    max_rows: int | None = None
    # Stop once so many rows differ; 0: never.
    max_differences: int = 20
    progress: Callable[[Counts], None] | None = None
    # Check the promises of the real member.
    asks: bool = False
    # Fill `listed`?
    lists: bool = False
    counts: Counts = field(factory=Counts)
    # Why the tour ended early; else empty.
    reason: str = ""
    # The outcomes that fired in rows that agree.
    fired: set[str] = field(factory=set)
    # Abstraction -> rows that meet it.
    excused: Counter[str] = field(factory=Counter)
    differences: list[Difference] = field(factory=list)
    # Every row, and whether it agrees; None if it was not executed.
    listed: list[tuple[AnyRow, bool | None]] = field(factory=list)
    # A promise that is broken, and the shortest schedule that shows it.
    findings: dict[Finding, tuple[MemberRow, Observations]] = field(factory=dict)

    def run(self) -> None:
        """Executes the rows level by level, until the JVM fails."""
        todo = self._first()
        while todo and not self.reason:
            self.counts.level += 1
            places = list(self._level(todo))
            todo = [row for place in places for row in self._beyond(place)]
        self._count()

    @abstractmethod
    def _first(self) -> list[R]:
        """The rows with which the tour begins."""

    @abstractmethod
    def _beyond(self, place: P) -> Iterator[R]:
        """The rows that begin at a place."""

    @abstractmethod
    def _agrees(self, row: R, seen: Observations | LostSchedule) -> bool:
        """Does the real member do what the row says? Notes what it has seen."""

    @abstractmethod
    def _reached(self, row: R, seen: Observations | LostSchedule) -> Iterator[P]:
        """The place to which a row that agrees has led, unless it was seen before."""

    @abstractmethod
    def _count(self) -> None:
        """Brings `counts` up to date."""

    def _level(self, todo: list[R]) -> Iterator[P]:
        self.counts.rows += sum(not row.again for row in todo)
        if self.max_rows is not None and self.counts.rows > self.max_rows:
            self.reason = f"there are more than {self.max_rows:,} rows"
            self._list(todo, None)
            return
        for done, (row, seen) in enumerate(self._executed(todo), 1):
            self.counts.again += row.again
            self.counts.executed += not row.again
            self.counts.commands += len(row.probe.commands)
            if self.progress and done % 500 == 0:
                self._count()
                self.progress(self.counts)
            agrees = self._agrees(row, seen)
            self._list([row], agrees)
            if agrees:
                yield from self._reached(row, seen)
            elif self.counts.differing == self.max_differences:
                self.reason = f"stopped after {self.max_differences} differences"
                self._list(todo[done:], None)
                return

    def _list(self, rows: Sequence[R], agrees: bool | None) -> None:
        if self.lists:
            self.listed += [(row, agrees) for row in rows if not row.again]

    def _execute(self, rows: Sequence[R]) -> Iterator[tuple[R, Observations | LostSchedule]]:
        results = self.driver.run_all(row.probe for row in rows)
        yield from zip(rows, results, strict=True)

    def stop(self, why: str) -> None:
        """The tour ends here."""
        self.reason = why

    def _executed(self, rows: Sequence[R]) -> Iterator[tuple[R, Observations | LostSchedule]]:
        done = 0
        try:
            with until_interrupted(self.stop):
                for one in self._execute(rows):
                    done += 1
                    yield one
        except OutageError as error:
            self.stop(str(error))
        self._list(rows[done:], None)

    def _differs(self, row: R, what: Sequence[str], seen: Observations | LostSchedule) -> None:
        self.counts.differing += 1
        self.differences.append(Difference(row, tuple(what), seen))


@define
class Tour(Touring[Rows, tuple[Memory, Standing], MemberRow]):
    """The rows of a member whose topics stay as they are. Those of a memory are executed once more
    if Kafka's member is seen in it with something else left over from requests.
    """

    # A memory, and the shortest schedule to it.
    memories: dict[Memory, Standing] = field(factory=dict)
    # Each memory with what is left over in Kafka's member.
    real_memories: set[tuple[Memory, LeftOver]] = field(factory=set)

    def _first(self) -> list[MemberRow]:
        start = self.rows.start()
        self.memories[start] = Standing(setup_of(self.rows.scope))
        return list(self._beyond((start, self.memories[start])))

    def _count(self) -> None:
        self.counts.memories = len(self.memories)
        self.counts.real_memories = max(len(self.real_memories), self.counts.memories)

    def _reached(
        self, row: MemberRow, seen: Observations | LostSchedule
    ) -> Iterator[tuple[Memory, Standing]]:
        """The memory to which a row has led, unless the same real one was seen before."""
        assert row.outcome is not None and isinstance(seen, Observations)
        after = row.outcome.after
        if after is None:
            return
        place = (after, left_over(seen.steps[-1][1]))
        if place not in self.real_memories:
            self.real_memories.add(place)
            standing = row.standing.then(row.probe.row)
            self.memories.setdefault(after, standing)
            yield after, standing

    def _beyond(self, place: tuple[Memory, Standing]) -> Iterator[MemberRow]:
        memory, standing = place
        again = standing is not self.memories[memory]
        for given in self.rows.inputs(memory):
            outcomes = self.rows.outcomes(memory, given)
            for outcome in outcomes or (None,):
                yield MemberRow(memory, given, outcome, standing, again)

    def _agrees(self, row: MemberRow, seen: Observations | LostSchedule) -> bool:
        what = different(self.rows, row, seen)
        if self.asks and isinstance(seen, Observations):
            for finding in broken(row.before, row.given, seen):
                self.findings.setdefault(finding, (row, seen))
        if what:
            self._differs(row, what, seen)
            return False
        assert row.outcome is not None
        self.counts.agreeing += not row.again
        self.fired |= {*row.outcome.rules}
        if not row.again:
            self.excused.update(excuses(row.before, row.given, row.outcome))
        return True


@define
class ChangingTour(Touring[Changing, Place, ChangingRow]):
    """The rows of a member whose subscription and topics change."""

    known: set[frozenset[ChangingMemory]] = field(factory=set)

    def _first(self) -> list[ChangingRow]:
        return [self.rows.start()]

    def _count(self) -> None:
        self.counts.memories = self.counts.real_memories = len(self.known)

    def _reached(self, row: ChangingRow, seen: Observations | LostSchedule) -> Iterator[Place]:
        """The memories in which the member may be now, unless the same were seen before."""
        worlds = worlds_of(self.rows.fitting(row, seen))
        if frozenset(worlds) not in self.known:
            self.known.add(frozenset(worlds))
            yield worlds, row

    def _beyond(self, place: Place) -> Iterator[ChangingRow]:
        return self.rows.beyond(*place)

    def _agrees(self, row: ChangingRow, seen: Observations | LostSchedule) -> bool:
        found = self.rows.fitting(row, seen)
        if not found:
            self._differs(row, self.rows.misfits(row, seen), seen)
            return False
        self.counts.agreeing += 1
        self.fired.update(name for led in found for name in led.fired)
        return True


@define
class StyledTour(Touring[StyledRows, StyleRow, StyleRow]):
    """The rows of a style of commits. They lead to no other rows."""

    def _first(self) -> list[StyleRow]:
        found = list(self.rows.rows())
        self.counts.memories = self.counts.real_memories = len({row.before for row in found})
        return found

    def _count(self) -> None:
        """`_first` has counted."""

    def _reached(self, row: StyleRow, seen: Observations | LostSchedule) -> Iterator[StyleRow]:
        return iter(())

    def _beyond(self, place: StyleRow) -> Iterator[StyleRow]:
        return iter(())

    def _agrees(self, row: StyleRow, seen: Observations | LostSchedule) -> bool:
        what = self.rows.differences(row, seen)
        if what:
            self._differs(row, what, seen)
        self.counts.agreeing += not what
        return not what


def different(rows: Rows, row: MemberRow, seen: Observations | LostSchedule) -> list[str]:
    """The differences in a row."""
    if row.outcome is None:
        return [NO_ROW]
    if isinstance(seen, LostSchedule):
        return [f"it cannot be carried out: {seen.reason}"]
    return before_differs(rows, row.before, seen) or list(
        differences(rows, row.before, row.given, row.outcome, seen, row.standing)
    )
