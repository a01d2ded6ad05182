"""What goes wrong for members and on the wire, each with a budget."""

from __future__ import annotations

from collections.abc import Iterator

from groupcheck.model.engine import evolve, rule, urgent
from groupcheck.model.protocol.consumer.client import (
    Client,
    Member,
    without_assignment,
)
from groupcheck.model.protocol.consumer.memory import Seat, order
from groupcheck.model.protocol.consumer.messages import (
    Kind,
    Link,
    idle,
    leave_of,
    succeeded,
    without_epoch,
)
from groupcheck.model.protocol.consumer.scope import AS_KAFKA, ConsumerScope
from groupcheck.model.protocol.faults import Budget

Happened = tuple[Client, Link, Budget]


@rule(when=lambda budget: budget.allows("crash"))
def crash(client: Client, link: Link, budget: Budget) -> Iterator[Happened]:
    """A process dies; another one takes its place. Of a static member it has the instance id."""
    if client.state != Member.UNSUBSCRIBED:
        yield type(client)(), link.successor(), budget.spend("crash")


@urgent(when=lambda link: link.dead)
def leave_ghost(
    seat: Seat | None, link: Link, ghosts: tuple[Seat, ...]
) -> Iterator[tuple[None, Link, tuple[Seat, ...]]]:
    """The record of a dynamic process that has died stays, and no process has it."""
    yield None, evolve(link, dead=False), ghosts if seat is None else order([*ghosts, seat])


@rule("well", "failed", when=lambda budget: budget.allows("close"))
def close_consumer(
    client: Client, link: Link, budget: Budget
) -> Iterator[tuple[str, Client, Link, Budget]]:
    """A member closes. It does not wait for the answer to its last heartbeat, so nobody repeats one
    whose append fails.
    """
    if client.beats and idle(link):
        last = evolve(succeeded(link), lost=True, request=leave_of(link))
        left = budget.spend("close")
        yield "well", type(client)(), last, left
        if left.allows("append_failure"):
            yield "failed", type(client)(), evolve(last, fails=True), left.spend("append_failure")


@rule(when=lambda budget: budget.allows("poll_timeout"))
def poll_timeout(client: Client, link: Link, budget: Budget) -> Iterator[Happened]:
    """The application does not poll in time: the member leaves, and holds its partitions."""
    if client.beats and idle(link):
        stale = evolve(without_assignment(client, Member.STALE), holds=client.holds)
        last = evolve(without_epoch(link), lost=True, request=leave_of(link))
        yield stale, last, budget.spend("poll_timeout")


@rule(when=lambda client: client.state == Member.STALE)
def poll_again(client: Client) -> Iterator[Client]:
    """The application polls again: its partitions are lost, and it joins."""
    yield evolve(client, state=Member.JOINING, holds=0)


@rule("answer", "connection", when=lambda budget: budget.allows("lose_response"))
def lose_answer(
    client: Client, link: Link, budget: Budget, scope: ConsumerScope
) -> Iterator[tuple[str, Client, Link, Budget]]:
    """The answer to a heartbeat is lost, or with an explicit wire all that is on its way."""
    left = budget.spend("lose_response")
    if not client.beats:
        return
    if scope.wire == "explicit":
        if not idle(link):
            yield (
                "connection",
                client.unanswered(),
                evolve(link, out=None, back=None, behind=()),
                left,
            )
    elif client.sends:
        request = client.heartbeat(link.tag, scope)
        handled = evolve(link, request=request, lost=True)
        yield "answer", client.heartbeat_sent().unanswered(), handled, left


@rule(when=lambda budget: budget.allows("lose_request"))
def lose_heartbeat(client: Client, link: Link, budget: Budget) -> Iterator[Happened]:
    """A heartbeat never arrives."""
    if client.sends and idle(link):
        yield client.heartbeat_sent().unanswered(), link, budget.spend("lose_request")


@rule(when=lambda budget: budget.allows("append_failure"))
def fail_append(
    client: Client, link: Link, budget: Budget, scope: ConsumerScope
) -> Iterator[Happened]:
    """The records of a heartbeat cannot be appended."""
    if client.sends and idle(link):
        request = client.heartbeat(link.tag, scope)
        handled = evolve(link, request=request, fails=True)
        yield client.heartbeat_sent(), handled, budget.spend("append_failure")


@rule(when=lambda budget: budget.allows("delay_request"))
def delay_heartbeat(
    client: Client, link: Link, budget: Budget, scope: ConsumerScope
) -> Iterator[Happened]:
    """A heartbeat is held up on a connection that the member gives up."""
    left = budget.spend("delay_request")
    if not client.beats or link.late is not None:
        return
    if link.out is not None and not link.behind:
        yield client.unanswered(), evolve(link, out=None, late=link.out), left
    elif scope.wire == "collapsed" and client.sends:
        request = client.heartbeat(link.tag, scope)
        yield client.heartbeat_sent().unanswered(), evolve(link, late=request), left


@rule("handled", "dropped", when=lambda link: link.late is not None)
def late_heartbeat(link: Link, scope: ConsumerScope) -> Iterator[tuple[str, Link]]:
    """A heartbeat arrives over a former connection. Nobody hears the answer."""
    late = link.late
    assert late is not None
    reading = scope.k17 if late.kind == Kind.JOIN else scope.k18
    if reading == AS_KAFKA:
        yield "handled", evolve(link, late=None, request=late, lost=True)
    else:
        yield "dropped", evolve(link, late=None)


@rule(when=lambda budget: budget.allows("subscription"))
def change_subscription(
    client: Client, budget: Budget, scope: ConsumerScope
) -> Iterator[tuple[Client, Budget]]:
    """The application subscribes to other topics by their names."""
    if client.beats and client.subscribed:
        for subscribed in scope.subscriptions:
            if subscribed != client.subscribed:
                yield (
                    evolve(client, subscribed=subscribed, told=False),
                    budget.spend("subscription"),
                )


# Those of every member, and all of a simple one's.
SHARED_FAULT_RULES = (
    crash,
    lose_answer,
    lose_heartbeat,
    fail_append,
    delay_heartbeat,
    late_heartbeat,
    change_subscription,
)
FAULT_RULES = (*SHARED_FAULT_RULES, close_consumer, poll_timeout, poll_again)
