"""What clients are answered, by request. `error` is Kafka's code; members carry the
driver's names.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from attrs import frozen

from groupcheck.oracles.kafka import commands
from groupcheck.oracles.kafka.values import Offsets, Partitions, numbers_by_partition, partitions

Json = Mapping[str, Any]


@frozen
class Answer:
    """What every answer has. `exception`: the text of a failure, where the service gave one."""

    error: int
    exception: str = ""


@frozen
class Subscribed:
    """A member's subscription as another reads it. `raw`: metadata that are none of the consumer
    protocol's, then without the rest.
    """

    topics: tuple[str, ...] = ()
    owned: Partitions = frozenset()
    owned_generation: int = -1
    rack: str | None = None
    raw: str | None = None


@frozen
class Listed:
    """A member in the list that a leader gets."""

    member: str
    instance: str | None
    subscription: Subscribed


@frozen
class JoinAnswer(Answer):
    """JoinGroup: `members` for a leader only, in the order of the answer (a hash order)."""

    generation: int = -1
    type: str | None = None
    protocol: str | None = None
    leader: str = ""
    member: str = ""
    skip_assignment: bool = False
    members: tuple[Listed, ...] = ()


@frozen
class SyncAnswer(Answer):
    """SyncGroup: None where no assignment came; a text where it is none of the consumer
    protocol's.
    """

    type: str | None = None
    protocol: str | None = None
    assigned: Partitions | str | None = None


@frozen
class LeaveAnswer(Answer):
    """LeaveGroup: an error code for each member of the batch."""

    members: tuple[int, ...] = ()


@frozen
class PartitionsAnswer(Answer):
    """OffsetCommit, TxnOffsetCommit, OffsetDelete: `error` is the first that is not 0, `errors` has
    those of each partition.
    """

    errors: Offsets = ()


@frozen
class FetchAnswer(Answer):
    """OffsetFetch: an offset for each partition, -1 where none is known."""

    errors: Offsets = ()
    offsets: Offsets = ()


@frozen
class ConsumerAnswer(Answer):
    """ConsumerGroupHeartbeat: `assigned` is None where the answer leaves the assignment
    as it was.
    """

    member: str | None = None
    epoch: int = 0
    assigned: Partitions | str | None = None


@frozen
class DescribedMember:
    """A member in a description; `epoch` in a KIP-848 group only."""

    member: str
    instance: str | None = None
    epoch: int | None = None
    assigned: Partitions | str | None = None


@frozen
class DescribeAnswer(Answer):
    """DescribeGroups and ConsumerGroupDescribe."""

    state: str = ""
    type: str | None = None
    protocol: str | None = None
    epoch: int | None = None
    assignment_epoch: int | None = None
    assignor: str | None = None
    members: tuple[DescribedMember, ...] = ()


@frozen
class ListAnswer(Answer):
    """ListGroups: (group, state, kind) each."""

    groups: tuple[tuple[str, str, str], ...] = ()


def assigned(json: Any) -> Partitions | str | None:
    """An assignment as the driver shows it."""
    return partitions(json) if isinstance(json, dict) else json


def subscribed(json: Json) -> Subscribed:
    """A subscription as the driver shows it."""
    if "raw" in json:
        return Subscribed(raw=json["raw"])
    return Subscribed(
        tuple(json["topics"]), partitions(json["owned"]), json["ownedGeneration"], json.get("rack")
    )


def _join(a: Json) -> JoinAnswer:
    members = tuple(Listed(m["member"], m["instance"], subscribed(m)) for m in a["members"])
    return JoinAnswer(
        a["error"],
        "",
        a["generation"],
        a["type"],
        a["protocol"],
        a["leader"],
        a["member"],
        a["skipAssignment"],
        members,
    )


def _sync(a: Json) -> SyncAnswer:
    return SyncAnswer(a["error"], "", a["type"], a["protocol"], assigned(a["assigned"]))


def _partitions(a: Json) -> PartitionsAnswer:
    return PartitionsAnswer(a["error"], "", numbers_by_partition(a.get("errors", {})))


def _fetch(a: Json) -> FetchAnswer:
    return FetchAnswer(
        a["error"],
        "",
        numbers_by_partition(a.get("errors", {})),
        numbers_by_partition(a["offsets"]),
    )


def _consumer(a: Json) -> ConsumerAnswer:
    return ConsumerAnswer(
        a["error"], a.get("exception", ""), a["member"], a["epoch"], assigned(a["assigned"])
    )


def _describe(a: Json) -> DescribeAnswer:
    members = tuple(
        DescribedMember(m["member"], m.get("instance"), m.get("epoch"), assigned(m.get("assigned")))
        for m in a["members"]
    )
    epochs = (a.get("epoch"), a.get("assignmentEpoch"))
    return DescribeAnswer(
        a["error"],
        "",
        a["state"],
        a.get("type"),
        a.get("protocol"),
        *epochs,
        a.get("assignor"),
        members,
    )


def _list(a: Json) -> ListAnswer:
    return ListAnswer(
        a["error"], "", tuple(sorted((g["group"], g["state"], g["kind"]) for g in a["groups"]))
    )


_READ: dict[type[commands.Command], Callable[[Json], Answer]] = {
    commands.JoinGroup: _join,
    commands.SyncGroup: _sync,
    commands.LeaveGroup: lambda a: LeaveAnswer(a["error"], "", tuple(a["members"])),
    commands.OffsetCommit: _partitions,
    commands.TxnOffsetCommit: _partitions,
    commands.OffsetDelete: _partitions,
    commands.OffsetFetch: _fetch,
    commands.ConsumerGroupHeartbeat: _consumer,
    commands.DescribeGroups: _describe,
    commands.ConsumerGroupDescribe: _describe,
    commands.ListGroups: _list,
}

_FAILED: dict[type[commands.Command], type[Answer]] = {
    commands.JoinGroup: JoinAnswer,
    commands.SyncGroup: SyncAnswer,
    commands.LeaveGroup: LeaveAnswer,
    commands.OffsetCommit: PartitionsAnswer,
    commands.TxnOffsetCommit: PartitionsAnswer,
    commands.OffsetDelete: PartitionsAnswer,
    commands.OffsetFetch: FetchAnswer,
    commands.ConsumerGroupHeartbeat: ConsumerAnswer,
    commands.DescribeGroups: DescribeAnswer,
    commands.ConsumerGroupDescribe: DescribeAnswer,
    commands.ListGroups: ListAnswer,
}


def answer(to: commands.Command, json: Json) -> Answer:
    """The answer to a request. One that completed with an exception has the code that its client
    sees, and defaults for the rest.
    """
    kind = type(to)
    if len(json) == 3 and "exception" in json:
        return _FAILED.get(kind, Answer)(json["error"], json["exception"])
    read = _READ.get(kind)
    return read(json) if read else Answer(json["error"])
