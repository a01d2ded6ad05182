"""Schedules and what became of them.

A `Schedule` is replayed from a fresh coordinator, so its outcome depends on nothing but itself:
equal schedules give equal transcripts. Prefixes cannot be shared inside one process (the
coordinator cannot be copied), but a replay costs microseconds a command.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from enum import Enum
from typing import Any

from attrs import field, frozen

from groupcheck.oracles.kafka.answers import Answer, answer
from groupcheck.oracles.kafka.commands import Command, Request, Reset, encoded
from groupcheck.oracles.kafka.memory import Memory, memory
from groupcheck.oracles.kafka.records import Record, record


class Looks(Enum):
    """After which commands memory and appended records are told."""

    NEVER = "never"
    LAST = "last"
    EACH = "each"


def _commands(given: Iterable[Command]) -> tuple[Command, ...]:
    return tuple(given)


@frozen
class Schedule:
    """Commands to a fresh coordinator; they are numbered from 1. `group` is the one that is looked
    at.
    """

    commands: tuple[Command, ...] = field(converter=_commands)
    setup: Reset = field(factory=Reset)
    looks: Looks = Looks.LAST
    group: str = "g"


@frozen
class Step:
    """What one command did. `answered`: (number of the request, answer), in the order of
    completion, also for requests of before.

    `memory` and `records` (those that this command appended, or that it asked for) are None where
    nothing looked. `refused`: why the command could not be carried out, then without the rest.
    `end` and `high_watermark` are offsets in the log.
    """

    number: int
    command: Command
    now_ms: int = 0
    end: int = 0
    high_watermark: int = 0
    answered: tuple[tuple[int, Answer], ...] = ()
    memory: Memory | None = None
    records: tuple[Record, ...] | None = None
    refused: str = ""


@frozen
class Transcript:
    """A schedule that was carried out to its end, or up to a command that was refused."""

    schedule: Schedule
    steps: tuple[Step, ...]

    @property
    def refused(self) -> str:
        """Why the last step was refused; empty where the schedule was carried out whole."""
        return self.steps[-1].refused if self.steps else ""

    @property
    def answers(self) -> dict[int, Answer]:
        """Every answer, by the number of its request."""
        return {number: given for step in self.steps for number, given in step.answered}

    @property
    def parked(self) -> tuple[int, ...]:
        """The numbers of the requests that have no answer yet."""
        answered = self.answers
        return tuple(
            s.number
            for s in self.steps
            if isinstance(s.command, Request) and not s.refused and s.number not in answered
        )

    @property
    def memory(self) -> Memory | None:
        """The last look."""
        return next((s.memory for s in reversed(self.steps) if s.memory is not None), None)


@frozen
class Lost:
    """A schedule without an outcome, which agrees with nothing: the driver died, hung or failed.

    `command` is the one that it happened in; None where it did not happen again when the schedules
    in flight were run one by one.
    """

    schedule: Schedule
    reason: str
    command: Command | None
    number: int = 0

    def __str__(self) -> str:
        where = (
            f"in command {self.number}, {self.command!r}"
            if self.command
            else "in one of several schedules in flight, and not again alone"
        )
        return f"{self.reason} ({where})"


def line(schedule: Schedule) -> bytes:
    """The whole schedule as one line to the driver."""
    texts = [encoded(schedule.setup), *map(encoded, schedule.commands)]
    for k in range(1, len(texts)):
        if schedule.looks is Looks.EACH or (schedule.looks is Looks.LAST and k == len(texts) - 1):
            texts[k] = looking(texts[k], schedule.group)
    return ("[" + ",".join(texts) + "]\n").encode()


def looking(text: str, group: str) -> str:
    """An encoded command that also looks at the group."""
    return f'{text[:-1]},"look":{json.dumps(group)}}}'


def step(number: int, command: Command, reply: dict[str, Any], asked: tuple[Command, ...]) -> Step:
    """A reply as a step. `asked`: the commands so far, this one included, whose answers it may
    hold.
    """
    if "refused" in reply:
        return Step(number, command, refused=reply["refused"])
    return Step(
        number,
        command,
        reply["now"],
        reply["end"],
        reply["highWatermark"],
        tuple((a["seq"], answer(asked[a["seq"] - 1], a)) for a in reply.get("answered", ())),
        memory(reply["memory"]) if "memory" in reply else None,
        tuple(map(record, reply["records"])) if "records" in reply else None,
    )


def outcome(schedule: Schedule, replies: list[dict[str, Any]]) -> Transcript | Lost:
    """What the replies to a schedule's line amount to; the first one is the setup's. A setup that
    is refused is a transcript with that one step.
    """
    commands = (schedule.setup, *schedule.commands)
    steps = []
    for number, (command, reply) in enumerate(zip(commands, replies)):
        if "failed" in reply:
            return Lost(schedule, reply["failed"], command, number)
        if number or "refused" in reply:
            steps.append(step(number, command, reply, schedule.commands))
    if len(replies) < len(commands) and not (steps and steps[-1].refused):
        return Lost(
            schedule,
            "the driver answered fewer commands than it was told",
            commands[len(replies)],
            len(replies),
        )
    return Transcript(schedule, tuple(steps))
