"""The memory that a broker has of one group, as plain values that can be compared: they hold no
UUIDs and no hash orders.
"""

from __future__ import annotations

from attrs import field, frozen

from groupcheck.oracles.kafka.answers import Subscription
from groupcheck.oracles.kafka.reading import Assigned, Json, read, written_as
from groupcheck.oracles.kafka.values import Assignments, Offsets, Partitions, assignments, pairs

Protocol = tuple[str, Subscription]
Pending = tuple[tuple[int, str, int, int, bool], ...]
SWEEP = "expire-group-metadata"  # the timer at which offsets expire
HOUSEKEEPING = frozenset({SWEEP, "group-size-counter"})


@frozen
class Timer:
    """An armed timer and the virtual time at which it is due."""

    key: str
    due_ms: int


@frozen
class Memory:
    """A broker's view."""

    # ACTIVE, LOADING, FAILED or ABSENT.
    coordinator: str
    # All timers that are armed, of every group, sorted by key.
    timers: tuple[Timer, ...]
    # The group's committed offsets.
    offsets: Offsets = field(default=(), kw_only=True)
    # The offsets of open transactions: producer, topic, partition, offset, and whether its record
    # stands behind that of the committed offset.
    pending: Pending = field(default=(), kw_only=True)
    # Background tasks that are held, and their results.
    tasks: int = field(default=0, kw_only=True)
    results: int = field(default=0, kw_only=True)

    @property
    def armed(self) -> frozenset[str]:
        """The keys of the timers that belong to a group or to an append, without the coordinator's
        housekeeping.
        """
        return frozenset(t.key for t in self.timers) - HOUSEKEEPING

    def due(self, key: str) -> int | None:
        """When that timer is due; None if it is not armed."""
        return next((t.due_ms for t in self.timers if t.key == key), None)


@frozen
class NoGroup(Memory):
    """There is no such group, or it is of a kind that the driver does not look into."""

    kind: str = "none"


@frozen
class ClassicMember:
    """Kafka's `ClassicGroupMember`."""

    member: str
    instance: str | None
    # Its JoinGroup or SyncGroup is parked.
    awaiting_join: bool
    awaiting_sync: bool
    # The numbers of the requests whose answers it waits for; None if there is none.
    join_request: int | None
    sync_request: int | None
    # Its first JoinGroup is parked.
    new: bool
    session_timeout_ms: int
    rebalance_timeout_ms: int
    protocols: tuple[Protocol, ...]
    assigned: Assigned


@frozen
class ClassicMemory(Memory):
    """Kafka's `ClassicGroup`."""

    state: str
    previous: str
    generation: int
    leader: str | None
    type: str | None
    protocol: str | None
    new_member_added: bool
    awaiting_join: int
    pending_join: tuple[str, ...]
    pending_sync: tuple[str, ...]
    # The static members: (instance, member).
    instances: tuple[tuple[str, str], ...]
    # Sorted by name.
    members: tuple[ClassicMember, ...]

    def member(self, name: str) -> ClassicMember | None:
        return next((m for m in self.members if m.member == name), None)


@frozen
class ConsumerMember:
    """Kafka's `ConsumerGroupMember` (KIP-848)."""

    member: str
    instance: str | None
    epoch: int
    previous_epoch: int
    state: str
    # It speaks the classic protocol, in a group that was converted.
    classic: bool
    rebalance_timeout_ms: int
    topics: tuple[str, ...]
    assigned: Partitions
    pending_revocation: Partitions
    rack: str | None = field(default=None, kw_only=True)
    regex: str | None = field(default=None, kw_only=True)
    # The server's assignor that it asks for.
    assignor: str | None = field(default=None, kw_only=True)
    # (topic, partition, epoch at which it was given the partition), from 4.3 on.
    assignment_epochs: Offsets = field(default=(), kw_only=True)


@frozen
class ResolvedRegex:
    """A regular expression of a group, and the topics that it means."""

    regex: str
    version: int
    timestamp_ms: int
    topics: tuple[str, ...]


@frozen
class ConsumerMemory(Memory):
    """Kafka's `ConsumerGroup` (KIP-848)."""

    state: str
    epoch: int
    assignment_epoch: int
    members: tuple[ConsumerMember, ...]
    target: Assignments
    # Topic and the epoch of each partition's owner, -1 if it has none.
    partition_epochs: tuple[tuple[str, tuple[int, ...]], ...]
    # HOMOGENEOUS or HETEROGENEOUS.
    subscription_type: str = field(default="", kw_only=True)
    # Of the topics that the group subscribes to, from 4.1 on.
    metadata_hash: int | None = field(default=None, kw_only=True)
    # When the target was computed, from 4.3 on.
    assignment_timestamp_ms: int | None = field(default=None, kw_only=True)
    # When the group looks at its topics again, and at which epoch that was decided.
    metadata_deadline_ms: int = field(default=0, kw_only=True)
    metadata_deadline_epoch: int = field(default=0, kw_only=True)
    regexes: tuple[ResolvedRegex, ...] = field(default=(), kw_only=True)
    # The version of the last metadata with topics that were created; of no single group.
    new_topics_version: int = field(default=-1, kw_only=True)


@frozen
class ShareMember:
    """Kafka's `ShareGroupMember` (KIP-932)."""

    member: str
    epoch: int
    previous_epoch: int
    topics: tuple[str, ...]
    assigned: Partitions


@frozen
class ShareMemory(Memory):
    """Kafka's `ShareGroup` (KIP-932), and what the coordinator knows of its partitions."""

    state: str
    epoch: int
    assignment_epoch: int
    members: tuple[ShareMember, ...]
    target: Assignments
    # The persister is asked to initialize these; has done so; has not answered yet.
    initializing: Partitions
    initialized: Partitions
    asked: Partitions
    # When the target was computed, from 4.3 on.
    assignment_timestamp_ms: int | None = field(default=None, kw_only=True)


Homes = tuple[tuple[int, tuple[str, ...]], ...]
"""The number of a task, and the processes that have it."""


@frozen
class StreamsMember:
    """Kafka's `StreamsGroupMember` (KIP-1071). Tasks are ("active", 0), ("standby", 1)."""

    member: str
    epoch: int
    previous_epoch: int
    state: str
    process: str
    topology_epoch: int
    assigned: Partitions
    pending_revocation: Partitions


@frozen
class StreamsMemory(Memory):
    """Kafka's `StreamsGroup` (KIP-1071), whose topology has one subtopology."""

    state: str
    epoch: int
    assignment_epoch: int
    members: tuple[StreamsMember, ...]
    target: Assignments
    # The epoch of the topology that was found valid last; -1: its topics were not.
    validated_topology_epoch: int
    # The topology is configured in memory, by topics.
    configured: bool
    # Some member has asked that the application stops.
    shutdown: bool
    active_processes: Homes
    standby_processes: Homes
    topology_epoch: int | None = field(default=None, kw_only=True)
    # When the target was computed, from 4.3 on.
    assignment_timestamp_ms: int | None = field(default=None, kw_only=True)


written_as(
    Homes, lambda json: tuple(sorted((int(number), tuple(at)) for number, at in json.items()))
)
written_as(
    tuple[Timer, ...], lambda json: tuple(Timer(key, due) for key, due in sorted(json.items()))
)
written_as(Pending, lambda json: tuple(map(tuple, json)))
written_as(
    tuple[Protocol, ...], lambda json: tuple((p["name"], read(p, Subscription)) for p in json)
)
written_as(tuple[tuple[str, str], ...], pairs)
written_as(
    tuple[tuple[str, tuple[int, ...]], ...],
    lambda json: tuple((topic, tuple(epochs)) for topic, epochs in json.items()),
)
written_as(Assignments, assignments)
_MEMORIES: dict[str, type[Memory]] = {
    "classic": ClassicMemory,
    "consumer": ConsumerMemory,
    "share": ShareMemory,
    "streams": StreamsMemory,
}


def memory(json: Json) -> Memory:
    """The memory that the driver found when it looked."""
    return read(json, _MEMORIES.get(json["kind"], NoGroup))
