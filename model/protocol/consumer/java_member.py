"""Java's member (AbstractMembershipManager, ConsumerMembershipManager): its values, and what its
two threads do with them.

The background thread sends heartbeats and follows their answers; the application thread runs the
callbacks of a rebalance listener, and since Kafka 4.3 says when an assignment is applied. What the
background wants of the application waits in a queue, which fencing does not clear.

Epochs are relative (the link has the member's own), and so are the local epochs of assignments: a
member only asks whether the assignment that it took last is the one that it was given last.

Left out: which offsets a commit has (it only takes time), metadata that comes late, errors of
callbacks in close().
"""

from __future__ import annotations

from enum import Enum

from attrs import frozen

from groupcheck.model.engine import evolve
from groupcheck.model.protocol.consumer.client import BEATS, Member, reported
from groupcheck.model.protocol.consumer.messages import Kind, Request, Tag
from groupcheck.model.protocol.consumer.scope import MENDED, ConsumerScope

IN_GROUP = (*BEATS, Member.PREPARE_LEAVING)


class Phase(Enum):
    """What a reconciliation waits for."""

    COMMIT = "commit"
    REVOKE = "revoke"
    ASSIGN = "assign"


class Calls(Enum):
    """What the application is to call, or calls."""

    REVOKED = "onPartitionsRevoked"
    ASSIGNED = "onPartitionsAssigned"
    LOST = "onPartitionsLost"
    # onPartitionsRevoked of unsubscribe() and of close(). Before the member is in the group Java
    # calls onPartitionsLost there.
    LEAVING = "onPartitionsRevoked in unsubscribe"
    CLOSING = "onPartitionsRevoked in close"


@frozen
class Event:
    """What the background asks of the application."""

    calls: Calls
    partitions: int = 0


@frozen
class Reconciliation:
    """An assignment that is being taken. No other one begins before its end."""

    # The partitions of it that the member can resolve, and those that it loses.
    share: int
    gone: int
    phase: Phase = Phase.COMMIT
    # No other assignment has come since.
    newest: bool = True
    # The member has joined again since.
    rejoined: bool = False


@frozen
class JavaMember:
    """A process with Java's consumer."""

    state: Member = Member.UNSUBSCRIBED
    # It has taken an assignment since it joined.
    took: bool = False
    # The partitions of the one that it took last: what it says that it owns.
    current: int = 0
    # It was given an assignment since it joined.
    given: bool = False
    # The partitions of the one that it was given last.
    target: int = 0
    # Has it taken that one? Or only what it could resolve of it (`partial`)?
    done: bool = True
    partial: bool = False
    # What it has been assigned (SubscriptionState); of that, what is paused until it is revoked,
    # and what waits for onPartitionsAssigned to return.
    assigned: int = 0
    paused: int = 0
    awaiting: int = 0
    # The owned list and the subscription were sent since they changed.
    said: bool = False
    told: bool = False
    # The next heartbeat carries everything.
    full: bool = True
    # The partitions that its topics may have.
    subscribed: int = 0
    # What its regular expression means, which stands in the place of names.
    pattern: int = 0
    # The application has subscribed, and not polled since.
    updated: bool = False
    taking: Reconciliation | None = None
    # What the background asks of the application, the oldest first, and what that is running.
    waiting: tuple[Event, ...] = ()
    running: Event | None = None
    # It polled while it was stale: it joins when onPartitionsLost has returned.
    polled: bool = False
    # It knows its coordinator.
    known: bool = True
    # The application waits in unsubscribe() for the end of the membership.
    leaving: bool = False
    # That has come, and unsubscribe() has yet to take what waited when it began before it returns.
    takes: bool = False
    # It has an epoch, although it joins (of an answer without an assignment: K23); and while it
    # prepares to leave, unless it has unsubscribed before it had one.
    adopted: bool = False
    # Its epoch is that of a leave, although it counts as a member (K25).
    ended: bool = False

    @property
    def beats(self) -> bool:
        """Does it send heartbeats?"""
        return self.state in IN_GROUP

    @property
    def sends(self) -> bool:
        """Does it send one as soon as none is on its way?"""
        return self.beats and self.known

    @property
    def unsubscribing(self) -> bool:
        """Is its application in unsubscribe()? A callback that runs there may be the last of it."""
        return self.leaving or self.takes

    @property
    def closing(self) -> bool:
        """Is its application in the callback of close()?"""
        return self.running is not None and self.running.calls == Calls.CLOSING

    @property
    def holds(self) -> int:
        """The partitions that it consumes."""
        revoked = 0
        if self.taking is not None and self.taking.phase == Phase.ASSIGN:
            revoked = self.taking.gone
        return self.assigned & ~self.awaiting & ~revoked

    @property
    def aborted(self) -> bool:
        """Does what it is taking come to nothing?"""
        rejoined = self.taking is not None and self.taking.rejoined
        return self.state != Member.RECONCILING or rejoined

    def heartbeat(self, tag: Tag, scope: ConsumerScope) -> Request:
        """The heartbeat that it sends next."""
        if self.ended:
            return Request(Kind.LEAVE)
        if self.state == Member.JOINING:
            kind, known = (Kind.BEAT, tag) if self.adopted else (Kind.JOIN, Tag.OLD)
            return Request(kind, known, 0, True, self.subscribed, pattern=self.pattern or None)
        owned = None
        if not self.said:
            taking = None if self.aborted else self.taking
            told, share = (self.holds, 0) if taking is None else (self.assigned, taking.share)
            coming = share | (0 if self.done else self.target)
            owned = self.current | reported(told, coming, scope)
        joins = self.state == Member.PREPARE_LEAVING and not self.adopted
        kind, known = (Kind.JOIN, Tag.OLD) if joins else (Kind.BEAT, tag)
        if self.told:
            return Request(kind, known, owned, self.full)
        pattern = self.pattern or None
        return Request(kind, known, owned, self.full, self.subscribed, pattern=pattern)

    def heartbeat_sent(self) -> JavaMember:
        """It has sent one (onHeartbeatRequestGenerated)."""
        state = self.state
        if state == Member.ACKNOWLEDGING:
            state = Member.STABLE if self.done else Member.RECONCILING
        return evolve(self, state=state, said=True, full=False, told=True)

    def forgotten(self) -> JavaMember:
        """What was sent is forgotten (SentFields.reset)."""
        return evolve(self, full=True, said=False, told=False)

    def unanswered(self) -> JavaMember:
        """Its connection broke with a heartbeat on it, or the answer came too late."""
        member = evolve(self.forgotten(), known=False)
        return unsubscribe_ends(member) if self.state == Member.UNSUBSCRIBED else member


# ----------------------------------------------------------------------------- out of the group


def unsubscribe_ends(member: JavaMember) -> JavaMember:
    """What unsubscribe() waits for has come. It returns, but for what waited when it began."""
    if not member.unsubscribing:
        return member
    takes = member.waiting != () and member.waiting[0].calls != Calls.LEAVING
    return evolve(member, leaving=False, takes=takes)


def _without_current(member: JavaMember) -> JavaMember:
    """currentAssignment := NONE."""
    done = not member.given
    same = member.said and not member.took
    return evolve(member, took=False, current=0, done=done, partial=False, said=same)


def cleared(member: JavaMember) -> JavaMember:
    """Nothing is assigned any more (clearAssignment)."""
    member = evolve(_without_current(member), assigned=0, paused=0, awaiting=0)
    return evolve(member, given=False, target=0, done=True, partial=False)


def joining(member: JavaMember) -> JavaMember:
    """It joins, perhaps while it still takes an assignment (transitionToJoining)."""
    taking = member.taking if member.taking is None else evolve(member.taking, rejoined=True)
    member = evolve(
        member, state=Member.JOINING, taking=taking, polled=False, ended=False, adopted=False
    )
    return evolve(member, given=False, target=0, done=not member.took, partial=False)


def _losing(member: JavaMember, state: Member, scope: ConsumerScope) -> JavaMember:
    """Its partitions are lost; the application is told, if it has any (signalPartitionsLost)."""
    member = evolve(member, state=state)
    if not (member.assigned and scope.listens):
        return lost(member)
    if scope.java_release.pauses_what_is_lost:
        member = evolve(member, paused=member.assigned)
    return evolve(member, waiting=(*member.waiting, Event(Calls.LOST, member.assigned)))


def lost(member: JavaMember) -> JavaMember:
    """onPartitionsLost has returned, or there was nothing to call."""
    rejoins = member.state == Member.FENCED or (member.state == Member.STALE and member.polled)
    member = cleared(member)
    return joining(member) if rejoins else member


def fenced(member: JavaMember, scope: ConsumerScope) -> JavaMember:
    """The coordinator does not know it, or not its epoch (transitionToFenced)."""
    waits = scope.k25 == MENDED
    if member.state == Member.PREPARE_LEAVING:
        gone = evolve(_without_current(member), state=Member.UNSUBSCRIBED, adopted=False)
        return evolve(gone, leaving=True) if waits else unsubscribe_ends(gone)
    # From STALE and FATAL Java has no such transition; the exception is swallowed.
    if member.state in (Member.UNSUBSCRIBED, Member.STALE, Member.FATAL):
        return member
    return _losing(member, Member.FENCED, scope)


def failed(member: JavaMember, scope: ConsumerScope) -> JavaMember:
    """The coordinator refuses it for good (transitionToFatal)."""
    if member.state == Member.UNSUBSCRIBED and member.leaving:
        return unsubscribe_ends(evolve(member, state=Member.FATAL))
    if member.state == Member.PREPARE_LEAVING:
        member = evolve(member, state=Member.FATAL)
        return evolve(member, leaving=True) if scope.k25 == MENDED else unsubscribe_ends(member)
    if member.state in (Member.STALE, Member.FENCED):
        return member
    return _losing(member, Member.FATAL, scope)


def stale(member: JavaMember, scope: ConsumerScope) -> JavaMember:
    """Its application did not poll in time: it leaves, and forgets what it sent."""
    member = _without_current(member).forgotten()
    return _losing(member, Member.STALE, scope)


# --------------------------------------------------------------------------------- assignments


def given(member: JavaMember, share: int) -> JavaMember:
    """An answer has an assignment (processAssignmentReceived)."""
    if not member.given or share != member.target:
        taking = member.taking if member.taking is None else evolve(member.taking, newest=False)
        member = evolve(member, given=True, target=share, done=False, partial=False, taking=taking)
    if not member.done:
        return evolve(member, state=Member.RECONCILING)
    if member.state in (Member.RECONCILING, Member.JOINING):
        return evolve(member, state=Member.STABLE)
    return member


def _resolvable(member: JavaMember, scope: ConsumerScope) -> int:
    """The partitions of topics whose names it can find: its metadata has those that it subscribes
    to, and it remembers those of its assignment.
    """
    topics = map(scope.topic, range(scope.topics))
    known = sum(topic for topic in topics if topic & member.assigned)
    return member.subscribed | member.pattern | known


def reconciling(member: JavaMember, scope: ConsumerScope, *, polls: bool) -> JavaMember:
    """It begins to take its assignment, if it may (maybeReconcile). `polls`: the application does,
    so what it is about to lose is not in its hands.
    """
    if member.state != Member.RECONCILING or member.done or member.taking is not None:
        return member
    share = member.target & _resolvable(member, scope)
    if member.took and share == member.current:
        if member.partial and scope.java_release.acknowledges_once:
            return member
        done = share == member.target
        return evolve(
            member,
            state=Member.ACKNOWLEDGING,
            done=done,
            partial=not done,
            said=member.said and member.partial,
        )
    gone = member.assigned & ~share
    in_poll = scope.auto_commit or (gone and scope.java_release.applies_in_poll)
    if not polls and in_poll:
        return member
    paused = member.paused | gone
    member = evolve(member, paused=paused, taking=Reconciliation(share, gone))
    return member if scope.auto_commit else committed(member, scope)


def _aborted(member: JavaMember) -> JavaMember:
    return evolve(member, taking=None)


def committed(member: JavaMember, scope: ConsumerScope) -> JavaMember:
    """The commit before it has ended, well or not: what it loses is revoked."""
    taking = member.taking
    assert taking is not None
    if member.aborted:
        return _aborted(member)
    if not (taking.gone and scope.listens):
        return revoked(member, scope)
    waiting = (*member.waiting, Event(Calls.REVOKED, taking.gone))
    return evolve(member, taking=evolve(taking, phase=Phase.REVOKE), waiting=waiting)


def revoked(member: JavaMember, scope: ConsumerScope) -> JavaMember:
    """onPartitionsRevoked has returned, or there was nothing to call: it is to be assigned."""
    taking = member.taking
    assert taking is not None
    if member.aborted:
        return _aborted(member)
    event = Event(Calls.ASSIGNED, taking.share & ~member.assigned)
    member = evolve(member, taking=evolve(taking, phase=Phase.ASSIGN))
    if scope.java_release.applies_in_poll:
        return evolve(member, waiting=(*member.waiting, event))
    if not member.subscribed | member.pattern:
        # K25 has unsubscribed it: SubscriptionState takes no assignment, which ends it in Java.
        return _aborted(member)
    member = applied(member)
    if scope.listens:
        return evolve(member, waiting=(*member.waiting, event))
    return taken(member)


def applied(member: JavaMember) -> JavaMember:
    """The assignment stands in the SubscriptionState; what is new is not consumed yet."""
    taking = member.taking
    assert taking is not None
    new = taking.share & ~member.assigned
    return evolve(
        member,
        assigned=taking.share,
        paused=member.paused & taking.share,
        awaiting=member.awaiting & taking.share | new,
    )


def taken(member: JavaMember) -> JavaMember:
    """onPartitionsAssigned has returned, or there is none: what is new is consumed, and
    acknowledged.
    """
    taking = member.taking
    assert taking is not None
    member = evolve(member, awaiting=member.awaiting & ~taking.share)
    if member.aborted:
        return _aborted(member)
    done = taking.newest and taking.share == member.target
    return evolve(
        member,
        state=Member.ACKNOWLEDGING,
        took=True,
        current=taking.share,
        done=done,
        partial=taking.newest and not done,
        said=False,
        taking=None,
    )
