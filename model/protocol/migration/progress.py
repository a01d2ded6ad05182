"""Groups that migrate as `--progress` checks them: which steps happen in the end.

Weakly fair, each for each member by itself: members subscribe, join, ask for their shares, send
heartbeats and take what they are given; the first round of a classic group ends; so does the
session of an id that nobody uses, and that of a process that is gone and does not come back. Not
fair: every fault, and restarts.
"""

from __future__ import annotations

from collections.abc import Iterator

import attrs

from groupcheck.model.engine import Fairness, ScopeError, Spec, rule, weak
from groupcheck.model.protocol.consumer.client import Member
from groupcheck.model.protocol.consumer.memory import Core, Seat
from groupcheck.model.protocol.consumer.messages import Link, gone
from groupcheck.model.protocol.migration.classic_member import Process
from groupcheck.model.protocol.migration.round_members import group_without
from groupcheck.model.protocol.migration.scope import MigrationScope

FAIR: tuple[Fairness, ...] = (
    weak("subscribe_all"),
    weak("send_consumer_heartbeat"),
    weak("reconcile"),
    weak("send_join"),
    weak("send_sync"),
    weak("send_classic_heartbeat"),
    weak("first_round_over"),
    weak("id_expires"),
    weak("ghost_leaves"),
    weak("session_over"),
)


@rule(when=lambda client: client.state in (Member.FATAL, Member.ENDED))
def session_over(
    core: Core, seat: Seat | None, client: Process, link: Link, scope: MigrationScope
) -> Iterator[tuple[Core, None, Process, Link]]:
    """The session of a process ends that does not come back."""
    if seat is not None:
        yield group_without(core, seat, scope), None, client, gone(link)


def progress(spec: Spec) -> Spec:
    """What is fair in the group, and its promises about runs alone. Raises `ScopeError` where
    nothing has to happen, or restarts never end.
    """
    if spec.scope.requests == "anybody":
        raise ScopeError(
            "requests anybody promise nothing about progress: no member has to send any",
            where="--progress",
            do="take requests=members",
        )
    if spec.scope.restarts == "both":
        raise ScopeError(
            "processes that are restarted again and again come to no end",
            where="--progress",
            do="take restarts=upgrade or restarts=downgrade",
        )
    rules = (session_over, *spec.rules)
    fair = [f for f in FAIR if {r.name for r in rules}.issuperset(f.names)]
    return attrs.evolve(spec, rules=rules, invariants=(), ends=(), deadlock=False, fair=fair)
