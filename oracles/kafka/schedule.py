"""Schedules and what became of them.

A `Schedule` runs on a fresh coordinator, so its outcome depends on nothing else: equal schedules
have equal transcripts. Schedules cannot share a prefix, because the coordinator cannot be copied,
but a command takes only microseconds.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from enum import Enum
from typing import Any, Protocol, TypeVar, overload

from attrs import field, frozen

from groupcheck.oracles.kafka.answers import Answer, answer
from groupcheck.oracles.kafka.commands import Command, Request, Reset, encoded
from groupcheck.oracles.kafka.memory import Memory, memory
from groupcheck.oracles.kafka.records import Record, record

R = TypeVar("R", covariant=True)


class Looks(Enum):
    """After which commands a step has memory and appended records."""

    NEVER = "never"
    LAST = "last"
    EACH = "each"


def _commands(given: Iterable[Command]) -> tuple[Command, ...]:
    return tuple(given)


@frozen
class Schedule:
    """Commands to a fresh coordinator, numbered from 1."""

    commands: tuple[Command, ...] = field(converter=_commands)
    setup: Reset = field(factory=Reset)
    looks: Looks = Looks.LAST
    # The group that is looked at.
    group: str = "g"

    def line(self) -> bytes:
        """The whole schedule as one line to the driver."""
        return ("[" + ",".join(self._texts()) + "]\n").encode()

    def lines(self) -> list[bytes]:
        """The same, a line for each command."""
        return [f"{text}\n".encode() for text in self._texts()]

    def outcome(self, replies: list[dict[str, Any]]) -> Transcript | LostSchedule:
        """The schedule's result, by the replies to its commands; the first one is the setup's."""
        return outcome(self, replies)

    def _texts(self) -> list[str]:
        texts = [encoded(self.setup), *map(encoded, self.commands)]
        for k in range(1, len(texts)):
            if self.looks is Looks.EACH or (self.looks is Looks.LAST and k == len(texts) - 1):
                texts[k] = looking(texts[k], self.group)
        return texts


class DriverSchedule(Protocol[R]):
    """A schedule for one of the real sides, coordinator or member, as the driver runs it."""

    @property
    def setup(self) -> Any: ...

    @property
    def commands(self) -> tuple[Any, ...]: ...

    def line(self) -> bytes: ...

    def lines(self) -> list[bytes]: ...

    def outcome(self, replies: list[dict[str, Any]]) -> R | LostSchedule: ...


@frozen
class Step:
    """The result of one command."""

    number: int
    command: Command
    now_ms: int = 0
    # Offsets in the log.
    end: int = 0
    high_watermark: int = 0
    # (number of the request, answer), in the order of completion; earlier requests included.
    answered: tuple[tuple[int, Answer], ...] = ()
    # None if nothing looked.
    memory: Memory | None = None
    # The records that this command appended or asked for; None if nothing looked.
    records: tuple[Record, ...] | None = None
    # Why the command could not be carried out; the fields above then have their defaults.
    refused: str = ""


@frozen
class Transcript:
    """A schedule that was carried out to its end, or to a command that was refused."""

    schedule: Schedule
    steps: Sequence[Step]

    @property
    def refused(self) -> str:
        """Why the last step was refused; empty if the schedule was carried out to its end."""
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
class LostSchedule:
    """A schedule without an outcome, because the driver died, hung or failed. It agrees with
    nothing.
    """

    schedule: DriverSchedule[Any]
    reason: str
    # The command during which it happened.
    command: object
    number: int = 0

    def __str__(self) -> str:
        return f"{self.reason} (in command {self.number}, {self.command!r})"


def looking(text: str, group: str) -> str:
    """An encoded command that also looks at the group."""
    return f'{text[:-1]},"look":{json.dumps(group)}}}'


def step(number: int, command: Command, reply: dict[str, Any], asked: tuple[Command, ...]) -> Step:
    """A reply as a step. `asked`: the commands so far, this one included; the reply may answer any
    of them.
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


class Steps(Sequence[Step]):
    """The steps of a schedule by the replies to its commands. A reply is read when somebody asks
    for its step: most steps of a long schedule only lead to the place that matters.
    """

    def __init__(self, schedule: Schedule, replies: list[dict[str, Any]]) -> None:
        self._commands, self._replies = schedule.commands, replies
        self._read: dict[int, Step] = {}

    def __len__(self) -> int:
        return len(self._replies)

    @overload
    def __getitem__(self, index: int) -> Step: ...

    @overload
    def __getitem__(self, index: slice) -> tuple[Step, ...]: ...

    def __getitem__(self, index: int | slice) -> Step | tuple[Step, ...]:
        places = range(len(self))[index]
        if isinstance(places, range):
            return tuple([self._step(place) for place in places])
        return self._step(places)

    def _step(self, place: int) -> Step:
        if place not in self._read:
            command, reply = self._commands[place], self._replies[place]
            self._read[place] = step(place + 1, command, reply, self._commands)
        return self._read[place]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and tuple(self) == tuple(other)

    def __hash__(self) -> int:
        return hash(tuple(self))


def outcome(schedule: Schedule, replies: list[dict[str, Any]]) -> Transcript | LostSchedule:
    """The outcome of a schedule by the replies to its line; the first reply is the setup's. If the
    setup is refused, the transcript has that one step.
    """
    commands = (schedule.setup, *schedule.commands)
    for number, (command, reply) in enumerate(zip(commands, replies)):
        if "failed" in reply:
            return LostSchedule(schedule, reply["failed"], command, number)
    if replies and "refused" in replies[0]:
        refused = step(0, schedule.setup, replies[0], schedule.commands)
        return Transcript(schedule, (refused,))
    if len(replies) < len(commands) and not (replies and "refused" in replies[-1]):
        return LostSchedule(
            schedule,
            "the driver answered fewer commands than it was told",
            commands[len(replies)],
            len(replies),
        )
    return Transcript(schedule, Steps(schedule, replies[1:]))
