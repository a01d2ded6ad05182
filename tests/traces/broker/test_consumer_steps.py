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
UNREVOKED = "UNREVOKED_PARTITIONS"


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
    assert g.verdict == "unknown" and g.reason.startswith("nothing is judged: no line shows a step")


@pytest.mark.parametrize("k", range(0, len(LINES), 3))
def test_a_line_that_is_missing_is_never_held_against_the_broker(tmp_path: Path, k: int) -> None:
    g = group(tmp_path / "x.log", [*LINES[:k], *LINES[k + 1 :]])
    assert g.verdict != "violated"


def line(second: int, text: str) -> str:
    shard = "[GroupCoordinator id=1 topic=__consumer_offsets partition=2]"
    logger = "(org.apache.kafka.coordinator.group.GroupMetadataManager)"
    return f"[2026-11-21 07:00:{second:02},000] DEBUG {shard} [GroupId g1] {text} {logger}\n"


def shares(**some: str) -> str:
    every = (f"{m}=MemberAssignment(partitions={{T=[{p}]}})" for m, p in some.items())
    told = f"Computed a new target assignment for epoch {len(some) + 1} with 'uniform' assignor"
    return f"{told} in 0ms: {{{', '.join(every)}}}."


def state(member: str, epochs: str, name: str, has: str, back: str) -> str:
    told = f"state={name}, assignedPartitions=[{has}] and revokedPartitions=[{back}]."
    return f"Member {member} new assignment state: {epochs}, {told}"


def test_a_member_may_give_one_thing_up_and_still_have_the_next(tmp_path: Path) -> None:
    """Its acknowledgement of one revocation comes when the next target takes more from it."""
    joins = "joins the consumer group using the consumer protocol."
    waits = "UNRELEASED_PARTITIONS"
    g = group(
        tmp_path / "x.log",
        [
            line(0, f"Member a {joins}"),
            line(0, shares(a="0, 1, 2, 3")),
            line(0, state("a", "epoch=2, previousEpoch=0", "STABLE", "T-0, T-1, T-2, T-3", "")),
            line(1, f"Member b {joins}"),
            line(1, shares(a="0, 1", b="2, 3")),
            line(1, state("b", "epoch=3, previousEpoch=0", waits, "", "")),
            line(2, state("a", "epoch=2, previousEpoch=2", UNREVOKED, "T-0, T-1", "T-2, T-3")),
            line(3, f"Member c {joins}"),
            line(3, shares(a="0", b="2, 3", c="1")),
            line(3, state("c", "epoch=4, previousEpoch=0", waits, "", "")),
            line(4, state("a", "epoch=2, previousEpoch=2", UNREVOKED, "T-0", "T-1")),
        ],
    )
    assert g.unexplained == () and g.verdict == "holds"
