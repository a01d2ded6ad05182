"""A member of KIP-848 goes by the reason that its line names."""

from __future__ import annotations

from pathlib import Path

import pytest

from groupcheck.oracles.replay.text import group_facts
from groupcheck.traces.replay import replay_file
from groupcheck.traces.story.events import RebalanceCause

AT = "[2025-01-01 10:00:0{n},000] INFO [GroupCoordinator id=1 topic=t partition=3]"
BY = " (org.apache.kafka.coordinator.group.GroupMetadataManager)"


@pytest.mark.parametrize(
    ("reason", "cause", "how"),
    [
        ("the member session expired.", RebalanceCause.SESSION_EXPIRED, "expired"),
        ("its session expired.", RebalanceCause.SESSION_EXPIRED, "expired"),
        (
            "it failed to transition from epoch 4 within 60000ms.",
            RebalanceCause.REBALANCE_TIMEOUT,
            "fenced",
        ),
        (
            "it failed to revoke partitions within 60000ms.",
            RebalanceCause.REBALANCE_TIMEOUT,
            "fenced",
        ),
        ("the member failed to sync within timeout.", RebalanceCause.SYNC_TIMEOUT, "not_synced"),
        ("of a rule that nobody knows.", RebalanceCause.GONE, "fenced"),
    ],
)
def test_the_reason_in_the_line_decides(
    tmp_path: Path, reason: str, cause: RebalanceCause, how: str
) -> None:
    lines = (
        "[GroupId g] Member m1 joins the consumer group using the consumer protocol.",
        "[GroupId g] Bumped group epoch to 5 with metadata hash 7.",
        f"[GroupId g] Member m1 fenced from the group because {reason}",
        "[GroupId g] Bumped group epoch to 6 with metadata hash 7.",
    )
    log = tmp_path / "server.log"
    log.write_text("\n".join(AT.format(n=n) + " " + text + BY for n, text in enumerate(lines)))
    (g,) = replay_file(str(log)).groups
    assert g.timeline.causes == {"join": 1, cause.value: 1}
    assert g.timeline.members["m1"].gone == how
    assert g.timeline.counts[how] == 1 and g.timeline.rounds[-1].causers == ("m1",)


def test_a_group_has_reached_the_epochs_of_its_members(tmp_path: Path) -> None:
    lines = (
        "[GroupId g] Bumped group epoch to 5 with metadata hash 7.",
        "[GroupId g] Member m1 new assignment state: epoch=6, previousEpoch=5, state=STABLE,"
        " assignedPartitions={} and revokedPartitions={}.",
        "[GroupId g] Member m2 new assignment state: epoch=5, previousEpoch=5, state=STABLE,"
        " assignedPartitions={} and revokedPartitions={}.",
    )
    log = tmp_path / "server.log"
    log.write_text("\n".join(AT.format(n=n) + " " + text + BY for n, text in enumerate(lines)))
    (g,) = replay_file(str(log)).groups
    assert dict(group_facts(g))["epochs"] == "5 to 6"
