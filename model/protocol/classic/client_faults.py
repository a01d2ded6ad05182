"""Faults of a member and of its connection. Each spends one unit of the budget."""

from __future__ import annotations

from collections.abc import Iterator

from groupcheck.model.engine import evolve, rule
from groupcheck.model.protocol.classic.client import (
    Client,
    Member,
    Prepare,
    can_commit,
    committing,
    joining,
    must_call_back,
    must_commit_first,
    reset,
    wants_to_join,
)
from groupcheck.model.protocol.classic.scope import Scope
from groupcheck.model.protocol.faults import Budget
from groupcheck.model.protocol.link import Link, send, send_into_the_void
from groupcheck.model.protocol.messages import NO_ID, LeaveGroup, OffsetCommit, Request, SyncGroup

Outcome = tuple[Client, Link, Budget]
Labelled = tuple[str, Client, Link, Budget]


def sends(client: Client, scope: Scope) -> Iterator[tuple[Client, Request]]:
    """The requests that the member may send next over an idle connection, each with the member as
    it is then. Heartbeats are left out: a lost or late one changes nothing.
    """
    if wants_to_join(client):
        if must_commit_first(client, scope):
            after, commit = committing(client)
            yield evolve(after, prepare=Prepare.COMMITTED), commit
        elif not must_call_back(client, scope):
            yield joining(client, scope)
    if client.prepare == Prepare.SYNC:
        yield evolve(client, prepare=Prepare.DONE), SyncGroup(client.id, client.generation)
    if can_commit(client):
        yield committing(client)


def _unanswered(before: Client, after: Client, request: Request) -> Client:
    """The member whose connection breaks before the answer: it tries a commit again, and joins
    again with the id that it has.
    """
    return before if isinstance(request, OffsetCommit) else after


@rule(when=lambda budget: budget.allows("crash"))
def crash(client: Client, link: Link, budget: Budget) -> Iterator[Outcome]:
    """The process dies; another may start in its place."""
    if client != Client():  # it has started
        yield Client(), Link(late=link.late), budget.spend("crash")


@rule("heard", "behind", "unheard", when=lambda budget: budget.allows("close"))
def close(client: Client, link: Link, budget: Budget) -> Iterator[Labelled]:
    """The member closes. Behind a parked request, its LeaveGroup is read once that request is
    answered, or never if the member does not wait so long. A member that is UNJOINED sends none,
    even if it has kept its id (AbstractCoordinator.maybeLeaveGroup).
    """
    yield from leaving(client, link, budget.spend("close"))


def leaving(client: Client, link: Link, spent: Budget) -> Iterator[Labelled]:
    """The end of a member that closes; `spent`: the faults that are left."""
    if client.id == NO_ID or client.prepare == Prepare.SYNC or (link.queue and link.parked is None):
        return  # the coordinator reads first what was sent before
    if client.state == Member.UNJOINED:
        yield "unheard", Client(), Link(late=link.late), spent
        return
    if link.idle:
        yield "heard", Client(), send_into_the_void(link, LeaveGroup(client.id)), spent
    else:
        yield "behind", Client(closing=True), send(link, LeaveGroup(client.id)), spent
        yield "unheard", Client(), Link(late=link.late), spent
    if link.idle and spent.allows("lose_request"):
        yield "unheard", Client(), Link(late=link.late), spent.spend("lose_request")


@rule("heard", "unheard", when=lambda budget: budget.allows("poll_timeout"))
def poll_timeout(client: Client, link: Link, budget: Budget) -> Iterator[Labelled]:
    """The application does not poll in time: the heartbeat thread leaves the group, but the
    application holds its partitions until it polls again.
    """
    if client.state not in (Member.COMPLETING, Member.STABLE):
        return
    spent = budget.spend("poll_timeout")
    if client.prepare != Prepare.SYNC:  # LeaveGroup cannot overtake SyncGroup, but both may be lost
        yield "heard", reset(client, True), send(link, LeaveGroup(client.id)), spent
    if spent.allows("lose_request"):
        yield "unheard", reset(client, True), Link(late=link.late), spent.spend("lose_request")


@rule("commit", "sync", when=lambda budget: budget.allows("lose_request"))
def lose_request(client: Client, link: Link, budget: Budget, scope: Scope) -> Iterator[Labelled]:
    """The commit before revoking never arrives, and the member goes on without it; or its SyncGroup
    never arrives, and it joins again.

    A lost JoinGroup, Heartbeat or other OffsetCommit is the same as one that is not sent yet.
    """
    if client.prepare == Prepare.SYNC and link.parked is None:
        yield (
            "sync",
            evolve(client, prepare=Prepare.DONE),
            Link(late=link.late),
            budget.spend("lose_request"),
        )
    if link.idle and wants_to_join(client) and must_commit_first(client, scope):
        after, _ = committing(client)
        yield (
            "commit",
            evolve(after, prepare=Prepare.COMMITTED),
            Link(late=link.late),
            budget.spend("lose_request"),
        )


@rule(when=lambda budget: budget.allows("lose_response"))
def lose_response(client: Client, link: Link, budget: Budget, scope: Scope) -> Iterator[Outcome]:
    """The coordinator handles a request, but its answer is lost with the connection. Requests that
    stand unread on the connection are lost, too.
    """
    if link.idle:
        for after, request in sends(client, scope):
            yield (
                _unanswered(client, after, request),
                send_into_the_void(link, request),
                budget.spend("lose_response"),
            )
    elif link.parked is None:
        yield client, Link(late=link.late), budget.spend("lose_response")


@rule(when=lambda budget: budget.allows("disconnect"))
def disconnect(client: Client, link: Link, budget: Budget) -> Iterator[Outcome]:
    """The connection breaks under a parked request, which stays parked at the coordinator."""
    if link.parked is not None:
        yield client, Link(late=link.late), budget.spend("disconnect")


@rule(when=lambda budget: budget.allows("delay_request"))
def delay_request(client: Client, link: Link, budget: Budget, scope: Scope) -> Iterator[Outcome]:
    """A request is held up on a connection that the member then gives up. (A late heartbeat changes
    nothing.)
    """
    if link.idle and link.late is None:
        for after, request in sends(client, scope):
            yield (
                _unanswered(client, after, request),
                Link(late=request),
                budget.spend("delay_request"),
            )
        if (
            client.id != NO_ID
            and client.state != Member.UNJOINED
            and client.prepare != Prepare.SYNC
            and budget.spend("delay_request").allows("close")
        ):
            spent = budget.spend("delay_request").spend("close")
            yield Client(), Link(late=LeaveGroup(client.id)), spent


@rule(when=lambda budget: budget.allows("late_commit"))
def late_commit(client: Client, link: Link, budget: Budget, scope: Scope) -> Iterator[Outcome]:
    """The application commits once more after JoinGroup was sent, as some clients do: the commit
    waits behind the parked request.
    """
    if (
        link.idle
        and wants_to_join(client)
        and client.state == Member.STABLE
        and client.dirty
        and client.prepare == Prepare.NEEDED
    ):
        committed, commit = committing(client)
        after, request = joining(committed, scope)
        yield after, evolve(send(link, request), queue=(commit,)), budget.spend("late_commit")


FAULT_RULES = (
    crash,
    close,
    poll_timeout,
    lose_request,
    lose_response,
    disconnect,
    delay_request,
    late_commit,
)
