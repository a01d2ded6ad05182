"""Wrong answers to static members in a request log are found, on the line where they stand."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from static_log import StaticLog, beat, formed


@pytest.fixture
def log(tmp_path: Path) -> StaticLog:
    log = StaticLog(tmp_path)
    formed(log)
    return log


def bounced(log: StaticLog) -> None:
    """b comes back and goes on."""
    log.join(1000, "b2", 1, leader="a1", took=3)
    log.sync(1010, "b2", 1, "B")
    beat(log, 1100, 1, "a1", "b2", "d1")


def on(log: StaticLog) -> None:
    """The members of generation 1 go on after b has come back."""
    beat(log, 1500, 1, "a1", "b2", "d1")
    for at in (2000, 3000, 4000):
        beat(log, at, 1, "a1", "b2", "d1")


@pytest.mark.parametrize("code", [0, 25])
@pytest.mark.parametrize("api", [StaticLog.heartbeat, StaticLog.commit])
def test_a_replaced_id_must_be_fenced(api: Callable[..., None], code: int, log: StaticLog) -> None:
    bounced(log)
    api(log, 1300, "b1", 1, code)
    wrong = len(log.lines)
    on(log)
    line, why = log.wrong()
    assert line == wrong and "replaced_id_fenced" in why


def test_without_its_instance_id_a_replaced_id_is_unknown_and_not_fenced(log: StaticLog) -> None:
    bounced(log)
    log.heartbeat(1300, "b1", 1, 82, named=False)
    wrong = len(log.lines)
    on(log)
    line, why = log.wrong()
    assert line == wrong and "could only be 25" in why


def test_an_id_that_was_not_replaced_must_not_be_fenced(log: StaticLog) -> None:
    log.heartbeat(1000, "b1", 1, 82)
    wrong = len(log.lines)
    for at in (1100, 2000, 3000):
        beat(log, at, 1, "a1", "b1", "d1")
    assert log.wrong()[0] == wrong


def test_a_member_that_comes_back_must_not_start_a_round(log: StaticLog) -> None:
    log.heartbeat(1006, "d1", 1, 27)
    log.join(1100, "b2", 2, leader="a1", took=100)
    log.join(1100, "a1", 2, ["a1", "b2", "d1"], asked="a1", took=10)
    log.join(1100, "d1", 2, leader="a1", asked="d1", took=50)
    log.sync(1130, "a1", 2, "A", {"a1": "A", "b2": "B", "d1": "D"})
    beat(log, 1500, 2, "a1", "b2", "d1")
    line, why = log.wrong()
    assert line == 9 and why.startswith("JOIN_GROUP of the static member i-b without an id")


def test_a_member_that_comes_back_must_not_get_its_old_id_again(log: StaticLog) -> None:
    bounced(log)
    log.join(1200, "b1", 1, leader="a1", took=3)
    wrong = len(log.lines)
    beat(log, 1500, 1, "a1", "d1")
    line, why = log.wrong()
    assert line == wrong and "takeover_gives_a_new_id" in why


@pytest.mark.parametrize(
    ("generation", "leader"), [(1, "b1"), (1, "b2"), (2, "a1")], ids=["gone", "itself", "later"]
)
def test_a_member_that_comes_back_must_be_told_generation_and_leader(
    generation: int, leader: str, log: StaticLog
) -> None:
    log.join(1000, "b2", generation, leader=leader, took=3)
    wrong = len(log.lines)
    on(log)
    assert log.wrong()[0] == wrong


@pytest.mark.parametrize(
    ("version", "leader", "members", "skips"),
    [
        (9, "a2", ["a2", "b1", "d1"], False),
        (9, "a2", [], True),
        (9, "a1", [], False),
        (5, "a2", ["a2", "b1", "d1"], False),
    ],
    ids=["has to assign", "no members", "not told", "told too early"],
)
def test_a_leader_that_comes_back_must_be_told_so_since_version_9(
    version: int, leader: str, members: list[str], skips: bool, log: StaticLog
) -> None:
    log.join(1000, "a2", 1, members, leader=leader, took=3, version=version, skips=skips)
    wrong = len(log.lines)
    beat(log, 1500, 1, "b1", "d1")
    assert log.wrong()[0] == wrong


def test_an_instance_must_not_be_in_a_generation_twice(log: StaticLog) -> None:
    bounced(log)
    log.join(2010, "c1", 2, leader="a1", took=10)
    log.join(2010, "b2", 2, leader="a1", asked="b2", took=7)
    log.join(2010, "d1", 2, leader="a1", asked="d1", took=5)
    log.join(2010, "a1", 2, ["a1", "b1", "b2", "c1", "d1"], asked="a1", took=3)
    wrong = len(log.lines)
    beat(log, 2500, 2, "a1", "b2", "c1", "d1")
    line, why = log.wrong()
    assert line == wrong and "one_id_per_instance" in why


def test_a_share_must_not_move_when_its_owner_comes_back(log: StaticLog) -> None:
    log.join(1000, "b2", 1, leader="a1", took=3)
    log.sync(1010, "b2", 1, "D")
    wrong = len(log.lines)
    on(log)
    line, why = log.wrong()
    assert line == wrong and "views_agree" in why


def test_a_static_member_that_missed_a_round_must_be_listed(log: StaticLog) -> None:
    log.join(1002, "d2", -1, code=79)
    for at in (3000, 6000, 9000):
        log.heartbeat(at, "b1", 1, 27)
    log.join(10_010, "d2", 2, leader="a1", asked="d2", took=9_000)
    log.join(10_010, "d1", 2, leader="a1", asked="d1", took=8_995)
    log.join(10_010, "a1", 2, ["a1", "d1", "d2"], asked="a1", took=8_990)
    wrong = len(log.lines)
    log.sync(10_020, "a1", 2, "A", {"a1": "A", "d1": "D", "d2": "D"})
    beat(log, 10_100, 2, "a1", "d1", "d2")
    assert wrong in [line for line, _ in _all(log)]


def test_a_member_that_an_administrator_removed_must_not_go_on(log: StaticLog) -> None:
    log.remove(1000, [("", "i-b", 0)])
    log.heartbeat(1100, "b1", 1, 0)
    wrong = len(log.lines)
    beat(log, 1200, 1, "a1", "d1", code=27)
    line, why = log.wrong()
    assert line == wrong and "heartbeat_fenced" in why


def test_an_administrator_must_not_be_told_that_a_member_is_unknown(log: StaticLog) -> None:
    log.remove(1000, [("", "i-b", 25)])
    wrong = len(log.lines)
    beat(log, 1100, 1, "a1", "b1", "d1")
    assert log.wrong()[0] == wrong


def _all(log: StaticLog) -> list[tuple[int, str]]:
    group = log.replayed()
    assert group.verdict == "violated", group.reason
    return [(u.line, u.why) for u in group.unexplained]
