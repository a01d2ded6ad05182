"""The steps of Java's member: what its application does, what its background does by itself, and
how it follows an answer. Both threads share one slot; a step is what one of them does in one go.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import attrs

from groupcheck.model.engine import evolve, rule, urgent
from groupcheck.model.protocol.codes import (
    COORDINATOR_LOAD_IN_PROGRESS,
    COORDINATOR_NOT_AVAILABLE,
    FENCED_MEMBER_EPOCH,
    GROUP_ID_NOT_FOUND,
    NONE,
    NOT_COORDINATOR,
    TOPIC_AUTHORIZATION_FAILED,
    UNKNOWN_MEMBER_ID,
)
from groupcheck.model.protocol.consumer.client import BEATS, Member, sent
from groupcheck.model.protocol.consumer.java_member import (
    Calls,
    Event,
    JavaMember,
    Phase,
    applied,
    cleared,
    committed,
    failed,
    fenced,
    given,
    joining,
    lost,
    reconciling,
    revoked,
    stale,
    taken,
    unsubscribe_ends,
)
from groupcheck.model.protocol.consumer.messages import (
    Answer,
    Link,
    Request,
    Tag,
    leave_of,
    succeeded,
    without_epoch,
)
from groupcheck.model.protocol.consumer.scope import MENDED, ConsumerScope
from groupcheck.model.protocol.faults import Budget

COORDINATOR_IS_GONE = (COORDINATOR_NOT_AVAILABLE, NOT_COORDINATOR)
KEEPS_STATE = (COORDINATOR_LOAD_IN_PROGRESS, TOPIC_AUTHORIZATION_FAILED)
NOT_THE_EPOCH = (UNKNOWN_MEMBER_ID, FENCED_MEMBER_EPOCH)


def waits_for_answer(link: Link) -> bool:
    """Is a heartbeat on its way that the member knows of?"""
    return any(
        message is not None and not message.before
        for message in (link.out, link.back, *link.behind)
        if not (isinstance(message, Request) and message.unheard)
    )


def _before(link: Link) -> Link:
    """The member knows nothing of the heartbeats that are on their way any more."""

    def before(message: Any) -> Any:
        return message if message is None else attrs.evolve(message, before=True)

    behind = tuple(map(before, link.behind))
    return evolve(link, out=before(link.out), back=before(link.back), behind=behind)


# ----------------------------------------------------------------------------------- application


@rule(
    when=lambda client: (
        client.state == Member.UNSUBSCRIBED
        and not client.updated
        and not client.unsubscribing
        and client.running is None
    )
)
def application_subscribes(client: JavaMember, scope: ConsumerScope) -> Iterator[JavaMember]:
    """The application subscribes to all topics. The member joins at its next poll. Where there are
    patterns, it does so by one, or subscribes to the first topic alone, by its name.
    """
    member = evolve(client, updated=True, told=False)
    if scope.patterns:
        yield evolve(member, subscribed=0, pattern=scope.everything)
        yield evolve(member, subscribed=scope.topic(0), pattern=0)
    else:
        yield evolve(member, subscribed=scope.everything)


@rule(
    "polled",
    "called",
    "assigned",
    "dropped",
    when=lambda client: (
        client.running is None
        and not client.unsubscribing
        and client.subscribed | client.pattern != 0
    ),
)
def application_polls(client: JavaMember, scope: ConsumerScope) -> Iterator[tuple[str, JavaMember]]:
    """The application polls: the background may begin to revoke or to join, and the application
    does what waited longest for it.
    """
    oldest = client.waiting[0] if client.waiting else None
    member = reconciling(client, scope, polls=True)
    if member.updated:
        state = member.state == Member.UNSUBSCRIBED
        member = evolve(joining(member) if state else member, updated=False)
    if member.state == Member.STALE:
        pending = any(event.calls == Calls.LOST for event in member.waiting)
        member = evolve(member, polled=True) if pending else joining(member)
    if oldest is not None:
        yield _begun(evolve(member, waiting=member.waiting[1:]), oldest, scope)
    elif member != client:
        yield "polled", member


def _begun(member: JavaMember, event: Event, scope: ConsumerScope) -> tuple[str, JavaMember]:
    """The application does what the background asked of it."""
    if event.calls == Calls.ASSIGNED and scope.java_release.applies_in_poll:
        if member.aborted and scope.k16 == MENDED:
            return "dropped", evolve(member, taking=None)
        member = applied(member)
        if not scope.listens:
            return "assigned", taken(member)
    return "called", evolve(member, running=event)


@rule(
    "called",
    "skipped",
    when=lambda client: client.unsubscribing and client.running is None and client.waiting != (),
)
def unsubscribe_goes_on(
    client: JavaMember, scope: ConsumerScope
) -> Iterator[tuple[str, JavaMember]]:
    """The application waits in unsubscribe(), and does what waits for it meanwhile; from Kafka 4.3
    on it skips assignments.
    """
    event, *rest = client.waiting
    member = evolve(client, waiting=tuple(rest))
    member = unsubscribe_ends(member) if client.takes else member
    if event.calls == Calls.ASSIGNED and scope.java_release.applies_in_poll:
        yield "skipped", evolve(member, taking=None)
    else:
        yield "called", evolve(member, running=event)


def _gone(member: JavaMember) -> JavaMember:
    """It has given up everything and sends its last heartbeat, if it knows its coordinator and was
    not fenced meanwhile (clearAssignmentAndLeaveGroup).
    """
    member = evolve(cleared(member), subscribed=0, pattern=0, told=False, adopted=False)
    if member.state in (Member.UNSUBSCRIBED, Member.FATAL):
        return evolve(member, leaving=False)
    if member.state != Member.PREPARE_LEAVING:
        # It has joined again since (K25). Java has no such transition; the exception is swallowed.
        return evolve(member, leaving=False, ended=True)
    member = evolve(member, state=Member.UNSUBSCRIBED)
    if not member.known:
        return unsubscribe_ends(member)
    return evolve(member, said=True, full=False, told=True)


@rule(
    "revoked",
    "assigned",
    "lost",
    "left",
    "closed",
    "failed",
    when=lambda client: client.running is not None,
)
def java_callback_returns(
    client: JavaMember, link: Link, budget: Budget, scope: ConsumerScope
) -> Iterator[tuple[str, JavaMember, Link, Budget]]:
    """A callback of the rebalance listener returns, or throws."""
    event = client.running
    assert event is not None
    member = evolve(client, running=None)
    fails = budget.allows("callback_failure")
    if event.calls == Calls.REVOKED:
        yield "revoked", revoked(member, scope), link, budget
        if fails:
            left = budget.spend("callback_failure")
            yield "failed", evolve(member, taking=None), link, left
    elif event.calls == Calls.ASSIGNED:
        yield "assigned", taken(member), link, budget
        if fails:
            left = budget.spend("callback_failure")
            yield "failed", evolve(member, taking=None), link, left
    elif event.calls == Calls.LOST:
        yield "lost", lost(member), link, budget
    elif event.calls == Calls.LEAVING:
        yield "left", *_left(member, link, scope), budget
        if fails:
            left = budget.spend("callback_failure")
            yield "failed", *_left(member, link, scope), left
    else:
        yield "closed", *_closed(member, link, scope), budget


def _left(member: JavaMember, link: Link, scope: ConsumerScope) -> tuple[JavaMember, Link]:
    gone = _gone(member)
    if not gone.leaving:
        return gone, link
    return gone, sent(without_epoch(link), leave_of(link), scope)


def _closed(member: JavaMember, link: Link, scope: ConsumerScope) -> tuple[JavaMember, Link]:
    """The process ends; another one takes its place. Nobody waits for answers."""
    out = link.out if link.out is None else attrs.evolve(link.out, unheard=True)
    behind = tuple(attrs.evolve(request, unheard=True) for request in link.behind)
    link = evolve(succeeded(link), tag=Tag.OLD, out=out, back=None, behind=behind)
    if member.beats and member.known:
        return JavaMember(), sent(link, leave_of(link, unheard=True), scope)
    if link.static:
        return JavaMember(), evolve(link, out=None, behind=())
    return JavaMember(), Link(dead=True)


# ------------------------------------------------------------------------------------ background


@rule(when=lambda client: client.sends)
def java_heartbeat(
    client: JavaMember, link: Link, scope: ConsumerScope
) -> Iterator[tuple[JavaMember, Link]]:
    """The background sends a heartbeat, if it waits for no answer."""
    if not waits_for_answer(link):
        request = client.heartbeat(link.tag, scope)
        if client.ended:
            link, request = without_epoch(link), leave_of(link)
        yield client.heartbeat_sent(), sent(link, request, scope)


@rule(when=lambda client: client.state == Member.RECONCILING and client.taking is None)
def background_reconciles(client: JavaMember, scope: ConsumerScope) -> Iterator[JavaMember]:
    """The background begins to take an assignment that takes nothing from the application."""
    member = reconciling(client, scope, polls=False)
    if member != client:
        yield member


@rule(when=lambda client: client.taking is not None and client.taking.phase == Phase.COMMIT)
def commit_ends(client: JavaMember, scope: ConsumerScope) -> Iterator[JavaMember]:
    """The commit before a reconciliation is answered, or its time is over."""
    yield committed(client, scope)


@rule(when=lambda client: not client.known and not client.closing)
def find_coordinator(client: JavaMember) -> Iterator[JavaMember]:
    """The member finds its coordinator. One that closes does not look for it any more."""
    yield evolve(client, known=True)


@urgent(
    "well",
    "ignored",
    "fenced",
    "fatal",
    "unavailable",
    "left",
    when=lambda link: link.answer is not None,
)
def java_hears(
    client: JavaMember, link: Link, scope: ConsumerScope
) -> Iterator[tuple[str, JavaMember, Link]]:
    """The background follows the answer to a heartbeat."""
    answer = link.answer
    assert answer is not None
    link = evolve(link, answer=None)
    if answer.before and scope.k23 == MENDED:
        yield "ignored", client, link
    elif answer.code != NONE:
        label, member = _refused(client, answer.code, scope)
        out = label in ("fenced", "fatal")
        yield label, member, evolve(link, tag=Tag.OLD) if out else link
    elif answer.last:
        yield "left", unsubscribe_ends(client), link
    elif client.beats:
        yield "well", _heard(client, answer), evolve(link, tag=answer.tag)
    else:
        yield "ignored", client, link


def _heard(member: JavaMember, answer: Answer) -> JavaMember:
    leaves = member.state == Member.PREPARE_LEAVING
    member = evolve(member, ended=False, adopted=leaves)
    if leaves:
        return member
    if answer.assigned is None:
        return evolve(member, adopted=member.state == Member.JOINING)
    return given(member, answer.assigned)


def _refused(member: JavaMember, code: int, scope: ConsumerScope) -> tuple[str, JavaMember]:
    """The answer is an error (AbstractHeartbeatRequestManager.onErrorResponse)."""
    member = member.forgotten()
    out = member.state == Member.UNSUBSCRIBED
    if code in NOT_THE_EPOCH:
        beats = member.beats or member.state == Member.FENCED
        label, member = "fenced" if beats else "ignored", fenced(member, scope)
    elif code in COORDINATOR_IS_GONE:
        label, member = "unavailable", evolve(member, known=False)
    elif code in KEEPS_STATE or (
        out and code == GROUP_ID_NOT_FOUND and scope.java_release.leaves_absent_group
    ):
        label = "unavailable"
    else:
        stays = member.state in (Member.STALE, Member.FENCED)
        label, member = "ignored" if stays else "fatal", failed(member, scope)
    return label, unsubscribe_ends(member) if out else member


# ---------------------------------------------------------------------------------------- faults


@rule(when=lambda budget: budget.allows("poll_timeout"))
def java_poll_timeout(
    client: JavaMember, link: Link, budget: Budget, scope: ConsumerScope
) -> Iterator[tuple[JavaMember, Link, Budget]]:
    """The poll timer runs out: the member leaves at once, even with a heartbeat on its way, and its
    application keeps its partitions until it polls.
    """
    if client.state in BEATS and client.known:
        link = sent(_before(without_epoch(link)), leave_of(link, unheard=True), scope)
        yield stale(client, scope), link, budget.spend("poll_timeout")


@rule("left", "called", when=lambda budget: budget.allows("unsubscribe"))
def application_unsubscribes(
    client: JavaMember, link: Link, budget: Budget, scope: ConsumerScope
) -> Iterator[tuple[str, JavaMember, Link, Budget]]:
    """The application unsubscribes, and waits until the member has left (leaveGroup). One that is
    out of the group has nothing to leave.
    """
    if client.running is not None or client.leaving or not client.beats:
        return
    left = budget.spend("unsubscribe")
    joins = client.state == Member.JOINING and not client.adopted
    member = evolve(client, state=Member.PREPARE_LEAVING, leaving=True, adopted=not joins)
    if client.assigned and scope.listens:
        event = Event(Calls.LEAVING, client.assigned)
        # Before it has an epoch Java calls onPartitionsLost, and pauses nothing.
        paused = client.paused if joins else client.assigned
        waiting = (*member.waiting, event)
        yield "called", evolve(member, paused=paused, waiting=waiting), link, left
    else:
        yield "left", *_left(member, link, scope), left


@rule("closed", "called", when=lambda budget: budget.allows("close"))
def application_closes(
    client: JavaMember, link: Link, budget: Budget, scope: ConsumerScope
) -> Iterator[tuple[str, JavaMember, Link, Budget]]:
    """The application closes its consumer: what it has is revoked, and the member leaves."""
    if client.running is not None or client.leaving or not client.beats:
        return
    left = budget.spend("close")
    if client.assigned and scope.listens:
        event = Event(Calls.CLOSING, client.assigned)
        yield "called", evolve(client, running=event), link, left
    else:
        yield "closed", *_closed(client, link, scope), left


JAVA_RULES = (
    application_subscribes,
    application_polls,
    unsubscribe_goes_on,
    java_callback_returns,
    java_heartbeat,
    background_reconciles,
    commit_ends,
    find_coordinator,
    java_poll_timeout,
    application_unsubscribes,
    application_closes,
)
