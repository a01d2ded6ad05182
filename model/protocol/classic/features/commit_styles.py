"""A feature of the classic group: the three ways in which applications of Kafka's client commit
(protocol.md 2.6). `Scope.commit_style` switches it on; without it a member may commit at any time,
or not, which allows what each of the three does, and more.

- `auto` (enable.auto.commit): the interval may be over at any poll that has no round to join
  (maybeAutoCommitOffsetsAsync). The member also commits before it joins (onJoinPrepare) and when it
  closes (maybeAutoCommitOffsetsSync), and sends both again after an error that passes. A static
  member sends no LeaveGroup behind that.
- `sync`: the application calls commitSync behind each record, before it polls again. The call ends
  with the answer. Until then the application neither polls nor processes nor closes, while the
  heartbeat thread goes on. A commit that is lost, or that is answered with an error that passes, is
  sent again; any other error is thrown. Outside a generation the call throws at once and sends
  nothing (generationIfStable). Behind an exception the application goes on, and may commit later.
- `async`: the application calls commitAsync behind each record, before it polls again, and goes on.
  Commits are in flight on the connection, several if the coordinator has not read them yet, and are
  handled in their order. Nobody sends one again, whatever becomes of it: an error is told to a
  callback, which does nothing. A JoinGroup is sent once they are answered, which makes no
  difference to the coordinator, because it would stand behind them.

What it leaves out:

- commitSync whose default.api.timeout.ms is over, and a member that closes and whose commit is lost
  or late. What the application does then is what it does behind an exception.
- The callback of commitAsync that commits again (the application's own mistake: offsets go
  backwards), and applications that commit before they have processed.
- An application of Kafka's client commits nothing behind its JoinGroup: `late_commit` does not
  happen.

Kafka: ConsumerCoordinator (commitOffsetsSync, commitOffsetsAsync, maybeAutoCommitOffsetsAsync,
maybeAutoCommitOffsetsSync, OffsetCommitResponseHandler).

A commitAsync stands in the queue of its connection. A first model handled it in the step that sends
it, and so hid that a crash loses commits in flight.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

import attrs

from groupcheck.model.engine import Spec, evolve, rule
from groupcheck.model.engine.rule import Rule
from groupcheck.model.protocol.classic import client as members
from groupcheck.model.protocol.classic import client_faults, offsets
from groupcheck.model.protocol.classic.client import (
    NOTHING,
    Calls,
    Client,
    Member,
    Prepare,
    can_commit,
    committing,
    must_commit_first,
    wants_to_join,
)
from groupcheck.model.protocol.classic.client_faults import Labelled, leaving
from groupcheck.model.protocol.classic.features.callbacks import call_back, callback_runs
from groupcheck.model.protocol.classic.features.mixed import by_kind
from groupcheck.model.protocol.classic.scope import ASYNC, AUTO, SYNC, Scope
from groupcheck.model.protocol.family import Family
from groupcheck.model.protocol.faults import Budget
from groupcheck.model.protocol.link import Link, send
from groupcheck.model.protocol.messages import NO_ID, JoinGroup, LeaveGroup, OffsetCommit
from groupcheck.model.protocol.transform import (
    extended,
    outcomes_changed,
    own,
    rebuilt,
    rewritten,
)

FAMILY = Family("styles of commits", base="classic")

Values = dict[str, Any]
STYLED = {"commit_style": FAMILY}
# What only a thread does that is not inside a call.
POLLS = (
    members.send_join,
    members.join_complete,
    offsets.fetch_offset,
    offsets.process_record,
    call_back,
)


def commit_styles(spec: Spec) -> Spec:
    """The feature. It comes after those that change the member, and before `failover_phases`."""
    style = spec.scope.commit_style
    if style is None:
        return spec
    spec = attrs.evolve(spec, scope=attrs.evolve(spec.scope, autocommit=style == AUTO))
    spec = rebuilt(spec, list(_while_it_waits(spec)))
    if style == AUTO:
        send_commit = own(spec, members.send_commit)
        close = committing_first(own(spec, client_faults.close))
        return rebuilt(spec, [only_if(send_commit, in_poll), close], [leaving_as(spec.scope)])
    processing = extended(own(spec, offsets.process_record), processed)
    if style == SYNC:
        return rebuilt(spec, [processing], [commit_throws])
    in_flight = rewritten(own(spec, members.send_commit), send_commit_async)
    losing = losing_commits(own(spec, client_faults.lose_request))
    return rebuilt(spec, [processing, in_flight, losing])


def _while_it_waits(spec: Spec) -> Iterator[Rule]:
    """The rules of every style: what a member does not do during a call, and how that ends."""
    there = {r.name: r for r in spec.rules}
    for r in POLLS:
        if r.name in there:
            yield only_if(there[r.name], may_poll)
    if client_faults.late_commit.name in there:
        yield only_if(own(spec, client_faults.late_commit), lambda client, scope: False)
    yield only_if(own(spec, client_faults.close), lambda client, scope: not waits(client))
    # close ends the heartbeat thread first.
    for r in (members.send_heartbeat, client_faults.poll_timeout, client_faults.lose_request):
        yield only_if(own(spec, r), lambda client, scope: client.calls != Calls.CLOSE)
    yield extended(own(spec, members.commit_answer), answered)
    for r in (client_faults.lose_response, client_faults.delay_request):
        yield outcomes_changed(own(spec, r), partial(broken_off, spec.scope))
    if callback_runs.name in there:
        yield outcomes_changed(there[callback_runs.name], _in_callback)


def only_if(original: Rule, holds: Callable[[Client, Scope], bool]) -> Rule:
    """The same rule, for members of which this holds."""

    def call(*args: Any) -> Iterator[Any]:
        client, scope = args[len(original.takes) + original.slots.index("client")], args[-1]
        if holds(client, scope):
            yield from original.call(*(args if original.takes_scope else args[:-1]))

    return rewritten(original, call, takes_scope=True)


# -- when an application commits


def waits(client: Client) -> bool:
    """Is the application's thread inside a call?"""
    return client.calls in (Calls.COMMIT_SYNC, Calls.CLOSE)


def may_poll(client: Client, scope: Scope) -> bool:
    """May the application poll, and process what it gets? One that commits by hand does so first,
    once for each record.
    """
    if waits(client) or is_thrown_at(client, scope):
        return False
    owes = scope.commit_style != AUTO and can_commit(client)
    return not owes or client.calls == Calls.THREW


def is_thrown_at(client: Client, scope: Scope) -> bool:
    """Does commitSync find that the member is outside its generation, at once or later?"""
    calls = client.dirty and client.calls == Calls.NOTHING and client.prepare != Prepare.REVOKING
    outside = client.state != Member.STABLE
    return scope.commit_style == SYNC and outside and (calls or client.calls == Calls.COMMIT_SYNC)


def in_poll(client: Client, scope: Scope) -> bool:
    """Does a poll commit, if the interval is over? Not while there is a round to join, nor before
    onJoinComplete, nor after an error that every poll throws.
    """
    joins = wants_to_join(client) or client.granted != NOTHING
    return not (joins or waits(client) or client.failed)


def processed(before: Values, label: str, after: Values, scope: Scope) -> Values:
    """The application commits the record by hand. Outside a generation that fails at once."""
    now = after["client"]
    if now.state == Member.STABLE:
        return {**after, "client": evolve(now, calls=Calls.NOTHING)}
    if scope.commit_style == SYNC:
        return {**after, "client": evolve(now, calls=Calls.THREW)}
    return {**after, "client": evolve(now, dirty=False)}


def send_commit_async(client: Client, link: Link) -> Iterator[tuple[Client, Link]]:
    """The application calls commitAsync. The coordinator reads the commit in a later step."""
    if can_commit(client) and link.parked is None:
        after, request = committing(client)
        yield after, evolve(link, queue=(*link.queue, request))


# -- what becomes of a commit


def answered(before: Values, label: str, after: Values, scope: Scope) -> Values:
    """OffsetCommitResponseHandler, and whoever asked for the commit. An error that passes is tried
    again in commitSync and in close, any other ends the call.
    """
    was, now = before["client"], after["client"]
    if was.calls == Calls.CLOSE:
        now = evolve(now, dirty=now.dirty and label == "retry")
    elif scope.commit_style == ASYNC:
        now = evolve(now, dirty=was.dirty)
    elif scope.commit_style == SYNC and now.dirty:
        now = evolve(now, calls=Calls.COMMIT_SYNC if label == "retry" else Calls.THREW)
    return {**after, "client": now}


def broken_off(scope: Scope, before: Values, label: str, after: Values) -> Mapping[str, Any] | None:
    """The connection breaks under a request: commitSync sends its commit again, nobody that of
    commitAsync.
    """
    was, link = before["client"], after["link"]
    late = link.late if link.late != before["link"].late else None
    match link.request or late:
        case JoinGroup():
            return after if may_poll(was, scope) else None
        case LeaveGroup():
            commits = scope.commit_style == AUTO and commits_in_close(was)
            return None if waits(was) or commits else after
        case OffsetCommit():
            return _lost(scope, was, after)
    return after


def _lost(scope: Scope, was: Client, after: Values) -> Mapping[str, Any] | None:
    if was.calls == Calls.CLOSE:
        return None
    if scope.commit_style == SYNC:
        return {**after, "client": evolve(was, calls=Calls.COMMIT_SYNC)}
    if scope.commit_style == ASYNC:
        return {**after, "client": committing(was)[0]}
    first = wants_to_join(was) and must_commit_first(was, scope)
    return after if first or in_poll(was, scope) else None


def losing_commits(lose_request: Rule) -> Rule:
    """commitAsync is not repeated if its request is lost; elsewhere that is the same as not having
    sent it yet.
    """

    def call(client: Client, link: Link, budget: Budget, scope: Scope) -> Iterator[Any]:
        yield from lose_request.call(client, link, budget, scope)
        if can_commit(client) and link.idle:
            lost = Link(late=link.late)
            yield "async", committing(client)[0], lost, budget.spend("lose_request")

    return rewritten(lose_request, call, labels=(*lose_request.labels, "async"))


@rule(when=lambda client: client.dirty)
def commit_throws(client: Client, scope: Scope) -> Iterator[Client]:
    """The application calls commitSync, or that tries again, outside a generation: it throws, and
    sends nothing.
    """
    if is_thrown_at(client, scope):
        yield evolve(client, calls=Calls.THREW)


def _in_callback(before: Values, label: str, after: Values) -> Mapping[str, Any] | None:
    """While commitSync waits, the callback does nothing else."""
    was = before["client"]
    if was.calls == Calls.COMMIT_SYNC and label != "committed":
        return None
    return after


# -- close


def committing_first(close: Rule) -> Rule:
    """maybeAutoCommitOffsetsSync: a member that commits by itself does so before it leaves."""

    def call(*given: Any) -> Iterator[Any]:
        client, link, budget, *others = given[len(close.takes) :][: len(close.slots)]
        if commits_in_close(client) and not waits(client) and link.idle:
            after, commit = committing(client)
            closing = evolve(after, calls=Calls.CLOSE)
            yield "committed_first", closing, send(link, commit), budget.spend("close"), *others
        else:
            yield from close.call(*given)

    return rewritten(close, call, labels=(*close.labels, "committed_first"))


def commits_in_close(client: Client) -> bool:
    """Does a member that closes commit what it has processed? It does so in its generation, also if
    it is about to join again and has committed for that, and not after a commit was answered 82.
    """
    held = client.dirty and client.position >= 0
    return held and client.state == Member.STABLE and not client.failed


def leaving_as(scope: Scope) -> Rule:
    """How the members of a group end `close` (maybeLeaveGroup)."""
    if not scope.static_count:
        return leave
    silent = rewritten(leave, go_silently, labels=("again", "silent"))
    return by_kind(silent, leave) if scope.static_count < scope.members else silent


@rule("again", "heard", "unheard", when=lambda client: client.calls == Calls.CLOSE)
def leave(client: Client, link: Link, budget: Budget) -> Iterator[Labelled]:
    """The member that closes has committed, or sends its commit again, and leaves."""
    if client.dirty and client.state == Member.STABLE and link.idle:
        after, commit = committing(client)
        yield "again", evolve(after, calls=Calls.CLOSE), send(link, commit), budget
    elif client.id == NO_ID:
        yield "unheard", Client(), Link(late=link.late), budget
    else:
        yield from leaving(client, link, budget)


def go_silently(client: Client, link: Link, budget: Budget) -> Iterator[Labelled]:
    """The same for a static member, which sends no LeaveGroup."""
    if client.dirty and client.state == Member.STABLE:
        yield from (after for after in leave.call(client, link, budget) if after[0] == "again")
    else:
        yield "silent", Client(), Link(late=link.late), budget
