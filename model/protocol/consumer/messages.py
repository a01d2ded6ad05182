"""Heartbeats, requests about offsets, their answers, and the link of a process: all that is on its
way to or from it, and which epoch it knows.

An epoch on the wire is one of `Tag`, against the coordinator's record of the member. Each record
that is written with another epoch makes the current one previous, and the previous one old.
"""

from __future__ import annotations

from enum import Enum, IntEnum
from typing import Any

import attrs
from attrs import frozen

from groupcheck.model.engine import evolve
from groupcheck.model.protocol.codes import NONE
from groupcheck.model.protocol.consumer.memory import Core, Seat


class Tag(IntEnum):
    """An epoch, against the record of the member."""

    CURRENT = 0
    PREVIOUS = 1
    # Neither, or that of a member that is gone.
    OLD = 2
    # None that the coordinator has ever given.
    AHEAD = 3


class HandedOutId(IntEnum):
    """A member id that was handed out with MEMBER_ID_REQUIRED, and has not joined."""

    NONE = 0
    # By a consumer group, which does not remember it; by a classic group, which does.
    FORGOTTEN = 1
    REMEMBERED = 2


class Kind(Enum):
    """What a heartbeat wants."""

    JOIN = "join"  # epoch 0
    BEAT = "beat"
    LEAVE = "leave"  # epoch -1
    PARK = "park"  # epoch -2
    # Requests of the classic protocol (only with migration).
    JOIN_GROUP = "JoinGroup"
    SYNC_GROUP = "SyncGroup"
    CLASSIC_BEAT = "Heartbeat"
    LEAVE_GROUP = "LeaveGroup"


LEAVES = (Kind.LEAVE, Kind.PARK)


@frozen
class Request:
    """A ConsumerGroupHeartbeat."""

    kind: Kind
    tag: Tag = Tag.OLD
    # The partitions that the member says it owns; None: as before.
    owned: int | None = None
    # It carries all fields, so that the answer has the assignment.
    full: bool = False
    # The partitions that its topics may have, those that its regular expression means (0: it has
    # none), and the assignor that it names; None: as before.
    subscribed: int | None = None
    pattern: int | None = None
    # Only with regexes: the number of its regular expression (0: it has none); None: as before.
    regex: int | None = None
    assignor: str | None = None
    # It comes from another member id with the same group.instance.id.
    other: bool = False
    # Nobody waits for its answer.
    unheard: bool = False
    # The member has left since it was sent.
    before: bool = False


@frozen
class Answer:
    """The answer to one."""

    code: int = NONE
    tag: Tag = Tag.CURRENT
    # None: as before.
    assigned: int | None = None
    # It answers the leave of a member that waits for it.
    last: bool = False
    # The member has left since it sent the request.
    before: bool = False


class Sender(Enum):
    """Who commits an offset, or fetches it."""

    MEMBER = "member"
    # A static member with epoch -2.
    AWAY = "away"
    # A client without a member id (epoch -1): a simple consumer, or an administrator.
    SIMPLE = "simple"


@frozen
class Commit:
    """An OffsetCommit of the watched partition."""

    sender: Sender = Sender.MEMBER
    tag: Tag = Tag.OLD
    # Is the offset beyond the watched record?
    beyond: bool = False
    # It has a version before 9, which knows no member epochs.
    unversioned: bool = False
    # It comes from another member id than the record has.
    other: bool = False
    # It is a TxnOffsetCommit, which counts once its transaction is committed. Such a one is not
    # `unversioned` from version 6 on (KIP-1319).
    in_transaction: bool = False
    # Its append will fail.
    fails: bool = False
    # Since it was sent, the member was given the partition at an epoch that is newer (KIP-1251).
    given: bool = False
    # Ghosts: since it was sent, the member has not had the partition all the time by the
    # coordinator's records, or has given it up.
    former: bool = False
    given_up: bool = False

    def of_owner(self, seat: Seat | None, watched: int) -> bool:
        """Does it come from the member of this record, which owns the partition since before?"""
        over = self.former or self.given_up
        return seat is not None and not (seat.parked or over) and bool(seat.owned & watched)


@frozen
class Fetch:
    """An OffsetFetch of the watched partition."""

    sender: Sender = Sender.MEMBER
    tag: Tag = Tag.OLD
    other: bool = False
    # It waits for open transactions (requireStable), as Java's member always does.
    stable: bool = True


@frozen
class Marker:
    """The end of a transaction of this process (WriteTxnMarkers)."""

    commits: bool


@frozen
class Told:
    """The answer to a commit, or to a fetch."""

    code: int = NONE
    # It answers a TxnOffsetCommit.
    in_transaction: bool = False
    # Of a fetch that succeeds: is the committed offset beyond the watched record?
    beyond: bool | None = None


@frozen
class Undo:
    """What a request whose append fails goes back to."""

    core: Core
    seat: Seat | None


@frozen
class Link:
    """A process as far as the wire knows it."""

    # The epoch that the process knows.
    tag: Tag = Tag.OLD
    # On its way (only with an explicit wire).
    out: Request | None = None
    back: Answer | None = None
    # Sent after it (only by Java's member, which does not wait before it leaves).
    behind: tuple[Request, ...] = ()
    # Inside a step: the request that is handled, and what became of it.
    request: Request | None = None
    answer: Answer | None = None
    # Inside a step: the request is accepted; the next record may follow.
    accepted: bool = False
    # Inside a step: it changed the subscription, or wrote some other record.
    changed: bool = False
    wrote: bool = False
    # Inside a step: its append will fail.
    undo: Undo | None = None
    fails: bool = False
    # Inside a step: its answer will be lost.
    lost: bool = False
    # A heartbeat on a former connection.
    late: Request | None = None
    # What the process subscribes to by name and by pattern, as its heartbeats have said since it
    # joined (only where there are patterns).
    wants: tuple[int, int] = (0, 0)
    # A commit on a former connection; inside a step, a request about offsets, and its answer (only
    # where there are offsets).
    held: Commit | None = None
    asked: Commit | Fetch | Marker | None = None
    told: Told | None = None
    # Only where anybody asks a group that migrates: the id that it has been handed out; inside a
    # step, the answer to a request of it that was parked.
    handed_out: HandedOutId = HandedOutId.NONE
    parked: Answer | None = None
    # It has a group.instance.id. It never changes.
    static: bool = False
    # It may not describe the last topic. It never changes.
    blind: bool = False
    # The record of its instance, if there is one, is that of a former process with another id.
    apart: bool = False
    # Inside a step: the process has just died.
    dead: bool = False

    def successor(self) -> Link:
        """The link of the process that takes its place, which has its group.instance.id."""
        static = self.static
        return Link(static=static, blind=self.blind, apart=static, dead=not static)


def retagged(link: Link, moved: bool) -> Link:
    """A record was written; `moved`: with another epoch."""

    def tag(known: Tag) -> Tag:
        if known == Tag.AHEAD:
            return known
        if moved:
            return Tag(min(known + 1, Tag.OLD))
        return Tag.OLD if known == Tag.PREVIOUS else known

    def sent(message: Any) -> Any:
        return None if message is None else attrs.evolve(message, tag=tag(message.tag))

    return evolve(
        link,
        tag=tag(link.tag),
        out=sent(link.out),
        back=sent(link.back),
        behind=tuple(map(sent, link.behind)),
        late=sent(link.late),
        held=sent(link.held),
    )


def leave_of(link: Link, *, unheard: bool = False) -> Request:
    """The last heartbeat of a member."""
    return Request(Kind.PARK if link.static else Kind.LEAVE, unheard=unheard)


def without_epoch(link: Link) -> Link:
    """A member sends its last heartbeat. It forgets its epoch, which its place keeps if it is a
    static one's. (A dynamic one's means nothing once the heartbeat is handled.)
    """
    return evolve(link, tag=Tag.OLD) if link.static else link


def succeeded(link: Link) -> Link:
    """The process closes. Another one, with a member id of its own, takes its place."""
    late = link.late
    if late is not None and link.static:
        late = attrs.evolve(late, other=True)
    held = None if link.held is None else attrs.evolve(link.held, other=True)
    return evolve(without_epoch(link), late=late, held=held, apart=link.static)


def remembered(link: Link) -> HandedOutId:
    """What stays of an id that a process was handed out, once the process is gone."""
    return link.handed_out if link.handed_out == HandedOutId.REMEMBERED else HandedOutId.NONE


def gone(link: Link) -> Link:
    """The record of the member is removed: no epoch that is on its way means anything."""
    return evolve(retagged(retagged(link, True), True), tag=Tag.OLD)


def answered(link: Link, answer: Answer, *, explicit: bool) -> Link:
    """The request is handled."""
    heard, request = not link.lost, link.request
    done = evolve(
        link,
        request=None,
        accepted=False,
        changed=False,
        wrote=False,
        undo=None,
        fails=False,
        lost=False,
    )
    if not heard:
        return done
    if request is not None and (request.before or request.kind in LEAVES):
        answer = attrs.evolve(answer, last=request.kind in LEAVES, before=request.before)
    return evolve(done, back=answer) if explicit else evolve(done, answer=answer)


def idle(link: Link) -> bool:
    """Is nothing on its way?"""
    return link.out is None and link.back is None and not link.behind
