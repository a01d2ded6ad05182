"""The verdict on a coordinator of consumer groups (KIP-848), by the rule of the model."""

from __future__ import annotations

from pathlib import Path

import pytest

from groupcheck.traces.findings.report import GroupReport
from groupcheck.traces.replay import replay_file

LOG = Path(__file__).parents[2] / "data/replay/live-kip848.log"
LINES = LOG.read_text().splitlines(keepends=True)
GIVEN = next(k for k, x in enumerate(LINES) if "Z7QpNdpeQ7e4G5GQkVGhHw new assig" in x)
"""The first step of the second member: it waits for three partitions."""


def group(path: Path, lines: list[str]) -> GroupReport:
    path.write_text("".join(lines))
    (g,) = replay_file(str(path)).groups
    return g


def test_every_step_of_a_recorded_coordinator_is_explained(tmp_path: Path) -> None:
    g = group(tmp_path / "x.log", LINES)
    assert g.verdict == "holds" and "14 steps of members" in g.reason


def test_a_partition_that_another_member_still_has_is_not_explained(tmp_path: Path) -> None:
    topic = LINES[GIVEN - 1].split("partitions={")[1].split("=")[0]
    wrong = LINES[GIVEN].replace("state=UNRELEASED_PARTITIONS", "state=STABLE")
    wrong = wrong.replace("assignedPartitions=[]", f"assignedPartitions=[{topic}-3@3]")
    assert wrong != LINES[GIVEN]
    g = group(tmp_path / "x.log", [*LINES[:GIVEN], wrong])
    (line,) = g.unexplained
    assert line.line == GIVEN + 1 and "still has (line" in line.why
    assert "UNRELEASED_PARTITIONS with nothing" in line.possible
    assert g.verdict == "unknown" and "lines are missing before line" in g.reason


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("state=UNREVOKED_PARTITIONS", "state=STABLE"),
        ("state=UNRELEASED_PARTITIONS", "state=STABLE"),
        ("epoch=3, previousEpoch=2, state=STABLE", "epoch=2, previousEpoch=2, state=STABLE"),
    ],
)
def test_another_state_or_epoch_is_not_explained(tmp_path: Path, old: str, new: str) -> None:
    k = next(k for k, x in enumerate(LINES) if old in x)
    g = group(tmp_path / "x.log", [*LINES[:k], LINES[k].replace(old, new)])
    assert [u.line for u in g.unexplained] == [k + 1]


def test_nothing_is_judged_while_a_member_is_not_known(tmp_path: Path) -> None:
    begins = next(k for k, x in enumerate(LINES) if "Bumped group epoch to 3" in x)
    g = group(tmp_path / "x.log", LINES[begins:])
    assert not g.unexplained
    g = group(tmp_path / "info.log", [x for x in LINES if " INFO " in x])
    assert g.verdict == "unknown" and g.reason.startswith("nothing is judged: no line at DEBUG")


@pytest.mark.parametrize("k", range(0, len(LINES), 3))
def test_a_line_that_is_missing_is_never_held_against_the_broker(tmp_path: Path, k: int) -> None:
    g = group(tmp_path / "x.log", [*LINES[:k], *LINES[k + 1 :]])
    assert g.verdict != "violated"
