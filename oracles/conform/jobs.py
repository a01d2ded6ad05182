"""Rows as schedules for the real coordinator, and the comparison of what it did with what the model
allows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import attrs
from attrs import field, frozen

from groupcheck.model.protocol.classic.scope import Scope
from groupcheck.oracles.conform import full_offsets
from groupcheck.oracles.conform.comparing import Observation, differences
from groupcheck.oracles.conform.logged import loads_differ
from groupcheck.oracles.conform.real_position import (
    Move,
    Standing,
    after,
    empties,
    leads_with,
    unwritten,
)
from groupcheck.oracles.conform.row import Asks, Input, Memory, Outcome
from groupcheck.oracles.conform.sending import move
from groupcheck.oracles.conform.topics import layout_of
from groupcheck.oracles.kafka.answers import Answer
from groupcheck.oracles.kafka.commands import AutoCommit, Command, Look, ReadLog, Reset
from groupcheck.oracles.kafka.records import GroupRecord, Record
from groupcheck.oracles.kafka.schedule import Looks, Schedule, Step, Transcript


@frozen
class Row:
    """One row: what is remembered, what happens, what the model allows."""

    before: Memory
    given: Input
    outcomes: tuple[Outcome, ...]
    number: int = field(eq=False)

    @property
    def stays(self) -> bool:
        """Does the row leave the memory as it was? A timer that has fired is gone, even if the
        model does not remember it; but a former coordinator's memory is not looked at.
        """
        unchanged = len(self.outcomes) == 1 and self.outcomes[0].after == self.before
        if isinstance(self.given, Asks):
            return unchanged
        return unchanged and (self.given.former or full_offsets.asks(self.given))


LOOK, READ = Look(), ReadLog()
RELEASE = AutoCommit(
    on=True
)  # at last, what was held back is replicated, and the answers behind it are given


@frozen
class Job:
    """Rows for one schedule: one, or several that leave the memory as it is."""

    rows: tuple[Row, ...]
    # Where the schedule leads first.
    at: Standing
    # One for each row; where each of them starts.
    moves: tuple[Move, ...]
    standings: tuple[Standing, ...]
    # Where each leads, if it has the outcome for which the commands are meant.
    ends: tuple[Standing, ...]
    # The number of the real memory to which the schedule leads first.
    real: int = 0
    # Is the memory before the rows compared, too?
    checks: bool = False
    # The number of a try with another seed.
    again: int = 0
    # The record of a group that becomes Empty is not replicated.
    lost: bool = False
    # The members have other timeouts than those of other schedules.
    impatient: bool = False
    # The outcome for which the commands are meant; None: the first of its fate.
    expected: Outcome | None = None
    # The append fails at once. Only promises ask for this.
    probes: bool = False

    def schedule(self, scope: Scope) -> Schedule:
        commands: list[Command] = list(self.at.commands)
        if self.checks:
            commands.append(LOOK)
        for moved in self.moves:
            commands += [*moved.first, LOOK, *moved.then]
        commands.append(RELEASE)
        return Schedule(
            [*commands, READ],
            reset_of(self.at, scope),
            Looks.NEVER,
        )

    @property
    def places(self) -> Iterator[tuple[int, int]]:
        """For each row where its steps begin, and where the look after it stands."""
        place = len(self.at.commands) + self.checks
        for moved in self.moves:
            ended = place + len(moved.first)
            yield place, ended
            place = ended + 1 + len(moved.then)

    def released(self, result: Transcript) -> tuple[tuple[int, Answer], ...]:
        """The answers that were given at the very end, when what was held back was replicated."""
        return tuple(a for s in result.steps[-len(self.moves[-1].then) - 2 :] for a in s.answered)


def config_of(scope: Scope) -> tuple[tuple[str, int], ...]:
    """The broker's settings for the scope."""
    return (("group.max.size", scope.max_size),) if scope.max_size is not None else ()


def reset_of(at: Standing, scope: Scope) -> Reset:
    """The fresh coordinator with which a schedule begins."""
    topics = {topic.name: topic.most for topic in layout_of(scope)}
    return Reset(seed=at.seed, topics=topics, config=config_of(scope))


def job_of(
    rows: tuple[Row, ...],
    at: Standing,
    scope: Scope,
    *,
    real: int = 0,
    again: int = 0,
    lost: bool = False,
    impatient: bool = False,
    expected: Outcome | None = None,
) -> Job:
    """Rows for one schedule that begins with the one that leads `at` their memory. `expected`: what
    becomes of the only row, if the model allows several outcomes.
    """
    checks = again > 0
    moves, standings, ends = [], [], []
    here = attrs.evolve(at, commands=(*at.commands, LOOK)) if checks else at
    for row in rows:
        outcome = expected or next(
            (o for o in row.outcomes if unwritten(row.before, o) == lost), row.outcomes[0]
        )
        moved = move(here, row.before, row.given, outcome, scope)
        moves.append(moved)
        standings.append(here)
        there = after(here, row.before, row.given, moved, outcome)
        ends.append(there)
        # The look stands before the commands that replicate what the step has written.
        before_look = len(there.commands) - len(moved.then)
        here = attrs.evolve(
            there, commands=(*there.commands[:before_look], LOOK, *there.commands[before_look:])
        )
    return Job(
        rows,
        at,
        tuple(moves),
        tuple(standings),
        tuple(ends),
        real,
        checks,
        again,
        lost,
        impatient,
        expected,
    )


def observed(
    steps: Sequence[Step],
    place: int,
    ended: int,
    log: tuple[Record, ...],
    released: tuple[tuple[int, Answer], ...],
) -> Observation:
    """The observations of one row of a schedule: its steps are `place` to `ended`, where a look
    follows.
    """
    end = steps[place - 1].end if place else 0
    groups = tuple(
        r
        for r in log
        if isinstance(r, GroupRecord) and r.group == LOOK.group and r.offset < steps[ended].end
    )
    return Observation(
        tuple(steps[place:ended]),
        steps[ended].memory,
        tuple(r for r in log if r.offset >= end),
        released,
        groups,
    )


def matches(
    row: Row,
    lost: bool,
    at: Standing,
    moved: Move,
    real: Observation,
    scope: Scope,
    there: Standing,
) -> tuple[list[tuple[Outcome, Standing]], tuple[str, ...]]:
    """The outcomes that are as observed, each with where it leads; or else what is different about
    the nearest. `there`: where the row leads if it has only one outcome.
    """
    matched: list[tuple[Outcome, Standing]] = []
    nearest: tuple[str, ...] = ()
    for outcome in row.outcomes:
        if empties(row.before, outcome) and unwritten(row.before, outcome) != lost:
            continue
        sure = len(row.outcomes) == 1
        now = there if sure else after(at, row.before, row.given, moved, outcome)
        what = tuple(differences(row.before, row.given, outcome, moved, at, now, real, scope))
        if not what:
            matched.append((outcome, now))
        elif not nearest or len(what) < len(nearest):
            nearest = what
    if matched and (missing := tuple(fates_missing(row, at, moved, real, scope))):
        return [], missing
    return matched, nearest


def fates_missing(
    row: Row, at: Standing, moved: Move, real: Observation, scope: Scope
) -> Iterator[str]:
    """A group record that the row has written has two possible fates: a fail-over finds it from now
    on, or never. These are the fates that the model does not know. (A plan that is written twice
    has the fate of the first record, which stands before the second.)
    """
    written = next((r for r in reversed(real.records) if r in real.groups), None)
    if written is None or written.tombstone or not scope.has("fail_over"):
        return  # a group that is not deleted after all is as if nobody had asked
    if row.before.core.appending and leads_with(row.before, row.given):
        return
    if full_offsets.creates(row.before, row.given, row.outcomes[0]):
        return  # a group that is lost at once is as if nobody had asked
    if row.before.core.unlogged:  # a record behind one that is lost is lost, too
        return
    found = [
        not any(loads_differ(o.after, after(at, row.before, row.given, moved, o), written, scope))
        for o in row.outcomes
    ]
    if not any(found):
        yield "no outcome of the model keeps the group record that was written"
    if all(found):
        yield "no outcome of the model loses the group record that was written"
