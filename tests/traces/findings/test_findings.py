"""What logs show beyond rebalances: harm, absences, refusals, settings. The recordings tell what
really happened.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from test_anomalies import Scala

from groupcheck.traces.findings.findings import HEARTBEAT, REBALANCE, SESSION, Findings, Setting
from groupcheck.traces.findings.user_impact import conflicts, findings_of
from groupcheck.traces.replay import replay_file
from groupcheck.traces.requests.request_impact import RequestImpact
from groupcheck.traces.story.events import Timeouts
from groupcheck.traces.story.timeline import Timeline

DATA = Path(__file__).parents[2] / "data"


def found(name: str, id: str = "g1") -> Findings:
    (group,) = [g for g in replay_file(str(DATA / name)).groups if g.group == id]
    return group.findings


def test_a_frozen_member_is_told_from_a_dead_one() -> None:
    f = found("requests/live-zombie.log.gz")
    (a,) = f.absences
    assert (a.client, a.kind) == ("a", "frozen") and 5900 < (a.window.ms or 0) < 6100
    assert [(s.client, s.why) for s in f.standing] == [("a", "silent")]
    assert {(o.earlier, o.later) for o in f.two_owners} == {("a", "b")}
    (refused,) = f.commits_refused
    assert (refused.what, refused.code, refused.name) == ("expired", 25, "UNKNOWN_MEMBER_ID")
    # Its partitions had no owner that worked from its last request to the next generation.
    assert {(u.partition, u.before, u.after) for u in f.unowned if (u.window.ms or 0) > 1000} == {
        (f"orders-{n}", "a", "b") for n in range(3)
    }
    (dead,) = found("requests/live-coop_join_kill.log.gz").absences
    assert (dead.client, dead.kind) == ("a", "dead") and 2990 < (dead.window.ms or 0) < 3010


def test_a_member_that_left_behind_its_programs_back_was_slow() -> None:
    (b,) = found("requests/live-poll_timeout.log.gz").absences
    assert (b.client, b.kind) == ("b", "slow")


def test_settings_are_told_and_measured() -> None:
    f = found("requests/live-zombie.log.gz")
    told = {(s.name, s.clients): (s.value_ms, s.measured) for s in f.settings}
    assert told[SESSION, ("a", "b")] == (3000, False)
    assert told[REBALANCE, ("a", "b")] == (10_000, False)
    assert told[HEARTBEAT, ("a",)] == (501, True)
    assert f.conflicts == ()


@pytest.mark.parametrize(
    ("session", "beat", "kind"),
    [
        (700, 1500, "session_below_heartbeat"),
        (4000, 1500, "session_below_three_heartbeats"),
        (4500, 1500, ""),
        (4500, 1600, ""),  # heartbeats come a little later than they are set to
    ],
)
def test_settings_that_cannot_work_together(session: int, beat: int, kind: str) -> None:
    settings = [
        Setting(SESSION, session, False, ("a",)),
        Setting(HEARTBEAT, beat, True, ("a",)),
        Setting(HEARTBEAT, 10 * beat, True, ("b",)),
    ]
    assert [c.kind for c in conflicts(settings)] == ([kind] if kind else [])


def test_an_orderly_restart_is_followed_by_no_rebalance() -> None:
    (restart,) = found("replay/live-broker_restart.log").restarts
    assert (restart.what, restart.followed) == ("restart", "resumed")
    assert 5000 < (restart.window.ms or 0) < 5600
    f = found("requests/live-broker_restart.log.gz")
    assert {(r.what, r.code) for r in f.refusals} == {("moved", 16), ("loading", 14)}
    assert [(r.what, r.followed) for r in f.restarts] == [("moved", "resumed")]


def test_lost_state_is_followed_by_generation_0() -> None:
    f = found("replay/connect-cluster-48-rebalances.log", "connect-cluster")
    assert [r.followed for r in f.restarts].count("from_zero") == 5


def test_rounds_and_reasons_are_counted() -> None:
    f = found("replay/kraft-group-35-rebalances.log.gz", "kraft-group")
    assert [(r.cause.value, r.count) for r in f.rounds] == [("join", 32), ("leave", 32)]
    assert [(r.kind, r.text, r.count) for r in f.reasons] == [
        ("closed", "the consumer is being closed", 32),
        ("rejoin", "need to re-join with the given member-id: ...", 32),
    ]
    assert f.lives is not None and f.lives.count == 32
    assert len(f.empty) >= 28 and all(e.by_choice for e in f.empty)


def test_a_log_that_ends_in_a_rebalance_says_for_whom_it_waits(tmp_path: Path) -> None:
    log = Scala(tmp_path)
    a = log.join(0, "Empty")
    log.stable(10, 1, a)
    b = log.join(60_000, "Stable")
    log.join(90_000, "PreparingRebalance")
    f = log.group().findings
    assert f.unsettled is not None and f.unsettled.phase == "join"
    assert (f.unsettled.window.ms, f.unsettled.window.open) == (30_000, True)
    assert f.unsettled.waits_for == (a,) and b not in f.unsettled.waits_for


def test_the_time_without_an_assignment_is_told(tmp_path: Path) -> None:
    log = Scala(tmp_path)
    a = log.join(0, "Empty")
    log.stable(3000, 1, a)
    log.join(60_000, "Stable")
    log.failed(100_000, a)
    log.stable(100_001, 1, a.replace("1", "2"))
    f = log.group().findings
    assert [w.ms for w in f.not_stable] == [3005, 40_006]
    assert [(s.member, s.why, s.window.ms) for s in f.standing] == [(a, "awaited", 40_001)]
    assert [(x.member, x.kind) for x in f.absences] == [(a, "dead")]


def test_a_timeline_without_lines_shows_nothing() -> None:
    timeline = Timeline()
    assert findings_of(timeline) == Findings()
    timeline.timeouts("a", Timeouts(45_000, 30_000))
    assert [c.kind for c in findings_of(timeline).conflicts] == ["rebalance_below_session"]
    assert RequestImpact().jumped == []
