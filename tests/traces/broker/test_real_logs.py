"""Real logs with known answers: the figures that their readers found come out of the replay, by one
path for all.
"""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from groupcheck.traces.findings.report import FileReport, GroupReport
from groupcheck.traces.replay import replay_file

DATA = Path(__file__).parents[2] / "data" / "replay"


def replay(name: str) -> FileReport:
    report = replay_file(str(DATA / name))
    assert report.strange == 0, report.samples
    return report


def group(name: str, id: str) -> GroupReport:
    (found,) = [g for g in replay(name).groups if g.group == id]
    return found


def anomaly(g: GroupReport, kind: str) -> str:
    (found,) = [a for a in g.anomalies if a.kind == kind]
    return found.text + "; " + "; ".join(found.evidence)


@pytest.mark.parametrize(
    "name",
    [
        "msk-kafkago-rebalance-storm.log.gz",
        "easycab-232-ghost-members.log.gz",
        "easycab-144-rebalances-per-hour.log.gz",
        "connect-cluster-48-rebalances.log",
        "kafka41-console-group-scale.log",
        "kafka40-two-groups-expire.log.gz",
        "kraft-group-35-rebalances.log.gz",
        "live-coop_join_kill.log",
        "live-rolling_static.log",
        "live-static_bounce.log",
        "live-zombie.log",
    ],
)
def test_a_correct_coordinators_log_holds(name: str) -> None:
    report = replay(name)
    assert (report.verdict, [g.unexplained_count for g in report.groups]) == (
        "holds",
        [0] * len(report.groups),
    )
    assert report.understood + report.foreign == report.lines


def test_kafka_go_members_that_miss_the_join_window_are_the_cause_of_a_storm() -> None:
    g = group("msk-kafkago-rebalance-storm.log.gz", "test-consumer-group")
    t = g.timeline
    assert (
        t.lowest,
        t.highest,
        t.counts["rebalances"],
        t.counts["not_rejoined"],
        t.counts["joined"],
    ) == (0, 39, 39, 221, 266)
    assert "expired" not in t.counts and "left" not in t.counts
    text = anomaly(g, "join_window_missed")
    assert (
        "38 rebalances ended by the rebalance timeout; 221 members" in text
        and "lasted 5.0 s" in text
        and "5 members a round" in text
    )
    storm = anomaly(g, "rebalance_storm")
    assert "a rebalance every 10.1 s" in storm and "causes: join 39" in storm
    assert 0.45 < t.preparing_ms / 384_772 < 0.52


def test_ghosts_expire_one_session_after_their_only_generation_and_others_died_together() -> None:
    g = group("easycab-232-ghost-members.log.gz", "my-group")
    assert g.timeline.largest == 232
    # 232 members are in generation 74; 34 of them expire 10.0 s after it. The other 198 are in
    # generation 75, so they were alive, and expire 16.9 s later.
    ghosts = anomaly(g, "ghost_members")
    assert ghosts.startswith("32 members expired in bulk (1 time, at most 32 together)")
    assert "each expired 10.0 s after its only generation" in ghosts
    died = anomaly(g, "died_together")
    assert died.startswith(
        "198 members were removed together, 16.9 s after the last generation: killed"
    )
    assert "line 259: 2 members, 10.0 s after the last generation" in died
    assert "230 ids of kafka-python-2.0.0 joined in one round" in anomaly(g, "ids_pile_up")
    assert "3 rebalances waited 138.7 s" in anomaly(g, "blocked_by_departed_member")
    assert sum(r.waited_for.startswith("gone") for r in g.timeline.rounds) == 3


def test_members_that_lived_longer_than_a_session_are_no_ghosts() -> None:
    g = group("easycab-144-rebalances-per-hour.log.gz", "my-group")
    assert "ghost_members" not in {a.kind for a in g.anomalies}
    assert "5 members were removed together, 52.1 s after the last" in anomaly(g, "died_together")


def test_churn_is_ranked_by_cause() -> None:
    t = group("easycab-144-rebalances-per-hour.log.gz", "my-group").timeline
    assert dict(t.causes) == {"join": 51, "leader_rejoin": 41, "session_expired": 21}
    assert (t.lowest, t.highest, t.counts["emptied"], t.counts["expired"]) == (434, 546, 15, 81)


def test_members_that_vanish_keep_the_others_waiting_and_filtered_lines_are_noticed() -> None:
    report = replay("t2-two-groups-failed-members.log")
    groups = {g.group: g for g in report.groups}
    assert [round(groups[g].timeline.preparing_ms / 1000) for g in ("group1", "mygroup1")] == [
        2621,
        1186,
    ]
    assert [groups[g].timeline.counts["expired"] for g in ("group1", "mygroup1")] == [12, 11]
    assert [groups[g].verdict for g in ("group1", "my-group", "mygroup1")] == [
        "unknown",
        "holds",
        "unknown",
    ]
    assert [groups[g].unexplained_count for g in groups] == [0, 0, 0]
    for g in (groups["group1"], groups["mygroup1"]):
        lost = [a.text for a in g.anomalies if a.kind == "missing_lines"]
        assert any("is now empty" in text for text in lost)
        assert "gone without leaving" in anomaly(g, "blocked_by_departed_member")
    waited = [r for r in groups["mygroup1"].timeline.rounds if r.waited_for.startswith("gone")]
    assert {id for r in waited for id in r.held_up_by} <= {
        m.id for m in groups["mygroup1"].timeline.members.values() if m.gone == "expired"
    }


def test_a_connect_worker_rejoins_as_leader_and_restarts_explain_its_generations() -> None:
    report = replay("connect-cluster-48-rebalances.log")
    g = report.groups[0]
    assert g.timeline.counts["stabilized"] == 48 and g.timeline.counts["expired"] == 1
    assert g.timeline.causes["leader_rejoin"] == 42
    resets = [a for a in g.anomalies if a.kind == "generation_reset"]
    assert len(resets) == 5 and all("the broker was restarted" in a.text for a in resets)
    assert report.versions == ("broker 0: 2.5 to 2.7",)


def test_a_healthy_group_on_the_new_coordinator_shows_nothing_but_joins_and_leaves() -> None:
    g = group("kafka41-console-group-scale.log", "my-consumer-group")
    assert dict(g.timeline.causes) == {"leave": 3, "join": 3}
    assert [a.kind for a in g.anomalies] == []
    reasons = {m.client_reason for m in g.timeline.members.values() if m.gone == "left"}
    assert reasons == {"the consumer is being closed"}
    assert group("kafka41-console-group-scale.log", "multi-partition-group").timeline.largest == 4


def test_two_groups_of_one_application_are_followed_apart() -> None:
    report = replay("kafka40-two-groups-expire.log.gz")
    assert [g.group for g in report.groups] == ["adhocGroupId", "rainfallGroupId"]
    for g in report.groups:
        assert (
            g.timeline.counts["left"],
            g.timeline.counts["expired"],
            g.timeline.counts["pending_expired"],
        ) == (8, 2, 1)
        assert "1 id handed out and never used" in anomaly(g, "ids_never_used")


def test_a_consumer_that_is_closed_right_after_its_first_assignment_costs_two_generations() -> None:
    g = group("kraft-group-35-rebalances.log.gz", "kraft-group")
    t = g.timeline
    assert (
        t.lowest,
        t.highest,
        t.counts["joined"],
        t.counts["left"],
        t.counts.get("expired", 0),
    ) == (102, 166, 32, 32, 0)
    kinds = {a.kind for a in g.anomalies}
    assert "short_lived_members" in kinds and "rebalance_storm" not in kinds
    said = anomaly(g, "one_consumer_a_message")
    assert "32 consumers came one after the other, each for 3.2 s (median), and was closed" in said
    delays = [
        r for r in t.rounds if r.waited_for == "the initial delay" and r.outcome == "assigned"
    ]
    assert len(delays) >= 25


def test_a_consumer_group_has_a_timeline_and_a_verdict_where_lines_show_its_steps() -> None:
    g = group("kip848-online-upgrade-broker.log", "avro-consumer2")
    assert (g.verdict, g.protocol) == ("unknown", "consumer") and "nothing is judged" in g.reason
    assert {epoch for epoch, _, _ in g.timeline.epochs} == {4, 5, 6}
    live = group("live-kip848.log", "g1")
    assert live.verdict == "holds"
    rounds = [(r.to_generation, r.cause.value, r.size, r.outcome) for r in live.timeline.rounds]
    assert rounds == [
        (2, "join", 1, "assigned"),
        (3, "join", 2, "assigned"),
        (4, "join", 3, "assigned"),
        (5, "leave", 2, "assigned"),
        (6, "session_expired", 1, "assigned"),
        (7, "leave", 0, "emptied"),
    ]
    assert (
        live.timeline.counts["joined"],
        live.timeline.counts["left"],
        live.timeline.counts["expired"],
    ) == (3, 2, 1)


def test_a_clients_log_is_named_and_not_guessed_at() -> None:
    report = replay("classic-eager-scaleup.log")
    assert (report.format, report.verdict, report.lines, report.groups) == (
        "unknown",  # `groupcheck replay` asks clients' parsers as well
        "unknown",
        23,
        (),
    )
    assert "groupcheck knows of a group coordinator" in report.reason


def test_an_orderly_restart_is_no_rebalance() -> None:
    report = replay("live-broker_restart.log")
    g1 = next(g for g in report.groups if g.group == "g1")
    assert g1.verdict == "holds"
    assert [(r.from_generation, r.cause.value) for r in g1.timeline.rounds] == [
        (0, "join"),
        (1, "join"),
        (2, "leave"),
        (3, "leave"),
    ]
    assert {"group_unloaded", "group_loaded"} <= {a.kind for a in g1.anomalies}
    assert "generation_reset" not in {a.kind for a in g1.anomalies}
    assert [a.kind for a in report.anomalies] == ["coordinator_stopped", "coordinator_started"]


# What the recorder of the live runs saw from outside: (generation, leader, the last to join), by
# client id.
ZOMBIE = [(1, "a", None), (2, "a", "a"), (3, "b", None), (4, "b", "b"), (5, "b", "b")]
COOPERATIVE = [
    (1, "a", None),
    (2, "a", "a"),
    (3, "a", "b"),
    (4, "a", "b"),
    (5, "a", "c"),
    (6, "c", "b"),
]


@pytest.mark.parametrize(
    ("name", "truth"), [("live-zombie.log", ZOMBIE), ("live-coop_join_kill.log", COOPERATIVE)]
)
def test_leaders_and_late_comers_are_those_that_a_witness_saw(
    name: str, truth: list[tuple[int, str, str | None]]
) -> None:
    rounds = [r for r in group(name, "g1").timeline.rounds if r.outcome == "assigned"]
    assert [(r.to_generation, r.leader and r.leader[0]) for r in rounds] == [
        (generation, leader) for generation, leader, _ in truth
    ]
    for r, (_, _, last) in zip(rounds, truth, strict=True):
        if r.held_up_by and last is not None:
            assert last in {id[0] for id in r.held_up_by}


def test_a_static_member_that_returns_in_time_costs_no_rebalance() -> None:
    t = group("live-rolling_static.log", "g1").timeline
    assert (t.counts["rebalances"], t.counts["static_returns"]) == (1, 3)
    t = group("live-static_bounce.log", "g1").timeline
    assert dict(t.causes) == {"join": 3, "session_expired": 1}
    assert [r.causers[0][:3] for r in t.rounds] == ["i-a", "i-b", "i-c", "i-c"]


def test_a_clients_log_from_a_pipe_is_named_as_well(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    content = (DATA / "classic-eager-scaleup.log").read_bytes()
    writer = threading.Thread(target=pipe.write_bytes, args=(content,))
    writer.start()
    report = replay_file(str(pipe))
    writer.join()
    assert (report.format, report.lines) == ("unknown", 23)


def test_a_group_that_was_removed_begins_at_0_again(tmp_path: Path) -> None:
    """0.9 and 0.10 remove a group as soon as it is empty."""
    (tmp_path / "server.log").write_text(
        "[2016-10-11 16:36:31,215] INFO [GroupCoordinator 0]: Preparing to restabilize group g"
        " with old generation 1 (kafka.coordinator.GroupCoordinator)\n"
        "[2016-10-11 16:36:31,418] INFO [GroupCoordinator 0]: Group g generation 1 is dead and"
        " removed (kafka.coordinator.GroupCoordinator)\n"
        "[2016-10-11 16:39:41,331] INFO [GroupCoordinator 0]: Preparing to restabilize group g"
        " with old generation 0 (kafka.coordinator.GroupCoordinator)\n"
        "[2016-10-11 16:39:41,339] INFO [GroupCoordinator 0]: Stabilized group g generation 1"
        " (kafka.coordinator.GroupCoordinator)\n"
    )
    (group,) = replay_file(str(tmp_path / "server.log")).groups
    assert "generation_reset" not in {a.kind for a in group.anomalies}
