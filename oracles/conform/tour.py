"""The tour: level by level through the model's rows, each executed on the real coordinator by the
schedule that led there, extended by the row.

Several real memories can stand behind one memory of the model (`real_memory`). Each row is executed
from all of those that rows were seen to lead to, each by the schedule that led there first, with
the seed of its hash orders. A row that leaves the real memory as it is shares its schedule with the
others of that memory; every other row has one of its own, from a fresh coordinator. Where the model
allows several outcomes, more seeds are tried until each has been seen.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import closing
from typing import Any

import attrs
from attrs import frozen

from groupcheck.model.engine import OutageError, UserError
from groupcheck.model.protocol.classic.failover import fail_over
from groupcheck.model.protocol.classic.timers import initial_delay
from groupcheck.oracles.conform.abstractions import excuses
from groupcheck.oracles.conform.comparing import memory_differs
from groupcheck.oracles.conform.jobs import (
    LOOK,
    READ,
    Job,
    Row,
    job_of,
    matches,
    observed,
    reset_of,
)
from groupcheck.oracles.conform.promises import Finding, broken, probe
from groupcheck.oracles.conform.real_memory import RealMemory, real_memory
from groupcheck.oracles.conform.real_position import (
    Move,
    Standing,
    after,
    impatient,
    possible,
    unwritten,
)
from groupcheck.oracles.conform.row import Fires, Memory, Outcome
from groupcheck.oracles.conform.row_results import RowResults
from groupcheck.oracles.conform.rows import Rows
from groupcheck.oracles.conform.sending import move
from groupcheck.oracles.conform.transcript import lines
from groupcheck.oracles.kafka.driver import Driver
from groupcheck.oracles.kafka.records import GroupRecord, Record
from groupcheck.oracles.kafka.schedule import Looks, LostSchedule, Schedule, Step, Transcript
from groupcheck.oracles.processes.supervisor import until_interrupted

SEEDS = 64  # hash orders that are tried before an outcome counts as not seen
SEEDS_AT_ONCE = 8  # seeds tried together
LONGEST = 600  # characters of a first schedule that fails


@frozen(cache_hash=True)
class Place:
    """A memory of the model, and the number of a real memory behind it."""

    memory: Memory
    real: int


class Tour:
    """A tour of one scope; its results stand in the `ledger`."""

    def __init__(
        self, rows: Rows, driver: Driver, ledger: RowResults, *, seed: int = 0, asks: bool = False
    ) -> None:
        """`asks`: the coordinator's promises are checked on its memory, too."""
        self._rows, self._driver, self._ledger = rows, driver, ledger
        self._seed, self._asks = seed, asks
        self._counts = ledger.counts
        self._standing: dict[Place, Standing] = {}
        self._known: set[Memory] = set()
        self._numbers: dict[RealMemory, int] = {}
        self._listed: dict[Memory, tuple[Row, ...]] = {}
        self._waiting: dict[Memory, None] = {}
        # (row, fate) -> the real memory from which an outcome is looked for with all seeds.
        self._sought: dict[tuple[int, bool], int] = {}

    def run(self) -> None:
        """Executes every row that can be reached, up to the limits, until the JVM fails, or until
        Ctrl-C.
        """
        try:
            with until_interrupted(self._ledger.stop):
                self._levels()
        except OutageError as error:
            self._ledger.stop(str(error))
        self._unreached()

    def _levels(self) -> None:
        frontier = [self._start()]
        memories, reals = self._counts.memories, self._counts.real_memories
        while frontier and not self._ledger.reason:
            self._counts.level += 1
            before = len(self._standing)
            self._level(frontier)
            frontier = list(self._standing)[before:]
            self._counts.memories = memories + len(self._known)
            self._counts.real_memories = reals + len(self._standing)

    def _start(self) -> Place:
        """The group that nobody has joined yet."""
        memory = self._rows.start()
        at = Standing.before(memory, self._seed)
        reset = reset_of(at, self._rows.scope)
        result = self._driver.run(Schedule([*at.commands, LOOK, READ], reset, Looks.NEVER))
        if isinstance(result, LostSchedule) or result.refused:
            why = "; ".join(line.strip() for line in lines(result))
            raise UserError(f"Kafka {self._driver.title} cannot create a group: {why[:LONGEST]}")
        *_, look, read = result.steps
        place = self._place(memory, at, look, look, read.records or ())
        self._arrived(place, at)
        return place

    def _level(self, frontier: list[Place]) -> None:
        jobs: Iterable[Job] = (job for place in frontier for job in self._jobs(place))
        while jobs:
            again: list[Job] = []
            with closing(self._execute(jobs)) as executed:
                for job, result in executed:
                    again += self._judge(job, result)
                    if self._ledger.enough:
                        return
            jobs = again

    def _place(
        self, memory: Memory, at: Standing, look: Step, end: Step, log: tuple[Record, ...]
    ) -> Place:
        """The place that was looked at."""
        loads = self._rows.scope.has(fail_over.name)
        real = real_memory(memory, at, look, end, log if loads else None)
        return Place(memory, self._numbers.setdefault(real, len(self._numbers)))

    def _arrived(self, place: Place, at: Standing) -> None:
        """The rows of a place that is new are to be executed."""
        self._standing.setdefault(place, at)
        self._known.add(place.memory)

    # -- jobs

    def _jobs(self, place: Place) -> Iterator[Job]:
        at = self._standing[place]
        staying: list[Row] = []
        for row in self._rows_of(place.memory):
            if not possible(at, row.before, row.given, row.outcomes):
                continue
            if row.stays:
                staying.append(row)
                continue
            fates = {unwritten(place.memory, o) for o in row.outcomes}
            yield from (self._job([row], at, place.real, lost=lost) for lost in sorted(fates))
        if staying:
            yield self._job(staying, at, place.real)

    def _rows_of(self, memory: Memory) -> tuple[Row, ...]:
        if memory not in self._listed:
            self._listed[memory] = tuple(self._enter(memory))
        return self._listed[memory]

    def _enter(self, memory: Memory) -> Iterator[Row]:
        for given in self._rows.inputs(memory):
            if self._ledger.full:
                return
            outcomes = self._rows.outcomes(memory, given)
            if outcomes:
                self._waiting.update(dict.fromkeys(o.after for o in outcomes))
                yield self._ledger.enter(memory, given, outcomes)

    def _job(
        self,
        rows: Iterable[Row],
        at: Standing,
        real: int,
        **how: Any,
    ) -> Job:
        return job_of(tuple(rows), at, self._rows.scope, real=real, **how)

    def _alone(self, row: Row, job: Job, **how: Any) -> Job:
        return self._job([row], job.at, job.real, again=job.again, lost=job.lost, **how)

    def _execute(
        self, jobs: Iterable[Job]
    ) -> Generator[tuple[Job, Transcript | LostSchedule], None, None]:
        sent: deque[Job] = deque()

        def schedules() -> Iterator[Schedule]:
            for job in jobs:
                sent.append(job)
                yield job.schedule(self._rows.scope)

        for k, result in enumerate(self._driver.run_all(schedules())):
            self._counts.schedules += 1
            self._counts.commands += len(result.schedule.commands)
            if self._ledger.progress and k % 50 == 0:
                self._ledger.progress(self._counts)
            yield sent.popleft(), result

    # -- judging

    def _judge(self, job: Job, result: Transcript | LostSchedule) -> list[Job]:
        """Compares; returns the jobs that are to be run because of what was seen."""
        if isinstance(result, LostSchedule) or result.refused:
            return [] if job.probes else self._broken(job, result)
        steps, scope = result.steps, self._rows.scope
        log = steps[-1].records or ()
        if job.probes:
            return self._ask(job, result)
        if job.checks:
            look = steps[len(job.at.commands)]
            if any(memory_differs(job.rows[0].before, job.at, look.memory, scope)):
                return self._next_seeds(job)
        again = self._ask(job, result) if self._asks and not job.checks else []
        released = job.released(result)
        for k, (row, moved, at, there, (place, ended)) in enumerate(
            zip(job.rows, job.moves, job.standings, job.ends, job.places)
        ):
            real = observed(steps, place, ended, log, released)
            matched, what = matches(row, job.lost, at, moved, real, scope, there)
            self._counts.executions += 1
            if matched:
                look, end = steps[ended], steps[ended + len(moved.then)]
                self._ledger.agrees(row, (outcome for outcome, _ in matched))
                needed = excuses(at, row.before, row.given, moved, *matched[0])
                self._excuse(tuple(needed), result)
                arrived, later = self._arrivals(row, job, moved, at, matched, look, end, log)
                again += [*later, *self._unseen(row, job)]
                if arrived != {job.real} and job.rows[k + 1 :]:
                    return [*again, self._job(job.rows[k + 1 :], job.at, job.real)]
            elif len(job.rows) > 1:
                return [*again, *(self._alone(r, job) for r in job.rows[k:])]
            else:
                self._ledger.differs(row, what, result)
        return again

    def _excuse(self, needed: tuple[str, ...], result: Transcript) -> None:
        """Counts the abstractions that a row needed."""
        self._counts.excuses.update(needed)
        if "left-over flag" in needed:
            found = Finding("delay", "Fire join", result)
            self._ledger.findings.setdefault((found.promise, found.kind), found)

    def _arrivals(
        self,
        row: Row,
        job: Job,
        moved: Move,
        at: Standing,
        matched: list[tuple[Outcome, Standing]],
        look: Step,
        end: Step,
        log: tuple[Record, ...],
    ) -> tuple[set[int], list[Job]]:
        """The real memories to which the row has led; and jobs for outcomes after which other
        writes must be replicated than those that this job replicated.
        """
        arrived, again, scope = set(), list[Job](), self._rows.scope
        for outcome, now in matched:
            if len(row.outcomes) > 1:
                own = move(at, row.before, row.given, outcome, scope)
                if own != moved and job.expected is None:
                    again.append(self._alone(row, job, expected=outcome))
                if own != moved:
                    continue
            if job.impatient and outcome.after in self._known:
                continue
            place = self._place(outcome.after, now, look, end, log)
            arrived.add(place.real)
            if place not in self._standing and len(job.rows) > 1:
                alone = move(job.at, row.before, row.given, outcome, scope)
                now = after(job.at, row.before, row.given, alone, outcome)
            self._arrived(place, now)
        return arrived, again

    def _unseen(self, row: Row, job: Job) -> list[Job]:
        """More tries for outcomes that this job could have led to and did not. An initial delay
        that can be extended is tried with a group that has no patience left, whatever the model
        says.
        """
        delay = _fires(row, initial_delay.name)
        both = delay and row.before.core.extended
        if job.expected is not None or not (both or self._still_left(job)):
            return []
        if delay:
            at = impatient(job.at)
            how = {"again": 1, "lost": job.lost, "impatient": True}
            return [] if job.again else [self._job([row], at, job.real, **how)]
        return self._next_seeds(job) if job.again else self._with_seeds(job, 1)

    def _still_left(self, job: Job) -> bool:
        row = job.rows[0]
        return any(unwritten(row.before, o) == job.lost for o in self._ledger.left(row))

    def _next_seeds(self, job: Job) -> list[Job]:
        """The last of some seeds has not led to an outcome that is still to be seen. All seeds are
        tried from the first real memory, some from every other one.
        """
        first = self._sought.setdefault((job.rows[0].number, job.lost), job.real)
        most = SEEDS if first == job.real else SEEDS_AT_ONCE
        if job.again % SEEDS_AT_ONCE or not self._still_left(job) or job.again >= most:
            return []
        return self._with_seeds(job, job.again + 1)

    def _with_seeds(self, job: Job, first: int) -> list[Job]:
        return [
            self._job(
                job.rows,
                attrs.evolve(job.at, seed=self._seed + k),
                job.real,
                again=k,
                lost=job.lost,
            )
            for k in range(first, first + SEEDS_AT_ONCE)
        ]

    def _ask(self, job: Job, result: Transcript) -> list[Job]:
        """Checks the promises after each row. If one breaks in a schedule of several rows, the row
        is executed again alone, so that its schedule is the shortest.
        """
        steps, again = result.steps, list[Job]()
        log, company, known = steps[-1].records or (), len(job.rows) > 1, set(self._ledger.findings)
        for row, moved, at, (_, ended) in zip(job.rows, job.moves, job.standings, job.places):
            until = steps[:ended] if company else steps[:-1]
            in_flight = (
                any(o.after.core.appending for o in row.outcomes) if not company else at.log.held
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
            self._ledger.asked += 1
            for promise, kind in sorted(found - known):
                if company:
                    again.append(self._alone(row, job))
                else:
                    self._ledger.findings[promise, kind] = Finding(promise, kind, result)
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

    def _broken(self, job: Job, result: Transcript | LostSchedule) -> list[Job]:
        if len(job.rows) > 1:
            return [self._alone(row, job) for row in job.rows]
        if job.again:
            return self._next_seeds(job)
        why = (
            str(result)
            if isinstance(result, LostSchedule)
            else f"the driver refuses: {result.refused}"
        )
        self._ledger.differs(job.rows[0], (why,), result)
        return []

    def _unreached(self) -> None:
        """The memories that the model reaches and no schedule did: their rows are counted, not
        executed. Beyond a row that differs, the model is not followed.
        """
        differing = self._ledger.differing
        reason = (
            "only a row that differs leads there"
            if differing
            else f"none of {SEEDS} seeds gave the hash order that leads there"
        )
        waiting = [m for m in self._waiting if m not in self._known]
        seen = self._known.union(waiting)
        while waiting and not self._ledger.reason:
            for row in self._rows_of(waiting.pop()):
                counts = self._ledger.unrealizable
                counts[reason] = counts.get(reason, 0) + 1
                for outcome in row.outcomes:
                    if not differing and outcome.after not in seen:
                        seen.add(outcome.after)
                        waiting.append(outcome.after)


def _fires(row: Row, rule: str) -> bool:
    return isinstance(row.given, Fires) and row.given.rule == rule


def _of_last(job: Job, steps: Sequence[Step], log: tuple[Record, ...]) -> tuple[Record, ...]:
    """The records that the job's only row wrote."""
    begun = steps[len(job.at.commands) - 1].end
    return tuple(r for r in log if r.offset >= begun)
