"""The share group as `--progress` checks it: which steps happen in the end.

Weakly fair: members subscribe and send heartbeats, the persister answers or is asked again, the
session of a process ends that is gone or has failed for good, the assignment interval ends. Not
fair: every fault.
"""

from __future__ import annotations

from collections.abc import Iterator

import attrs

from groupcheck.model.engine import Fairness, ScopeError, Spec, rule, weak
from groupcheck.model.protocol.consumer.client import Member
from groupcheck.model.protocol.consumer.memory import Seat
from groupcheck.model.protocol.consumer.messages import Link, gone
from groupcheck.model.protocol.share.client import ShareMember
from groupcheck.model.protocol.share.memory import ShareCore, removed
from groupcheck.model.protocol.share.scope import ShareScope

FAIR: tuple[Fairness, ...] = (
    weak("subscribe_share"),
    weak("send_share_heartbeat"),
    weak("persister_answers"),
    weak("initialization_overdue"),
    weak("share_ghost_expires"),
    weak("share_session_over"),
    weak("interval_passes"),
)


@rule(when=lambda client: client.state == Member.FATAL)
def share_session_over(
    core: ShareCore, seat: Seat | None, client: ShareMember, link: Link, scope: ShareScope
) -> Iterator[tuple[ShareCore, None, ShareMember, Link]]:
    """The session of a process ends that has failed for good."""
    if seat is not None and seat.session:
        yield removed(core, seat, scope), None, client, gone(link)


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
    rules = (share_session_over, *spec.rules)
    return attrs.evolve(spec, rules=rules, invariants=(), ends=(), deadlock=False, fair=FAIR)
