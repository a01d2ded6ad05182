"""A part of `failover_phases`: a member that has no connection to a coordinator looks for it.

A member gives its connection up when it is answered 15 or 16, and loses it with a fault. It asks a
broker for the coordinator (FindCoordinator) and connects to the one that it is told. While the
coordinator moves, brokers may have old metadata, so the answer is one of three:

    unavailable     15 COORDINATOR_NOT_AVAILABLE: the partition of the group has no leader, or the
                    broker knows of none. The member asks again.
    former          the broker that was the coordinator before, if that does not know yet. (If it
                    knows, it answers 16, and the member looks again: the same as 15 to it.)
    found           the new coordinator, which may be loading the group.

Meanwhile (`Link.seeks`) the member sends nothing: it does not heartbeat, commit or join, and its
SyncGroup is given up. It goes on processing what it has fetched. It may crash, and close without a
LeaveGroup. Its heartbeat thread does not look at max.poll.interval.ms before it has a coordinator.
So it is the session timer of the new coordinator alone that ends such a membership.

Once the coordinator has loaded the group, and the former one has learned that it is no longer the
coordinator, every broker is taken to know: a member then finds the coordinator at once (`connect`).
One that finds it later only does nothing for longer.

The time in which the partition has no leader is part of the time in which the next one loads: the
members see the same of both, except that they find nobody in the first.

Kafka: AbstractCoordinator (ensureCoordinatorReady, lookupCoordinator, markCoordinatorUnknown,
FindCoordinatorResponseHandler, HeartbeatThread.run, maybeLeaveGroup), KafkaApis.getCoordinator.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from groupcheck.model.engine import Spec, evolve, rule, urgent
from groupcheck.model.engine.rule import Rule
from groupcheck.model.protocol.classic import client, client_faults
from groupcheck.model.protocol.classic.features.full_offsets.members import fetch_answer, txn_answer
from groupcheck.model.protocol.classic.features.unsubscribe import unsubscribe
from groupcheck.model.protocol.classic.group import Core
from groupcheck.model.protocol.codes import COORDINATOR_NOT_AVAILABLE, NOT_COORDINATOR
from groupcheck.model.protocol.link import Link
from groupcheck.model.protocol.transform import outcomes_changed, rebuilt, rewritten

Values = dict[str, Any]

# The answers after which a member takes the coordinator for unknown. (That of LeaveGroup is none.)
ANSWERS = (
    client.join_answer,
    client.sync_answer,
    client.heartbeat_answer,
    client.commit_answer,
    fetch_answer,
    txn_answer,
)
# Those that know 14 and 16 in phases alone.
SENT_AGAIN = (fetch_answer, txn_answer)
# Faults that end a connection, and perhaps the process.
BREAKS = (
    client.request_timeout,
    client.closed,
    client_faults.crash,
    client_faults.close,
    client_faults.poll_timeout,
    client_faults.lose_request,
    client_faults.lose_response,
    client_faults.disconnect,
    client_faults.delay_request,
    unsubscribe,
)
# Those after which the process goes on, over the same connection unless it is lost.
OF_THREADS = (client_faults.poll_timeout.name, unsubscribe.name)
# What goes on without a connection: the SyncGroup is given up, and no LeaveGroup is sent.
GOES_ON = (client.send_sync, client_faults.close, unsubscribe)
# What does not happen without one.
WAITS = (client_faults.lose_request, client_faults.lose_response, client_faults.poll_timeout)


@rule("unavailable", "former", "found", when=lambda link: link.seeks)
def find_coordinator(former: Core | None, link: Link) -> Iterator[tuple[str, Core | None, Link]]:
    """The member asks a broker for the coordinator, and connects to the one that it is told."""
    yield "unavailable", former, link
    if former is not None:
        yield "former", former, evolve(link, seeks=False, stale=True)
    yield "found", former, evolve(link, seeks=False, stale=False)


@urgent(when=lambda link: link.seeks)
def connect(
    core: Core, former: Core | None, link: Link
) -> Iterator[tuple[Core, Core | None, Link]]:
    """Every broker knows the coordinator: the member finds it in the step in which it looks."""
    if not core.loading and former is None:
        yield core, former, evolve(link, seeks=False, stale=False)
    elif link.stale and link.request is None:  # it was sent over the connection that is gone
        yield core, former, evolve(link, stale=False)


LOOKING_UP = frozenset({find_coordinator.name, connect.name})


def find_coordinator_first(spec: Spec) -> Spec:
    """The feature: members look for the coordinator."""
    answers, breaks = {r.name for r in ANSWERS}, {r.name for r in BREAKS}
    changed = []
    for r in spec.rules:
        usual = r
        if r.name in {again.name for again in SENT_AGAIN}:
            r = retrying(r)
        if r.name in answers:
            r = outcomes_changed(r, _unknown_after)
        if r.name in breaks:
            r = outcomes_changed(r, _falls_silent if r.name in OF_THREADS else _broken)
        if not r.urgent and {"client", "link"} <= {*r.slots}:
            r = while_seeking(r)
        changed += [r] if r is not usual else []
    return rebuilt(spec, changed, (find_coordinator, connect))


def unknown(link: Link) -> Link:
    """The member gives the connection up, with what it has sent behind the request at hand."""
    return Link(late=link.late, seeks=True)


def _unknown_after(before: Values, label: str, after: Values) -> Values:
    """markCoordinatorUnknown."""
    code = before["link"].answer.code
    if code not in (COORDINATOR_NOT_AVAILABLE, NOT_COORDINATOR):
        return after
    return {**after, "link": unknown(after["link"])}


def _broken(before: Values, label: str, after: Values) -> Values:
    """The connection is gone, unless a request stands on it. (A request that the coordinator
    handles all the same came over it.)
    """
    link: Link = after["link"]
    there = link.parked is not None or link.queue or (link.request is not None and link.live)
    return after if there else {**after, "link": evolve(link, seeks=True)}


def _falls_silent(before: Values, label: str, after: Values) -> Values:
    """The same of a member that forgets its id: the connection stays, unless it is lost."""
    return _broken(before, label, after) if label == "unheard" else after


@cache
def retrying(usual: Rule) -> Rule:
    """An OffsetFetch or TxnOffsetCommit that is answered 14 or 16 is sent again
    (OffsetFetchResponseHandler, TxnOffsetCommitHandler).
    """

    def call(*given: Any) -> Iterator[Any]:
        values = dict(zip(usual.slots, given))
        link: Link = values["link"]
        if link.answer is not None and link.answer.code in client.RETRIABLE:
            yield ("retry", *{**values, "link": evolve(link, answer=None)}.values())
        else:
            yield from usual.call(*given)

    return rewritten(usual, call, labels=(*usual.labels, "retry"))


@cache
def while_seeking(usual: Rule) -> Rule:
    """The rule of a member, which sends nothing while it looks for the coordinator."""
    goes_on = usual.name in {r.name for r in GOES_ON}
    waits = usual.name in {r.name for r in WAITS}

    def change(
        before: Values, label: str, after: Values
    ) -> Mapping[str, Any] | tuple[str, Mapping[str, Any]] | None:
        was: Link = before["link"]
        now: Link = after["link"]
        if not was.seeks:
            return after
        if waits:
            return None
        if now.request is None and now.parked is None and not now.queue and now.late == was.late:
            return after
        if not goes_on:
            return None
        told = "unheard" if label else ""
        return told, {**after, "link": was}

    return outcomes_changed(usual, change)
