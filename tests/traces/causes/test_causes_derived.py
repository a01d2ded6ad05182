"""Facts that follow from several statements: each is found where it is so, and only there."""

from __future__ import annotations

import random
from typing import Any

import pytest
from attrs import evolve

from groupcheck.traces.causes.derived import derive
from groupcheck.traces.causes.diagnosis import diagnose
from groupcheck.traces.causes.evidence import Evidence
from groupcheck.traces.causes.group_evidence import GroupEvidence
from groupcheck.traces.causes.knowledge import shipped_knowledge
from groupcheck.traces.clients.sentences import kinds
from groupcheck.traces.clients.statement import Statement
from groupcheck.traces.facts.defaults import known_period

BEGIN = 1_700_000_000_000


def facts(*told: tuple[Any, ...], library: str = "") -> dict[str, dict[str, Any]]:
    """The derived facts of statements (second, kind, who, fields), by kind."""
    group = GroupEvidence("g")
    for line, (second, kind, who, *fields) in enumerate(told, 1):
        time = None if second is None else BEGIN + round(second * 1000)
        said = Statement(kind=kind, line=line, text="", time=time, client=who, library=library)
        group.add(evolve(said, fields=dict(*fields)))
    return {said.kind: dict(said.fields) for said in derive(group)}


def test_a_member_that_polls_again_is_slow_and_one_that_does_not_is_stuck() -> None:
    slow = facts((0, "poll_expired", "a"), (40, "joining", "a"), (200, "joined", "b"))
    assert slow["poll_returned"] == {"after": 40_000}
    stuck = facts((0, "poll_expired", "a"), (40, "left", "a"), (200, "joined", "b"))
    assert stuck["poll_never_returned"] == {"silent": 200_000}
    short = facts((0, "poll_expired", "a"), (20, "joined", "b"))
    assert short == {}


def test_a_time_of_day_and_a_date_are_not_compared() -> None:
    assert facts((0, "poll_expired", "a"), (-BEGIN / 1000 + 60_000, "joined", "b")) == {}


@pytest.mark.parametrize(("gap", "found"), [(1, True), (3, False)])
def test_clients_that_fail_within_two_seconds_fail_together(gap: int, found: bool) -> None:
    told = facts(
        (0, "session_timed_out", "a", {"broker": 1}),
        (gap, "session_timed_out", "b", {"broker": 2}),
    )
    assert ("together" in told) is found
    if found:
        assert told["together"] == {"of": "session_timed_out", "members": 2, "coordinators": 2}


def test_one_client_that_fails_twice_fails_alone() -> None:
    assert facts((0, "session_timed_out", "a"), (1, "session_timed_out", "a")) == {}


def test_a_callback_is_held_while_heartbeats_go_on() -> None:
    revoked = (0, "revoked", "a")
    news = [(second, "rebalancing", "a") for second in (3, 6)]
    assert facts(revoked, *news)["callback_held"] == {"held": 6_000, "heard": 2}
    assert facts(revoked, *news, (7, "joining", "a")) == {}
    late = [(second, "rebalancing", "a") for second in (3, 6, 9)]
    assert facts(revoked, *late, (30, "joining", "a"))["callback_slow"]["held"] == 30_000
    assert facts((0, "revoked", "a", {"step": "marked"}), *news) == {}


def test_a_period_is_compared_with_settings() -> None:
    every = [(300 * i, "member_unknown", "a") for i in range(4)]
    told = facts(*every, library="java")
    assert told["cycle"]["period"] == 300_000
    assert told["cycle"]["setting"].startswith("the default of max.poll.interval.ms or metadata")
    assert "setting" not in facts(*every)["cycle"]
    assert "max.poll" not in str(facts(*every, library="kafkajs")["cycle"])
    assert "cycle" not in facts(*((2**i * 10, "member_unknown", "a") for i in range(4)))
    assert known_period(77_000, "java") == ""


@pytest.mark.parametrize(
    ("seconds", "idle"),
    [(600, "connections.max.idle.ms of the broker (600000)"), (30, None),
     (250, "the idle limit of a proxy or firewall")],
)  # fmt: skip
def test_a_waiting_request_that_is_cut_tells_how_long_it_waited(
    seconds: int, idle: str | None
) -> None:
    told = facts((0, "request_sent", "a", {"api": "JoinGroup"}), (seconds, "disconnected", "a"))
    assert told["waiting_cut"]["after"] == seconds * 1000
    assert told["waiting_cut"].get("idle") == idle


def cut(
    waits: list[int], kind: str = "disconnected", **how: str
) -> tuple[list[str], list[str | None]]:
    """Who ended such waits, and by which limit."""
    group = GroupEvidence("g")
    for number, seconds in enumerate(waits):
        sent, ended = BEGIN + 600_000 * number, BEGIN + 600_000 * number + 1000 * seconds
        api = {"api": "JoinGroup"}
        group.add(Statement(kind="request_sent", line=2 * number, text="", time=sent, fields=api))
        group.add(Statement(kind=kind, line=2 * number + 1, text="", time=ended, fields=how))
    told = [said.fields for said in derive(group) if said.kind == "waiting_cut"]
    return [fields["by"] for fields in told], [fields.get("idle") for fields in told]


def test_who_ended_a_wait_and_whether_it_took_equally_long_each_time() -> None:
    equal = "an idle limit, as it took equally long each time"
    assert cut([6, 6]) == (["other side"] * 2, [equal] * 2)
    assert cut([6, 9]) == (["other side"] * 2, [None] * 2)
    assert cut([40, 40], "request_timed_out") == (["client"] * 2, [None] * 2)
    assert cut([40, 40], reason="read tcp: i/o timeout") == (["client"] * 2, [None] * 2)


def test_lines_without_names_belong_to_the_one_of_their_log() -> None:
    """Python's libraries name themselves only by their member id, which changes."""
    ids = [f"app-23a5cab4-de06-4358-8220-00000000000{n}" for n in range(3)]

    def one(log: str, line: int, member: str = "", library: str = "kafka-python") -> Statement:
        return Statement(
            kind="joining", line=line, text="", log=log, member=member, library=library
        )

    group = GroupEvidence("g")
    for said in (one("a", 1), one("a", 2, ids[0]), one("a", 3, ids[1]), one("b", 1), one("b", 2)):
        group.add(said)
    for said in (one("c", 1, "x", "java"), one("c", 2, "y", "java"), one("c", 3)):
        group.add(said)
    told = {
        group.writer(some[0]): [(s.log, s.line) for s in some] for some in group.of_each_process()
    }
    assert told["app"] == [("a", 1), ("a", 2), ("a", 3)]
    assert told["b"] == [("b", 1), ("b", 2)]
    assert (told["x"], told["y"], told["c"]) == ([("c", 1)], [("c", 2)], [("c", 3)])


def test_two_processes_of_one_name_are_not_mixed() -> None:
    """Each of two logs has a member c-1 that polls late once; taken together, the second would look
    like the return of the first.
    """
    group = GroupEvidence("g")
    told = (("a", 0, "poll_expired"), ("b", 40, "joining"), ("b", 200, "joined"))
    for line, (log, second, kind) in enumerate((*told, ("a", 300, "heartbeat")), 1):
        time = BEGIN + second * 1000
        group.add(Statement(kind=kind, line=line, text="", time=time, client="c-1", log=log))
    assert "poll_returned" not in {said.kind for said in derive(group)}


@pytest.mark.parametrize(
    ("found_after", "failures", "away"),
    [(12, 5, {"lasted": 12_000, "failed": 5}), (8, 5, None), (12, 2, None), (None, 5, None)],
)
def test_a_coordinator_is_away_while_connections_fail_until_it_is_found_again(
    found_after: int | None, failures: int, away: dict[str, int] | None
) -> None:
    failed = [(n, "disconnected", "a") for n in range(1, failures + 1)]
    ends = [] if found_after is None else [(found_after, "coordinator_found", "a")]
    told = facts((0, "coordinator_lost", "a"), *failed, *ends)
    assert told.get("coordinator_absent") == away


def test_a_join_that_is_answered_after_another_connection_ended_was_not_cut() -> None:
    told = facts((0, "joining", "a"), (30, "disconnected", "a"), (31, "joined", "a"))
    assert "waiting_cut" not in told
    told = facts((0, "joining", "a"), (30, "disconnected", "a"), (31, "joining", "a"))
    assert told["waiting_cut"]["after"] == 30_000


def test_an_answered_request_is_not_cut() -> None:
    api = {"api": "JoinGroup"}
    told = facts(
        (0, "request_sent", "a", api), (3, "request_answered", "a", api), (600, "disconnected", "a")
    )
    assert "waiting_cut" not in told


@pytest.mark.parametrize(("second", "found"), [(120, True), (40, False)])
def test_twins_stay_longer_than_a_session(second: int, found: bool) -> None:
    told = facts(*((t, "instance_in_use", "a") for t in (0, second / 2, second)))
    assert ("twins_stay" in told) is found


def test_the_same_pair_of_offsets_twice_is_no_progress() -> None:
    def pair(a: int, b: int) -> tuple[Any, ...]:
        return (None, "config_behind", "w", {"a": a, "b": b})

    assert facts(pair(3, 9), pair(3, 9))["config_stays_behind"]["repeats"] == 2
    assert facts(pair(3, 9), pair(9, 10)) == {}


def test_a_commit_inside_a_round_is_told_from_one_after_a_loss() -> None:
    inside = facts((0, "rebalancing", "a"), (1, "commit_refused", "a"), (2, "joined", "a"))
    assert "commit_in_round" in inside
    lost = facts((0, "poll_expired", "a"), (1, "revoked", "a"), (2, "commit_refused", "a"))
    assert "commit_in_round" not in lost
    steady = facts((0, "rebalancing", "a"), (1, "assigned", "a"), (2, "commit_refused", "a"))
    assert "commit_in_round" not in steady


def test_a_gap_of_heartbeats_and_a_silence_of_everything() -> None:
    beats = [(3 * i, "heartbeat", "a") for i in range(5)]
    told = facts(*beats, (60, "member_unknown", "a"))["heartbeat_gap"]
    assert told == {"gap": 48_000, "usual": 3_000}
    talk = [(0.3 * i, "committed", "a") for i in range(40)]
    both = sorted([*beats, *talk], key=lambda s: s[0])
    assert facts(*both, (60, "member_unknown", "a"))["heartbeat_gap"]["quiet"] == 1
    busy = [*both, *((13 + i, "committed", "a") for i in range(46)), (60, "member_unknown", "a")]
    assert "quiet" not in facts(*busy)["heartbeat_gap"]


def test_a_coordinator_that_is_found_a_moment_later_was_not_missing() -> None:
    soon = facts((0, "coordinator_unavailable", "a"), (2, "coordinator_found", "a"))
    assert soon["recovered"] == {"of": "coordinator_unavailable", "after": 2_000}
    assert "coordinator_missing" not in soon
    late = facts((0, "coordinator_unavailable", "a"), (90, "coordinator_found", "a"))
    assert late["coordinator_missing"]["waited"] == 90_000
    assert "coordinator_missing" in facts((0, "coordinator_unavailable", "a"))


def test_topics_vanish_unless_the_consumer_closes() -> None:
    fewer = {"before": 2, "topics": 1}
    assert "topics_vanished" in facts((0, "subscription_changed", "a", fewer))
    closing = facts((0, "closed", "a"), (0, "subscription_changed", "a", fewer))
    assert "topics_vanished" not in closing
    begins = facts(
        (0, "subscription_changed", "a", {"before": 0, "topics": 1}), (0, "partitions_changed", "a")
    )
    assert "topics_changed" not in begins
    assert "topics_changed" in facts((0, "partitions_changed", "a"))


def test_settings_of_a_session_clash() -> None:
    group = GroupEvidence("g")
    for line, (name, value) in enumerate((("session.timeout.ms", 700), ("heartbeat.interval.ms",
                                                                         1500)), 1):  # fmt: skip
        fields = {"setting_" + name.replace(".", "__"): value}
        text = f"{name} = {value}"
        group.add(Statement(kind="started", line=line, text=text, fields=fields))
        brokers = Statement(kind="started", line=9, text=f"group.max.{text}", fields=fields)
    assert [s.kind for s in derive(group)] == ["settings_clash"]
    other = GroupEvidence("g")
    other.add(brokers)
    assert derive(other) == []


def test_whatever_is_said_can_be_diagnosed() -> None:
    """Statements of all kinds with any fields, in any order."""
    chance = random.Random(7)
    names = ("limit", "after", "error", "api", "before", "topics", "partition", "reason", "rtt",
             "delay", "broker", "offset", "excess", "setting_session__timeout__ms")  # fmt: skip
    values = (0, -5, 10**15, "", "x" * 900, "{{ who }}", "-", 1.5, None, True)
    for _ in range(60):
        evidence = Evidence()
        for line in range(chance.randrange(1, 60)):
            evidence.add(
                Statement(
                    kind=chance.choice(list(kinds())),
                    line=line,
                    text="t",
                    time=chance.choice((None, 0, BEGIN, BEGIN + chance.randrange(10**6))),
                    client=chance.choice(("", "a", "b")),
                    group=chance.choice(("", "g")),
                    fields={chance.choice(names): chance.choice(values) for _ in range(4)},
                )
            )
        for group in evidence.by_group():
            found = diagnose(group, shipped_knowledge())
            assert all(len(f.text) < 4_000 for f in found.causes + found.candidates)
