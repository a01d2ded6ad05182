"""The results of the rows of a run: counts, differences and their causes, outcomes that were never
seen.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping

import attrs
from attrs import field, frozen

from groupcheck.oracles.conform.jobs import Row
from groupcheck.oracles.conform.promises import Finding
from groupcheck.oracles.conform.row import Asks, Fires, Input, Memory, Outcome
from groupcheck.oracles.kafka.schedule import LostSchedule, Transcript

TRANSCRIPTS_KEPT = 20  # differences whose transcripts are kept
MAX_DIFFERENCES = 20  # differing rows after which a run stops


@attrs.define
class Counts:
    """The results of the rows, in numbers."""

    rows: int = 0
    executed: int = 0
    agreeing: int = 0
    # Executions of rows: each row once from each real memory behind its memory.
    executions: int = 0
    # Outcomes of the rows of which the model allows several, and those that were seen.
    choices: int = 0
    seen: int = 0
    # Memories of the model that were reached, and the different real memories behind them.
    memories: int = 0
    real_memories: int = 0
    level: int = 0
    schedules: int = 0
    commands: int = 0
    # How often a row needed an abstraction, by its name.
    excuses: Counter[str] = field(factory=Counter)


@frozen
class Difference:
    """A row on which they differ: what exactly (beside the nearest outcome that the model allows),
    and the transcript.
    """

    row: Row
    what: tuple[str, ...]
    transcript: Transcript | LostSchedule
    # The settings of the scope that are not the defaults.
    settings: Mapping[str, str] = field(factory=dict)


@frozen
class Cause:
    """Rows that differ in the same way: the same kind of input, and the same things differ."""

    kind: str
    # What differs, without names, numbers and values.
    what: tuple[str, ...]
    rows: int
    # The one with the shortest schedule.
    first: Difference


@frozen
class MissingOutcome:
    """An outcome that the model allows and the real coordinator never showed."""

    row: Row
    outcome: Outcome


@frozen
class ListedRow:
    """A row without what the model allows: `outcomes` says how many those are."""

    number: int
    before: Memory
    given: Input
    outcomes: int


@attrs.define
class RowResults:
    """The results of the rows of one run, which may tour several scopes."""

    counts: Counts = field(factory=Counts)
    # Give up after so many rows (unknown); None: never.
    max_rows: int | None = None
    # Stop once so many rows differ; 0: never.
    max_differences: int = MAX_DIFFERENCES
    # Fill `listed`, which has an entry for each row?
    lists: bool = False
    progress: Callable[[Counts], None] | None = None
    # The settings of the scope that is toured now.
    settings: Mapping[str, str] = field(factory=dict)
    # Why the run ended early, else empty.
    reason: str = ""
    # The outcomes of rules that fired in rows that agree.
    fired: set[str] = field(factory=set)
    # The first `KEPT`, which have the shortest schedules.
    differences: list[Difference] = field(factory=list)
    # Why rows were not executed -> how many.
    unrealizable: dict[str, int] = field(factory=dict)
    # (promise, in which way it is broken) -> the first that was found.
    findings: dict[tuple[str, str], Finding] = field(factory=dict)
    # How often promises were checked.
    asked: int = 0
    listed: list[ListedRow] = field(factory=list)
    _executed: set[int] = field(factory=set)
    _differing: set[int] = field(factory=set)
    _causes: dict[tuple[str, tuple[str, ...]], list[Difference]] = field(factory=dict)
    _left: dict[int, tuple[Row, dict[Outcome, None]]] = field(factory=dict)

    # -- rows

    @property
    def enough(self) -> bool:
        """Do so many rows differ that the run ends at once?"""
        return 0 < self.max_differences <= self.differing

    def stop(self, why: str) -> None:
        """The run ends here."""
        self.reason = why

    @property
    def full(self) -> bool:
        """Is there no room for another row? Then the run ends."""
        if self.max_rows is not None and self.counts.rows >= self.max_rows:
            self.reason = f"stopped after {self.max_rows} rows"
        return bool(self.reason)

    def enter(self, before: Memory, given: Input, outcomes: tuple[Outcome, ...]) -> Row:
        """Notes a row that will be executed."""
        self.counts.rows += 1
        row = Row(before, given, outcomes, self.counts.rows)
        if len(outcomes) > 1:
            self.counts.choices += len(outcomes)
            self._left[row.number] = row, dict.fromkeys(outcomes)
        if self.lists:
            self.listed.append(ListedRow(row.number, before, given, len(outcomes)))
        return row

    def became(self, number: int) -> tuple[bool, bool | None]:
        """Was the row of this number executed, and does it agree (None if it was not)?"""
        executed = number in self._executed
        return executed, number not in self._differing if executed else None

    # -- what was seen

    def agrees(self, row: Row, outcomes: Iterable[Outcome]) -> None:
        """The real coordinator did what these outcomes of the row say."""
        self._done(row)
        left = self._left[row.number][1] if row.number in self._left else {}
        for outcome in outcomes:
            self.fired.update(outcome.rules)
            self.counts.seen += left.pop(outcome, 0) is None
        if not left:
            self._left.pop(row.number, None)

    def differs(self, row: Row, what: tuple[str, ...], result: Transcript | LostSchedule) -> None:
        """The real coordinator did what no outcome of the row says. A row counts once."""
        if row.number in self._differing:
            return
        self._differing.add(row.number)
        self._done(row)
        difference = Difference(row, what, result, self.settings)
        if len(self.differences) < TRANSCRIPTS_KEPT:
            self.differences.append(difference)
        alike = self._causes.setdefault((kind_of(row.given), plain(what)), [])
        alike.append(difference)
        if self.enough:
            self.reason = f"stopped after {self.differing:,} rows that differ"

    def _done(self, row: Row) -> None:
        self._executed.add(row.number)
        self.counts.executed = len(self._executed)
        self.counts.agreeing = len(self._executed) - len(self._differing)

    def left(self, row: Row) -> tuple[Outcome, ...]:
        """The outcomes of a row that were not seen yet, if it has several."""
        return tuple(self._left[row.number][1]) if row.number in self._left else ()

    def ask(self, times: int, findings: Mapping[tuple[str, str], Finding]) -> None:
        """Counts so many checks of promises and those that were broken; keeps the shortest schedule
        of each kind.
        """
        self.asked += times
        for key, found in findings.items():
            known = self.findings.get(key, found)
            self.findings[key] = min(known, found, key=lambda f: len(f.transcript.steps))

    # -- the result

    @property
    def differing(self) -> int:
        """The number of rows on which they differ."""
        return len(self._differing)

    @property
    def causes(self) -> tuple[Cause, ...]:
        """The rows that differ, grouped, the largest group first."""
        found = [
            Cause(kind, what, len(alike), min(alike, key=lambda d: len(commands_of(d))))
            for (kind, what), alike in self._causes.items()
        ]
        return tuple(sorted(found, key=lambda cause: -cause.rows))

    @property
    def unseen(self) -> tuple[MissingOutcome, ...]:
        """Outcomes of executed rows that were not seen."""
        return tuple(
            MissingOutcome(row, outcome)
            for row, left in self._left.values()
            if row.number in self._executed
            for outcome in left
        )


def commands_of(d: Difference) -> tuple[object, ...]:
    """The schedule that shows it."""
    return d.transcript.schedule.commands


def kind_of(given: Input) -> str:
    """`SyncGroup` for a request, the rule's name for what the coordinator does by itself."""
    if isinstance(given, Asks):
        return type(given.request).__name__
    assert isinstance(given, Fires)
    return given.rule


def plain(what: tuple[str, ...]) -> tuple[str, ...]:
    """The text of a difference without names, numbers and values, numbers and values, so that
    differences of one cause are alike: `request 6: error is 27, in the model 0` is `request:
    error`.
    """
    return tuple(dict.fromkeys(_plain(one) for one in what))


def _plain(one: str) -> str:
    said, model, _ = one.partition(", in the model ")
    said = re.sub(r"\b(request|command|row) \d+", r"\1", said)
    said = re.sub(r"\bm\d+\b", "a member", said)
    return re.sub(r" is .*", "", said, flags=re.DOTALL) if model else said
