"""Kafka's own members of consumer groups (KIP-848), driven: AsyncKafkaConsumer as a whole, its
background loop run by hand, alone or beside Kafka's own coordinator.

Commands are JSON, as `driver/src/groupcheck/kafka/AsyncCommands.java` has them: `op`, the number of
the process `i`, and what the command needs. `AsyncLook.java` says what each reply shows.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from attrs import field, frozen

from groupcheck.oracles.kafka.schedule import LostSchedule

Told = Mapping[str, Any]
# What the driver can run: older clients have another loop.
VERSIONS = ("4.2.0", "4.3.0", "4.3.1", "4.4.0")


@frozen
class AsyncTranscript:
    """A schedule that was carried out to its end, or to a command that was refused."""

    schedule: AsyncSchedule
    # The reply to each command, without the setup's.
    replies: tuple[Told, ...]

    @property
    def refused(self) -> str:
        return str(self.replies[-1].get("refused", "")) if self.replies else ""

    def look(self, i: int = 0) -> Told:
        """The last look at a process."""
        pairs = zip(self.schedule.commands, self.replies)
        looks = [r for c, r in pairs if c.get("i", 0) == i and "state" in r]
        assert looks, f"no look at process {i}"
        return looks[-1]


def _commands(given: Iterable[Told]) -> tuple[Told, ...]:
    return tuple(given)


@frozen
class AsyncSchedule:
    """Commands to fresh processes, numbered from 1."""

    commands: tuple[Told, ...] = field(converter=_commands)
    # Makes the processes, before the first command.
    setup: Told = field(factory=dict)

    def line(self) -> bytes:
        """The whole schedule as one line to the driver."""
        return _line([_reset(self.setup), *self.commands])

    def lines(self) -> list[bytes]:
        """The same, a line for each command."""
        return [_line(command) for command in (_reset(self.setup), *self.commands)]

    def outcome(self, replies: list[dict[str, Any]]) -> AsyncTranscript | LostSchedule:
        """The schedule's result, by the replies to its commands; the first one is the setup's."""
        commands = (self.setup, *self.commands)
        for number, (command, reply) in enumerate(zip(commands, replies)):
            if "failed" in reply:
                return LostSchedule(self, reply["failed"], command, number)
        return AsyncTranscript(self, tuple(replies[1:] if len(replies) > 1 else replies))


def _reset(setup: Told) -> Told:
    return {"op": "reset", **setup}


def _line(told: Any) -> bytes:
    return json.dumps({"toAsync": told}, separators=(",", ":")).encode() + b"\n"
