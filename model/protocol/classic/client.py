"""The member: the classic consumer with its poll thread and its heartbeat thread (protocol.md 2;
Kafka: AbstractCoordinator, ConsumerCoordinator).

Some things are left out because they make no difference: backoffs; a heartbeat while the connection
is busy, or once the member knows that it must join again (its answer would change nothing); the
retry of a request (the same as not having sent it yet). A process that has crashed is the same as
one that has not started.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import IntEnum

from attrs import frozen

from groupcheck.model.engine import evolve, rule, urgent
from groupcheck.model.protocol.classic.scope import Scope
from groupcheck.model.protocol.codes import (
    COORDINATOR_LOAD_IN_PROGRESS,
    COORDINATOR_NOT_AVAILABLE,
    FENCED_INSTANCE_ID,
    ILLEGAL_GENERATION,
    MEMBER_ID_REQUIRED,
    NONE,
    NOT_COORDINATOR,
    REBALANCE_IN_PROGRESS,
    UNKNOWN_MEMBER_ID,
)
from groupcheck.model.protocol.link import Link, R, send
from groupcheck.model.protocol.messages import (
    NO_GENERATION,
    NO_ID,
    Answer,
    Heartbeat,
    JoinGroup,
    LeaveGroup,
    OffsetCommit,
    Store,
    SyncGroup,
)


class Member(IntEnum):
    """AbstractCoordinator.MemberState."""

    UNJOINED = 0
    PREPARING = 1
    COMPLETING = 2
    STABLE = 3

    __hash__ = int.__hash__

    def __str__(self) -> str:
        return ("UNJOINED", "PREPARING_REBALANCE", "COMPLETING_REBALANCE", "STABLE")[self]


class Prepare(IntEnum):
    """How far the poll thread has come in a round."""

    # onJoinPrepare has not run in this round.
    NEEDED = 0
    # onJoinPrepare has sent its commit; the partitions are not given up yet.
    COMMITTED = 1
    # onJoinPrepare has run.
    DONE = 2
    # JoinGroup was answered; SyncGroup is the next request.
    SYNC = 3
    # The application's onPartitionsRevoked runs (see `callbacks`).
    REVOKING = 4

    __hash__ = int.__hash__


class Calls(IntEnum):
    """The application's call: it waits there, or it has failed (see `commit_styles`)."""

    NOTHING = 0
    # commitSync: its commit was lost, or answered with an error that passes, and is sent again.
    COMMIT_SYNC = 1
    # commitSync has thrown, and the application goes on. Only while `dirty`.
    THREW = 2
    # close: it has committed, and leaves next.
    CLOSE = 3

    __hash__ = int.__hash__


WATCHED = 1  # in a cooperative group, the watched partition as a bit mask
NOTHING = -1  # `Client.granted` of a member that waits for no onJoinComplete
RETRIABLE = (COORDINATOR_LOAD_IN_PROGRESS, COORDINATOR_NOT_AVAILABLE, NOT_COORDINATOR)


@frozen
class Client:
    """One member. A process that has not started is `Client()`."""

    state: Member = Member.UNJOINED
    # The generation that it believes to be in; NO_GENERATION after a reset.
    generation: int = NO_GENERATION
    # Its member id, or NO_ID.
    id: int = NO_ID
    prepare: Prepare = Prepare.NEEDED
    # It was told to join again (rejoinNeeded). Only in STABLE.
    rejoin: bool = False
    # The partitions that it believes to own and would fetch, as a bit mask.
    owned: int = 0
    # Its share in a SyncGroup answer whose onJoinComplete has not run yet, or NOTHING.
    granted: int = NOTHING
    # The next record of the watched partition; -1: not owned, or its offset is not fetched yet.
    position: int = -1
    # `position` was processed up to, but is not committed.
    dirty: bool = False
    # The error code that poll has thrown, or NONE. The application has stopped; what the member
    # remembers stays as it is, and it may still close.
    failed: int = NONE
    # It is closing, and its LeaveGroup stands behind a parked request.
    closing: bool = False
    # It did not take over its share, because a topic of it is no longer in its subscription (see
    # `triggers`), or has given it up (see `protocol.connect`). It will join again. Only in STABLE.
    refused: bool = False
    # What its application waits for (see `commit_styles`).
    calls: Calls = Calls.NOTHING
    # The generation of its last assignment (see `JoinGroup.assigned`).
    assigned: int = NO_GENERATION


def reset(client: Client, everything: bool) -> Client:
    """resetStateAndGeneration: the member forgets its generation and, with `everything`, its member
    id. It owns its partitions until the next poll.
    """
    everything = everything or client.granted != NOTHING
    return evolve(
        client,
        state=Member.UNJOINED,
        generation=NO_GENERATION,
        id=NO_ID if everything else client.id,
        prepare=Prepare.NEEDED,
        rejoin=False,
        granted=NOTHING,
        refused=False,
    )


def give_up(client: Client) -> Client:
    """The member gives up all partitions: onPartitionsRevoked, or onPartitionsLost if it has lost
    its generation.
    """
    return evolve(client, owned=0, position=-1, dirty=False, calls=Calls.NOTHING)


def install(client: Client, scope: Scope) -> Client:
    """onJoinComplete: the member owns its share, and has not fetched the committed offset of what
    is new. A cooperative member goes on with what it keeps; if it revokes something, it must join
    again, so that another may get it (KIP-429).
    """
    kept = client.owned & client.granted if scope.cooperative else 0
    revokes = scope.cooperative and client.owned != kept
    client = evolve(
        client,
        owned=client.granted,
        granted=NOTHING,
        prepare=Prepare.NEEDED,
        rejoin=client.rejoin or revokes,
        assigned=client.generation if scope.user_data else NO_GENERATION,
    )
    if kept & WATCHED:
        return client
    return evolve(client, position=-1, dirty=False, calls=Calls.NOTHING)


def wants_to_join(client: Client) -> bool:
    """Would a poll send JoinGroup (rejoinNeededOrPending)?"""
    return (
        not client.failed
        and not client.closing
        and client.prepare not in (Prepare.SYNC, Prepare.REVOKING)
        and client.granted == NOTHING
        and (client.state != Member.STABLE or client.rejoin)
    )


def must_commit_first(client: Client, scope: Scope) -> bool:
    """Does onJoinPrepare commit what was processed? It does so only while the member is STABLE."""
    stable = client.state == Member.STABLE and client.prepare == Prepare.NEEDED
    return scope.autocommit and stable and client.position >= 0 and client.dirty


def keeps(client: Client, scope: Scope) -> bool:
    """Does the member keep its partitions in onJoinPrepare? A cooperative one does, unless it has
    lost its generation or its id.
    """
    return scope.cooperative and client.generation != NO_GENERATION and client.id != NO_ID


def prepared(client: Client, scope: Scope) -> Client:
    """onJoinPrepare, behind its commit: the member gives up its partitions, once in a round."""
    if client.prepare == Prepare.DONE:
        return client
    return evolve(client if keeps(client, scope) else give_up(client), prepare=Prepare.DONE)


def must_call_back(client: Client, scope: Scope) -> bool:
    """Does onJoinPrepare call onPartitionsRevoked before JoinGroup is sent, and does that take a
    step of its own (see `callbacks`)? A member that has lost its generation is told
    onPartitionsLost, in which it cannot commit.
    """
    begins = client.prepare in (Prepare.NEEDED, Prepare.COMMITTED)
    revokes = client.owned and client.state == Member.STABLE and not scope.cooperative
    return scope.callbacks and begins and bool(revokes)


def joining(client: Client, scope: Scope) -> tuple[Client, JoinGroup]:
    """The member with the JoinGroup that it sends, which says what it owns. onJoinPrepare runs
    first, unless it has run in this round.
    """
    after = evolve(prepared(client, scope), state=Member.PREPARING, rejoin=False)
    if client.generation != NO_GENERATION:
        return after, JoinGroup(client.id, client.generation, owned=after.owned)
    return after, JoinGroup(client.id, owned=after.owned, assigned=after.assigned)


def committing(client: Client) -> tuple[Client, OffsetCommit]:
    """The member with its commit."""
    after = evolve(client, dirty=False, calls=Calls.NOTHING)
    return after, OffsetCommit(client.id, client.generation, client.position)


def can_commit(client: Client) -> bool:
    """May the member commit (maybeAutoCommitOffsetsAsync in poll, or the application itself)? Only
    while STABLE; before onJoinComplete, too, what a cooperative member has kept.
    """
    waits = client.granted != NOTHING and client.prepare == Prepare.DONE
    return (
        client.state == Member.STABLE
        and client.dirty
        and client.position >= 0
        and (client.prepare == Prepare.NEEDED or waits)
    )


# -- the poll thread


@rule("committed_first", "sent")
def send_join(client: Client, link: Link, scope: Scope) -> Iterator[tuple[str, Client, Link]]:
    """The member polls and must join: it commits, runs onJoinPrepare, and sends JoinGroup."""
    if wants_to_join(client) and link.idle:
        if must_commit_first(client, scope):
            after, commit = committing(client)
            yield "committed_first", evolve(after, prepare=Prepare.COMMITTED), send(link, commit)
        else:
            after, request = joining(client, scope)
            yield "sent", after, send(link, request)


@rule(when=lambda client: client.prepare == Prepare.SYNC)
def send_sync(client: Client, link: Link) -> Iterator[tuple[Client, Link]]:
    """The member has its generation and asks for its share; the leader would send the plan too."""
    if link.parked is None:
        asks = evolve(client, prepare=Prepare.DONE)
        yield asks, send(link, SyncGroup(client.id, client.generation))


@rule(when=lambda client: client.granted != NOTHING)
def join_complete(client: Client, scope: Scope) -> Iterator[Client]:
    """The poll thread runs onJoinComplete: the partitions of the SyncGroup answer become the
    member's.
    """
    yield install(client, scope)


@rule(when=lambda client: client.dirty)
def send_commit(client: Client, link: Link) -> Iterator[tuple[Client, Link]]:
    """The member commits what it has processed."""
    if can_commit(client) and link.idle:
        after, request = committing(client)
        yield after, send(link, request)


# -- the heartbeat thread


def beats(client: Client) -> bool:
    """Does the heartbeat thread send heartbeats? Only while the member waits for its share or is
    STABLE.
    """
    return client.state in (Member.COMPLETING, Member.STABLE) and client.prepare != Prepare.SYNC


@rule
def send_heartbeat(client: Client, link: Link) -> Iterator[tuple[Client, Link]]:
    """The heartbeat thread sends a heartbeat."""
    if beats(client) and not client.rejoin and link.idle:
        yield client, send(link, Heartbeat(client.id, client.generation))


@rule(when=lambda link: link.orphaned)
def request_timeout(client: Client, link: Link) -> Iterator[tuple[Client, Link]]:
    """The coordinator never answers the parked request: the member stops waiting, connects again
    and tries again.
    """
    yield client, Link(late=link.late)


# -- answers


@urgent(
    "joined",
    "id_given",
    "refused",
    "retry",
    "fatal",
    "ignored",
    when=lambda link: link.answer is not None and isinstance(link.answer.request, JoinGroup),
)
def join_answer(client: Client, link: Link) -> Iterator[tuple[str, Client, Link]]:
    """JoinGroupResponseHandler."""
    answer, request, link = _take(link, JoinGroup)
    same = (
        client.id in (request.id, NO_ID) and client.generation == request.claimed
    )  # a member that joins in one step does not know its id yet
    if answer.code == NONE and client.state != Member.PREPARING:
        yield "ignored", client, link
    elif answer.code == NONE:
        yield (
            "joined",
            evolve(
                client,
                state=Member.COMPLETING,
                generation=answer.generation,
                id=answer.id,
                prepare=Prepare.SYNC,
            ),
            link,
        )
    elif answer.code == MEMBER_ID_REQUIRED:
        yield "id_given", evolve(client, id=answer.id, generation=NO_GENERATION), link
    elif answer.code == UNKNOWN_MEMBER_ID:
        yield ("refused", reset(client, True), link) if same else ("ignored", client, link)
    elif answer.code in (*RETRIABLE, REBALANCE_IN_PROGRESS):
        yield "retry", client, link
    else:
        yield "fatal", evolve(client, failed=answer.code), link


@urgent(
    "assigned",
    "refused",
    "retry",
    "fatal",
    "ignored",
    when=lambda link: link.answer is not None and isinstance(link.answer.request, SyncGroup),
)
def sync_answer(client: Client, link: Link, scope: Scope) -> Iterator[tuple[str, Client, Link]]:
    """SyncGroupResponseHandler. Code 14 has no branch there and is fatal to the caller of poll."""
    answer, request, link = _take(link, SyncGroup)
    same = (client.id, client.generation) == (request.id, request.generation)
    if answer.code == NONE:
        if client.state == Member.COMPLETING and same:
            client = evolve(client, state=Member.STABLE, rejoin=False, granted=answer.share)
            yield "assigned", install(client, scope) if scope.atomic_complete else client, link
        else:
            yield "ignored", client, link
    elif answer.code in (ILLEGAL_GENERATION, UNKNOWN_MEMBER_ID):
        yield (
            ("refused", reset(client, answer.code == UNKNOWN_MEMBER_ID), link)
            if same
            else ("ignored", client, link)
        )
    elif answer.code in (COORDINATOR_NOT_AVAILABLE, NOT_COORDINATOR, REBALANCE_IN_PROGRESS):
        yield "retry", client, link
    else:
        yield "fatal", evolve(client, failed=answer.code), link


@urgent(
    "well",
    "told_to_rejoin",
    "refused",
    "fatal",
    "ignored",
    when=lambda link: link.answer is not None and isinstance(link.answer.request, Heartbeat),
)
def heartbeat_answer(client: Client, link: Link) -> Iterator[tuple[str, Client, Link]]:
    """HeartbeatResponseHandler: 27 counts as a good heartbeat and tells a STABLE member to join
    again; 22, 25 and 82 reset the member if its generation has not changed meanwhile. 82 stops it,
    too. Other errors are failed heartbeats and change nothing.
    """
    answer, request, link = _take(link, Heartbeat)
    same = (client.id, client.generation) == (request.id, request.generation)
    if answer.code == NONE:
        yield "well", client, link
    elif answer.code == REBALANCE_IN_PROGRESS:
        if client.state == Member.STABLE:
            yield "told_to_rejoin", evolve(client, rejoin=True), link
        else:
            yield "ignored", client, link
    elif same and answer.code in (ILLEGAL_GENERATION, UNKNOWN_MEMBER_ID):
        yield "refused", reset(client, answer.code == UNKNOWN_MEMBER_ID), link
    elif same and answer.code == FENCED_INSTANCE_ID:
        yield "fatal", evolve(reset(client, True), failed=answer.code), link
    else:
        yield "ignored", client, link


@urgent(
    "done",
    "rebalancing",
    "refused",
    "retry",
    "dropped",
    "fatal",
    "ignored",
    when=lambda link: (
        link.answer is not None and isinstance(link.answer.request, OffsetCommit | Store)
    ),
)
def commit_answer(client: Client, link: Link) -> Iterator[tuple[str, Client, Link]]:
    """OffsetCommitResponseHandler: the refusal of a commit of an old generation is harmless only
    while the member waits for its JoinGroup; later it resets the new generation. A commit before
    JoinGroup is sent again after an error that may pass; after any other the member joins without
    it. An error that nobody expects is told to whoever asked for the commit, and changes nothing.
    """
    answer, request, link = _take(link, OffsetCommit)
    same = (client.id, client.generation) == (request.id, request.generation)
    held = evolve(client, dirty=client.position >= 0)
    if answer.code == NONE:
        yield "done", client, link
    elif answer.code == REBALANCE_IN_PROGRESS:
        yield "rebalancing", evolve(held, rejoin=held.rejoin or held.state == Member.STABLE), link
    elif answer.code in RETRIABLE:
        first = held.prepare == Prepare.COMMITTED
        yield "retry", evolve(held, prepare=Prepare.NEEDED if first else held.prepare), link
    elif answer.code == FENCED_INSTANCE_ID and same:
        yield "fatal", evolve(held, failed=answer.code), link
    elif answer.code not in (ILLEGAL_GENERATION, UNKNOWN_MEMBER_ID):
        yield "dropped", held, link
    elif not same and client.state == Member.PREPARING:
        yield "ignored", client, link
    else:
        yield "refused", reset(held, answer.code == UNKNOWN_MEMBER_ID), link


@urgent(when=lambda link: link.answer is not None and isinstance(link.answer.request, LeaveGroup))
def leave_answer(client: Client, link: Link) -> Iterator[tuple[Client, Link]]:
    """The member has reset itself when it sent LeaveGroup; the answer changes nothing."""
    yield client, evolve(link, answer=None)


@urgent(when=lambda client: client.closing)
def closed(client: Client, link: Link) -> Iterator[tuple[Client, Link]]:
    """All requests of a closing member are answered: its process ends, and another may start in its
    place.
    """
    if link.idle and link.request is None:
        yield Client(), link


def _take(link: Link, kind: type[R]) -> tuple[Answer, R, Link]:
    """The answer that the member receives, its request, and the link afterwards."""
    answer = link.answer
    assert answer is not None
    request = answer.request.commit if isinstance(answer.request, Store) else answer.request
    assert isinstance(request, kind)
    return answer, request, evolve(link, answer=None)


POLL_RULES = (send_join, send_sync, join_complete, send_commit, send_heartbeat, request_timeout)
ANSWER_RULES = (join_answer, sync_answer, heartbeat_answer, commit_answer, leave_answer, closed)
