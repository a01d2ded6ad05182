"""On a busy machine a broker that answers as the model is not blamed for when it does."""

from __future__ import annotations

from functools import partial
from random import Random
from typing import Any

import pytest

from groupcheck.oracles.coordinator.served import Coordinator, coordinator
from groupcheck.oracles.judge.broker.differences import Differs, Late
from groupcheck.oracles.judge.broker.exploring import Judging
from groupcheck.oracles.judge.broker.profiles import ONE_STEP, TWO_STEP
from groupcheck.oracles.judge.broker.surroundings import target
from groupcheck.oracles.judge.broker.target import Pace
from groupcheck.oracles.judge.broker.walk import Walk
from groupcheck.oracles.judge.report.schedules import Act
from groupcheck.oracles.wire.security import PLAINTEXT

NEW, MEMBER = (("id", -1), ("claimed", -1), ("owned", 0)), (("id", 0), ("generation", 0))
# The second member's JoinGroup waits; the first one hears of it.
ROUND = (
    Act("ask", "JoinGroup", 0, 3, NEW),
    Act("ask", "SyncGroup", 0, 3, MEMBER),
    Act("ask", "JoinGroup", 1, 3, NEW),
    Act("ask", "Heartbeat", 0, 3, MEMBER),
)
HASTY = Pace(usual_s=0.1, quiet_s=0.01)


def late(monkeypatch: pytest.MonkeyPatch, *names: str) -> None:
    """The broker comes late to these requests."""
    handle = Coordinator.handle

    def handled(self: Coordinator, request: Any) -> None:
        if request.api.name in names:
            self.server.later(0.3, partial(handle, self, request))
        else:
            handle(self, request)

    monkeypatch.setattr(Coordinator, "handle", handled)


def test_a_join_group_waits_once_the_broker_has_come_to_it(monkeypatch: pytest.MonkeyPatch) -> None:
    late(monkeypatch, "JoinGroup", "DescribeGroups")
    with coordinator() as served:
        aim, _ = target(served.address, PLAINTEXT, None, {})
        walk = Judging(aim).again(ONE_STEP, ROUND, Pace(quiet_s=0.01))
    assert walk.met.differences == []
    assert len(walk.acts) == len(ROUND)
    assert "PreparingRebalance" in str(walk.met.agreed[-1].kind)


def test_a_group_that_is_made_late_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    late(monkeypatch, "JoinGroup", "ApiVersions")
    with coordinator() as served:
        aim, _ = target(served.address, PLAINTEXT, None, {})
        walk = Judging(aim).started(TWO_STEP, HASTY)
        try:
            walk.begin()
        except Differs as differs:
            pytest.fail(str(differs))
        finally:
            walk.close()
    assert walk.is_made


def test_ways_that_time_has_cut_are_sought_as_before(monkeypatch: pytest.MonkeyPatch) -> None:
    aims = []

    def ends(self: Judging, walk: Walk, rng: Random) -> bool:
        aims.append(walk.aim)
        raise Late

    monkeypatch.setattr(Judging, "_step", ends)
    with coordinator() as served:
        aim, _ = target(served.address, PLAINTEXT, None, {})
        judging = Judging(aim)
        judging.explore([TWO_STEP], 100.0, 1, lambda: None, most=2)
    assert judging.ledger.late == len(aims) == 2 and all(aims)
    assert judging.ledger.sought and not any(judging.ledger.sought.values())
