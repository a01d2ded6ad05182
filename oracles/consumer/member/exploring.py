"""The search: every row of every memory of a member that model and Kafka reach together, breadth
first. A row is executed on a fresh member, behind the commands that led to its memory.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any

from attrs import frozen

from groupcheck.oracles.consumer.facts import unlike
from groupcheck.oracles.consumer.levels import breadth_first
from groupcheck.oracles.consumer.member.facts import CLOSED, Facts, of_kafka, of_model
from groupcheck.oracles.consumer.member.rows import Command, MemberRow, MemberRows, State
from groupcheck.oracles.kafka.async_member import AsyncSchedule, AsyncTranscript
from groupcheck.oracles.kafka.driver import Driver
from groupcheck.oracles.kafka.schedule import LostSchedule
from groupcheck.oracles.kafka.tallied import answered


@frozen
class Place:
    """A memory, and how the real member gets there."""

    state: State
    commands: tuple[Command, ...] = ()


@frozen
class Compared:
    """A row that was executed."""

    place: Place
    row: MemberRow
    commands: tuple[Command, ...]
    # What the model says, and what Kafka did.
    expected: Facts
    facts: Facts

    @property
    def differs(self) -> dict[str, tuple[object, object]]:
        """Fact -> its values in the model and in Kafka."""
        return unlike(self.expected, self.facts)

    @property
    def shown(self) -> tuple[str, ...]:
        """The commands."""
        return tuple(map(json.dumps, self.commands))

    @property
    def same(self) -> MemberRow | None:
        """The row, if both do the same."""
        return None if self.differs else self.row


Told = tuple[Place, MemberRow, tuple[Command, ...]]


def explore(rows: MemberRows, driver: Driver, most: int | None = None) -> Iterator[Compared]:
    """Executes rows until there are no more, or so many were. Memories behind a row that differs
    are not looked at.
    """
    return breadth_first(
        Place(rows.start, rows.first),
        state=lambda place: place.state,
        rows=rows.of,
        execute=partial(_executed, rows, driver),
        onward=lambda row: (
            None if row.differs or row.row.closes else Place(row.row.after, row.commands)
        ),
        most=most,
    )


def _executed(
    rows: MemberRows, driver: Driver, asked: Iterable[tuple[Place, MemberRow]]
) -> Iterator[Compared]:
    told = ((place, row, (*place.commands, *rows.commands(row))) for place, row in asked)

    def run(inputs: Iterator[Told]) -> Iterable[AsyncTranscript | LostSchedule]:
        return driver.run_all(
            AsyncSchedule([*map(_quiet, commands[:-1]), commands[-1]], rows.setup)
            for *_, commands in inputs
        )

    for (place, row, commands), result in answered(run, told):
        yield Compared(place, row, commands, _expected(row, rows), _facts(result, row, rows))


def _expected(row: MemberRow, rows: MemberRows) -> Facts:
    client, link = row.after
    if not row.closes:
        return of_model(client, link, rows.scope)
    if not (row.client.beats and row.client.known):
        # It leaves without a word. In the model all that is on its way goes with it.
        link = row.before[1]
    return _closed(of_model(client, link, rows.scope))


def _closed(facts: Facts) -> dict[str, Any]:
    return {name: facts[name] for name in CLOSED}


def _quiet(command: Command) -> Command:
    return {**command, "quiet": True}


def _facts(
    result: AsyncTranscript | LostSchedule, row: MemberRow, rows: MemberRows
) -> dict[str, Any]:
    if isinstance(result, LostSchedule):
        return {"driver": result.reason.partition("\n")[0]}
    if result.refused:
        return {"driver": result.refused}
    found = of_kafka(result.replies[-1], row.after[0], rows.scope)
    return _closed(found) if row.closes else found
