"""A coordinator's log of a streams group (KIP-1071): its members, epochs, and who held which tasks
back. The lines are those of GroupMetadataManager and TasksTupleWithEpochs of 4.3.1.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from groupcheck.traces.findings.report import GroupReport
from groupcheck.traces.replay import replay_file

FRAME = (
    "[2026-11-30 10:{time}] INFO [GroupCoordinator id=1 topic=__consumer_offsets partition=7]"
    " [GroupId app]{text} (org.apache.kafka.coordinator.group.GroupMetadataManager)"
)
A, B = "[MemberId A1A1A1A1A1A1A1A1A1A1AA] ", "[MemberId B1B1B1B1B1B1B1B1B1B1BB] "
BUMPED = "Bumped streams group epoch to {} with metadata hash 5 and validated topic epoch 0."
PLANNED = " Computed a new target assignment for epoch {} with 'sticky' assignor in 1ms."


def given(epoch: int, before: int, state: str, active: str, gives_up: str = "") -> str:
    """All tasks have the same standby tasks, which are no matter of the hand-over."""
    has = f"(active=[{active}], standby=[0-5], warmup=[])"
    back = f"(active=[{gives_up}], standby=[0-5], warmup=[])"
    return (
        f"Member's new assignment state: epoch={epoch}, previousEpoch={before}, state={state},"
        f" assignedTasks={has} and tasksPendingRevocation={back}."
    )


LINES = [
    ("00:00,100", f"{A}Member joins the streams group."),
    ("00:00,101", f"{A}Member initialized the topology with epoch 0"),
    ("00:00,102", f"{A}Configuring the topology 0"),
    ("00:00,103", A + BUMPED.format(1)),
    ("00:03,110", PLANNED.format(1)),
    ("00:03,120", A + given(1, 0, "STABLE", "0-0@1, 0-1@1")),
    ("01:00,100", f"{B}Member joins the streams group."),
    ("01:00,103", B + BUMPED.format(2)),
    ("01:00,110", PLANNED.format(2)),
    ("01:00,112", B + given(2, 0, "UNRELEASED_TASKS", "")),
    ("01:02,112", A + given(1, 1, "UNREVOKED_TASKS", "0-0@1", "0-1@1")),
    ("01:22,112", A + given(2, 1, "STABLE", "0-0@1")),
    ("01:23,112", B + given(2, 2, "STABLE", "0-1@2")),
    (
        "05:00,100",
        " Streams member A1A1A1A1A1A1A1A1A1A1AA fenced from the group because the member session"
        " expired.",
    ),
    ("05:00,103", B + BUMPED.format(3)),
]


@pytest.fixture
def group(tmp_path: Path) -> GroupReport:
    log = tmp_path / "server.log"
    log.write_text("".join(FRAME.format(time=time, text=text) + "\n" for time, text in LINES))
    report = replay_file(str(log))
    assert (report.strange, report.foreign) == (0, 0)
    (g,) = report.groups
    assert (g.group, g.protocol) == ("app", "streams")
    return g


def test_epochs_begin_with_members_and_not_with_the_topologies_that_they_bring(
    group: GroupReport,
) -> None:
    told = [(r.to_generation, r.cause, r.size, r.outcome) for r in group.timeline.rounds]
    assert told == [
        (1, "join", 1, "assigned"),
        (2, "join", 2, "assigned"),
        (3, "session_expired", 1, "open"),
    ]


def test_active_tasks_that_a_member_held_back_are_told(group: GroupReport) -> None:
    (handover,) = group.timeline.rounds[1].handovers
    assert handover.partitions == ("0-1",)
    assert (handover.source, handover.heir) == ("A1A1A1A1A1A1A1A1A1A1AA", "B1B1B1B1B1B1B1B1B1B1BB")
    (back,) = [a for a in group.anomalies if a.kind == "partitions_held_back"]
    assert "for 20.0 s" in back.text
