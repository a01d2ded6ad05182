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
from groupcheck.oracles.consumer.member.facts import Facts, of_kafka, of_model
from groupcheck.oracles.consumer.member.rows import Command, MemberRow, MemberRows, State
from groupcheck.oracles.kafka.async_member import AsyncSchedule, AsyncTranscript
from groupcheck.oracles.kafka.driver import Driver
from groupcheck.oracles.kafka.schedule import Lost
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
        onward=lambda row: None if row.same is None else Place(row.row.after, row.commands),
        most=most,
    )


def _executed(
    rows: MemberRows, driver: Driver, asked: Iterable[tuple[Place, MemberRow]]
) -> Iterator[Compared]:
    told = ((place, row, (*place.commands, *rows.commands(row))) for place, row in asked)

    def run(inputs: Iterator[Told]) -> Iterable[AsyncTranscript | Lost]:
        return driver.run_all(
            AsyncSchedule([*map(_quiet, commands[:-1]), commands[-1]], rows.setup)
            for *_, commands in inputs
        )

    for (place, row, commands), result in answered(run, told):
        client, link = row.after
        expected = of_model(client, link, rows.scope)
        yield Compared(place, row, commands, expected, _facts(result, row, rows))


def _quiet(command: Command) -> Command:
    return {**command, "quiet": True}


def _facts(result: AsyncTranscript | Lost, row: MemberRow, rows: MemberRows) -> dict[str, Any]:
    if isinstance(result, Lost):
        return {"driver": result.reason.partition("\n")[0]}
    if result.refused:
        return {"driver": result.refused}
    return of_kafka(result.replies[-1], row.after[0], rows.scope)
