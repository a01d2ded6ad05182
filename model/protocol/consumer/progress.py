"""The consumer group as `--progress` checks it: which steps happen in the end.

Each of these rules is weakly fair for each member by itself: where it stays possible from some
moment on, it happens.

- Members subscribe, send heartbeats, take their assignments, and their callbacks return. An
  application that polls too late is the fault `poll_timeout`; it polls again.
- Heartbeats and answers arrive: TCP delivers them or ends the connection. A late one does, too.
- The session of a process ends that is gone, has failed for good, or is refused; the rebalance
  timer of a member that never says what it gave up; the assignment interval.

Not fair, so a run may do without: every fault, timers that fire although the member lives included.
"""

from __future__ import annotations

from collections.abc import Iterator

import attrs

from groupcheck.model.engine import Fairness, ScopeError, Spec, evolve, rule, weak
from groupcheck.model.engine.rule import Rule
from groupcheck.model.protocol.consumer.client import Client, Member
from groupcheck.model.protocol.consumer.heartbeats import refused
from groupcheck.model.protocol.consumer.memory import Core, Seat, Timer, without
from groupcheck.model.protocol.consumer.messages import Kind, Link, Request, gone
from groupcheck.model.protocol.consumer.regexes import member_removed
from groupcheck.model.protocol.consumer.scope import ConsumerScope
from groupcheck.model.protocol.transform import extended

# Those of simple members, and those of Java's.
FAIR: tuple[Fairness, ...] = (
    weak("subscribe_all"),
    weak("send_consumer_heartbeat"),
    weak("request_arrives"),
    weak("answer_arrives"),
    weak("late_heartbeat"),
    weak("reconcile"),
    weak("callback_returns"),
    weak("poll_again"),
    weak("ghost_expires"),
    weak("session_over"),
    weak("revocation_over"),
    weak("interval_passes"),
    weak("application_subscribes"),
    weak("application_polls"),
    weak("unsubscribe_goes_on"),
    weak("java_callback_returns"),
    weak("java_heartbeat"),
    weak("background_reconciles"),
    weak("commit_ends"),
    weak("find_coordinator"),
    weak("resolver_looks"),
    weak("resolution_ends"),
    weak("time_passes"),
)


@rule(when=lambda client: client.state in (Member.FATAL, Member.JOINING))
def session_over(
    core: Core, seat: Seat | None, client: Client, link: Link, scope: ConsumerScope
) -> Iterator[tuple[Core, Seat | None, Client, Link]]:
    """The session of a process ends that has failed for good, or whose joins are refused (110, up
    to Kafka 4.1): only heartbeats that are accepted keep it. An ordinary check spends a fault on
    that, or ends there.
    """
    if seat is None or not seat.session:
        return
    joins = evolve(link, request=Request(Kind.JOIN))
    waits = scope.sessions_heal and refused(core, seat, joins, scope) == "stale"
    if client.state == Member.FATAL or waits:
        yield without(core, seat, settles=scope.release.settles_empty), None, client, gone(link)


def _silent(client: Client, link: Link) -> bool:
    """Will the member say no more what it owns, nor has it just said so?"""
    said = client.state == Member.STABLE and client.done and client.said and not client.full
    return said and all(r is None or r.owned is None for r in (link.out, *link.behind))


@rule(when=lambda seat: seat is not None and seat.rebalance == Timer.ON)
def revocation_over(
    core: Core, seat: Seat | None, client: Client, link: Link, scope: ConsumerScope
) -> Iterator[tuple[Core, Seat | None, Client, Link]]:
    """The rebalance timer ends of a member that goes on and says nothing new (resends=no). An
    ordinary check spends a fault on that.
    """
    if seat is not None and not scope.resends and _silent(client, link):
        yield without(core, seat, settles=scope.release.settles_empty), None, client, gone(link)


def progress(spec: Spec) -> Spec:
    """What is fair in the group, and its promises about runs alone. Raises `ScopeError` where
    anybody sends heartbeats: no member is obliged to do anything there.
    """
    if spec.scope.requests == "anybody":
        raise ScopeError(
            "requests anybody promise nothing about progress: no member has to send any",
            where="--progress",
            do="take requests=members",
        )
    due: tuple[Rule, ...] = (session_over,) if spec.scope.java else (session_over, revocation_over)
    if spec.scope.regexes:
        due = tuple(extended(r, member_removed, "regexes") for r in due)
    spec = attrs.evolve(spec, rules=(*due, *spec.rules))
    names = {r.name for r in spec.rules}
    fair = [f for f in FAIR if names.issuperset(f.names)]
    return attrs.evolve(spec, invariants=(), ends=(), deadlock=False, fair=fair)
