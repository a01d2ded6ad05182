"""A member of a share group (ShareConsumer): it follows the answers to its heartbeats at once.

Left out: the threads of Java's member, what it fetches and acknowledges.
"""

from __future__ import annotations

from collections.abc import Iterator

from attrs import frozen

from groupcheck.model.engine import evolve, rule, urgent
from groupcheck.model.protocol.codes import (
    COORDINATOR_NOT_AVAILABLE,
    FENCED_MEMBER_EPOCH,
    NONE,
    UNKNOWN_MEMBER_ID,
)
from groupcheck.model.protocol.consumer.client import Member
from groupcheck.model.protocol.consumer.client_faults import (
    change_subscription,
    close_consumer,
    crash,
    fail_append,
    leave_ghost,
    lose_answer,
    lose_heartbeat,
)
from groupcheck.model.protocol.consumer.messages import Kind, Link, Request, Tag, idle
from groupcheck.model.protocol.share.scope import ShareScope

BEATS = (Member.JOINING, Member.STABLE)


@frozen
class ShareMember:
    """A process."""

    state: Member = Member.UNSUBSCRIBED
    # The partitions that it fetches from.
    holds: int = 0
    # The subscription was sent since it changed.
    told: bool = False
    subscribed: int = 0

    @property
    def beats(self) -> bool:
        """Does it send heartbeats?"""
        return self.state in BEATS

    @property
    def sends(self) -> bool:
        """Does it send one as soon as none is on its way?"""
        return self.beats

    def heartbeat(self, tag: Tag, scope: object) -> Request:
        """The heartbeat that it sends next. With the subscription, it carries all fields."""
        if self.state == Member.JOINING:
            return Request(Kind.JOIN, full=True, subscribed=self.subscribed)
        if self.told:
            return Request(Kind.BEAT, tag)
        return Request(Kind.BEAT, tag, full=True, subscribed=self.subscribed)

    def heartbeat_sent(self) -> ShareMember:
        """It has sent one."""
        return evolve(self, told=True)

    def unanswered(self) -> ShareMember:
        """What was sent is forgotten: the next heartbeat carries everything."""
        return evolve(self, told=False)


@rule(when=lambda client: client.state == Member.UNSUBSCRIBED)
def subscribe_share(client: ShareMember, scope: ShareScope) -> Iterator[ShareMember]:
    """A process subscribes to all topics."""
    yield evolve(client, state=Member.JOINING, subscribed=scope.everything)


@rule(when=lambda client: client.beats)
def send_share_heartbeat(
    client: ShareMember, link: Link, scope: ShareScope
) -> Iterator[tuple[ShareMember, Link]]:
    """A member sends a heartbeat."""
    if idle(link):
        yield client.heartbeat_sent(), evolve(link, request=client.heartbeat(link.tag, scope))


@urgent("well", "fenced", "fatal", "unavailable", when=lambda link: link.answer is not None)
def hear_share_answer(client: ShareMember, link: Link) -> Iterator[tuple[str, ShareMember, Link]]:
    """A member follows the answer to its heartbeat (ShareMembershipManager)."""
    answer = link.answer
    assert answer is not None
    link = evolve(link, answer=None)
    if answer.code in (UNKNOWN_MEMBER_ID, FENCED_MEMBER_EPOCH):
        joins = ShareMember(Member.JOINING, subscribed=client.subscribed)
        yield "fenced", joins, evolve(link, tag=Tag.OLD)
    elif answer.code == COORDINATOR_NOT_AVAILABLE:
        yield "unavailable", client.unanswered(), link
    elif answer.code != NONE:
        yield "fatal", ShareMember(Member.FATAL), evolve(link, tag=Tag.OLD)
    else:
        holds = client.holds if answer.assigned is None else answer.assigned
        yield "well", evolve(client, state=Member.STABLE, holds=holds), evolve(link, tag=answer.tag)


CLIENT_RULES = (subscribe_share, send_share_heartbeat)
FAULT_RULES = (
    crash,
    close_consumer,
    lose_answer,
    lose_heartbeat,
    fail_append,
    change_subscription,
)
INSIDE = (leave_ghost, hear_share_answer)
