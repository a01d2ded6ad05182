"""Processes that run, that are down, and that hang: who is bound to go on.

A process that is not running starts when somebody starts it, which nobody has to do. In an ordinary
check such a process is the same as a member that has been reset and owns nothing; here the one may
stay down for ever, while the other has to join again, so they are told apart.

The fault `hang` exists only here: the application stops polling for good, while the heartbeat
thread goes on. (In an ordinary check that is a member that happens to do nothing.)
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import attrs

from groupcheck.model.engine import Spec, array, evolve, rule
from groupcheck.model.engine.rule import Rule
from groupcheck.model.protocol.classic import client_faults
from groupcheck.model.protocol.classic.client import (
    Client,
    Member,
    closed,
    join_complete,
    joining,
    send_commit,
    send_sync,
)
from groupcheck.model.protocol.classic.features.commit_styles import commit_throws, leave
from groupcheck.model.protocol.classic.offsets import fetch_offset, process_record
from groupcheck.model.protocol.classic.scope import Scope
from groupcheck.model.protocol.faults import Budget
from groupcheck.model.protocol.link import Link, send
from groupcheck.model.protocol.transform import outcomes_changed, rebuilt, rewritten

DOWN = -10  # `Client.failed` of a process that is not running
HUNG = -11  # `Client.failed` of a process whose application does not poll any more
NOT_RUNNING = Client(failed=DOWN)

# What ends a process.
ENDS = (client_faults.close, leave, client_faults.delay_request, closed)
# What only an application does that polls.
POLLS = (
    send_sync,
    join_complete,
    send_commit,
    commit_throws,
    leave,
    fetch_offset,
    process_record,
    client_faults.close,
    client_faults.lose_request,
    client_faults.lose_response,
    client_faults.delay_request,
    client_faults.late_commit,
)


@rule
def start(client: Client, link: Link, scope: Scope) -> Iterator[tuple[Client, Link]]:
    """A process that is down is started: it polls and sends its first JoinGroup."""
    if client == NOT_RUNNING and link.idle and not link.seeks:
        after, request = joining(Client(), scope)
        yield after, send(link, request)


@rule(when=lambda budget: budget.allows("hang"))
def hang(client: Client, budget: Budget) -> Iterator[tuple[Client, Budget]]:
    """The application stops polling for good. The heartbeat thread goes on: it runs from the answer
    to JoinGroup on. (max.poll.interval.ms, which would end that, is the fault `poll_timeout`.)
    """
    if client.state in (Member.COMPLETING, Member.STABLE) and not client.failed:
        yield evolve(client, failed=HUNG), budget.spend("hang")


def processes_told_apart(spec: Spec) -> Spec:
    """The feature: processes may be down or hang."""
    spec = attrs.evolve(
        spec,
        rules=[
            _crashing(r)
            if r.name == client_faults.crash.name
            else outcomes_changed(r, _down)
            if r.name in {e.name for e in ENDS}
            else r
            for r in spec.rules
        ],
    )
    polls = {r.name for r in POLLS}
    hung = [outcomes_changed(r, _hung) for r in spec.rules if r.name in polls]
    members = spec.slots["client"].size
    assert members is not None
    return rebuilt(spec, hung, [start, hang], client=array(members, NOT_RUNNING))


def _crashing(usual: Rule) -> Rule:
    def crash(client: Client, *given: Any) -> Iterator[Any]:
        """The process dies. It may be started again."""
        if client != NOT_RUNNING:  # a member that was reset runs, too
            for _, *after in usual.call(NOT_RUNNING, *given):
                yield NOT_RUNNING, *after

    return rewritten(usual, crash)


def _down(before: dict[str, Any], label: str, after: dict[str, Any]) -> dict[str, Any] | None:
    ended = after["client"] == Client() and before["client"] != Client()
    return {**after, "client": NOT_RUNNING} if ended else after


def _hung(before: dict[str, Any], label: str, after: dict[str, Any]) -> dict[str, Any] | None:
    return None if before["client"].failed == HUNG else after
