"""Request logs of runs of the model with static members, eager and cooperative: they are explained,
and never called wrong where requests are missing or the coordinator moves.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from printed import printed_requests

from groupcheck.model.protocol.classic.features.static import StaticScope
from groupcheck.model.protocol.classic.scope import Scope
from groupcheck.model.variants import load
from groupcheck.traces.findings.report import GroupReport
from groupcheck.traces.replay import replay_file

FAULTS = {
    "crash": 6,
    "close": 3,
    "poll_timeout": 3,
    "session_timeout": 100,
    "rebalance_timeout": 5,
    "sync_timeout": 3,
    "append_failure": 4,
    "late_commit": 3,
    "remove_instance": 2,
}
LOST = {"disconnect": 3, "lose_response": 3, "delay_request": 2, "lose_request": 2}
MOVED = {"fail_over": 3}
STEPS = 100


def static(**faults: int) -> Scope:
    return StaticScope(members=2, partitions=2, generations=60, records=2, faults=faults)


def cooperative(**faults: int) -> Scope:
    more: dict[str, Any] = {"partitions": 2, "assignor": "sticky", "records": 2}
    return load("cooperative_static").scope_type(members=2, generations=60, faults=faults, **more)


BUSY, COOPERATIVE = static(**FAULTS), cooperative(**FAULTS)
BROKEN, AWAY = static(**FAULTS, **LOST), cooperative(**FAULTS, **LOST, **MOVED)


def replayed(lines: Sequence[str], path: Path) -> GroupReport:
    file = path / "requests.log"
    file.write_text("".join(line + "\n" for line in lines))
    report = replay_file(str(file))
    assert report.strange == 0 and report.understood == len(lines)
    (group,) = report.groups
    return group


@pytest.mark.parametrize(
    ("scope", "seeds"), [(BUSY, (2, 5)), (COOPERATIVE, (2,))], ids=["eager", "cooperative"]
)
def test_every_run_with_static_members_holds(
    scope: Scope, seeds: Sequence[int], tmp_path: Path
) -> None:
    returns = 0
    for seed in seeds:
        group = replayed(printed_requests(seed, scope, STEPS), tmp_path)
        assert (group.verdict, group.protocol) == ("holds", "static"), (seed, group.reason)
        returns += group.timeline.counts["static_returns"]
    assert returns


@pytest.mark.parametrize("scope", [BROKEN, AWAY], ids=["lost requests", "fail-overs"])
def test_where_requests_are_lost_or_the_coordinator_moves_no_run_is_called_wrong(
    scope: Scope, tmp_path: Path
) -> None:
    verdicts = [replayed(printed_requests(n, scope, STEPS), tmp_path).verdict for n in range(2)]
    assert "violated" not in verdicts and "holds" in verdicts


def test_a_run_with_static_members_cut_at_any_place_is_not_called_wrong(tmp_path: Path) -> None:
    lines = printed_requests(5, BUSY, STEPS)
    for cut in range(1, len(lines), len(lines) // 6):
        for part in (lines[cut:], lines[:cut]):
            group = replayed(part, tmp_path)
            assert group.verdict != "violated", (cut, len(part), group.reason)
