"""The search: every row of every memory that model and Kafka reach together, breadth first. A row
is executed on a fresh coordinator, behind the commands that led to its memory.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from itertools import tee

from attrs import field, frozen

from groupcheck.model.protocol.consumer.plans import id_of
from groupcheck.oracles.consumer.facts import Facts, Known, unlike
from groupcheck.oracles.consumer.levels import breadth_first
from groupcheck.oracles.consumer.rows import ConsumerRow, ConsumerRows, Outcome, State
from groupcheck.oracles.kafka.commands import Command, encoded
from groupcheck.oracles.kafka.driver import Driver
from groupcheck.oracles.kafka.schedule import LostSchedule, Schedule, Transcript
from groupcheck.oracles.kafka.tallied import answered


@frozen
class Place:
    """A memory, and how the real coordinator gets there."""

    state: State
    known: tuple[Known, ...]
    commands: tuple[Command, ...] = ()

    @property
    def memory(self) -> tuple[State, tuple[bool, ...]]:
        """What tells it from other places: the model's memory, and of which members Kafka has
        another id than sent the commit that is held up. A model that misses this shows it.
        """
        return self.state, tuple(k.held[0] not in ("", k.id) for k in self.known)


Told = tuple[Place, ConsumerRow, tuple[Command, ...]]


@frozen
class Compared:
    """A row that was executed."""

    place: Place
    row: ConsumerRow
    commands: tuple[Command, ...]
    # What Kafka did.
    facts: Facts
    # The model's outcome that is the same; None: it has none.
    same: Outcome | None
    # The processes as they are now.
    known: tuple[Known, ...] = field(repr=False)

    @property
    def shown(self) -> tuple[str, ...]:
        """The commands."""
        return tuple(map(encoded, self.commands))

    @property
    def differs(self) -> dict[str, tuple[object, object]]:
        """Fact -> its values in the model and in Kafka, of the outcome that is nearest."""
        if self.same is not None:
            return {}
        return min((unlike(o.facts, self.facts) for o in self.row.outcomes), key=len)


@frozen
class Beside:
    """A row that was executed on two versions."""

    old: Compared
    new: Compared

    @property
    def place(self) -> Place:
        """The memory of the newer version."""
        return self.new.place

    @property
    def commands(self) -> tuple[Command, ...]:
        """What the newer version was told."""
        return self.new.commands

    @property
    def shown(self) -> tuple[str, ...]:
        """The commands."""
        return self.new.shown

    @property
    def same(self) -> Outcome | None:
        """What the model says of the older one."""
        return self.old.same

    @property
    def differs(self) -> dict[str, tuple[object, object]]:
        """Fact -> its values in the newer version and in the older one."""
        return unlike(self.new.facts, self.old.facts)


def explore_beside(
    rows: ConsumerRows, older: Driver, newer: Driver, most: int | None = None
) -> Iterator[Beside]:
    """Executes rows on two versions of Kafka. The model, which has the rules of the older one, only
    says what to ask. Memories behind a row that differs are not looked at.
    """

    def execute(asked: Iterator[tuple[tuple[Place, Place], ConsumerRow]]) -> Iterator[Beside]:
        of_old, of_new = tee(asked)
        old = _executed(rows, older, ((pair[0], row) for pair, row in of_old))
        new = _executed(rows, newer, ((pair[1], row) for pair, row in of_new))
        yield from map(Beside, old, new)

    def onward(row: Beside) -> tuple[Place, Place] | None:
        if row.differs or row.same is None:
            return None
        return _after(row.old, row.same), _after(row.new, row.same)

    return breadth_first(
        (_first(rows), _first(rows)),
        state=lambda pair: pair[0].state,
        rows=rows.of,
        execute=execute,
        onward=onward,
        most=most,
    )


def _after(row: Compared, outcome: Outcome) -> Place:
    return Place(outcome.state, row.known, row.commands)


def _first(rows: ConsumerRows) -> Place:
    known = tuple(Known(id_of(i)) for i in range(rows.scope.members))
    return Place(rows.start, known, rows.begun())


def explore(rows: ConsumerRows, driver: Driver, most: int | None = None) -> Iterator[Compared]:
    """Executes rows until there are no more, or so many were. Memories behind a row that differs
    are not looked at.
    """
    return breadth_first(
        _first(rows),
        state=lambda place: place.memory,
        rows=lambda memory: rows.of(memory[0]),
        execute=partial(_executed, rows, driver),
        onward=lambda row: None if row.same is None else _after(row, row.same),
        most=most,
    )


def _executed(
    rows: ConsumerRows, driver: Driver, asked: Iterable[tuple[Place, ConsumerRow]]
) -> Iterator[Compared]:
    setup = rows.setup(driver.version)
    told = (
        (place, row, (*place.commands, *rows.commands(row, [*place.known]))) for place, row in asked
    )

    def run(inputs: Iterator[Told]) -> Iterable[Transcript | LostSchedule]:
        return driver.run_all(Schedule(commands, setup) for *_, commands in inputs)

    for (place, row, commands), result in answered(run, told):
        yield _compared(rows, place, row, commands, result)


def _compared(
    rows: ConsumerRows,
    place: Place,
    row: ConsumerRow,
    commands: tuple[Command, ...],
    result: Transcript | LostSchedule,
) -> Compared:
    if isinstance(result, LostSchedule):
        facts: Facts = {"driver": result.reason.partition("\n")[0]}
        return Compared(place, row, commands, facts, None, place.known)
    if result.refused:
        return Compared(place, row, commands, {"driver": result.refused}, None, place.known)
    last = result.steps[-1]
    given = dict(last.answered).get(last.number)
    known, facts = rows.read(row, place.known, given, last)
    same = next((outcome for outcome in row.outcomes if outcome.facts == facts), None)
    return Compared(place, row, commands, facts, same, known)
