"""Figures of a group: rebalances of which no line tells, and time without a group."""

from __future__ import annotations

from pathlib import Path

from groupcheck.oracles.replay.document import time_document
from groupcheck.oracles.replay.text import group_facts
from groupcheck.traces.replay import replay_file
from groupcheck.traces.story.moments import Moment, Round, unseen

BY = " (kafka.coordinator.group.GroupCoordinator)"
BEGINS = (
    "[2021-01-01 10:00:{at:02},000] INFO [GroupCoordinator 0]: Preparing to rebalance group g in"
    " state PreparingRebalance with old generation {n} (__consumer_offsets-45) (reason: leader c-1"
    " re-joining group during Stable)" + BY
)
ENDS = (
    "[2021-01-01 10:00:{at:02},500] INFO [GroupCoordinator 0]: Stabilized group g generation {n}"
    " (__consumer_offsets-45) with 1 members" + BY
)


def facts(tmp_path: Path, *lines: str) -> tuple[dict[str, str], float | None]:
    log = tmp_path / "server.log"
    log.write_text("\n".join(lines))
    (g,) = replay_file(str(log)).groups
    return dict(group_facts(g)), time_document(g.timeline).median_period_ms


def test_generations_tell_of_rebalances_that_no_line_shows(tmp_path: Path) -> None:
    pairs = [(0, 20), (10, 21), (40, 24)]
    lines = [t for at, n in pairs for t in (BEGINS.format(at=at, n=n), ENDS.format(at=at, n=n + 1))]
    told, median = facts(tmp_path, *lines)
    assert "at least 5 rebalances in 40.5 s, 2 of which no line shows" in told["generations"]
    assert "one rebalance every 10.0 s (on average)" in told["time"]
    assert "median" not in told["time"] and median is None
    told, median = facts(tmp_path, *lines[:4])
    assert told["generations"] == "20 to 22, 2 rebalances in 10.5 s"
    assert "one every 10.0 s (median)" in told["time"] and median == 10_000


def test_a_generation_that_goes_back_hides_no_rebalance() -> None:
    at = Moment(1, 0)
    assert unseen([Round(at, 7, 8), Round(at, 0, 1), Round(at, 1), Round(at, 1, 2)]) == 0
    # Its own end is missing, and no other one.
    assert unseen([Round(at, 7), Round(at, 8, 9)]) == 0
    assert unseen([Round(at, 7, 8), Round(at, 9, 10), Round(at, 11)]) == 2


def test_a_group_that_was_removed_is_in_no_join_phase(tmp_path: Path) -> None:
    said = "[2016-01-01 10:00:{} INFO [GroupCoordinator 1]: {} (kafka.coordinator.GroupCoordinator)"
    told, _ = facts(
        tmp_path,
        said.format("00,000]", "Preparing to restabilize group g with old generation 1"),
        said.format("00,100]", "Group g generation 1 is dead and removed"),
        said.format("30,000]", "Preparing to restabilize group g with old generation 0"),
        said.format("30,100]", "Stabilized group g generation 1"),
        said.format("30,200]", "Assignment received from leader for group g for generation 1"),
        said.format("30,600]", "Preparing to restabilize group g with old generation 1"),
    )
    # 100 ms and 200 ms of the 700 ms in which there was a group.
    assert told["time"].startswith("43% not Stable (200 ms in join phases)")
