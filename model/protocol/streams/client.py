"""A simple member of a streams group: it follows the answers to its heartbeats at once.

Left out: the threads of Java's member, its callbacks, restoration, what it says of its tasks'
offsets.
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
    close_consumer,
    crash,
    fail_append,
    leave_ghost,
    lose_answer,
    lose_heartbeat,
)
from groupcheck.model.protocol.consumer.messages import Kind, Tag, idle
from groupcheck.model.protocol.faults import Budget
from groupcheck.model.protocol.streams.messages import (
    Status,
    StreamsAnswer,
    StreamsLink,
    StreamsRequest,
)
from groupcheck.model.protocol.streams.scope import StreamsScope

BEATS = (Member.JOINING, Member.STABLE)


@frozen
class StreamsMember:
    """A thread."""

    state: Member = Member.UNSUBSCRIBED
    # The tasks that it runs, and its standbys.
    holds: int = 0
    # They were sent since they changed.
    told: bool = False
    # The epoch of its topology.
    topology: int = 0

    @property
    def beats(self) -> bool:
        """Does it send heartbeats?"""
        return self.state in BEATS

    @property
    def sends(self) -> bool:
        """Does it send one as soon as none is on its way?"""
        return self.beats

    def heartbeat(self, tag: Tag, scope: object) -> StreamsRequest:
        """The heartbeat that it sends next."""
        if self.state == Member.JOINING:
            return StreamsRequest(Kind.JOIN, owned=0, topology=self.topology)
        return StreamsRequest(Kind.BEAT, tag, None if self.told else self.holds)

    def heartbeat_sent(self) -> StreamsMember:
        """It has sent one."""
        return evolve(self, told=True)

    def unanswered(self) -> StreamsMember:
        """What was sent is forgotten: the next heartbeat carries it again."""
        return evolve(self, told=False)


@rule(when=lambda client: client.state == Member.UNSUBSCRIBED)
def start_thread(client: StreamsMember, scope: StreamsScope) -> Iterator[StreamsMember]:
    """A thread starts, with one of the topologies."""
    for topology in range(scope.topologies):
        yield evolve(client, state=Member.JOINING, topology=topology)


@rule(when=lambda client: client.beats)
def send_streams_heartbeat(
    client: StreamsMember, link: StreamsLink, scope: StreamsScope
) -> Iterator[tuple[StreamsMember, StreamsLink]]:
    """A member sends a heartbeat."""
    if idle(link):
        yield client.heartbeat_sent(), evolve(link, request=client.heartbeat(link.tag, scope))


@rule(when=lambda budget: budget.allows("shutdown"))
def ask_to_stop(
    client: StreamsMember, link: StreamsLink, budget: Budget, scope: StreamsScope
) -> Iterator[tuple[StreamsMember, StreamsLink, Budget]]:
    """A member that has failed asks that the application stops."""
    if client.beats and idle(link):
        request = evolve(client.heartbeat(link.tag, scope), shutdown=True)
        yield client.heartbeat_sent(), evolve(link, request=request), budget.spend("shutdown")


@urgent(
    "well",
    "stops",
    "fenced",
    "fatal",
    "unavailable",
    when=lambda link: link.answer is not None,
)
def hear_streams_answer(
    client: StreamsMember, link: StreamsLink
) -> Iterator[tuple[str, StreamsMember, StreamsLink]]:
    """A member follows the answer to its heartbeat (StreamsMembershipManager)."""
    answer = link.answer
    assert isinstance(answer, StreamsAnswer)
    link = evolve(link, answer=None)
    if answer.code in (UNKNOWN_MEMBER_ID, FENCED_MEMBER_EPOCH):
        joins = StreamsMember(Member.JOINING, topology=client.topology)
        yield "fenced", joins, evolve(link, tag=Tag.OLD)
    elif answer.code == COORDINATOR_NOT_AVAILABLE:
        yield "unavailable", client.unanswered(), link
    elif answer.code != NONE:
        yield "fatal", StreamsMember(Member.FATAL), evolve(link, tag=Tag.OLD)
    elif answer.status & Status.SHUTDOWN_APPLICATION:
        leaves = evolve(link, tag=Tag.OLD, lost=True, request=StreamsRequest(Kind.LEAVE))
        yield "stops", StreamsMember(Member.FATAL), leaves
    else:
        holds = client.holds if answer.assigned is None else answer.assigned
        told = client.told and holds == client.holds
        after = evolve(client, state=Member.STABLE, holds=holds, told=told)
        yield "well", after, evolve(link, tag=answer.tag)


CLIENT_RULES = (start_thread, send_streams_heartbeat)
FAULT_RULES = (crash, close_consumer, lose_answer, lose_heartbeat, fail_append, ask_to_stop)
INSIDE = (leave_ghost, hear_streams_answer)
