"""One vocabulary of events: what a line says happened, whatever program printed it.

An event is a fact that a program wrote down, not a step of the model: the coordinator's log names
some steps twice and others never. Times are milliseconds since 1970 by the clock of the program.
Broker logs do not print their zone, so a local time is read as if it were UTC. Names follow Kafka's
own (GroupMetadataManager, GroupCoordinator).
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from attrs import frozen

from groupcheck.model.protocol.classic.group import Phase

CLASSIC = "classic"
"""The protocol of groups before KIP-848, in the coordinator's words (Group.GroupType)."""
EPOCHS = ("consumer", "share", "streams")
"""The protocols whose members reconcile each by itself, in epochs: KIP-848, KIP-932, KIP-1071."""


class RebalanceCause(StrEnum):
    """Why a rebalance began, in classes."""

    JOIN = "join"
    LEAVE = "leave"
    SESSION_EXPIRED = "session_expired"
    SYNC_TIMEOUT = "sync_timeout"
    REBALANCE_TIMEOUT = "rebalance_timeout"
    LEADER_REJOIN = "leader_rejoin"
    METADATA_CHANGE = "metadata_change"
    MEMBER_REJOIN = "member_rejoin"
    STATIC_REPLACED = "static_replaced"
    PROTOCOL_CHANGE = "protocol_change"
    APPEND_FAILED = "append_failed"
    OVER_CAPACITY = "over_capacity"
    DOWNGRADE = "downgrade"
    GONE = "gone"
    NOT_TOLD = "not_told"
    NOT_SEEN = "not_seen"


@frozen
class Reason:
    """The text in `(reason: ...)`, parsed."""

    text: str
    cause: RebalanceCause
    # The members that caused it.
    members: tuple[str, ...] = ()
    instance: str | None = None
    # The state that the text names.
    phase: Phase | None = None
    # The reason that the client gave.
    client: str | None = None


@frozen
class Timeouts:
    """Milliseconds, as the member asked for them in JoinGroup."""

    session: int
    rebalance: int


@frozen(kw_only=True)
class Event:
    """The fields of every event."""

    # The number of its line in the file, from 1.
    line: int
    # None if the line has no time.
    time: int | None = None
    # The broker whose coordinator wrote it, and the group; None if the line does not name them.
    broker: int | None = None
    group: str | None = None


# --- classic groups: rounds


@frozen(kw_only=True)
class RebalanceStarted(Event):
    """The group is PreparingRebalance."""

    # The generation that ends.
    generation: int
    reason: Reason | None = None


@frozen(kw_only=True)
class Stabilized(Event):
    """The join phase is over and `generation` begins."""

    generation: int
    # How many members it has; None in logs before 2.8.
    members: int | None = None


@frozen(kw_only=True)
class AssignmentReceived(Event):
    """The leader has sent SyncGroup."""

    generation: int
    # Printed from 3.0 on.
    leader: str | None = None
    # How many members there are, and how many are static; printed from 2.8 on.
    members: int | None = None
    static: int | None = None


@frozen(kw_only=True)
class GroupEmptied(Event):
    """The round ended without members."""

    # The new generation.
    generation: int


@frozen(kw_only=True)
class GroupDied(Event):
    """The group is gone from memory: removed, deleted, or emptied in coordinators before 0.10.1."""

    generation: int | None = None


@frozen(kw_only=True)
class RoundSkipped(Event):
    """The join timer fired in a group that is Dead."""


@frozen(kw_only=True)
class RoundStuck(Event):
    """The join timer fired and nobody had joined; static members remain, so the group waits on."""


@frozen(kw_only=True)
class RoundOpen(Event):
    """DEBUG, from 4.0 on: why the join phase cannot end yet."""

    # Counts; None if the reason is not that members are missing.
    members: int | None = None
    parked: int | None = None
    pending: int | None = None
    initial: bool = False
    phase: Phase | None = None


# --- classic groups: members


@frozen(kw_only=True)
class IdHandedOut(Event):
    """A member without an id is told to come again with this one (KIP-394)."""

    member: str
    phase: Phase | None = None


@frozen(kw_only=True)
class MemberAdded(Event):
    """A JoinGroup put the member into the group. `fresh`: its id was made for this request (no
    second step).
    """

    member: str
    instance: str | None = None
    phase: Phase | None = None
    fresh: bool = True


@frozen(kw_only=True)
class StaticReplaced(Event):
    """A static member came back without its id: a new id replaces the old one."""

    instance: str
    old: str
    # None if the line does not name it.
    new: str | None = None
    phase: Phase | None = None


@frozen(kw_only=True)
class StaticKept(Event):
    """A static member came back to a Stable group and no rebalance was needed. The line names no
    group.
    """

    phase: Phase | None = None


@frozen(kw_only=True)
class MemberLeft(Event):
    """LeaveGroup."""

    member: str
    instance: str | None = None
    client_reason: str | None = None
    # The id had been handed out, and nobody had joined with it.
    pending: bool = False
    # Printed after what it caused (the old coordinator, from 3.0 on).
    late: bool = False
    timeouts: Timeouts | None = None
    # The names of its assignors, in the order of its preference.
    protocols: tuple[str, ...] = ()


@frozen(kw_only=True)
class MemberExpired(Event):
    """No heartbeat came during the session timeout, or a new member was parked for five minutes."""

    member: str
    # An id with which nobody joined.
    pending: bool = False


@frozen(kw_only=True)
class MemberGone(Event):
    """The member is in the group no more, and it is not told how it went."""

    member: str


@frozen(kw_only=True)
class NotRejoined(Event):
    """The join timer fired: these dynamic members had not joined the round and were removed."""

    members: tuple[str, ...]


@frozen(kw_only=True)
class NotSynced(Event):
    """DEBUG: the sync timer fired, and these members were removed."""

    members: tuple[str, ...]


@frozen(kw_only=True)
class LeaderReplaced(Event):
    """The leader did not join in time. The line names no group."""

    old: str
    new: str | None = None


@frozen(kw_only=True)
class Fenced(Event):
    """A request with an old id of a static member was refused."""

    member: str
    current: str | None = None
    instance: str | None = None
    operation: str | None = None


@frozen(kw_only=True)
class JoinRejected(Event):
    """A known id joined in a state in which it cannot be a member."""

    member: str
    phase: Phase | None = None


@frozen(kw_only=True)
class EmptyAssignment(Event):
    """The leader's assignment left these members out."""

    generation: int
    members: tuple[str, ...]


@frozen(kw_only=True)
class AppendFailed(Event):
    """The group's record could not be written."""

    generation: int | None = None
    error: str | None = None
    # The id that the static member has again, because its replacement was undone.
    reverted_to: str | None = None


# --- loading, unloading, life of a coordinator


@frozen(kw_only=True)
class GroupLoaded(Event):
    """The group was loaded from its record."""

    # classic, consumer, share or streams.
    protocol: str = CLASSIC
    # Before 3.6 the generation is printed, from 3.6 on the number of members.
    generation: int | None = None
    members: int | None = None


@frozen(kw_only=True)
class MemberLoaded(Event):
    member: str
    instance: str | None = None
    generation: int | None = None
    timeouts: Timeouts | None = None
    # The names of its assignors, in the order of its preference.
    protocols: tuple[str, ...] = ()
    protocol: str = CLASSIC


@frozen(kw_only=True)
class GroupUnloaded(Event):
    """The coordinator gave the group up."""

    # The generation of a classic group, the epoch of any other one.
    generation: int
    protocol: str = CLASSIC


@frozen(kw_only=True)
class CoordinatorStarted(Event):
    """A broker's coordinator starts: what it knew before is gone from memory."""


@frozen(kw_only=True)
class CoordinatorStopped(Event):
    """A broker's coordinator shuts down."""


@frozen(kw_only=True)
class PartitionTaken(Event):
    """The broker begins to coordinate the groups of one partition of `__consumer_offsets`, or loads
    them.
    """

    partition: int


@frozen(kw_only=True)
class LoadFailed(Event):
    """A partition of `__consumer_offsets` could not be loaded: its groups have no coordinator."""

    partition: int
    # Why, if the line tells it.
    error: str | None = None


@frozen(kw_only=True)
class PartitionGiven(Event):
    """The broker no longer coordinates the groups of this partition."""

    partition: int


@frozen(kw_only=True)
class GroupsDeleted(Event):
    """DeleteGroups or the expiry of offsets removed these groups."""

    groups: tuple[str, ...]


# --- groups of other protocols


@frozen(kw_only=True)
class OtherProtocol(Event):
    """What a line tells of a group that is not classic: `consumer` (KIP-848), `share` (KIP-932),
    `streams` (KIP-1071).
    """

    protocol: str
    # What happened, in a word: joined, rejoined, left, fenced, epoch, target, assignment, and more.
    what: str
    member: str | None = None
    epoch: int | None = None
    # What the line says besides: the protocol with which a member joined, the former id of one that
    # rejoined, why one was fenced, the state of one with a new assignment.
    detail: str | None = None
    # What the member has from now on, and what it has to give up; None if the line does not tell.
    owns: frozenset[str] | None = None
    revoking: frozenset[str] = frozenset()
    # Member -> its partitions in the new target assignment; None if the line does not tell.
    shares: Mapping[str, frozenset[str]] | None = None

    @property
    def joins_classic(self) -> bool:
        """Does the member join with the classic protocol? It does so in each rebalance, so it may
        have been a member before (GroupMetadataManager.classicGroupJoinToConsumerGroup).
        """
        return self.what == "joined" and self.detail == CLASSIC


@frozen(kw_only=True)
class Converted(Event):
    """The group changed its protocol (KIP-848 migration)."""

    # The new one.
    protocol: str
    was_empty: bool = False


@frozen(kw_only=True)
class Noted(Event):
    """A known line of the coordinator that changes nothing that the replay follows."""

    what: str
