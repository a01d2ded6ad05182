"""Request logs of groups in which some or all members are static (KIP-345): what the coordinator
may answer is explained, and told as what it is.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from static_log import StaticLog, beat, formed


@pytest.fixture
def log(tmp_path: Path) -> StaticLog:
    return StaticLog(tmp_path)


def causes(log: StaticLog) -> list[str]:
    return [x.cause.value for x in log.holds().timeline.rounds]


def test_a_member_that_comes_back_to_a_stable_group_has_its_share_without_a_round(
    log: StaticLog,
) -> None:
    formed(log)
    log.join(1000, "b2", 1, leader="a1", took=3)
    log.sync(1010, "b2", 1, "B")
    beat(log, 1100, 1, "a1", "b2", "d1")
    log.heartbeat(1200, "b1", 1, 82)
    log.commit(1210, "b1", 1, 82)
    log.heartbeat(1220, "b1", 1, 25, named=False)
    group = log.holds()
    assert [x.cause.value for x in group.timeline.rounds] == ["join"]
    assert group.timeline.counts["static_returns"] == 1
    assert group.timeline.members["b1"].gone == "replaced"


@pytest.mark.parametrize(("version", "leader"), [(9, "a2"), (5, "a1")])
def test_a_leader_that_comes_back_leads_on_and_hears_of_it_since_version_9(
    version: int, leader: str, log: StaticLog
) -> None:
    formed(log, version)
    new = version == 9
    members = ["a2", "b1", "d1"] if new else []
    log.join(1000, "a2", 1, members, leader=leader, took=3, version=version, skips=new)
    log.sync(1010, "a2", 1, "A")
    log.join(1020, "b2", 1, leader="a2", took=3, version=version)
    log.sync(1030, "b2", 1, "B")
    beat(log, 1100, 1, "a2", "b2", "d1")
    assert causes(log) == ["join"]


def test_a_share_is_passed_on_from_id_to_id_and_survives_a_fail_over(log: StaticLog) -> None:
    formed(log)
    for k in (2, 3, 4):
        log.join(1000 * k, f"b{k}", 1, leader="a1", took=3)
    log.heartbeat(4500, "a1", 1, 16)
    beat(log, 5000, 1, "a1", "b4", "d1")
    log.sync(5100, "b4", 1, "B")
    log.heartbeat(5200, "b3", 1, 82)
    assert log.holds().unexplained_count == 0


def test_a_takeover_in_a_round_waits_for_the_round_and_fences_the_old_id_at_once(
    log: StaticLog,
) -> None:
    formed(log)
    log.join(1010, "c1", 2, leader="a1", took=10)
    log.join(1004, "b1", -1, asked="b1", code=82, took=2)
    log.join(1010, "b2", 2, leader="a1", took=7)
    log.join(1010, "d1", 2, leader="a1", asked="d1", took=5)
    log.join(1010, "a1", 2, ["a1", "b2", "c1", "d1"], asked="a1", took=3)
    log.sync(1020, "a1", 2, "A", {"a1": "A", "b2": "B"})
    log.sync(1020, "b2", 2, "B")
    assert causes(log) == ["join", "join"]


def test_a_takeover_before_the_assignment_is_there_starts_the_round_again(log: StaticLog) -> None:
    log.join(50, "a1", 1, ["a1", "b1"], took=49)
    log.join(50, "b1", 1, leader="a1", took=47)
    log.sync(62, "b1", 1, code=82, took=10)
    log.join(80, "b2", 2, leader="a1", took=20)
    log.sync(70, "a1", 1, code=27)
    log.join(80, "a1", 2, ["a1", "b2"], asked="a1", took=5)
    log.sync(90, "a1", 2, "A", {"a1": "A", "b2": "B"})
    log.sync(90, "b2", 2, "B")
    assert causes(log) == ["join", "static_replaced"]


def test_a_takeover_that_is_not_written_is_undone(log: StaticLog) -> None:
    formed(log)
    log.join(1000, "", 1, who="b", code=15, took=30)
    log.heartbeat(990, "b1", 1, 82)
    beat(log, 1100, 1, "a1", "b1", "d1")
    log.sync(1200, "b1", 1, "B")
    assert log.holds().timeline.members["b1"].gone == ""


def test_a_round_that_ends_without_a_static_member_keeps_it_and_its_sync_timer_removes_it(
    log: StaticLog,
) -> None:
    formed(log)
    log.join(1002, "d2", -1, code=79)
    log.join(10_010, "d2", 2, leader="a1", asked="d2", took=9_000)
    log.join(10_010, "a1", 2, ["a1", "b1", "d2"], asked="a1", took=8_990)
    log.sync(10_020, "a1", 2, "A", {"a1": "A", "b1": "B", "d2": "D"})
    log.sync(10_021, "d2", 2, "D", took=2)
    for at in (3000, 6000, 9000):
        log.heartbeat(at, "b1", 1, 27)
    for at in (12_000, 14_000, 17_000, 18_900):
        beat(log, at, 2, "a1", "d2")
        log.heartbeat(at + 10, "b1", 1, 22)
    group = log.holds()
    assert group.timeline.members["d1"].gone == "not_rejoined"
    assert group.timeline.members["b1"].gone == ""


def test_an_administrator_removes_members_by_instance_and_by_id_in_one_request(
    log: StaticLog,
) -> None:
    formed(log)
    log.join(500, "b2", 1, leader="a1", took=3)
    leavers = [("", "i-a", 0), ("b1", "i-b", 82), ("", "i-c", 25), ("d1", None, 0), ("", None, 25)]
    log.remove(1000, leavers)
    log.heartbeat(1100, "a1", 1, 25)
    log.heartbeat(1110, "d1", 1, 25)
    log.heartbeat(1120, "b2", 1, 27)
    log.join(1130, "b2", 2, ["b2"], asked="b2")
    members = log.holds().timeline.members
    assert (members["a1"].gone, members["d1"].gone, members["b2"].gone) == ("left", "left", "")


def test_a_member_that_comes_back_to_a_full_group_may_be_refused(log: StaticLog) -> None:
    formed(log)
    log.join(1000, "", -1, who="b", code=81)
    beat(log, 1100, 1, "a1", "b1", "d1")
    assert log.holds().unexplained_count == 0


def test_a_sync_timer_for_an_id_that_was_replaced_starts_a_round_that_nobody_caused(
    log: StaticLog,
) -> None:
    log.join(50, "a1", 1, ["a1", "b1"], took=49)
    log.join(50, "b1", 1, leader="a1", took=47)
    log.sync(60, "a1", 1, "A", {"a1": "A", "b1": "B"})
    log.join(1000, "b2", 1, leader="a1", took=3)
    log.sync(1010, "b2", 1, "B")
    for at in (3000, 6000, 9000):
        beat(log, at, 1, "a1", "b2")
    beat(log, 9200, 1, "a1", "b2", code=27)
    log.join(9310, "a1", 2, ["a1", "b2"], asked="a1", took=10)
    log.join(9310, "b2", 2, leader="a1", asked="b2", took=8)
    group = log.holds()
    assert [x.cause.value for x in group.timeline.rounds] == ["join", "sync_timeout"]
    assert "old id of a static member" in group.timeline.rounds[1].reason
    assert group.timeline.rounds[1].causers == ()


def test_dynamic_members_are_removed_where_static_ones_stay_if_nobody_joins_the_round(
    log: StaticLog,
) -> None:
    formed(log)
    log.remove(1000, [("", "i-a", 0)])
    for at in (4000, 7000, 9900):
        log.heartbeat(at, "b1", 1, 27)
        log.heartbeat(at + 5, "d1", 1, 27)
    log.heartbeat(10_100, "d1", 1, 25)
    log.heartbeat(10_200, "b1", 1, 27)
    log.join(10_300, "b1", 2, ["b1"], asked="b1")
    assert log.holds().timeline.members["d1"].gone == "not_rejoined"


def test_a_member_that_comes_back_with_other_assignors_may_start_a_round(log: StaticLog) -> None:
    log.join(50, "a1", 1, ["a1", "b1"], took=49, assignors=("range", "sticky"))
    log.join(50, "b1", 1, leader="a1", took=47, assignors=("range", "sticky"))
    log.sync(60, "a1", 1, "A", {"a1": "A", "b1": "B"})
    log.sync(60, "b1", 1, "B")
    log.join(1010, "b2", 2, leader="a1", took=10, assignors=("sticky",))
    log.heartbeat(1005, "a1", 1, 27)
    log.join(1010, "a1", 2, ["a1", "b2"], asked="a1", took=2, assignors=("sticky", "range"))
    assert causes(log) == ["join", "protocol_change"]


def test_a_log_that_begins_with_a_member_that_comes_back_is_followed_from_the_next_round_on(
    log: StaticLog,
) -> None:
    log.join(1000, "b2", 7, leader="a1", took=3)
    log.sync(1010, "b2", 7, "B")
    beat(log, 1100, 7, "a1", "b2", "d1")
    log.heartbeat(1200, "b1", 7, 82)
    log.join(2010, "c1", 8, leader="a1", took=10)
    log.join(2010, "b2", 8, leader="a1", asked="b2", took=7)
    log.join(2010, "a1", 8, ["a1", "b2", "c1"], asked="a1", took=3)
    log.sync(2020, "a1", 8, "A", {"a1": "A", "b2": "B", "c1": "C"})
    log.join(3000, "c2", 8, leader="a1", took=3)
    log.sync(3010, "c2", 8, "C")
    log.heartbeat(3100, "c1", 8, 82)
    group = log.holds()
    assert group.begins.startswith("the log begins in the middle")
    assert group.requests is not None and group.requests.judged >= 4


def test_an_id_that_no_answer_has_told_is_learned_from_the_list_of_members(log: StaticLog) -> None:
    """b's takeover was written, and its answer lost when the coordinator moved."""
    formed(log)
    log.join(1000, "", 1, who="b", code=16, took=3)
    log.heartbeat(1001, "a1", 1, 16)
    log.heartbeat(2000, "b1", 1, 82)
    log.join(2110, "c1", 2, leader="a1", took=10)
    for member, took in (("d1", 8), ("a1", 5)):
        members = ["a1", "b2", "c1", "d1"] if member == "a1" else []
        log.join(2110 + 9000, member, 2, members, leader="a1", asked=member, took=took + 9000)
    log.lines[-3] = (
        log.lines[-3]
        .replace("17:00:02,110", "17:00:11,110")
        .replace('"totalTimeMs": 10', '"totalTimeMs": 9010')
    )
    assert log.holds().unexplained_count == 0
