"""Executes every reachable row of the member on Kafka's own member."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence

from attrs import define, field, frozen

from groupcheck.oracles.conform.member.abstractions import excuses
from groupcheck.oracles.conform.member.comparing import (
    LeftOver,
    before_differs,
    differences,
    left_over,
)
from groupcheck.oracles.conform.member.moves import Probe, Seen, Standing, move, setup_of
from groupcheck.oracles.conform.member.parts import Input, Memory, Outcome
from groupcheck.oracles.conform.member.promises import Finding, broken
from groupcheck.oracles.conform.member.rows import Rows
from groupcheck.oracles.kafka.driver import Driver
from groupcheck.oracles.kafka.schedule import Lost

NO_ROW = "the member can get this input, and the model has no row for it"


@frozen
class Row:
    """One row: what the member remembers, what happens, what the model's member does."""

    before: Memory
    given: Input
    # None if the model says nothing, which is a mistake of the model.
    outcome: Outcome | None
    standing: Standing
    # It was executed from another real memory before.
    again: bool = False

    @property
    def probe(self) -> Probe:
        """The schedule that executes the row."""
        if self.outcome is None:
            return Probe(self.standing, ())
        assignor = self.standing.setup.assignors[0]  # the group votes for the first one
        return Probe(self.standing, move(self.before, self.given, self.outcome, assignor))


@frozen
class Difference:
    """A row on which they differ, and what was seen of it."""

    row: Row
    what: tuple[str, ...]
    seen: Seen | Lost


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


@define
class Tour:
    """All rows, breadth first. A memory is reached by the shortest schedule that agreed; where a
    row differs, the tour does not go on, because the real member is somewhere else. Its rows are
    executed once more if Kafka's member is seen in it with something else left over from requests.
    """

    rows: Rows
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
    memories: dict[Memory, Standing] = field(factory=dict)
    # Each memory with what is left over in Kafka's member.
    real_memories: set[tuple[Memory, LeftOver]] = field(factory=set)
    # The outcomes that fired in rows that agree.
    fired: set[str] = field(factory=set)
    # Abstraction -> rows that meet it.
    excused: Counter[str] = field(factory=Counter)
    differences: list[Difference] = field(factory=list)
    # Every row, and whether it agrees; None if it was not executed.
    listed: list[tuple[Row, bool | None]] = field(factory=list)
    # A promise that is broken, and the shortest schedule that shows it.
    findings: dict[Finding, tuple[Row, Seen]] = field(factory=dict)

    def run(self) -> None:
        """Executes the rows level by level."""
        start = self.rows.start()
        self.memories[start] = Standing(setup_of(self.rows.scope))
        frontier = [(start, self.memories[start])]
        while frontier and not self.reason:
            self.counts.level += 1
            frontier = list(self._level(frontier))
        self._count()

    def _count(self) -> None:
        self.counts.memories = len(self.memories)
        self.counts.real_memories = max(len(self.real_memories), self.counts.memories)

    def _level(self, frontier: list[tuple[Memory, Standing]]) -> Iterator[tuple[Memory, Standing]]:
        todo = [row for memory, standing in frontier for row in self._rows_of(memory, standing)]
        self.counts.rows += sum(not row.again for row in todo)
        if self.max_rows is not None and self.counts.rows > self.max_rows:
            self.reason = f"there are more than {self.max_rows:,} rows"
            self._list(todo, None)
            return
        for done, (row, seen) in enumerate(self._execute(todo), 1):
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

    def _reached(self, row: Row, seen: Seen | Lost) -> Iterator[tuple[Memory, Standing]]:
        """The memory to which a row has led, unless the same real one was seen before."""
        assert row.outcome is not None and isinstance(seen, Seen)
        after = row.outcome.after
        if after is None:
            return
        place = (after, left_over(seen.steps[-1][1]))
        if place not in self.real_memories:
            self.real_memories.add(place)
            standing = row.standing.then(row.probe.row)
            self.memories.setdefault(after, standing)
            yield after, standing

    def _list(self, rows: Sequence[Row], agrees: bool | None) -> None:
        if self.lists:
            self.listed += [(row, agrees) for row in rows if not row.again]

    def _execute(self, rows: Sequence[Row]) -> Iterator[tuple[Row, Seen | Lost]]:
        results = self.driver.run_all(row.probe for row in rows)
        yield from zip(rows, results, strict=True)

    def _rows_of(self, memory: Memory, standing: Standing) -> Iterator[Row]:
        again = standing is not self.memories[memory]
        for given in self.rows.inputs(memory):
            outcomes = self.rows.outcomes(memory, given)
            for outcome in outcomes or (None,):
                yield Row(memory, given, outcome, standing, again)

    def _agrees(self, row: Row, seen: Seen | Lost) -> bool:
        what = different(self.rows, row, seen)
        if self.asks and isinstance(seen, Seen):
            for finding in broken(row.before, row.given, seen):
                self.findings.setdefault(finding, (row, seen))
        if what:
            self.counts.differing += 1
            self.differences.append(Difference(row, tuple(what), seen))
            return False
        assert row.outcome is not None
        self.counts.agreeing += not row.again
        self.fired |= {*row.outcome.rules}
        if not row.again:
            self.excused.update(excuses(row.before, row.given, row.outcome))
        return True


def different(rows: Rows, row: Row, seen: Seen | Lost) -> list[str]:
    """What is different about a row."""
    if row.outcome is None:
        return [NO_ROW]
    if isinstance(seen, Lost):
        return [f"it cannot be carried out: {seen.reason}"]
    return before_differs(rows, row.before, seen) or list(
        differences(rows, row.before, row.given, row.outcome, seen, row.standing)
    )
