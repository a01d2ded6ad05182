"""Requests of the group APIs and their answers, reduced to the fields on which somebody decides.

A member id is written as a small number that is unique among the ids that one process was given
(`clientId-UUID` in Kafka); `NO_ID` is the empty string of a member that has none yet.
`NO_GENERATION` is Kafka's -1.
"""

from __future__ import annotations

from attrs import frozen

from groupcheck.model.protocol.codes import NONE

NO_ID = -1
NO_GENERATION = -1


@frozen
class JoinGroup:
    """`claimed` is the generation inside the subscription bytes (version 2 and newer, KIP-792): by
    it, a re-join counts as unchanged or not.
    """

    id: int
    claimed: int = NO_GENERATION


@frozen
class SyncGroup:
    """The leader's plan is not carried: it is chosen when its append commits (nobody can see it
    before).
    """

    id: int
    generation: int


@frozen
class Heartbeat:
    id: int
    generation: int


@frozen
class LeaveGroup:
    id: int


@frozen
class OffsetCommit:
    """Of the watched partition; `offset` is the next record to read."""

    id: int
    generation: int
    offset: int


@frozen
class Store:
    """The half of an OffsetCommit that is left when the coordinator has accepted it: writing the
    offset.
    """

    commit: OffsetCommit


Request = JoinGroup | SyncGroup | Heartbeat | LeaveGroup | OffsetCommit | Store


@frozen
class Answer:
    """The answer to `request`. `id` and `generation` of a JoinGroup answer, `share` (partitions as
    a bit mask) of a SyncGroup answer.
    """

    request: Request
    code: int = NONE
    id: int = NO_ID
    generation: int = NO_GENERATION
    share: int = 0
