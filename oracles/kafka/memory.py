"""What a broker remembers of one group, as plain values that can be compared: no UUID, no order
that hashing made.
"""

from __future__ import annotations

from typing import Any

from attrs import frozen

from groupcheck.oracles.kafka.answers import Json, Subscribed, assigned, subscribed
from groupcheck.oracles.kafka.values import Partitions, partitions

HOUSEKEEPING = frozenset({"expire-group-metadata", "group-size-counter"})


@frozen
class Timer:
    """An armed timer and the virtual time at which it is due."""

    key: str
    due_ms: int


@frozen
class Memory:
    """A broker's view. `coordinator`: ACTIVE, LOADING, FAILED, or ABSENT; `timers` are all that are
    armed, of every group, sorted by key.
    """

    coordinator: str
    timers: tuple[Timer, ...]

    @property
    def armed(self) -> frozenset[str]:
        """The keys of the timers that belong to a group or to an append, without the coordinator's
        housekeeping.
        """
        return frozenset(t.key for t in self.timers) - HOUSEKEEPING

    def due(self, key: str) -> int | None:
        """When that timer is due; None where it is not armed."""
        return next((t.due_ms for t in self.timers if t.key == key), None)


@frozen
class NoGroup(Memory):
    """There is no such group, or none of a kind that is looked into."""

    kind: str = "none"


@frozen
class ClassicMember:
    """`ClassicGroupMember`: awaiting_join and awaiting_sync tell who is parked; `new` while its
    first JoinGroup is.
    """

    member: str
    instance: str | None
    awaiting_join: bool
    awaiting_sync: bool
    new: bool
    session_timeout_ms: int
    rebalance_timeout_ms: int
    protocols: tuple[tuple[str, Subscribed], ...]
    assigned: Partitions | str | None


@frozen
class ClassicMemory(Memory):
    """`ClassicGroup`. Members are sorted by name; `instances` are the static ones, (instance,
    member).
    """

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
    instances: tuple[tuple[str, str], ...]
    members: tuple[ClassicMember, ...]

    def member(self, name: str) -> ClassicMember | None:
        """The member of that name."""
        return next((m for m in self.members if m.member == name), None)


@frozen
class ConsumerMember:
    """`ConsumerGroupMember` of KIP-848; `classic`: it speaks the classic protocol to a group that
    was converted.
    """

    member: str
    instance: str | None
    epoch: int
    previous_epoch: int
    state: str
    classic: bool
    rebalance_timeout_ms: int
    topics: tuple[str, ...]
    assigned: Partitions
    pending_revocation: Partitions


@frozen
class ConsumerMemory(Memory):
    """`ConsumerGroup` of KIP-848. `partition_epochs`: topic and the epoch of each partition's
    owner, -1 where it has none.
    """

    state: str
    epoch: int
    assignment_epoch: int
    members: tuple[ConsumerMember, ...]
    target: tuple[tuple[str, Partitions], ...]
    partition_epochs: tuple[tuple[str, tuple[int, ...]], ...]


def memory(json: Json) -> Memory:
    """A look's JSON as a value."""
    coordinator, kind = json["coordinator"], json["kind"]
    timers = tuple(Timer(key, due) for key, due in sorted(json["timers"].items()))
    if kind == "classic":
        return ClassicMemory(
            coordinator,
            timers,
            json["state"],
            json["previous"],
            json["generation"],
            json["leader"],
            json["type"],
            json["protocol"],
            json["newMemberAdded"],
            json["awaitingJoin"],
            tuple(json["pendingJoin"]),
            tuple(json["pendingSync"]),
            tuple(json["instances"].items()),
            tuple(map(_classic_member, json["members"])),
        )
    if kind == "consumer":
        return ConsumerMemory(
            coordinator,
            timers,
            json["state"],
            json["epoch"],
            json["assignmentEpoch"],
            tuple(map(_consumer_member, json["members"])),
            tuple(
                sorted((member, partitions(target)) for member, target in json["target"].items())
            ),
            tuple((topic, tuple(epochs)) for topic, epochs in json["partitionEpochs"].items()),
        )
    return NoGroup(coordinator, timers, kind)


def _classic_member(m: dict[str, Any]) -> ClassicMember:
    return ClassicMember(
        m["member"],
        m["instance"],
        m["awaitingJoin"],
        m["awaitingSync"],
        m["new"],
        m["sessionTimeoutMs"],
        m["rebalanceTimeoutMs"],
        tuple((p["name"], subscribed(p)) for p in m["protocols"]),
        assigned(m["assigned"]),
    )


def _consumer_member(m: dict[str, Any]) -> ConsumerMember:
    return ConsumerMember(
        m["member"],
        m["instance"],
        m["epoch"],
        m["previousEpoch"],
        m["state"],
        m["classic"],
        m["rebalanceTimeoutMs"],
        tuple(m["topics"]),
        partitions(m["assigned"]),
        partitions(m["pendingRevocation"]),
    )
