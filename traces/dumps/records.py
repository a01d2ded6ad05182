"""The records of `__consumer_offsets`, whatever tool printed them.

Source: the message definitions of Kafka's group coordinator (OffsetCommitValue.json,
GroupMetadataValue.json, ConsumerGroupCurrentMemberAssignmentValue.json and so on).
"""

from __future__ import annotations

from attrs import frozen

Partitions = frozenset[str]
"""Names such as `orders-3`; with the topic's id in place of its name in records of KIP-848 groups.
"""


@frozen(kw_only=True)
class Record:
    """The fields of every record."""

    line: int
    # Milliseconds since 1970; None if the tool does not print it.
    time: int | None
    group: str
    # Where the record stands in its partition; None if the tool does not print it.
    at: int | None = None


@frozen(kw_only=True)
class Commit(Record):
    """The committed offset of a partition."""

    topic: str
    number: int
    # None: the offset was removed.
    offset: int | None
    topic_id: str = ""

    @property
    def partition(self) -> str:
        return f"{self.topic}-{self.number}"


@frozen
class StoredMember:
    id: str
    instance: str | None = None
    # Milliseconds; 0 if the record does not have them.
    session_ms: int = 0
    rebalance_ms: int = 0
    # None if the record does not tell what it was given.
    partitions: Partitions | None = None
    # The topics to which it subscribes; None if the record does not tell them.
    topics: frozenset[str] | None = None


@frozen(kw_only=True)
class GenerationRecord(Record):
    """A classic group: written when a leader's assignment arrives, when the group becomes empty,
    and when a static member comes back under a new id.
    """

    generation: int
    # Empty if the group has no members.
    protocol: str = ""
    # Empty if the record does not tell it.
    leader: str = ""
    members: tuple[StoredMember, ...] = ()
    # When the group came into its state; None if the record does not tell it.
    since: int | None = None


@frozen(kw_only=True)
class Tombstone(Record):
    """The group's record is removed: it was deleted, has expired, or changed its protocol."""

    # classic, consumer, share or streams.
    protocol: str = "classic"


@frozen(kw_only=True)
class EpochRecord(Record):
    """A new epoch of a group of another protocol, or of its target assignment."""

    protocol: str
    epoch: int
    target: bool = False


@frozen(kw_only=True)
class MemberRecord(Record):
    """The data that a member of a group of another protocol gives about itself."""

    protocol: str
    member: str
    # None: the member is gone.
    about: StoredMember | None = None


@frozen(kw_only=True)
class AssignmentRecord(Record):
    """The assignment of a member of a group of another protocol."""

    protocol: str
    member: str
    # None if the record does not tell it.
    epoch: int | None = None
    # What it owns, with what it still has to revoke.
    partitions: Partitions = frozenset()
    # Those of them that it has to give up.
    revoking: Partitions = frozenset()
    stable: bool = False
    # Of a consumer group: the member's state, as the coordinator's log names it.
    state: str = ""


@frozen(kw_only=True)
class TargetRecord(Record):
    """The partitions that a member of a consumer group is to have."""

    member: str
    # None: it is to have none any more.
    partitions: Partitions | None = None


@frozen(kw_only=True)
class OtherRecord(Record):
    """A record that tells nothing about members or offsets (subscribed topics)."""
