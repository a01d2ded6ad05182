"""A rebalance with which the log of one broker ends, while another broker coordinates the group."""

from __future__ import annotations

from pathlib import Path

import pytest

from groupcheck.oracles.replay.report import ReplayReports
from groupcheck.traces.replay import replay_file

BEGINS = (
    "[2024-05-03 10:00:00,000] INFO [GroupCoordinator 1]: Preparing to rebalance group g in state"
    " PreparingRebalance with old generation 7 (__consumer_offsets-3) (reason: leader c-1"
    " re-joining group during Stable) (kafka.coordinator.group.GroupCoordinator)\n"
)
GOES_ON = (
    "[2024-05-03 {}:08:00,000] INFO [GroupCoordinator 2]: Stabilized group g generation 9"
    " (__consumer_offsets-3) with 2 members (kafka.coordinator.group.GroupCoordinator)\n"
)


@pytest.mark.parametrize(("hour", "outcome"), [("10", "lost"), ("09", "open")])
def test_it_is_lost_if_the_other_one_is_later_however_often_that_is_asked(
    tmp_path: Path, hour: str, outcome: str
) -> None:
    logs = []
    for name, text in (("1.log", BEGINS), ("2.log", GOES_ON.format(hour))):
        (tmp_path / name).write_text(text, "utf-8")
        logs.append(replay_file(str(tmp_path / name)))
    for reports in (ReplayReports(logs), ReplayReports(logs)):
        (answer,) = reports.answers
        for shown in (answer.seen[0].group, reports[0].groups[0]):
            assert [r.outcome for r in shown.timeline.rounds] == [outcome]
            assert (shown.findings.unsettled is None) == (outcome == "lost")
            assert any(w.open for w in shown.findings.not_stable) == (outcome == "open")
    assert logs[0].groups[0].timeline.open is not None  # what was read stays as it was
