"""Faults of a member and of its connection. Each spends one unit of the budget."""

from __future__ import annotations

from collections.abc import Iterator

from groupcheck.model.engine import evolve, rule
from groupcheck.model.protocol.async_server.member import (
    Client,
    beat,
    commit_of,
    joining,
    started_anew,
    wants_to_join,
)
from groupcheck.model.protocol.classic.client import Member
from groupcheck.model.protocol.faults import Budget
from groupcheck.model.protocol.link import Link, send_into_the_void
from groupcheck.model.protocol.messages import NO_ID, LeaveGroup, Request

Outcome = tuple[Client, Link, Budget]
Labelled = tuple[str, Client, Link, Budget]


def sends(client: Client) -> Iterator[tuple[Client, Request]]:
    """The requests that the member may send next, each with the member as it is then."""
    if wants_to_join(client):
        yield joining(client)
    else:
        yield client, beat(client)
    if client.state == Member.STABLE and client.owned:
        yield client, commit_of(client)


@rule(when=lambda budget: budget.allows("crash"))
def crash(client: Client, link: Link, budget: Budget) -> Iterator[Outcome]:
    """The process dies; another may start in its place."""
    if client != started_anew(client):  # it has started
        yield started_anew(client), Link(late=link.late), budget.spend("crash")


@rule("heard", "unheard", when=lambda budget: budget.allows("close"))
def close(client: Client, link: Link, budget: Budget) -> Iterator[Labelled]:
    """The member closes. Its LeaveGroup is not sent, or never read, while its JoinGroup waits."""
    if client.id == NO_ID:
        return
    spent = budget.spend("close")
    if link.idle and client.state == Member.STABLE:
        yield "heard", started_anew(client), send_into_the_void(link, LeaveGroup(client.id)), spent
    else:
        yield "unheard", started_anew(client), Link(late=link.late), spent


@rule(when=lambda budget: budget.allows("lose_response"))
def lose_response(client: Client, link: Link, budget: Budget) -> Iterator[Outcome]:
    """The coordinator handles a request, but its answer is lost with the connection."""
    if link.idle:
        for after, request in sends(client):
            yield after, send_into_the_void(link, request), budget.spend("lose_response")


@rule(when=lambda budget: budget.allows("disconnect"))
def disconnect(client: Client, link: Link, budget: Budget) -> Iterator[Outcome]:
    """The connection breaks under a parked request, which stays parked at the coordinator."""
    if link.parked is not None:
        yield client, Link(late=link.late), budget.spend("disconnect")


@rule(when=lambda budget: budget.allows("delay_request"))
def delay_request(client: Client, link: Link, budget: Budget) -> Iterator[Outcome]:
    """A request is held up on a connection that the member then gives up."""
    if link.idle and link.late is None:
        for after, request in sends(client):
            yield after, evolve(Link(), late=request), budget.spend("delay_request")


FAULT_RULES = (crash, close, lose_response, disconnect, delay_request)
