"""The commands to a member: Kafka's own consumer member, which the driver runs in one thread with
virtual time (`driver/src/groupcheck/kafka/Member.java`).

The application's thread is `Poll` and what else an application calls. The heartbeat thread is
`Beat`, one round of its loop. A request waits until `Answer` or `Disconnect`; the member reads an
answer when it next polls the network: in `Poll`, `Beat` or `Network`. Time passes in `Advance`, and
while a command with a time limit waits. Commands are carried out in the order given, and fields
that have their default are not sent.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, ClassVar

from attrs import field, fields, frozen
from attrs.converters import optional

from groupcheck.oracles.kafka.reading import json_name
from groupcheck.oracles.kafka.values import Pairs, pairs, texts


@frozen(kw_only=True)
class Command:
    """One line to the driver.

    Commands that wait have a field `waits`: what happens meanwhile. One of these commands is
    carried out each time that the member waits for the network; when none is left, the time limit
    runs out.
    """

    op: ClassVar[str]


@frozen(kw_only=True)
class Reset(Command):
    """A fresh member. It has not polled."""

    op = "reset"
    # session.timeout.ms.
    session_ms: int = 10_000
    # max.poll.interval.ms, which is also the rebalance timeout that the member asks for.
    rebalance_ms: int = 300_000
    # heartbeat.interval.ms.
    heartbeat_ms: int = 3000
    # retry.backoff.ms and retry.backoff.max.ms. The jitter is taken out.
    backoff_ms: int = 100
    backoff_max_ms: int = 1000
    # enable.auto.commit and auto.commit.interval.ms.
    auto_commit: bool = True
    auto_commit_ms: int = 5000
    # auto.offset.reset: earliest, latest or none.
    auto_reset: str = "earliest"
    # range, roundrobin, sticky, cooperative-sticky; own-cooperative, the same under another
    # name; cooperative-range, which breaks the rules of the cooperative protocol. The first one is
    # preferred.
    assignors: tuple[str, ...] = field(default=("range",), converter=texts)
    # group.instance.id.
    instance: str | None = None
    # Topic -> number of partitions.
    topics: Pairs = field(default=(("t", 2),), converter=pairs, metadata={"json": dict})
    # The topics to which it subscribes; None: to all.
    subscribed: tuple[str, ...] | None = field(default=None, converter=optional(texts))
    # It subscribes to the topics that match this regular expression instead.
    pattern: str | None = None
    # The virtual time at the beginning, in milliseconds.
    now: int = 1_000_000


@frozen(kw_only=True)
class Poll(Command):
    """The application polls: ConsumerCoordinator.poll with a time limit of `ms`, without waiting
    for the group.
    """

    op = "poll"
    ms: int = 0
    waits: tuple[Command, ...] = ()


@frozen(kw_only=True)
class Network(Command):
    """The connections are polled once, although neither the application nor the heartbeat thread
    runs: answers are read, requests that wait are sent.
    """

    op = "network"


@frozen(kw_only=True)
class Beat(Command):
    """One round of the heartbeat thread's loop. A heartbeat that it makes is sent by the next poll
    of the network.
    """

    op = "heartbeat"


@frozen(kw_only=True)
class Advance(Command):
    """`ms` of virtual time pass, and neither thread runs."""

    op = "advance"
    ms: int


@frozen(kw_only=True)
class Answer(Command):
    """The oldest request of an API, or the one with a number, gets an answer: the fields of Kafka's
    response, as JSON; what is left out has Kafka's default. Refused if no such request waits.
    """

    op = "answer"
    api: str | None = None
    n: int | None = None
    data: Mapping[str, Any] = field(factory=dict)


@frozen(kw_only=True)
class Disconnect(Command):
    """Connections break, and their requests stay without an answer. `node`: `coordinator`, `any`
    (the connection that asks for the coordinator), or both.
    """

    op = "disconnect"
    node: str | None = None


@frozen(kw_only=True)
class Connections(Command):
    """Whether connections can be made. While they cannot, a request fails before it is sent."""

    op = "connections"
    up: bool = field(metadata={"always": True})


@frozen(kw_only=True)
class FailAuthentication(Command):
    """A broker refuses a new connection of the member's (SASL): the next poll of the network throws
    that, once.
    """

    op = "failAuthentication"


@frozen(kw_only=True)
class FetchOffsets(Command):
    """The application asks for the committed offsets of partitions that have no position yet."""

    op = "fetchOffsets"
    ms: int = 0
    waits: tuple[Command, ...] = ()


@frozen(kw_only=True)
class ResetPositions(Command):
    """The application goes on where auto.offset.reset says, in partitions for which no committed
    offset was found. Their logs begin at 0 and end at `end`.
    """

    op = "resetPositions"
    end: int


@frozen(kw_only=True)
class Position(Command):
    """The application has processed the records below an offset. Refused by Kafka unless the
    partition is owned.
    """

    op = "position"
    partition: int
    offset: int
    topic: str = "t"


@frozen(kw_only=True)
class CommitSync(Command):
    """The application commits all its positions and waits for the answer, at most `ms`."""

    op = "commitSync"
    ms: int = 0
    waits: tuple[Command, ...] = ()


@frozen(kw_only=True)
class CommitAsync(Command):
    """The application commits all its positions without waiting. When the commit has ended, the
    calls of a look have a `commitCallback`.
    """

    op = "commitAsync"


@frozen(kw_only=True)
class Unsubscribe(Command):
    """KafkaConsumer.unsubscribe."""

    op = "unsubscribe"


@frozen(kw_only=True)
class Subscribe(Command):
    """KafkaConsumer.subscribe."""

    op = "subscribe"
    topics: tuple[str, ...] = field(default=("t",), converter=texts, metadata={"always": True})


@frozen(kw_only=True)
class SetTopics(Command):
    """The cluster's topics become these; the member's next poll of the network shows them to it."""

    op = "topics"
    topics: Pairs = field(converter=pairs, metadata={"json": dict})


@frozen(kw_only=True)
class Leave(Command):
    """AbstractCoordinator.maybeLeaveGroup."""

    op = "leave"
    reason: str = "told"


@frozen(kw_only=True)
class Rejoin(Command):
    """KafkaConsumer.enforceRebalance."""

    op = "rejoin"
    reason: str = "told"


@frozen(kw_only=True)
class Close(Command):
    """KafkaConsumer.close with a time limit. Nothing but answers may follow."""

    op = "close"
    ms: int = 0
    waits: tuple[Command, ...] = ()
    # GroupMembershipOperation, from 4.1 on: DEFAULT, LEAVE_GROUP, REMAIN_IN_GROUP.
    how: str = "DEFAULT"


@frozen(kw_only=True)
class Callback(Command):
    """From now on the application does this in a rebalance callback."""

    op = "callback"
    # revoked, assigned or lost.
    on: str
    # Commands that are carried out during the callback: an `Advance` makes it take time, a `Beat`
    # is what the heartbeat thread does meanwhile.
    during: tuple[Command, ...] = ()
    # The callback ends with an exception.
    throws: bool = False


def as_json(command: Command) -> dict[str, Any]:
    """The command as the driver reads it."""
    given: dict[str, Any] = {"op": command.op}
    for attribute in fields(type(command)):
        value = getattr(command, attribute.name)
        if "always" in attribute.metadata or value != attribute.default:
            shape = attribute.metadata.get("json", lambda same: same)
            nested = attribute.name in ("waits", "during")
            given[json_name(attribute.name)] = (
                [as_json(inner) for inner in value] if nested else shape(value)
            )
    return given


def encoded(command: Command) -> str:
    """The command as JSON text."""
    return json.dumps(as_json(command), separators=(",", ":"))
