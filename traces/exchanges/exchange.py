"""Requests of the group APIs with their answers, as the broker's request log tells them.

An exchange is one request and its answer. The coordinator handled it between `began` and `given`; a
parked request, shortly after `began`. Field names follow the message schemas of Kafka.
"""

from __future__ import annotations

from attrs import frozen

FROM_OUTSIDE = -1
"""Kafka's generation of a commit that does not come from a member."""


@frozen(kw_only=True)
class Exchange:
    """The fields of every exchange. Times are ms since 1970 by the broker's clock."""

    line: int
    api: str
    # The version of the API.
    version: int
    client: str
    connection: str
    correlation: int
    # The request was read from its connection.
    arrived: float
    # The broker began to handle it.
    began: float
    # The broker gave the answer to the connection.
    given: float
    # The answer had been sent; this is the time of the line.
    answered: int
    group: str
    # The error code of the answer; None if it has none.
    code: int | None = None
    member: str = ""
    instance: str | None = None
    # How many characters its line has.
    size: int = 0


@frozen(kw_only=True)
class JoinExchange(Exchange):
    """JoinGroup."""

    session_ms: int
    rebalance_ms: int
    protocol_type: str
    # (name, subscription bytes), in order of preference.
    protocols: tuple[tuple[str, bytes], ...]
    reason: str | None = None
    # From here on: the answer.
    to_generation: int = FROM_OUTSIDE
    # The protocol that the coordinator chose.
    chosen: str | None = None
    leader: str = ""
    # The member's id.
    response_member: str = ""
    # For the leader: (id, subscription bytes) of each member.
    members: tuple[tuple[str, bytes], ...] = ()
    # Those of them that are static: (id, instance id).
    static: tuple[tuple[str, str], ...] = ()
    # The leader need not assign anything (KIP-814); None before version 9.
    skips: bool | None = None


@frozen(kw_only=True)
class SyncExchange(Exchange):
    """SyncGroup."""

    generation: int
    # The leader's assignment: (member id, bytes).
    assignments: tuple[tuple[str, bytes], ...] = ()
    # The member's assignment in the answer.
    share: bytes = b""


@frozen(kw_only=True)
class HeartbeatExchange(Exchange):
    generation: int


@frozen(kw_only=True)
class Leaver:
    """One member of a LeaveGroup request with its own error code."""

    member: str
    instance: str | None
    reason: str | None
    code: int | None


@frozen(kw_only=True)
class LeaveExchange(Exchange):
    leavers: tuple[Leaver, ...]


@frozen(kw_only=True)
class CommitExchange(Exchange):
    """OffsetCommit."""

    generation: int
    # (topic or its id, partition, offset, error code or None).
    offsets: tuple[tuple[str, int, int, int | None], ...]


@frozen(kw_only=True)
class FetchExchange(Exchange):
    """OffsetFetch of one group."""

    # (topic or its id, partition, committed offset).
    offsets: tuple[tuple[str, int, int], ...]
    partition_codes: tuple[int, ...] = ()


@frozen(kw_only=True)
class EpochExchange(Exchange):
    """A heartbeat of another protocol."""

    # consumer (KIP-848), share (KIP-932) or streams (KIP-1071).
    protocol: str
    epoch: int
    to_epoch: int | None = None
    # The partitions that the member says it has; None if it says nothing.
    owned: frozenset[str] | None = None
    # Its assignment in the answer; None if the answer repeats none.
    assigned: frozenset[str] | None = None
    # The interval for heartbeats in the answer, in ms; 0 if it has none.
    interval_ms: int = 0
