"""The commands of the driver: clients' requests, under Kafka's names of their APIs, and changes of
the world around the coordinator.

Members are called m1, m2, ... in the order in which the coordinator hands ids out, whatever their
UUIDs are; any other name is an id that the client made up. Requests are numbered by their place in
the schedule, from 1. Fields that have their default are not sent.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from functools import lru_cache
from typing import Any

from attrs import Attribute, field, fields, frozen
from attrs.converters import optional

from groupcheck.oracles.kafka.reading import json_name
from groupcheck.oracles.kafka.values import (
    Assignments,
    Offsets,
    Pairs,
    Partitions,
    assignments,
    by_topic,
    offsets,
    offsets_by_topic,
    pairs,
    partitions,
    texts,
)

_PARTITIONS = {"json": by_topic}
_ALWAYS_PARTITIONS = {"json": by_topic, "always": True}
_ASSIGNMENTS = {"json": lambda given: {member: by_topic(assigned) for member, assigned in given}}
_OFFSETS = {"json": offsets_by_topic, "always": True}
_MAPPING = {"json": dict}


@frozen(kw_only=True, cache_hash=True)
class Command:
    """One line to the driver."""

    # The number of the broker that gets it, for a zombie; None: the leader.
    broker: int | None = None


@frozen(kw_only=True, cache_hash=True)
class Request(Command):
    """A client's request. It is answered in this command, in a later one, or never."""

    group: str = "g"
    client: str = "c"
    # The version of the API; None: the newest one whose meaning differs from the one before.
    version: int | None = None


@frozen(kw_only=True, cache_hash=True)
class JoinGroup(Request):
    """Classic JoinGroup, up to version 9. Below version 4 a new member is parked at once; from then
    on it is first given an id, with error 79.
    """

    member: str = ""
    instance: str | None = None
    session_timeout_ms: int = 10_000
    rebalance_timeout_ms: int = 30_000
    type: str = "consumer"
    protocols: tuple[str, ...] = field(default=("range",), converter=texts)
    topics: tuple[str, ...] = field(default=("t",), converter=texts)
    owned: Partitions = field(default=frozenset(), converter=partitions, metadata=_PARTITIONS)
    owned_generation: int = -1
    user_data: str | None = None
    rack: str | None = None
    # Protocol: metadata to send in place of a subscription.
    raw: Pairs = field(default=(), converter=pairs, metadata=_MAPPING)
    reason: str | None = None


@frozen(kw_only=True, cache_hash=True)
class SyncGroup(Request):
    """Classic SyncGroup; only a leader's assignments count."""

    member: str
    generation: int
    instance: str | None = None
    type: str | None = None
    protocol: str | None = None
    assignments: Assignments = field(default=(), converter=assignments, metadata=_ASSIGNMENTS)


@frozen(kw_only=True, cache_hash=True)
class Heartbeat(Request):
    member: str
    generation: int
    instance: str | None = None


@frozen
class Leaving:
    """One member in a LeaveGroup of several."""

    member: str = ""
    instance: str | None = None
    reason: str | None = None


def _numbers(given: Iterable[int]) -> tuple[int, ...]:
    return tuple(given)


def _batch(given: Iterable[Leaving]) -> tuple[Leaving, ...]:
    return tuple(given)


@frozen(kw_only=True, cache_hash=True)
class LeaveGroup(Request):
    """Classic LeaveGroup, of one member or of the batch in `members`."""

    member: str = ""
    instance: str | None = None
    reason: str | None = None
    members: tuple[Leaving, ...] = field(
        default=(),
        converter=_batch,
        metadata={
            "json": lambda given: [
                {"member": m.member, "instance": m.instance, "reason": m.reason} for m in given
            ]
        },
    )


@frozen(kw_only=True, cache_hash=True)
class DescribeGroups(Request):
    """Classic DescribeGroups of the one group, or of those in `groups`."""

    groups: tuple[str, ...] = field(default=(), converter=texts)


@frozen(kw_only=True, cache_hash=True)
class ListGroups(Request):
    """The groups in these states and of these types; none given: of all."""

    states: tuple[str, ...] = field(default=(), converter=texts)
    types: tuple[str, ...] = field(default=(), converter=texts)


@frozen(kw_only=True, cache_hash=True)
class DeleteGroups(Request):
    """DeleteGroups of the one group, or of those in `groups`."""

    groups: tuple[str, ...] = field(default=(), converter=texts)


@frozen(kw_only=True, cache_hash=True)
class OffsetCommit(Request):
    member: str = ""
    # In a KIP-848 group the member epoch; -1 for a commit from outside any group.
    generation: int = -1
    instance: str | None = None
    offsets: Offsets = field(default=(("t", 0, 1),), converter=offsets, metadata=_OFFSETS)
    metadata: str | None = ""
    # How long the offsets are kept (up to version 4); -1: as long as the broker is told to.
    retention_ms: int = -1
    # Topic: the topic whose id is sent in place of its own; "" for no id (up to version 9).
    topic_ids: Pairs = field(default=(), converter=pairs, metadata=_MAPPING)


@frozen(kw_only=True, cache_hash=True)
class TxnOffsetCommit(Request):
    """Offsets that count once the producer's transaction is committed."""

    member: str = ""
    generation: int = -1
    instance: str | None = None
    producer: int = 1
    offsets: Offsets = field(default=(("t", 0, 1),), converter=offsets, metadata=_OFFSETS)
    metadata: str | None = ""


@frozen(kw_only=True, cache_hash=True)
class EndTxn(Request):
    """The marker that ends the producer's transaction in the offsets partition."""

    producer: int = 1
    commit: bool = True


@frozen(kw_only=True, cache_hash=True)
class OffsetFetch(Request):
    member: str | None = None
    generation: int = -1
    # None: all partitions of which an offset is known.
    topics: Partitions | None = field(
        default=frozenset({("t", 0)}), converter=optional(partitions), metadata=_ALWAYS_PARTITIONS
    )
    # Wait for transactions and appends in flight (requireStable).
    stable: bool = True
    # As in OffsetCommit.
    topic_ids: Pairs = field(default=(), converter=pairs, metadata=_MAPPING)


@frozen(kw_only=True, cache_hash=True)
class OffsetDelete(Request):
    """OffsetDelete of the group's offsets for these partitions."""

    topics: Partitions = field(
        default=frozenset({("t", 0)}), converter=partitions, metadata=_ALWAYS_PARTITIONS
    )


@frozen(kw_only=True, cache_hash=True)
class ConsumerGroupHeartbeat(Request):
    """KIP-848's heartbeat. None means "unchanged since the last one"; an empty value does not."""

    member: str
    # 0 joins, -1 leaves, -2 leaves for a while.
    epoch: int
    instance: str | None = None
    rebalance_timeout_ms: int = -1
    topics: tuple[str, ...] | None = None
    regex: str | None = None
    assignor: str | None = None
    owned: Partitions | None = field(
        default=None, converter=optional(partitions), metadata=_PARTITIONS
    )
    rack: str | None = None


@frozen(kw_only=True, cache_hash=True)
class ConsumerGroupDescribe(Request):
    """KIP-848's description of the one group."""


@frozen(kw_only=True, cache_hash=True)
class ShareGroupHeartbeat(Request):
    """KIP-932's heartbeat. None means "unchanged since the last one"."""

    member: str
    # 0 joins, -1 leaves.
    epoch: int
    topics: tuple[str, ...] | None = None


@frozen(kw_only=True, cache_hash=True)
class StreamsGroupHeartbeat(Request):
    """KIP-1071's heartbeat, of a topology with one subtopology. None means "unchanged since the
    last one". Tasks are {"active": [0], "standby": [1]}.
    """

    member: str
    # 0 joins, -1 leaves.
    epoch: int
    process: str | None = None
    rebalance_timeout_ms: int = -1
    # The epoch of the topology, with its source topics and the changelog topics of its stores.
    topology: int | None = None
    sources: tuple[str, ...] = field(default=(), converter=texts)
    changelogs: tuple[str, ...] = field(default=(), converter=texts)
    owned: Partitions | None = field(
        default=None, converter=optional(partitions), metadata=_PARTITIONS
    )
    # The whole application is to stop.
    shutdown: bool = False


@frozen(kw_only=True, cache_hash=True)
class PartitionFor(Request):
    """Asks Kafka's own function for the partition of __consumer_offsets that has the group; no
    request of the protocol does.
    """

    partitions: int = 50


@frozen(kw_only=True, cache_hash=True)
class Reset(Command):
    """Everything is forgotten: a new broker leads an empty log."""

    # Name: number of partitions.
    topics: Pairs = field(default=(("t", 2),), converter=pairs, metadata=_MAPPING)
    # Broker option: value. Session timeouts have no bounds by default.
    config: Pairs = field(default=(), converter=pairs, metadata=_MAPPING)
    # Varies the ids and with them every hash order.
    seed: int = 0
    now: int = 1_000_000
    auto_commit: bool = True


@frozen(kw_only=True, cache_hash=True)
class Advance(Command):
    """Time passes. Each timer that comes due meanwhile runs at its own time."""

    ms: int


@frozen(kw_only=True, cache_hash=True)
class Fire(Command):
    """One armed timer runs now, whatever its deadline, and time stands still. Refused if no such
    timer is armed.
    """

    # The coordinator's own key (join-g, sync-g, heartbeat-g-m1, session-timeout-g-m1, ...), or
    # append-7: the timeout of the write that command 7 began and that waits for replication.
    timer: str
    # It runs so much later, and then it is as early as before.
    later_ms: int = 0


@frozen(kw_only=True, cache_hash=True)
class SetTopics(Command):
    """Topics are created, expanded and deleted until they are these."""

    topics: Pairs = field(converter=pairs, metadata=_MAPPING)


@frozen(kw_only=True, cache_hash=True)
class AutoCommit(Command):
    """On: every append is replicated at once. Off: appends wait for `CommitAppends` or time out."""

    on: bool = field(metadata={"always": True})


@frozen(kw_only=True, cache_hash=True)
class CommitAppends(Command):
    """The high watermark moves up."""

    # An offset; None: the end of the log.
    to: int | None = None


@frozen(kw_only=True, cache_hash=True)
class FailAppends(Command):
    """The next appends throw this error of `org.apache.kafka.common.protocol.Errors`."""

    error: str = "NOT_ENOUGH_REPLICAS"
    times: int = 1


@frozen(kw_only=True, cache_hash=True)
class AnswerPersister(Command):
    """The persister of share groups answers all requests to initialize partitions that wait."""

    well: bool = True


@frozen(kw_only=True, cache_hash=True)
class Compact(Command):
    """The log cleaner removes the records at these offsets. Whether it may is the caller's
    business.
    """

    drop: tuple[int, ...] = field(default=(), converter=_numbers)


@frozen(kw_only=True, cache_hash=True)
class Unload(Command):
    """The broker resigns from the offsets partition."""


@frozen(kw_only=True, cache_hash=True)
class ShutDown(Command):
    """The broker begins to shut down: its coordinator serves nothing any more."""


@frozen(kw_only=True, cache_hash=True)
class Load(Command):
    """The broker is elected again."""

    # It keeps loading until `FinishLoad`.
    hold: bool = False


@frozen(kw_only=True, cache_hash=True)
class FinishLoad(Command):
    """The load that was held back ends."""


@frozen(kw_only=True, cache_hash=True)
class FailOver(Command):
    """Another broker takes over."""

    # The records that it has: committed, all, or a number of them.
    keep: str = "committed"
    # The old broker goes on answering, as broker 0.
    zombie: bool = False
    hold: bool = False
    config: Pairs = field(default=(), converter=pairs, metadata=_MAPPING)


@frozen(kw_only=True, cache_hash=True)
class Look(Command):
    """A look at what the broker remembers of the group."""

    group: str = "g"


@frozen(kw_only=True, cache_hash=True)
class LookAfterReload(Command):
    """A look at what another broker would remember of the group if it took over now with the
    records that `keep` names. Nothing changes.
    """

    group: str = "g"
    keep: str = "committed"


@frozen(kw_only=True, cache_hash=True)
class ReadLog(Command):
    """The log's records from an offset on."""

    since: int = 0


def _sent(command: Command, attribute: Attribute[Any]) -> bool:
    return "always" in attribute.metadata or getattr(command, attribute.name) != attribute.default


@lru_cache(maxsize=1 << 16)
def encoded(command: Command) -> str:
    """The command as JSON."""
    given: dict[str, Any] = {"op": type(command).__name__}
    for attribute in fields(type(command)):
        if _sent(command, attribute):
            value = getattr(command, attribute.name)
            shape = attribute.metadata.get("json")
            given[json_name(attribute.name)] = (
                value if shape is None or value is None else shape(value)
            )
    return json.dumps(given, separators=(",", ":"))
