"""Requests of the group APIs with their answers, as the coordinator's own log tells them.

An exchange is one request and what was answered. Times are milliseconds since 1970 of the broker's
clock: `arrived`, when the request was read from its connection; `began`, when the broker took it
up; `given`, when it gave the answer to the connection; `answered`, the time of the line, when the
answer had been sent. The coordinator handled it some time between `began` and `given`: a parked
request near the beginning. Field names follow the message schemas of Kafka.
"""

from __future__ import annotations

from attrs import frozen

FROM_OUTSIDE = -1
"""Kafka's generation of a commit that does not come from a member."""


@frozen(kw_only=True)
class Exchange:
    """`code`: the error code of the answer, None where the answer has none. `version`: of the API.
    `size`: characters of its line.
    """

    line: int
    api: str
    version: int
    client: str
    connection: str
    correlation: int
    arrived: float
    began: float
    given: float
    answered: int
    group: str
    code: int | None = None
    member: str = ""
    instance: str | None = None
    size: int = 0


@frozen(kw_only=True)
class JoinExchange(Exchange):
    """`protocols`: (name, subscription bytes) in order of preference.

    Of the answer: `to_generation`, the `chosen` protocol, the `leader`, `told` (the member's id),
    and for the leader `members`, (id, subscription bytes).
    """

    session_ms: int
    rebalance_ms: int
    protocol_type: str
    protocols: tuple[tuple[str, bytes], ...]
    reason: str | None = None
    to_generation: int = FROM_OUTSIDE
    chosen: str | None = None
    leader: str = ""
    told: str = ""
    members: tuple[tuple[str, bytes], ...] = ()
    static_members: bool = False


@frozen(kw_only=True)
class SyncExchange(Exchange):
    """`assignments`: the leader's plan, (member id, bytes); `share`: the bytes of the answer."""

    generation: int
    assignments: tuple[tuple[str, bytes], ...] = ()
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
    """`offsets`: (topic or its id, partition, offset, error code or None)."""

    generation: int
    offsets: tuple[tuple[str, int, int, int | None], ...]


@frozen(kw_only=True)
class FetchExchange(Exchange):
    """OffsetFetch, of one group. `offsets`: (topic or its id, partition, committed offset)."""

    offsets: tuple[tuple[str, int, int], ...]
    partition_codes: tuple[int, ...] = ()


@frozen(kw_only=True)
class EpochExchange(Exchange):
    """A heartbeat of another protocol: `protocol` is consumer (KIP-848), share (KIP-932) or streams
    (KIP-1071).
    """

    protocol: str
    epoch: int
    to_epoch: int | None = None
