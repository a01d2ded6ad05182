"""The answers to clients' requests. `error` is Kafka's code; members have the driver's names."""

from __future__ import annotations

from attrs import frozen

from groupcheck.oracles.kafka import commands
from groupcheck.oracles.kafka.reading import Assigned, Json, read, written_as
from groupcheck.oracles.kafka.values import Offsets, Partitions

Group = tuple[str, str, str]
Codes = tuple[tuple[str, int], ...]


@frozen
class Answer:
    """The fields that every answer has."""

    error: int
    # The text of the exception with which the request failed; empty if the service answered it.
    exception: str = ""


@frozen
class Subscription:
    """A member's subscription, as the leader and the log read it."""

    topics: tuple[str, ...] = ()
    owned: Partitions = frozenset()
    owned_generation: int = -1
    # In hexadecimal digits; None: there is none.
    user_data: str | None = None
    rack: str | None = None
    # Metadata that are not of the consumer protocol; the other fields then have their defaults.
    raw: str | None = None


@frozen
class ListedMember:
    """A member in the list that the leader is given."""

    member: str
    instance: str | None
    subscription: Subscription


@frozen
class JoinAnswer(Answer):
    generation: int = -1
    type: str | None = None
    protocol: str | None = None
    leader: str = ""
    member: str = ""
    skip_assignment: bool = False
    # For the leader only, in the order of the answer (a hash order).
    members: tuple[ListedMember, ...] = ()


@frozen
class SyncAnswer(Answer):
    type: str | None = None
    protocol: str | None = None
    assigned: Assigned = None


@frozen
class LeaveAnswer(Answer):
    # An error code for each member of the batch.
    members: tuple[int, ...] = ()


@frozen
class PartitionsAnswer(Answer):
    """OffsetCommit, TxnOffsetCommit, OffsetDelete; `error` is the first one that is not 0."""

    # The error code of each partition.
    errors: Offsets = ()


@frozen
class FetchAnswer(Answer):
    # The error code of each partition that has one.
    errors: Offsets = ()
    # The offset of each partition, -1 if none is known.
    offsets: Offsets = ()


@frozen
class ConsumerAnswer(Answer):
    member: str | None = None
    epoch: int = 0
    # None: the answer leaves the assignment as it was.
    assigned: Assigned = None


Numbers = tuple[int, ...]


@frozen
class StreamsAnswer(ConsumerAnswer):
    """Tasks are ("active", 0), ("standby", 1)."""

    # The codes of the statuses, sorted.
    statuses: Numbers = ()
    # The internal topics that the broker has to create.
    creates: tuple[str, ...] = ()


@frozen
class DescribedMember:
    member: str
    instance: str | None = None
    # Of a KIP-848 group only.
    epoch: int | None = None
    assigned: Assigned = None


@frozen
class DescribeAnswer(Answer):
    """DescribeGroups and ConsumerGroupDescribe, of the first group that is asked for."""

    # DescribeGroups: the error code of each group.
    codes: Codes = ()
    state: str = ""
    type: str | None = None
    protocol: str | None = None
    epoch: int | None = None
    assignment_epoch: int | None = None
    assignor: str | None = None
    members: tuple[DescribedMember, ...] = ()


@frozen
class DeleteAnswer(Answer):
    # The error code of each group; `error` is that of the request's own.
    codes: Codes = ()


@frozen
class PartitionAnswer(Answer):
    partition: int = -1


@frozen
class ListAnswer(Answer):
    # (group, state, kind) of each, sorted.
    groups: tuple[Group, ...] = ()


written_as(
    tuple[Group, ...],
    lambda json: tuple(sorted((g["group"], g["state"], g["kind"]) for g in json)),
)
written_as(Numbers, tuple)
written_as(Codes, lambda json: tuple(sorted(json.items())))
_ANSWERS: dict[type[commands.Command], type[Answer]] = {
    commands.JoinGroup: JoinAnswer,
    commands.SyncGroup: SyncAnswer,
    commands.LeaveGroup: LeaveAnswer,
    commands.OffsetCommit: PartitionsAnswer,
    commands.TxnOffsetCommit: PartitionsAnswer,
    commands.OffsetDelete: PartitionsAnswer,
    commands.OffsetFetch: FetchAnswer,
    commands.ConsumerGroupHeartbeat: ConsumerAnswer,
    commands.ShareGroupHeartbeat: ConsumerAnswer,
    commands.StreamsGroupHeartbeat: StreamsAnswer,
    commands.DescribeGroups: DescribeAnswer,
    commands.ConsumerGroupDescribe: DescribeAnswer,
    commands.ListGroups: ListAnswer,
    commands.PartitionFor: PartitionAnswer,
    commands.DeleteGroups: DeleteAnswer,
}


def answer(to: commands.Command, json: Json) -> Answer:
    """The answer to a request. One that failed with an exception has the code that the client sees,
    and defaults for the rest.
    """
    return read(json, _ANSWERS.get(type(to), Answer))
