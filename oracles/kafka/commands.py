"""What the driver can be told: clients' requests, under Kafka's names of their APIs, and moves of
the world around the coordinator.

Members are named as the coordinator hands ids out: m1, m2, ... in that order, whatever their UUIDs
are; any other name is an id that the client made up. Requests are numbered by their place in the
schedule, from 1. Fields that keep their default are not sent.
"""

from __future__ import annotations

import json
from functools import lru_cache
from typing import Any

from attrs import Attribute, field, fields, frozen

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
    partitions_or_none,
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

    broker: int | None = (
        None  # the broker that gets it; the leader where absent, a zombie by its number
    )


@frozen(kw_only=True, cache_hash=True)
class Request(Command):
    """A client's request. It is answered in this command, in a later one, or never."""

    group: str = "g"
    client: str = "c"
    version: int | None = (
        None  # of the API; where absent, the newest whose meaning differs from the one before
    )


@frozen(kw_only=True, cache_hash=True)
class JoinGroup(Request):
    """Classic JoinGroup (up to v9; below v4 a new member is parked at once instead of getting an id
    with error 79).
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
    raw: Pairs = field(
        default=(), converter=pairs, metadata=_MAPPING
    )  # protocol: metadata to send in place of a subscription
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
    """Classic Heartbeat."""

    member: str
    generation: int
    instance: str | None = None


@frozen
class Leaving:
    """One member in a LeaveGroup of several."""

    member: str = ""
    instance: str | None = None


@frozen(kw_only=True, cache_hash=True)
class LeaveGroup(Request):
    """Classic LeaveGroup, of one member or of the batch in `members`."""

    member: str = ""
    instance: str | None = None
    members: tuple[Leaving, ...] = field(
        default=(),
        converter=tuple,
        metadata={
            "json": lambda given: [{"member": m.member, "instance": m.instance} for m in given]
        },
    )


@frozen(kw_only=True, cache_hash=True)
class DescribeGroups(Request):
    """Classic DescribeGroups of the one group."""


@frozen(kw_only=True, cache_hash=True)
class ListGroups(Request):
    """All groups."""


@frozen(kw_only=True, cache_hash=True)
class DeleteGroups(Request):
    """DeleteGroups of the one group."""


@frozen(kw_only=True, cache_hash=True)
class OffsetCommit(Request):
    """OffsetCommit; `generation` is the member epoch in a KIP-848 group, -1 from
    outside any group.
    """

    member: str = ""
    generation: int = -1
    instance: str | None = None
    offsets: Offsets = field(default=(("t", 0, 1),), converter=offsets, metadata=_OFFSETS)


@frozen(kw_only=True, cache_hash=True)
class TxnOffsetCommit(Request):
    """Offsets that count once the producer's transaction is committed."""

    member: str = ""
    generation: int = -1
    instance: str | None = None
    producer: int = 1
    offsets: Offsets = field(default=(("t", 0, 1),), converter=offsets, metadata=_OFFSETS)


@frozen(kw_only=True, cache_hash=True)
class EndTxn(Request):
    """The marker that ends the producer's transaction in the offsets partition."""

    producer: int = 1
    commit: bool = True


@frozen(kw_only=True, cache_hash=True)
class OffsetFetch(Request):
    """OffsetFetch; `stable`: wait for transactions and appends in flight (requireStable)."""

    member: str | None = None
    generation: int = -1
    topics: Partitions = field(
        default=frozenset({("t", 0)}), converter=partitions, metadata=_ALWAYS_PARTITIONS
    )
    stable: bool = True


@frozen(kw_only=True, cache_hash=True)
class OffsetDelete(Request):
    """OffsetDelete of the group's offsets for these partitions."""

    topics: Partitions = field(
        default=frozenset({("t", 0)}), converter=partitions, metadata=_ALWAYS_PARTITIONS
    )


@frozen(kw_only=True, cache_hash=True)
class ConsumerGroupHeartbeat(Request):
    """KIP-848's heartbeat; None is "unchanged since the last one", which an empty value is not.
    Epoch 0 joins, -1 leaves, -2 leaves for a while.
    """

    member: str
    epoch: int
    instance: str | None = None
    rebalance_timeout_ms: int = -1
    topics: tuple[str, ...] | None = None
    regex: str | None = None
    assignor: str | None = None
    owned: Partitions | None = field(
        default=None, converter=partitions_or_none, metadata=_PARTITIONS
    )
    rack: str | None = None


@frozen(kw_only=True, cache_hash=True)
class ConsumerGroupDescribe(Request):
    """KIP-848's description of the one group."""


@frozen(kw_only=True, cache_hash=True)
class Reset(Command):
    """Forgets everything: a new broker leads an empty log. `seed` varies the ids and with them
    every hash order.
    """

    topics: Pairs = field(
        default=(("t", 2),), converter=pairs, metadata=_MAPPING
    )  # name: number of partitions
    config: Pairs = field(
        default=(), converter=pairs, metadata=_MAPPING
    )  # broker option: value; session timeouts are unbounded unless told
    seed: int = 0
    now: int = 1_000_000
    auto_commit: bool = True


@frozen(kw_only=True, cache_hash=True)
class Advance(Command):
    """Time passes; what comes due runs at its own time, in order."""

    ms: int


@frozen(kw_only=True, cache_hash=True)
class Fire(Command):
    """One armed timer runs now, whatever its deadline, and time stands still.

    Keys are the coordinator's own (join-g, sync-g, heartbeat-g-m1, session-timeout-g-m1, ...);
    append-7 is the time-out of the write that command 7 began and that waits for replication.
    Refused where no such timer is armed.
    """

    timer: str


@frozen(kw_only=True, cache_hash=True)
class SetTopics(Command):
    """Topics are created, expanded and deleted until they are these."""

    topics: Pairs = field(converter=pairs, metadata=_MAPPING)


@frozen(kw_only=True, cache_hash=True)
class AutoCommit(Command):
    """On: every append is replicated at once. Off: what was appended waits for `CommitAppends`, or
    times out.
    """

    on: bool = field(metadata={"always": True})


@frozen(kw_only=True, cache_hash=True)
class CommitAppends(Command):
    """The high watermark moves up, to the end of the log or to `to`."""

    to: int | None = None


@frozen(kw_only=True, cache_hash=True)
class FailAppends(Command):
    """The next appends throw this error of `org.apache.kafka.common.protocol.Errors`."""

    error: str = "NOT_ENOUGH_REPLICAS"
    times: int = 1


@frozen(kw_only=True, cache_hash=True)
class Unload(Command):
    """The broker resigns from the offsets partition."""


@frozen(kw_only=True, cache_hash=True)
class Load(Command):
    """The broker is elected again; `hold`: it goes on loading until `FinishLoad`."""

    hold: bool = False


@frozen(kw_only=True, cache_hash=True)
class FinishLoad(Command):
    """The load that was held back ends."""


@frozen(kw_only=True, cache_hash=True)
class FailOver(Command):
    """Another broker takes over with the records that it has: committed, all, or a number; a zombie
    stays reachable as broker 0.
    """

    keep: str = "committed"
    zombie: bool = False
    hold: bool = False
    config: Pairs = field(default=(), converter=pairs, metadata=_MAPPING)


@frozen(kw_only=True, cache_hash=True)
class Look(Command):
    """What the broker remembers of the group."""

    group: str = "g"


@frozen(kw_only=True, cache_hash=True)
class LookAfterReload(Command):
    """What another broker would remember of the group if it took over now with the records kept;
    nothing changes.
    """

    group: str = "g"
    keep: str = "committed"


@frozen(kw_only=True, cache_hash=True)
class ReadLog(Command):
    """The log's records from an offset on."""

    since: int = 0


def _key(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)


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
            given[_key(attribute.name)] = value if shape is None or value is None else shape(value)
    return json.dumps(given, separators=(",", ":"))
