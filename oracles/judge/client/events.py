"""The contract with a program under test: one consumer in a process of its own.

It gets what it needs by environment (`MemberSettings.environment`), prints events on stdout, one
JSON object a line, and closes its consumer in order when it reads the line `stop` on stdin, or when
stdin ends. When its consumer is closed it prints `closed` and ends with 0. After an error that its
library calls fatal it prints `fatal`, polls no more, closes and ends.

Events are lines of groupcheck.event/1 (`groupcheck list schemas`). Lines of the VerifiableConsumer
of Kafka and of librdkafka are read, too. Any other line is the program's own log.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from attrs import frozen

from groupcheck.model.assignors import Partition, Partitions
from groupcheck.traces.clients.errors import errors
from groupcheck.traces.event_lines.event import (
    SCHEMA,
    BadEvent,
    error_name,
    error_names,
    event_of,
)

BOOTSTRAP, GROUP, TOPIC = "KAFKA_BOOTSTRAP", "KAFKA_GROUP", "KAFKA_TOPIC"
# Not set for a dynamic member.
INSTANCE = "KAFKA_INSTANCE_ID"
ASSIGNOR = "GROUPCHECK_ASSIGNOR"
SESSION, HEARTBEAT = "GROUPCHECK_SESSION_MS", "GROUPCHECK_HEARTBEAT_MS"
COMMIT, REBALANCE = "GROUPCHECK_COMMIT_MS", "GROUPCHECK_REBALANCE_MS"
STOP = "stop"
LONGEST_LINE = 1 << 16
CLEAR = 15  # characters of the text of an error: with fewer it may be a common word


@frozen(kw_only=True)
class MemberSettings:
    """What a program is told. Times are in ms."""

    # HOST:PORT of the broker.
    bootstrap: str
    group: str
    topic: str
    # Its group.instance.id; empty for a dynamic member.
    instance: str = ""
    # range, roundrobin, sticky or cooperative: `Library.assignors` says which it has.
    assignor: str = "range"
    session_ms: int = 3000
    heartbeat_ms: int = 300
    # Between two commits that the library makes by itself.
    commit_ms: int = 300
    # The rebalance timeout: max.poll.interval.ms where the library has it.
    rebalance_ms: int = 5000

    def environment(self) -> dict[str, str]:
        """The variables of the program."""
        return {
            BOOTSTRAP: self.bootstrap,
            GROUP: self.group,
            TOPIC: self.topic,
            **({INSTANCE: self.instance} if self.instance else {}),
            ASSIGNOR: self.assignor,
            SESSION: str(self.session_ms),
            HEARTBEAT: str(self.heartbeat_ms),
            COMMIT: str(self.commit_ms),
            REBALANCE: str(self.rebalance_ms),
        }


@frozen
class Started:
    """The consumer exists and has subscribed."""

    library: str = ""
    version: str = ""


@frozen
class Assigned:
    """The assigned callback. `whole`: these are all partitions that it has now; False: they are
    added to those that it had; None: the library does not tell.
    """

    partitions: Partitions
    whole: bool | None = None


@frozen
class Revoked:
    """The revoked callback. `whole` as in `Assigned`: True if nothing is left."""

    partitions: Partitions
    whole: bool | None = None


@frozen
class Lost:
    """The lost callback: the member had been removed."""

    partitions: Partitions


@frozen
class Delivered:
    """The application got records of one partition, from offset `first` to `last`."""

    partition: Partition
    first: int
    last: int


@frozen
class Committed:
    """The library told that a commit had succeeded."""

    offsets: Mapping[Partition, int]


@frozen
class CommitFailed:
    """The library told that a commit had failed. `error`: as in `Failed`."""

    error: str
    offsets: Mapping[Partition, int] = {}


@frozen
class Failed:
    """An error that reached the application. `error`: Kafka's name of it, if the text is one that a
    library gives to one of Kafka's errors. `fatal`: the program stops because of it.
    """

    error: str
    fatal: bool = False


@frozen
class Closed:
    """The consumer is closed."""


@frozen
class Other:
    """Another event of groupcheck.event/1, such as `joined`."""

    event: str


Event = (
    Started | Assigned | Revoked | Lost | Delivered | Committed | CommitFailed | Failed | Closed
    | Other
)  # fmt: skip


def read_line(line: str) -> tuple[Event, ...]:
    """The events in a line of stdout; none if it is a line of the program's log. Raises `BadEvent`
    for a line that begins as an event and is not as its format says.
    """
    if SCHEMA not in line and '"name"' not in line:
        return ()
    if len(line) > LONGEST_LINE:
        raise BadEvent(f"has more than {LONGEST_LINE} characters")
    if SCHEMA in line:
        return (_own(event_of(line)),)
    try:
        told = json.loads(line)
    except (ValueError, RecursionError):
        return ()
    if not isinstance(told, dict) or told.get("name") not in _VERIFIABLE:
        return ()
    try:
        return tuple(_verifiable(told))
    except (KeyError, TypeError, ValueError, AttributeError):
        raise BadEvent(f"is no line of VerifiableConsumer: {told['name']!r}") from None


def parted(name: str) -> Partition:
    """The topic and the number of `topic-0`. Raises `BadEvent`."""
    topic, dash, number = name.rpartition("-")
    if not dash or not number.isdecimal() or not number.isascii() or len(number) > 9:
        raise BadEvent(f"{name[:60]!r} is no partition such as topic-0")
    return topic, int(number)


def _own(told: Mapping[str, Any]) -> Event:
    """An event of groupcheck.event/1."""
    kind = told["event"]
    partitions = frozenset(map(parted, told.get("partitions", ())))
    offsets = {parted(name): offset for name, offset in told.get("offsets", {}).items()}
    error = _error(told["error"]) if "error" in told else told.get("reason", "")
    match kind:
        case "started":
            return Started(told.get("library", ""), told.get("version", ""))
        case "assigned":
            return Assigned(partitions, told.get("whole"))
        case "revoked":
            return Revoked(partitions, told.get("whole"))
        case "lost":
            return Lost(partitions)
        case "delivered":
            first = told["offset"]
            last = told.get("last", first)
            if last < first:
                raise BadEvent(f"delivered from {first} to {last}")
            return Delivered(parted(told["partition"]), first, last)
        case "commit":
            return Committed(offsets)
        case "commit_failed" | "commit_refused":
            return CommitFailed(error, offsets)
        case "error" | "fatal":
            return Failed(error, kind == "fatal")
        case "closed":
            return Closed()
    return Other(kind)


def _error(told: str | int) -> str:
    """Kafka's name of an error, also where its text is part of a longer one."""
    name = error_name(told)
    if name in errors():
        return name
    texts = error_names().items()
    return next((known for text, known in texts if len(text) >= CLEAR and text in name), name)


_VERIFIABLE = frozenset(
    "startup_complete partitions_assigned partitions_revoked partitions_lost records_consumed"
    " offsets_committed shutdown_complete".split()
)


def _verifiable(told: Mapping[str, Any]) -> Iterable[Event]:
    """A line of VerifiableConsumer (Kafka: tools/VerifiableConsumer.java; librdkafka:
    tests/kafkatest/kafkatest_verifiable_client.cpp). Raises what a line of another shape leads to.
    """
    int(told.get("timestamp", 0))
    match told["name"]:
        case "startup_complete":
            yield Started()
        case "shutdown_complete":
            yield Closed()
        case "partitions_assigned":
            yield Assigned(_partitions(told))
        case "partitions_revoked":
            yield Revoked(_partitions(told))
        case "partitions_lost":
            yield Lost(_partitions(told))
        case "records_consumed":
            for one in told["partitions"]:
                first, last = int(one["minOffset"]), int(one["maxOffset"])
                yield Delivered(_partition(one), first, last)
        case "offsets_committed":
            offsets = {_partition(one): int(one["offset"]) for one in told.get("offsets", ())}
            if told["success"] is True:
                yield Committed(offsets)
            else:
                yield CommitFailed(_error(str(told.get("error", ""))), offsets)


def _partition(told: Mapping[str, Any]) -> Partition:
    return str(told["topic"]), int(told["partition"])


def _partitions(told: Mapping[str, Any]) -> Partitions:
    return frozenset(map(_partition, told["partitions"]))
