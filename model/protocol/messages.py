"""Requests of the group APIs and their answers, reduced to the fields that decide something.

A member id (`clientId-UUID` in Kafka) is a small number, unique among the ids that one process was
given; `NO_ID` is the empty string that a member without an id sends.
`NO_GENERATION` is Kafka's -1.
"""

from __future__ import annotations

from typing import Any

from attrs import frozen

from groupcheck.model.protocol.codes import NONE

NO_ID = -1
FOLLOWS = -1  # `Answer.group_topics` of an answer that lists no members
NO_GENERATION = -1


@frozen
class JoinGroup:
    id: int
    # The generation inside the subscription (version 2 and newer, KIP-792). A member that joins
    # again with another one has changed its subscription.
    claimed: int = NO_GENERATION
    # The topics of the subscription, as a bit mask (see `triggers`). 0: all members have the same.
    topics: int = 0
    # The partitions that the member says it owns (KIP-429), as a bit mask; 0 from an eager member,
    # which has given up all of them.
    owned: int = 0
    # What else the subscription says (see `protocol.connect`); None: nothing.
    more: Any = None
    # The generation of the member's last assignment, which CooperativeStickyAssignor repeats in its
    # user data. Only with `Scope.user_data`, and only if `claimed` is NO_GENERATION: otherwise it
    # tells nothing more.
    assigned: int = NO_GENERATION


@frozen
class SyncGroup:
    """The leader's SyncGroup does not carry the assignment: that is chosen when its append commits,
    because nobody can see it before.
    """

    id: int
    generation: int
    # The partitions that the leader knew when it made the plan, as a bit mask (see `triggers`).
    sees: int = 0


@frozen
class Heartbeat:
    id: int
    generation: int


@frozen
class LeaveGroup:
    id: int


@frozen
class OffsetCommit:
    """A commit of the watched partition."""

    id: int
    generation: int
    # The next record to read.
    offset: int


@frozen
class Store:
    """An OffsetCommit that the coordinator has accepted and not written yet."""

    commit: OffsetCommit


@frozen
class TxnOffsetCommit:
    """A commit of the watched partition that counts once its producer's transaction is committed
    (see `full_offsets`).
    """

    id: int
    generation: int
    offset: int


@frozen
class OffsetFetch:
    """Asks for the committed offset of the watched partition (see `full_offsets`)."""

    # requireStable (KIP-447): not while a transaction may change it.
    stable: bool = True
    # Nothing depends on the member in a classic group.
    id: int = NO_ID


Request = (
    JoinGroup
    | SyncGroup
    | Heartbeat
    | LeaveGroup
    | OffsetCommit
    | Store
    | TxnOffsetCommit
    | OffsetFetch
)


@frozen
class Answer:
    """An answer, together with its request."""

    request: Request
    # Kafka's error code.
    code: int = NONE
    # The member's id; only of a JoinGroup or SyncGroup.
    id: int = NO_ID
    # The group's generation; only of a JoinGroup or SyncGroup.
    generation: int = NO_GENERATION
    # The member's partitions, as a bit mask; only of a SyncGroup.
    share: int = 0
    # The topics of all members' subscriptions, as a bit mask; only of a JoinGroup that makes the
    # member the leader, and only where subscriptions differ (see `triggers`). Otherwise `FOLLOWS`.
    group_topics: int = FOLLOWS
    # What else the leader tells the member; only of a SyncGroup (see `protocol.connect`).
    told: Any = None
