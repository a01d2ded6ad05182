"""What the replay claims of single lines: explained, impossible, or explained only if lines are
missing.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from groupcheck.traces.findings.report import GroupReport
from groupcheck.traces.replay import replay_file

A, B, C = (f"{c}-23a5cab4-de06-4358-8220-add81426c9a{k}" for k, c in enumerate("abc"))


class Log:
    """A log of the new coordinator, line by line."""

    def __init__(self, path: Path) -> None:
        self.path, self.lines, self.ms = path / "broker.log", [], 0

    def say(self, *sentences: str, after: int = 1) -> Log:
        for sentence in sentences:
            self.ms += after
            time = (
                f"2024-10-25 {17 + self.ms // 3_600_000:02}:{self.ms // 60_000 % 60:02}"
                f":{self.ms // 1000 % 60:02},{self.ms % 1000:03}"
            )
            where = "GroupCoordinator id=1 topic=__consumer_offsets partition=3"
            self.lines.append(
                f"[{time}] INFO [{where}] {sentence}"
                " (org.apache.kafka.coordinator.group.GroupMetadataManager)\n"
            )
        return self

    def join(self, member: str, phase: str) -> Log:
        return self.say(
            f"Dynamic member with unknown member id joins group g in {phase} state. "
            f"Created a new member id {member} and requesting the member to rejoin with this id.",
            f"Pending dynamic member with id {member} joins group g in {phase} state. Adding to the"
            " group now.",
        )

    def prepare(self, generation: int, reason: str) -> Log:
        return self.say(
            "Preparing to rebalance group g in state PreparingRebalance with old generation"
            f" {generation} (reason: {reason})."
        )

    def added(self, generation: int, member: str, phase: str) -> Log:
        return self.join(member, phase).prepare(
            generation,
            f"Adding new member {member} with group instance id null; client reason: not provided",
        )

    def stable(self, generation: int, members: int, leader: str) -> Log:
        return self.say(
            f"Stabilized group g generation {generation} with {members} members.",
            f"Assignment received from leader {leader} for group g for generation {generation}. "
            f"The group has {members} members, 0 of which are static.",
        )

    def group(self) -> GroupReport:
        self.path.write_text("".join(self.lines))
        (group,) = replay_file(str(self.path)).groups
        return group


@pytest.fixture
def log(tmp_path: Path) -> Log:
    return Log(tmp_path)


def two_members(log: Log) -> Log:
    return log.added(0, A, "Empty").stable(1, 1, A).added(1, B, "Stable").stable(2, 2, A)


def refused(group: GroupReport) -> Sequence[str]:
    """Why lines are impossible, whatever lines are missing."""
    assert group.verdict == "violated", group.reason
    return [u.why for u in group.unexplained]


def misfits(group: GroupReport) -> Sequence[str]:
    """Why lines do not fit, unless others are missing."""
    assert group.verdict == "unknown" and "lines are missing" in group.reason, group.reason
    assert "gap" in {a.kind for a in group.anomalies}
    return [u.why for u in group.unexplained]


def test_a_group_that_grows_and_shrinks_is_explained(log: Log) -> None:
    left = "has left group through explicit `LeaveGroup` request; client reason: bye"
    two_members(log).say(f"[Group g] Member {B} {left}").prepare(
        2, f"explicit `LeaveGroup` request for ({B}) members."
    ).stable(3, 1, A)
    group = (
        log.say(f"[Group g] Member {A} {left}")
        .prepare(3, f"explicit `LeaveGroup` request for ({A}) members.")
        .say("Group g with generation 4 is now empty.")
        .group()
    )
    assert (group.verdict, group.unexplained_count) == ("holds", 0)
    assert [(r.from_generation, r.to_generation, r.outcome) for r in group.timeline.rounds] == [
        (0, 1, "assigned"),
        (1, 2, "assigned"),
        (2, 3, "assigned"),
        (3, 4, "emptied"),
    ]


def test_a_generation_cannot_come_twice(log: Log) -> None:
    two_members(log).prepare(
        2, f"Leader {A} re-joining group during Stable; client reason: x"
    ).stable(2, 2, A)
    assert refused(log.group()) == [
        "line 11 shows that generation 2 had gone on before",
        "line 11 shows that generation 2 had gone on before",
    ]


def test_a_member_that_was_never_seen_cannot_make_a_generation_larger(log: Log) -> None:
    two_members(log).prepare(
        2, f"Leader {A} re-joining group during Stable; client reason: x"
    ).stable(3, 3, A)
    assert misfits(log.group())[0] == "3 members are printed, but the group has 2"


def test_only_the_leader_can_send_the_assignment(log: Log) -> None:
    log.added(0, A, "Empty").stable(1, 1, A).added(1, B, "Stable").say(
        "Stabilized group g generation 2 with 2 members."
    )
    log.say(
        f"Assignment received from leader {B} for group g for generation 2. The group has 2"
        " members, 0 of which are static."
    )
    log.say(
        f"Group g removed dynamic members who haven't joined: [{C}]"
    )  # such lines are printed here, so A's removal is not just missing
    assert f"{B} sends the assignment, but {A} is the leader" in misfits(log.group())


def test_the_leader_that_rejoins_must_be_the_leader(log: Log) -> None:
    two_members(log).prepare(
        2, f"Leader {B} re-joining group during Stable; client reason: x"
    ).stable(3, 2, A)
    assert log.group().verdict != "holds"


def test_a_member_that_joined_this_round_is_not_removed_for_not_joining(log: Log) -> None:
    two_members(log).added(2, C, "Stable").say(
        f"Group g removed dynamic members who haven't joined: [{C}]"
    ).stable(3, 2, A)
    assert f"{C} is removed for not joining, but it had joined this round" in misfits(log.group())


def test_after_an_expiry_a_rebalance_must_begin(log: Log) -> None:
    two_members(log).say(f"Member {B} in group g has failed, removing it from the group.")
    group = log.join(C, "Stable").group()
    assert misfits(group)[0] == f"a rebalance had to begin: {B} expired"


def test_an_assignment_needs_a_group_that_waits_for_it(log: Log) -> None:
    two_members(log).say(
        f"Assignment received from leader {A} for group g for generation 2. The group has 2"
        " members, 0 of which are static."
    )
    assert (
        log.group().verdict == "holds"
    )  # the leader may repeat its SyncGroup while the append is under way
    log.added(2, C, "Stable").say(
        f"Assignment received from leader {A} for group g for generation 2. The group has 2"
        " members, 0 of which are static."
    )
    assert refused(log.group()) == ["line 14 shows that generation 2 had gone on before"]


def test_a_generation_that_runs_ahead_means_that_lines_are_missing(log: Log) -> None:
    two_members(log).prepare(
        5, f"Leader {A} re-joining group during Stable; client reason: x"
    ).stable(6, 2, A)
    group = log.group()
    assert group.verdict == "unknown" and group.reason.startswith(
        "lines are missing before line 11"
    )
    assert [a.kind for a in group.anomalies if a.kind == "gap"] == ["gap"]


def test_the_first_impossible_line_is_shown_with_what_was_possible(log: Log) -> None:
    two_members(log).stable(3, 2, A)
    first = log.group().unexplained[0]
    assert first.line == 11 and first.text.startswith("Stabilized group g generation 3")
    assert first.possible == "CompletingRebalance or Stable in generation 2 with 2 members"
    assert first.lost == ("RebalanceStarted",)


def test_after_an_impossible_line_the_replay_goes_on(log: Log) -> None:
    two_members(log).stable(3, 2, A).added(3, C, "Stable").stable(4, 3, A).added(
        4, C.replace("c-", "d-"), "Stable"
    ).stable(5, 4, A)
    assert log.group().unexplained_count == 1


def test_lines_that_a_search_filtered_out_are_told_from_broken_promises(log: Log) -> None:
    two_members(log).say(f"Member {B} in group g has failed, removing it from the group.").prepare(
        2, f"removing member {B} on heartbeat expiration."
    )
    log.say(f"Member {A} in group g has failed, removing it from the group.").added(
        3, C, "Empty"
    ).stable(4, 1, C)
    group = log.group()
    assert (group.verdict, group.unexplained_count, group.assumed_count) == ("unknown", 0, 1)
    (missing,) = [a for a in group.anomalies if a.kind == "missing_lines"]
    assert "'Group ... is now empty'" in missing.text


def test_the_same_kind_of_line_elsewhere_makes_its_absence_a_gap(log: Log) -> None:
    expired = [f"Member {m} in group g has failed, removing it from the group." for m in (A, B, C)]
    two_members(log).say(expired[1]).prepare(
        2, f"removing member {B} on heartbeat expiration."
    ).say(expired[0]).added(3, C, "Empty").stable(4, 1, C)
    log.say(expired[2]).prepare(4, f"removing member {C} on heartbeat expiration.").say(
        "Group g with generation 5 is now empty."
    )
    group = log.group()
    assert misfits(group) and group.unexplained[0].lost == ("GroupEmptied",)


def test_an_empty_group_of_the_new_coordinator_may_begin_anew(log: Log) -> None:
    log.added(0, A, "Empty").stable(1, 1, A).say(
        f"Member {A} in group g has failed, removing it from the group."
    )
    log.prepare(1, f"removing member {A} on heartbeat expiration.").say(
        "Group g with generation 2 is now empty."
    ).added(0, B, "Empty").stable(1, 1, B)
    group = log.group()
    assert group.verdict == "holds"
    assert [a.kind for a in group.anomalies if "reset" in a.kind] == ["generation_reset"]


def test_a_restart_explains_lost_members_and_a_lost_generation(log: Log) -> None:
    two_members(log).say("Shutting down.", "Starting up.").added(0, C, "Empty").stable(1, 1, C)
    group = log.group()
    assert group.verdict == "holds"
    (reset,) = [a for a in group.anomalies if a.kind == "generation_reset"]
    assert "generation 2 is followed by 0: the broker was restarted" in reset.text


def test_a_generation_that_ends_twice_in_a_filtered_log_may_be_that_of_a_group_begun_anew(
    log: Log,
) -> None:
    """The lines with which generations begin are missing, so those of a restart may be, too."""
    for generation, after in ((1, 1), (1, 200_000), (2, 1_000), (3, 1_000)):
        log.ms += after
        log.prepare(generation, f"leader {A} re-joining group during Stable")
    assert log.group().verdict == "unknown"
    log.lines.clear()
    two_members(log).prepare(2, f"leader {A} re-joining group during Stable").stable(3, 2, A)
    log.prepare(2, f"leader {A} re-joining group during Stable")
    assert log.group().verdict == "violated"


def test_members_come_back_with_a_loaded_group(log: Log) -> None:
    two_members(log).say(
        "[GroupId=g] Unloading group metadata for generation 2.",
        "Loaded classic group g with 2 members.",
    )
    log.prepare(2, f"Leader {A} re-joining group during Stable; client reason: x").stable(3, 2, A)
    assert log.group().verdict == "holds"
    log.prepare(3, f"Leader {A} re-joining group during Stable; client reason: x").stable(4, 3, A)
    assert misfits(log.group())


def test_a_group_cannot_be_unloaded_in_a_generation_that_it_never_had(log: Log) -> None:
    two_members(log).say(
        "[GroupId=g] Unloading group metadata for generation 7.",
        "Loaded classic group g with 2 members.",
    )
    assert log.group().verdict != "holds"


def test_a_round_that_waits_for_a_dead_member_names_it(log: Log) -> None:
    two_members(log).added(2, C, "Stable").say(
        f"Member {B} in group g has failed, removing it from the group.", after=40_000
    ).stable(3, 2, A)
    group = log.group()
    last = group.timeline.rounds[-1]
    assert (last.held_up_by, last.waited_for) == ((B,), "gone, until the session timeout")
    assert "blocked_by_departed_member" in {a.kind for a in group.anomalies}


def test_a_line_that_stands_twice_is_taken_once(log: Log) -> None:
    two_members(log)
    log.lines.insert(4, log.lines[3])
    group = log.group()
    assert group.verdict == "holds" and [a.kind for a in group.anomalies] == ["duplicate_line"]


def test_lines_out_of_order_make_the_verdict_unknown_not_violated(log: Log) -> None:
    two_members(log)
    log.lines.reverse()
    group = log.group()
    assert group.verdict == "unknown" and "order of their timestamps" in group.reason


def test_a_log_that_begins_in_the_middle_says_so(log: Log) -> None:
    two_members(log)
    del log.lines[:5]
    group = log.group()
    assert group.verdict == "holds" and "begins in the middle" in group.begins


def test_one_group_on_two_coordinators_is_followed_twice(log: Log, tmp_path: Path) -> None:
    two_members(log)
    log.lines = [
        line
        for pair in zip(log.lines, [x.replace("id=1", "id=2") for x in log.lines], strict=True)
        for line in pair
    ]
    log.path.write_text("".join(log.lines))
    report = replay_file(str(log.path))
    assert [(g.group, g.coordinator, g.verdict) for g in report.groups] == [
        ("g", 1, "holds"),
        ("g", 2, "holds"),
    ]


def test_a_static_member_returns_under_another_id(log: Log) -> None:
    static = "Static member with groupInstanceId=i-1 and unknown member id joins group g in"
    log.say(
        f"{static} Empty state. Created a new member id {A} for this member and added to the group."
    )
    log.prepare(0, f"Adding new member {A} with group instance id i-1; client reason: x").stable(
        1, 1, A
    )
    log.say(
        f"{static} Stable state. Replacing previously mapped member {A} with this groupInstanceId.",
        "Static member which joins during Stable stage and doesn't affect the selected protocol"
        " will not trigger a rebalance.",
    )
    log.prepare(1, f"Leader {B} re-joining group during Stable; client reason: x").stable(2, 1, B)
    group = log.group()
    assert group.verdict == "holds" and group.timeline.members[A].gone == "replaced"


def test_a_group_of_which_nothing_is_judged_does_not_decide_the_headline(log: Log) -> None:
    two_members(log).say("[GroupId=gone] Unloading group metadata for generation 3.")
    log.path.write_text("".join(log.lines))
    report = replay_file(str(log.path))
    assert [(g.group, g.verdict, g.nothing_judged) for g in report.groups] == [
        ("g", "holds", False),
        ("gone", "unknown", True),
    ]
    assert report.verdict == "holds" and "of 1 of 2 groups nothing is judged" in report.reason


def test_lines_that_cannot_contradict_each_other_are_no_evidence(log: Log) -> None:
    log.prepare(3, f"removing member {A} on heartbeat expiration.")
    group = log.group()
    assert (group.verdict, group.nothing_judged) == ("unknown", True)
    assert log.say("Stabilized group g generation 4 with 1 members.").group().verdict == "holds"


def test_a_partition_that_cannot_be_loaded_is_named(log: Log) -> None:
    two_members(log).say(
        "Failed to load metadata from __consumer_offsets-7 with epoch 2 due to"
        " java.lang.IllegalStateException: no such record."
    )
    log.group()
    report = replay_file(str(log.path))
    (failed,) = [a for a in report.anomalies if a.kind == "load_failed"]
    assert failed.line == len(log.lines)
    assert "__consumer_offsets-7 could not be loaded: java.lang.IllegalState" in failed.text
