"""The tour: level by level through the model's rows, each executed on the real coordinator by the
schedule that led there, extended by the row.

A row that leaves the memory as it is shares its schedule with the others of that memory; every
other row has one of its own, from a fresh coordinator. A memory is reached by the schedule (and the
seed of the hash orders) with which a row was seen to lead there. Where the model allows several
outcomes, more seeds are tried until each has been seen.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import attrs
from attrs import frozen

from groupcheck.model.protocol.classic.timers import initial_delay
from groupcheck.oracles.conform.comparing import memory_differs
from groupcheck.oracles.conform.jobs import Job, Row, config_of, job_of, matches, observed
from groupcheck.oracles.conform.promises import Finding, broken, probe
from groupcheck.oracles.conform.rows import Fires, Input, Memory, Outcome, Rows
from groupcheck.oracles.conform.standing import INITIAL_DELAY_MS, Move, Standing, after, unwritten
from groupcheck.oracles.kafka.commands import JoinGroup
from groupcheck.oracles.kafka.driver import Driver
from groupcheck.oracles.kafka.records import GroupRecord, Record
from groupcheck.oracles.kafka.schedule import Lost, Schedule, Step, Transcript

SEEDS = 64  # hash orders that are tried before an outcome counts as not seen
KEPT = 20  # differences whose transcripts are kept
AT_ONCE = 8  # seeds tried together


@frozen
class Difference:
    """A row on which they differ: what exactly (beside the nearest outcome that the model allows),
    and the transcript.
    """

    row: Row
    what: tuple[str, ...]
    transcript: Transcript | Lost


@attrs.define
class Counts:
    """What became of the rows. `outcomes` of which the model allows several for one row, and those
    `seen`.
    """

    rows: int = 0
    executed: int = 0
    agreeing: int = 0
    choices: int = 0
    seen: int = 0
    memories: int = 0
    level: int = 0
    schedules: int = 0
    commands: int = 0
    stutters: int = 0


Progress = Callable[[Counts], None]


@frozen
class Listed:
    """A row without what the model allows: `outcomes` says how many those are."""

    number: int
    before: Memory
    given: Input
    outcomes: int


class Tour:
    """One run; `counts`, `differences` and `unrealizable` (reason -> rows) are its result."""

    def __init__(
        self,
        rows: Rows,
        driver: Driver,
        *,
        seed: int = 0,
        max_rows: int | None = None,
        progress: Progress | None = None,
        asks: bool = False,
        lists: bool = False,
    ) -> None:
        """`asks`: what the coordinator promises is asked of its memory, too. `lists`: `listed`
        keeps what each row was.
        """
        self.counts = Counts()
        self.findings: dict[tuple[str, str], Finding] = {}
        self.asked = 0
        self._asks = asks
        self.listed: list[Listed] | None = [] if lists else None
        # The outcomes of rules that fired in rows that agree.
        self.fired: set[str] = set()
        self._executed: set[int] = set()
        self._differing: set[int] = set()
        self.differences: list[
            Difference
        ] = []  # the first `KEPT`, which have the shortest schedules
        self.unrealizable: dict[str, int] = {}
        self.reason = ""
        self._rows, self._driver, self._seed, self._max, self._progress = (
            rows,
            driver,
            seed,
            max_rows,
            progress,
        )
        self._config = config_of(rows.scope)
        self._standing: dict[Memory, Standing] = {}
        self._waiting: dict[Memory, None] = {}
        self._left: dict[
            Row, dict[Outcome, None]
        ] = {}  # outcomes not seen yet, of rows that have several

    def became(self, number: int) -> tuple[bool, bool | None]:
        """(was the row of this number executed, does it agree): None where it was not."""
        executed = number in self._executed
        return executed, number not in self._differing if executed else None

    @property
    def differing(self) -> int:
        """The number of rows on which they differ."""
        return len(self._differing)

    def run(self) -> None:
        """Executes every row that can be reached, up to the limit."""
        start = self._rows.start()
        self._standing[start] = Standing(seed=self._seed)
        frontier = [start]
        while frontier and not self.reason:
            self.counts.level += 1
            known = set(self._standing)
            self._level(frontier)
            frontier = [m for m in self._standing if m not in known]
            for memory in frontier:
                self._waiting.pop(memory, None)
            self.counts.memories = len(self._standing)
        self._unreached()

    def _level(self, frontier: list[Memory]) -> None:
        again: list[Job] = []
        for job, result in self._execute(job for memory in frontier for job in self._jobs(memory)):
            again += self._judge(job, result)
        while again and not self.reason:
            jobs, again = again, []
            for job, result in self._execute(jobs):
                again += self._judge(job, result)

    # -- jobs

    def _jobs(self, memory: Memory) -> Iterator[Job]:
        at = self._standing[memory]
        staying: list[Row] = []
        for row in self._rows_of(memory):
            if row.stays:
                staying.append(row)
                continue
            fates = {unwritten(memory, o) for o in row.outcomes}
            yield from (self._alone(row, at, lost=lost) for lost in sorted(fates))
        if staying:
            yield self._job(staying, at)

    def _rows_of(self, memory: Memory) -> Iterator[Row]:
        for given in self._rows.inputs(memory):
            if self._max is not None and self.counts.rows >= self._max:
                self.reason = f"stopped after {self._max} rows"
                return
            outcomes = self._rows.outcomes(memory, given)
            if outcomes:
                self.counts.rows += 1
                row = Row(memory, given, outcomes, self.counts.rows)
                self._expect(row)
                if self.listed is not None:
                    self.listed.append(Listed(row.number, memory, given, len(outcomes)))
                yield row

    def _expect(self, row: Row) -> None:
        if len(row.outcomes) > 1:
            self.counts.choices += len(row.outcomes)
            self._left[row] = dict.fromkeys(row.outcomes)
        for outcome in row.outcomes:
            if outcome.after not in self._standing:
                self._waiting[outcome.after] = None

    def _alone(self, row: Row, at: Standing, **how: bool) -> Job:
        return self._job([row], at, **how)

    def _job(
        self,
        rows: Iterable[Row],
        at: Standing,
        again: int = 0,
        lost: bool = False,
        twice: bool = False,
    ) -> Job:
        return job_of(tuple(rows), at, self._rows.scope, again=again, lost=lost, twice=twice)

    def _execute(self, jobs: Iterable[Job]) -> Iterator[tuple[Job, Transcript | Lost]]:
        sent: list[Job] = []
        partitions = self._rows.scope.partition_count

        def schedules() -> Iterator[Schedule]:
            for job in jobs:
                sent.append(job)
                yield job.schedule(self._config, partitions)

        for k, result in enumerate(self._driver.run_all(schedules())):
            self.counts.schedules += 1
            self.counts.commands += len(result.schedule.commands)
            if self._progress and k % 50 == 0:
                self._progress(self.counts)
            yield sent[k], result

    # -- judging

    def _judge(self, job: Job, result: Transcript | Lost) -> list[Job]:
        """Compares; returns the jobs that are to be run because of what was seen."""
        if isinstance(result, Lost) or result.refused:
            if job.probes:
                return []
            return self._broken(job, result)
        steps, place = result.steps, len(job.at.commands)
        log = steps[-1].records or ()
        if job.probes:
            return self._ask(job, result)
        if job.checks and any(
            memory_differs(job.rows[0].before, job.at, steps[place].memory, self._rows.scope)
        ):
            return self._next_seeds(job)
        again = self._ask(job, result) if self._asks and not job.checks else []
        released = job.released(result)
        for row, moved, at, (place, ended) in zip(job.rows, job.moves, job.standings, job.places):
            real = observed(steps, place, ended, log, released)
            matched, what = matches(row, job.lost, at, moved, real, self._rows.scope)
            if matched:
                self._agrees(row, job, matched, moved, at)
                again += self._unseen(row, job)
            elif len(job.rows) > 1:
                return [*again, *(self._alone(r, job.at) for r in job.rows[job.rows.index(row) :])]
            else:
                again += self._differs(row, job, what, result)
        return again

    def _agrees(
        self, row: Row, job: Job, matched: list[tuple[Outcome, Standing]], moved: Move, at: Standing
    ) -> None:
        self._done(row)
        for outcome, now in matched:
            self.fired.update(outcome.rules)
            if row in self._left and self._left[row].pop(outcome, 0) is None:
                self.counts.seen += 1
            if outcome.after not in self._standing:
                clean = (
                    after(job.at, row.before, row.given, moved, outcome) if not job.checks else now
                )
                self._standing[outcome.after] = clean

    def _done(self, row: Row, differs: bool = False) -> None:
        self._executed.add(row.number)
        if differs:
            self._differing.add(row.number)
        self.counts.executed = len(self._executed)
        self.counts.agreeing = len(self._executed) - len(self._differing)

    def _unseen(self, row: Row, job: Job) -> list[Job]:
        """More tries for outcomes that this job could have led to and did not."""
        if not self._still_left(job):
            return []
        if isinstance(row.given, Fires) and row.given.rule == initial_delay.name:
            return (
                [] if job.again else [self._job([row], _impatient(job.at), again=1, lost=job.lost)]
            )
        return self._next_seeds(job) if job.again else self._with_seeds(job, 1)

    def _still_left(self, job: Job) -> bool:
        row = job.rows[0]
        return any(unwritten(row.before, o) == job.lost for o in self._left.get(row, ()))

    def _next_seeds(self, job: Job) -> list[Job]:
        """The last of some seeds has not led to an outcome that is still to be seen."""
        if job.again % AT_ONCE or not self._still_left(job) or job.again >= SEEDS:
            return []
        return self._with_seeds(job, job.again + 1)

    def _with_seeds(self, job: Job, first: int) -> list[Job]:
        seeds = range(first, first + AT_ONCE)
        return [
            self._job(job.rows, attrs.evolve(job.at, seed=self._seed + k), again=k, lost=job.lost)
            for k in seeds
        ]

    def _ask(self, job: Job, result: Transcript) -> list[Job]:
        """Asks for the promises after each row. What breaks in company is done again alone, so that
        its schedule is the shortest.
        """
        steps, again = result.steps, list[Job]()
        log, company, known = steps[-1].records or (), len(job.rows) > 1, set(self.findings)
        for row, moved, at, (_, ended) in zip(job.rows, job.moves, job.standings, job.places):
            until = steps[:ended] if company else steps[:-1]
            in_flight = (
                any(o.after.core.appending for o in row.outcomes) if not company else at.held
            )
            records = tuple(r for r in log if r.offset < until[-1].end)
            found = set(
                broken(
                    until,
                    moved.first[-1],
                    steps[ended].memory,
                    records,
                    in_flight and not job.probes,
                )
            )
            self.asked += 1
            for promise, kind in sorted(found - known):
                if company:
                    again.append(self._alone(row, job.at))
                else:
                    self.findings[promise, kind] = Finding(promise, kind, result)
            known |= found
        if (
            not company
            and not job.probes
            and not job.lost
            and any(isinstance(r, GroupRecord) for r in _of_last(job, steps, log))
        ):
            moved = attrs.evolve(job.moves[0], first=probe(job.moves[0].first), then=())
            again.append(attrs.evolve(job, moves=(moved,), probes=True))
        return again

    def _broken(self, job: Job, result: Transcript | Lost) -> list[Job]:
        if len(job.rows) > 1:
            return [self._alone(row, job.at) for row in job.rows]
        if job.again:
            return self._next_seeds(job)
        why = str(result) if isinstance(result, Lost) else f"the driver refuses: {result.refused}"
        self._note(job.rows[0], (why,), result)
        return []

    def _differs(self, row: Row, job: Job, what: tuple[str, ...], result: Transcript) -> list[Job]:
        if isinstance(row.given, Fires) and row.given.rule == initial_delay.name and not job.twice:
            at = after(job.at, row.before, row.given, job.moves[0], row.outcomes[0])
            look = result.steps[-len(job.moves[-1].then) - 3].memory
            if not any(memory_differs(row.before, at, look, self._rows.scope)):
                self.counts.stutters += 1
                self.findings.setdefault(
                    ("delay", "Fire join"), Finding("delay", "Fire join", result)
                )
                return [self._alone(row, job.at, lost=job.lost, twice=True)]
        self._note(row, what, result)
        return []

    def _note(self, row: Row, what: tuple[str, ...], result: Transcript | Lost) -> None:
        self._done(row, differs=True)
        if len(self.differences) < KEPT:
            self.differences.append(Difference(row, what, result))

    def _unreached(self) -> None:
        """What the model reaches and no schedule did: its rows are counted, not executed. Beyond a
        row that differs, the model is not followed.
        """
        reason = (
            "only a row that differs leads there"
            if self.differing
            else f"none of {SEEDS} seeds gave the hash order that leads there"
        )
        waiting = [m for m in self._waiting if m not in self._standing]
        seen = set(waiting)
        while waiting and not self.reason:
            memory = waiting.pop()
            for row in self._rows_of(memory):
                self.unrealizable[reason] = self.unrealizable.get(reason, 0) + 1
                for outcome in row.outcomes:
                    if (
                        not self.differing
                        and outcome.after not in self._standing
                        and outcome.after not in seen
                    ):
                        seen.add(outcome.after)
                        waiting.append(outcome.after)


def _impatient(at: Standing) -> Standing:
    """The same schedule with a rebalance timeout that does not allow one more extension of the
    initial delay.
    """
    timeout = INITIAL_DELAY_MS * (at.extended + 1)
    commands = tuple(
        attrs.evolve(c, rebalance_timeout_ms=timeout) if isinstance(c, JoinGroup) else c
        for c in at.commands
    )
    return attrs.evolve(at, commands=commands)


def _of_last(job: Job, steps: tuple[Step, ...], log: tuple[Record, ...]) -> tuple[Record, ...]:
    """The records that the job's only row wrote."""
    begun = steps[len(job.at.commands) - 1].end
    return tuple(r for r in log if r.offset >= begun)
