"""A member whose heartbeat thread meets a failed authentication, on Kafka's own client: the thread
ends, and since 4.4.0 the member joins again (KAFKA-20253).
"""

from __future__ import annotations

import pytest

from groupcheck.oracles.kafka.client import (
    Schedule,
    Transcript,
    coordinator_found,
    joined,
    synced,
)
from groupcheck.oracles.kafka.client_commands import (
    Advance,
    Beat,
    FailAuthentication,
    Network,
    Poll,
    Reset,
)
from groupcheck.oracles.kafka.driver import shared

STABLE = (Poll(), coordinator_found(), Poll(), joined(1, "m2", "m1"), Network(), Network())
SHARE = (synced({"t": [0]}), Poll())


@pytest.mark.parametrize(
    ("version", "reason"), [("4.3.0", ""), ("4.4.0", "authentication error in heartbeat thread")]
)
def test_a_member_whose_heartbeat_thread_fails_to_authenticate_joins_again_since_4_4_0(
    version: str, reason: str
) -> None:
    commands = (*STABLE, *SHARE, Advance(ms=3_000), FailAuthentication(), Beat(), Poll(), Poll())
    result = shared(version).run(Schedule(commands, Reset(auto_commit=False)))
    assert isinstance(result, Transcript) and not result.refused, result
    *_, beat, first, second = result.steps
    assert beat.look is not None and beat.look.heart == "failed"
    assert (beat.look.state, beat.look.rejoin, beat.look.reason) == ("STABLE", bool(reason), reason)
    # The next poll throws that to the application. What it does then is told by the one after.
    assert first.thrown is not None and first.thrown.type == "SaslAuthenticationException"
    assert second.look is not None
    assert (second.look.waiting("JoinGroup") is not None) == bool(reason)
