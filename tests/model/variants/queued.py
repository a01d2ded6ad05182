"""The classic model with nothing done at once: requests and answers travel one by one, and the
member does as much as a real one may meanwhile.

A transformation of the atomic rules, for comparison only. Coordinator, rounds, timers, offsets are
the very same rules. What differs:
- what a member sends goes to the end of its connection's queue, and `read_next` is the only way in
  which the coordinator takes it;
- answers travel in a queue back (`wire`), and the member's answer rules are ordinary rules that
  receive the first one;
- a member may have one JoinGroup or SyncGroup, one Heartbeat, one OffsetCommit and one LeaveGroup
  outstanding at the same time, and it goes on
  with heartbeats when it already knows that it must join again;
- a broken connection loses what is on its way in both directions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import attrs

from groupcheck.model.engine import Spec, array, evolve, rule, urgent
from groupcheck.model.engine.rule import Rule
from groupcheck.model.protocol.classic import client as member
from groupcheck.model.protocol.classic import client_faults as faulty
from groupcheck.model.protocol.classic.client import Client, Member, Prepare
from groupcheck.model.protocol.classic.coordinator import REQUEST_RULES
from groupcheck.model.protocol.classic.dead_values import close_books
from groupcheck.model.protocol.classic.failover import Reload, fail_over, reload
from groupcheck.model.protocol.classic.group import Seats, Walk
from groupcheck.model.protocol.classic.offsets import OFFSET_RULES
from groupcheck.model.protocol.classic.rules import spec as atomic
from groupcheck.model.protocol.classic.scope import Scope
from groupcheck.model.protocol.classic.timers import QUEUE_RULES, TIMER_RULES
from groupcheck.model.protocol.classic.walks import WALK_RULES
from groupcheck.model.protocol.faults import Budget
from groupcheck.model.protocol.link import Link
from groupcheck.model.protocol.messages import (
    NO_ID,
    Answer,
    Heartbeat,
    JoinGroup,
    LeaveGroup,
    OffsetCommit,
    Request,
    Store,
    SyncGroup,
)


@attrs.frozen
class Wire:
    """Answers on their way to the member, in order."""

    answers: tuple[Answer, ...] = ()


def _kind(request: Request) -> type:
    return (
        OffsetCommit
        if isinstance(request, Store)
        else SyncGroup
        if isinstance(request, JoinGroup)
        else type(request)
    )


def outstanding(link: Link, wire: Wire) -> set[type]:
    """The kinds of requests that the member has not been answered; JoinGroup and SyncGroup are one
    kind.
    """
    requests = [
        *link.queue,
        *([link.parked] if link.parked else []),
        *(a.request for a in wire.answers),
    ]
    return {_kind(r) for r in requests}


def sent(link: Link, request: Request | None) -> Link:
    assert request is not None
    return evolve(link, queue=(*link.queue, request))


def cut_off(client: Client, link: Link, wire: Wire) -> Client:
    """The member when its connection breaks: what it had committed without an answer it holds for
    uncommitted, and tries again.
    """
    if OffsetCommit in outstanding(link, wire):
        client = evolve(
            client,
            dirty=client.position >= 0,
            prepare=Prepare.NEEDED if client.prepare == Prepare.COMMITTED else client.prepare,
        )
    return client


def anew(link: Link) -> tuple[Link, Wire]:
    return Link(late=link.late), Wire()


def busy(client: Client, link: Link, wire: Wire, kinds: set[type]) -> bool:
    """Is the member closing, or waiting for such an answer?"""
    return client.closing or bool(kinds & outstanding(link, wire))


# -- the member sends


def _sends(original: Rule, kinds: set[type]) -> Rule:
    """A rule of the member that sends one request: it is called as if the connection were idle,
    unless such a request is outstanding.
    """

    def call(client: Client, link: Link, wire: Wire, scope: Scope) -> Iterator[Any]:
        if busy(client, link, wire, kinds):
            return
        for *label, after, way in original.call(
            client, Link(), *([scope] if original.takes_scope else [])
        ):
            yield *label, after, sent(link, way.request), wire

    call.__name__ = original.name
    return rule(*original.labels, when=original.guard.call if original.guard else None)(call)


@rule("committed_first", "sent")
def send_join(client: Client, link: Link, wire: Wire, scope: Scope) -> Iterator[Any]:
    out = outstanding(link, wire)
    if client.closing or SyncGroup in out:
        return
    for label, after, way in member.send_join.call(client, Link(), scope):
        if OffsetCommit in out and (scope.autocommit or label == "committed_first"):
            continue  # one commit at a time, and onJoinPrepare waits for it
        yield label, after, sent(link, way.request), wire


@rule
def send_heartbeat(client: Client, link: Link, wire: Wire) -> Iterator[Any]:
    if not busy(client, link, wire, {Heartbeat}):
        for after, way in member.send_heartbeat.call(evolve(client, rejoin=False), Link()):
            yield evolve(after, rejoin=client.rejoin), sent(link, way.request), wire


@rule(when=lambda link: link.orphaned)
def request_timeout(client: Client, link: Link, wire: Wire) -> Iterator[Any]:
    yield cut_off(client, link, wire), *anew(link)


# -- answers travel


@urgent(when=lambda link: link.answer is not None)
def post(link: Link, wire: Wire) -> Iterator[tuple[Link, Wire]]:
    """The coordinator's answer is on its way."""
    assert link.answer is not None
    yield evolve(link, answer=None), evolve(wire, answers=(*wire.answers, link.answer))


def _receives(original: Rule) -> Rule:
    """An answer rule as an ordinary one: the first answer arrives."""

    def call(client: Client, wire: Wire, scope: Scope) -> Iterator[Any]:
        link = Link(answer=wire.answers[0])
        assert original.guard is not None
        if original.guard.allows((), link):
            rest = evolve(wire, answers=wire.answers[1:])
            for *label, after, _ in original.call(
                client, link, *([scope] if original.takes_scope else [])
            ):
                yield *label, after, rest

    call.__name__ = original.name
    return rule(*original.labels, when=lambda wire: bool(wire.answers))(call)


# -- faults


def _breaks(original: Rule, allowed: Callable[[Client, Link, Wire], bool]) -> Rule:
    """A fault of the atomic model in which nothing is sent: the connection ends, with all that is
    on its way.
    """

    def call(client: Client, link: Link, wire: Wire, budget: Budget, scope: Scope) -> Iterator[Any]:
        if allowed(client, link, wire):
            for *label, after, way, left in original.call(
                client, link, budget, *([scope] if original.takes_scope else [])
            ):
                yield *label, after, way, Wire(), left

    call.__name__ = original.name
    return rule(*original.labels, when=original.guard.call if original.guard else None)(call)


@urgent(when=lambda client: client.closing)
def closed(client: Client, link: Link, wire: Wire) -> Iterator[Any]:
    """Everything is answered: the process ends."""
    if link.idle and link.request is None and not wire.answers:
        yield Client(), link, wire


@rule("heard", "behind", "unheard", when=lambda budget: budget.allows("close"))
def close(client: Client, link: Link, wire: Wire, budget: Budget) -> Iterator[Any]:
    """The closing member gives up its partitions, sends LeaveGroup behind all else, and ends when
    it is answered.
    """
    if client.id == NO_ID or client.prepare == Prepare.SYNC or client.failed:
        return
    spent = budget.spend("close")
    waiting = "heard" if link.parked is None else "behind"
    yield waiting, Client(closing=True), sent(link, LeaveGroup(client.id)), wire, spent
    if link.parked is not None:
        yield "unheard", Client(), *anew(link), spent
    else:
        if spent.allows("lose_request"):
            yield "unheard", Client(), *anew(link), spent.spend("lose_request")


@rule("heard", "unheard", when=lambda budget: budget.allows("poll_timeout"))
def poll_timeout(client: Client, link: Link, wire: Wire, budget: Budget) -> Iterator[Any]:
    if (
        client.state not in (Member.COMPLETING, Member.STABLE)
        or client.prepare == Prepare.SYNC
        or client.failed
    ):
        return
    spent = budget.spend("poll_timeout")
    yield "heard", member.reset(client, True), sent(link, LeaveGroup(client.id)), wire, spent
    if spent.allows("lose_request"):
        yield (
            "unheard",
            member.reset(cut_off(client, link, wire), True),
            *anew(link),
            spent.spend("lose_request"),
        )


@rule("commit", "sync", when=lambda budget: budget.allows("lose_request"))
def lose_request(client: Client, link: Link, wire: Wire, budget: Budget) -> Iterator[Any]:
    """Any requests that have not been read are lost with the connection; the commit before revoking
    is tried again, or done without.
    """
    if link.queue and link.parked is None and not wire.answers:
        after = cut_off(client, link, wire)
        yield "sync", after, *anew(link), budget.spend("lose_request")
        if client.prepare == Prepare.COMMITTED and OffsetCommit in outstanding(link, wire):
            yield (
                "commit",
                evolve(after, prepare=Prepare.COMMITTED),
                *anew(link),
                budget.spend("lose_request"),
            )


@rule(when=lambda budget: budget.allows("lose_response"))
def lose_response(client: Client, link: Link, wire: Wire, budget: Budget) -> Iterator[Any]:
    """Answers are lost on their way back, that of a parked request too (with more behind it, that
    is `disconnect`), and what is unread.
    """
    if wire.answers or (link.parked is not None and not link.queue):
        yield cut_off(client, link, wire), *anew(link), budget.spend("lose_response")


@rule(when=lambda budget: budget.allows("disconnect"))
def disconnect(client: Client, link: Link, wire: Wire, budget: Budget) -> Iterator[Any]:
    if link.parked is not None:
        yield cut_off(client, link, wire), *anew(link), budget.spend("disconnect")


@rule(when=lambda budget: budget.allows("delay_request"))
def delay_request(client: Client, link: Link, wire: Wire, budget: Budget) -> Iterator[Any]:
    """One unread request is held up, the others are lost, and the member goes on over a new
    connection.
    """
    if link.parked is None and link.late is None:
        for request in link.queue:
            if not isinstance(request, Heartbeat):
                spent = budget.spend("delay_request")
                yield cut_off(client, link, wire), Link(late=request), Wire(), spent


@rule(when=lambda budget: budget.allows("late_commit"))
def late_commit(
    client: Client, link: Link, wire: Wire, budget: Budget, scope: Scope
) -> Iterator[Any]:
    if not busy(client, link, wire, {SyncGroup, OffsetCommit}):
        for after, way, left in faulty.late_commit.call(client, Link(), budget, scope):
            yield after, evolve(link, queue=(*link.queue, way.request, *way.queue)), wire, left


# -- fail-over: the members notice that their connections have ended


@urgent(when=reload.guard.call if reload.guard else None)
def reload_and_notice(
    walk: Walk[Reload], seats: Seats, link: Link, client: Client, wire: Wire, scope: Scope
) -> Iterator[Any]:
    for after, loaded, fresh in reload.call(walk, seats, link, scope):
        yield after, loaded, fresh, cut_off(client, link, wire), Wire()


def spec(scope: Scope) -> Spec:
    """The queued model at a scope of the atomic one."""
    there = atomic(scope)
    walks = [reload_and_notice if r is reload else r for r in WALK_RULES]
    urgents = (post, *walks, close_books, closed, OFFSET_RULES[0], *REQUEST_RULES)
    sending = (
        send_join,
        _sends(member.send_sync, {SyncGroup}),
        _sends(member.send_commit, {OffsetCommit}),
        send_heartbeat,
        request_timeout,
    )
    breaking = (
        _breaks(faulty.crash, lambda client, link, wire: True),
        close,
        poll_timeout,
        lose_request,
        lose_response,
        disconnect,
    )
    rules = (
        *TIMER_RULES,
        fail_over,
        *sending,
        member.join_complete,
        *OFFSET_RULES[1:],
        *breaking,
        delay_request,
        late_commit,
        *QUEUE_RULES,
        *(_receives(r) for r in member.ANSWER_RULES if r.name != "closed"),
        *urgents,
    )
    return attrs.evolve(
        there,
        name="classic, queued",
        slots={**there.slots, "wire": array(scope.members, Wire())},
        rules=rules,
    )
