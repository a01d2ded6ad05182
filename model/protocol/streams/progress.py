"""The streams group as `--progress` checks it: which steps happen in the end.

Weakly fair: threads start and send heartbeats, the session of a member ends that is gone or has
stopped, the rebalance timer, the initial delay and the assignment interval end. Not fair: every
fault.
"""

from __future__ import annotations

from collections.abc import Iterator

import attrs

from groupcheck.model.engine import Fairness, ScopeError, Spec, rule, weak
from groupcheck.model.protocol.consumer.client import Member
from groupcheck.model.protocol.consumer.messages import gone
from groupcheck.model.protocol.streams.client import StreamsMember
from groupcheck.model.protocol.streams.memory import StreamsCore, StreamsSeat, removed
from groupcheck.model.protocol.streams.messages import StreamsLink
from groupcheck.model.protocol.streams.scope import StreamsScope

FAIR: tuple[Fairness, ...] = (
    weak("start_thread"),
    weak("send_streams_heartbeat"),
    weak("streams_ghost_expires"),
    weak("streams_session_over"),
    weak("interval_passes"),
    weak("initial_delay_ends"),
)


@rule(when=lambda client: client.state == Member.FATAL)
def streams_session_over(
    core: StreamsCore,
    seat: StreamsSeat | None,
    client: StreamsMember,
    link: StreamsLink,
    scope: StreamsScope,
) -> Iterator[tuple[StreamsCore, None, StreamsMember, StreamsLink]]:
    """The session of a member ends that has stopped."""
    if seat is not None and seat.session:
        over = gone(link)
        assert isinstance(over, StreamsLink)
        yield removed(core, seat, scope), None, client, over


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
    rules = (streams_session_over, *spec.rules)
    return attrs.evolve(spec, rules=rules, invariants=(), ends=(), deadlock=False, fair=FAIR)
