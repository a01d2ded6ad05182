"""A simple member: one that follows the answers to its heartbeats. Its epoch stands on its link, so
that no rule of the coordinator reads it.

Left out: the threads of Java's member, commits, the coordinator's absence.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum

from attrs import frozen

from groupcheck.model.engine import evolve, rule, urgent
from groupcheck.model.protocol.codes import (
    COORDINATOR_NOT_AVAILABLE,
    FENCED_MEMBER_EPOCH,
    NONE,
    UNKNOWN_MEMBER_ID,
)
from groupcheck.model.protocol.consumer.messages import Kind, Link, Request, Tag, idle
from groupcheck.model.protocol.consumer.scope import AS_KAFKA, ConsumerScope


class Member(Enum):
    """The states of Java's member (MemberState), without LEAVING, which lasts no step; a simple
    member is never FENCED or PREPARE_LEAVING. ENDED is none of Java's: the process does not come
    back.
    """

    UNSUBSCRIBED = "unsubscribed"
    JOINING = "joining"
    STABLE = "stable"
    RECONCILING = "reconciling"
    ACKNOWLEDGING = "acknowledging"
    PREPARE_LEAVING = "prepare_leaving"
    FENCED = "fenced"
    STALE = "stale"
    FATAL = "fatal"
    ENDED = "ended"


BEATS = (Member.JOINING, Member.STABLE, Member.RECONCILING, Member.ACKNOWLEDGING)


@frozen
class Taking:
    """An assignment that is being taken."""

    share: int
    # onPartitionsRevoked is done, or not needed.
    assigns: bool
    # No other assignment has come since.
    newest: bool = True
    aborted: bool = False


def reported(told: int, coming: int, scope: ConsumerScope) -> int:
    """What a member that does better than Kafka's says that it owns, beside what it has taken: what
    it consumes or is told to (K1), and what it may take before the heartbeat arrives (K1').
    """
    if scope.k1 == AS_KAFKA:
        return 0
    return told if scope.k1_prime == AS_KAFKA else told | coming


@frozen
class Client:
    """A process."""

    state: Member = Member.UNSUBSCRIBED
    # It has taken an assignment since it joined.
    took: bool = False
    # The partitions of the one that it took last.
    current: int = 0
    # The partitions of the assignment that it was given last, and whether it has taken them.
    target: int = 0
    done: bool = True
    # The partitions that it consumes.
    holds: int = 0
    # The owned list and the subscription were sent since they changed.
    said: bool = False
    told: bool = False
    # The next heartbeat carries everything.
    full: bool = True
    # The partitions that its topics may have.
    subscribed: int = 0
    # Only with regexes: the number of its regular expression.
    regex: int = 0
    taking: Taking | None = None

    @property
    def beats(self) -> bool:
        """Does it send heartbeats?"""
        return self.state in BEATS

    @property
    def sends(self) -> bool:
        """Does it send one as soon as none is on its way?"""
        return self.beats

    def heartbeat(self, tag: Tag, scope: ConsumerScope) -> Request:
        """The heartbeat that it sends next."""
        if self.state == Member.JOINING:
            names, regex = self.subscribed, self.regex or None
            return Request(Kind.JOIN, Tag.OLD, 0, full=True, subscribed=names, regex=regex)
        owned = self.current if self.full or not self.said else None
        if owned is not None:
            taking = self.taking
            share = taking.share if taking is not None and not taking.aborted else 0
            told = self.holds | (share if taking is not None and taking.assigns else 0)
            owned |= reported(told, share | (0 if self.done else self.target), scope)
        topics = self.subscribed if self.full or not self.told else None
        regex = self.regex if topics is not None and scope.regexes else None
        return Request(Kind.BEAT, tag, owned, self.full, topics, regex=regex)

    def heartbeat_sent(self) -> Client:
        """It has sent one."""
        state = self.state
        if state == Member.ACKNOWLEDGING:
            state = Member.STABLE if self.done else Member.RECONCILING
        return evolve(self, state=state, said=True, full=False, told=True)

    def unanswered(self) -> Client:
        """What was sent is forgotten: the next heartbeat carries everything."""
        return evolve(self, full=True, said=False, told=False)


def without_assignment(client: Client, state: Member) -> Client:
    """Its assignment is lost, and it goes on in another state."""
    taking = evolve(client.taking, aborted=True, newest=False) if client.taking else None
    return Client(state, subscribed=client.subscribed, regex=client.regex, taking=taking)


def sent(link: Link, request: Request, scope: ConsumerScope) -> Link:
    """A heartbeat on its way, behind those that are."""
    if scope.wire == "collapsed":
        return evolve(link, request=request, lost=request.unheard)
    if link.out is None:
        return evolve(link, out=request)
    return evolve(link, behind=(*link.behind, request))


@rule(when=lambda client: client.state == Member.UNSUBSCRIBED)
def subscribe_all(client: Client, scope: ConsumerScope) -> Iterator[Client]:
    """A process subscribes to all topics."""
    yield evolve(client, state=Member.JOINING, subscribed=scope.everything)


@rule(when=lambda client: client.beats)
def send_consumer_heartbeat(
    client: Client, link: Link, scope: ConsumerScope
) -> Iterator[tuple[Client, Link]]:
    """A member sends a heartbeat."""
    if idle(link):
        request = client.heartbeat(link.tag, scope)
        yield client.heartbeat_sent(), sent(link, request, scope)


@rule(when=lambda link: link.out is not None and link.back is None)
def request_arrives(link: Link) -> Iterator[Link]:
    """A heartbeat arrives (only with an explicit wire)."""
    assert link.out is not None
    following, behind = (link.behind[0], link.behind[1:]) if link.behind else (None, ())
    yield evolve(link, out=following, behind=behind, request=link.out, lost=link.out.unheard)


@rule(when=lambda link: link.back is not None)
def answer_arrives(link: Link) -> Iterator[Link]:
    """Its answer arrives (only with an explicit wire)."""
    yield evolve(link, back=None, answer=link.back)


def _given(client: Client, share: int) -> Client:
    """The answer has an assignment (AbstractMembershipManager.processAssignmentReceived)."""
    first = not client.took and client.done and client.state == Member.JOINING
    if not first and share == client.target and not (not client.took and client.done):
        if not client.done:
            return evolve(client, state=Member.RECONCILING)
        if client.state in (Member.RECONCILING, Member.JOINING):
            return evolve(client, state=Member.STABLE)
        return client
    taking = evolve(client.taking, newest=False) if client.taking else None
    return evolve(client, target=share, done=False, state=Member.RECONCILING, taking=taking)


@urgent("well", "fenced", "fatal", "unavailable", when=lambda link: link.answer is not None)
def hear_answer(
    client: Client, link: Link, scope: ConsumerScope
) -> Iterator[tuple[str, Client, Link]]:
    """A member follows the answer to its heartbeat."""
    answer = link.answer
    assert answer is not None
    link = evolve(link, answer=None)
    if answer.code in (UNKNOWN_MEMBER_ID, FENCED_MEMBER_EPOCH):
        yield "fenced", without_assignment(client, Member.JOINING), evolve(link, tag=Tag.OLD)
    elif answer.code == COORDINATOR_NOT_AVAILABLE:
        yield "unavailable", client.unanswered() if scope.resends else client, link
    elif answer.code != NONE:
        yield "fatal", without_assignment(client, Member.FATAL), evolve(link, tag=Tag.OLD)
    else:
        if answer.assigned is not None:
            client = _given(client, answer.assigned)
        yield "well", client, evolve(link, tag=answer.tag)


@rule(
    "taken",
    "revoking",
    "assigning",
    when=lambda client: (
        client.state == Member.RECONCILING and client.taking is None and not client.done
    ),
)
def reconcile(client: Client, scope: ConsumerScope) -> Iterator[tuple[str, Client]]:
    """A member begins to take its assignment, or takes it at once."""
    share = client.target
    if scope.callbacks == "instant":
        yield "taken", _taken(client, share, newest=True)
    elif client.holds & ~share:
        yield "revoking", evolve(client, taking=Taking(share, assigns=False))
    else:
        yield "assigning", evolve(client, taking=Taking(share, assigns=True))


def _taken(client: Client, share: int, *, newest: bool) -> Client:
    return evolve(
        client,
        state=Member.ACKNOWLEDGING,
        took=True,
        current=share,
        holds=share,
        done=newest,
        said=False,
        taking=None,
    )


@rule("revoked", "assigned", "dropped", when=lambda client: client.taking is not None)
def callback_returns(client: Client) -> Iterator[tuple[str, Client]]:
    """onPartitionsRevoked or onPartitionsAssigned returns."""
    taking = client.taking
    assert taking is not None
    if taking.aborted:
        yield "dropped", evolve(client, taking=None)
    elif taking.assigns:
        yield "assigned", _taken(client, taking.share, newest=taking.newest)
    else:
        kept = client.holds & taking.share
        yield "revoked", evolve(client, holds=kept, taking=evolve(taking, assigns=True))


WIRE_RULES = (request_arrives, answer_arrives)
CLIENT_RULES = (
    subscribe_all,
    send_consumer_heartbeat,
    *WIRE_RULES,
    reconcile,
    callback_returns,
)
