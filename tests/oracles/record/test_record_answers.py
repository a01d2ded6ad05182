"""What the request log says by itself, on exchanges whose answer is known by hand; and the whole
truth about a small scenario.
"""

from __future__ import annotations

import json
from typing import Any

from groupcheck.oracles.record import answers
from groupcheck.oracles.record.scenarios import SCENARIOS
from groupcheck.oracles.record.truth import Played, Program, as_lines, truth

AT = 1_795_000_000_000


def line(
    ms: int,
    api: str,
    client: str,
    request: dict[str, Any],
    response: dict[str, Any],
    took: float = 0.0,
) -> str:
    said = {
        "requestHeader": {"clientId": client, "requestApiKeyName": api},
        "request": {"groupId": "g1"} | request,
        "response": response,
        "totalTimeMs": took,
    }
    return (
        f"[2026-11-18 11:06:40,{ms:03}] DEBUG Completed request:{json.dumps(said)}"
        " (kafka.request.logger)\n"
    )


def joined(ms: int, who: str, generation: int, leader: str, took: float, members: str = "") -> str:
    told = {
        "members": [{"memberId": f"{one}-1"} for one in members],
        "errorCode": 0,
        "generationId": generation,
        "protocolName": "range",
        "leader": f"{leader}-1",
        "memberId": f"{who}-1",
    }
    return line(ms, "JOIN_GROUP", who, {}, told, took)


def committed(
    ms: int, who: str, offset: int, code: int = 0, topic: dict[str, str] | None = None
) -> str:
    topic = topic or {"name": "o"}
    asked = {"topics": [topic | {"partitions": [{"partitionIndex": 0, "committedOffset": offset}]}]}
    return line(
        ms,
        "OFFSET_COMMIT",
        who,
        asked,
        {"topics": [topic | {"partitions": [{"partitionIndex": 0, "errorCode": code}]}]},
    )


LOG = [
    line(
        10,
        "JOIN_GROUP",
        "a",
        {},
        {"errorCode": 79, "generationId": -1, "leader": "", "memberId": "a-1"},
        2.0,
    ),
    joined(100, "a", 1, "a", 80.4),
    joined(300, "b", 2, "a", 150.0),
    joined(301, "a", 2, "a", 20.0),
    joined(350, "b", 2, "a", 5.0),
    line(400, "HEARTBEAT", "a", {}, {"errorCode": 27}),
    line(410, "HEARTBEAT", "a", {}, {"errorCode": 0}),
    line(420, "HEARTBEAT", "a", {}, {"errorCode": 27}),
]
BROKER = [
    (
        "[2026-11-18 11:06:40,020] INFO [GroupCoordinator id=1] Preparing to rebalance group g1 in"
        " state PreparingRebalance with old generation 0 (reason: new member (x))."
        " (org.apache.kafka.coordinator.group.GroupMetadataManager)\n"
    ),
    (
        "[2026-11-18 11:06:40,030] INFO [GroupCoordinator id=1] [GroupId g2] [MemberId m] Bumped"
        " group epoch to 7 (org.apache.kafka.coordinator.group.X)\n"
    ),
    (
        "[2026-11-18 11:06:40,031] INFO Stabilized group g1 generation 1"
        " (org.apache.kafka.coordinator.group.GroupMetadataManager)\n"
    ),
]


def found(log: list[str]) -> list[answers.Exchange]:
    return list(answers.exchanges(log))


def test_a_request_came_when_its_answer_went_less_the_time_it_took():
    assert [(one.run, one.arrived - AT, one.answered - AT) for one in found(LOG)[:2]] == [
        ("a", 8, 10),
        ("a", 20, 100),
    ]


def test_a_line_that_was_cut_off_is_left_out():
    assert [one.api for one in found([LOG[0][:-20], LOG[5], "\tat x\n"])] == ["HEARTBEAT"]


def test_requests_and_refusals_are_counted():
    assert answers.counted(found(LOG)) == {"JOIN_GROUP": 5, "HEARTBEAT": 3}
    assert answers.refused(found(LOG)) == {"HEARTBEAT 27": {"a": 2}, "JOIN_GROUP 79": {"a": 1}}


def test_error_codes_inside_an_answer_count_too():
    assert answers.refused(found([committed(1, "a", 5, code=22)])) == {"OFFSET_COMMIT 22": {"a": 1}}


def test_a_generation_has_its_members_its_leader_and_who_kept_it_waiting():
    first, second = answers.generations(found(LOG))
    assert first["joins"] == [["a", AT + 20, AT + 100]] and first["leader"] == "a"
    assert (
        [j[0] for j in second["joins"]] == ["b", "a"]
        and second["slowest"] == "a"
        and second["leader"] == "a"
    )
    assert second["completed"] == AT + 300
    assert second["joined_without_rebalance"] == [["b", AT + 345, AT + 350]]


def test_the_last_join_of_a_round_is_in_time_though_its_line_is_written_late():
    log = [joined(300, "b", 2, "a", 150.0), joined(303, "a", 2, "a", 2.0, members="ab")]
    (round,) = answers.generations(found(log))
    assert [j[0] for j in round["joins"]] == ["b", "a"] and round["slowest"] == "a"
    assert "joined_without_rebalance" not in round


def test_who_takes_a_static_members_place_is_in_no_round():
    log = [joined(300, "a", 2, "a", 50.0, members="ab"), joined(301, "c", 2, "a", 2.0)]
    log.append(joined(302, "b", 2, "a", 60.0))
    (round,) = answers.generations(found(log))
    assert [j[0] for j in round["joins"]] == ["b", "a"]
    assert [j[0] for j in round["joined_without_rebalance"]] == ["c"]


def test_an_epoch_is_reached_by_each_once():
    told = {"errorCode": 0, "memberEpoch": 2}
    log = [
        line(t, "CONSUMER_GROUP_HEARTBEAT", who, {}, told)
        for t, who in ((1, "a"), (2, "b"), (3, "a"))
    ]
    assert answers.epochs(found(log)) == [
        {"group": "g1", "epoch": 2, "reached": {"a": AT + 1, "b": AT + 2}, "slowest": "b"}
    ]


def test_a_rebalance_begins_with_the_coordinators_own_reason():
    assert answers.rebalance_starts(BROKER) == [
        {"t": AT + 20, "group": "g1", "old_generation": 0, "reason": "new member (x)"},
        {"t": AT + 30, "group": "g2", "group_epoch": 7},
    ]


def test_an_accepted_commit_below_the_last_one_goes_back_and_a_refused_one_does_not():
    spans = {"a": [("o-0", AT, AT + 500, "revoked")]}
    log = [committed(1, "a", 10), committed(2, "a", 4, code=25), committed(3, "a", 7)]
    back, foreign = answers.commits(found(log), spans, {})
    assert [(b["committed"], b["was"], b["was_by"]) for b in back] == [(7, 10, "a")]
    assert foreign == []


def test_a_commit_of_one_that_does_not_own_is_told_also_when_the_topic_is_named_by_its_id():
    spans = {"a": [("o-0", AT, AT + 100, "revoked")]}
    _, foreign = answers.commits(
        found([committed(90, "a", 1), committed(200, "a", 2, topic={"topicId": "ID"})]),
        spans,
        {"ID": "o"},
    )
    assert [(f["by"], f["offset"], f["partition"]) for f in foreign] == [("a", 2, "o-0")]


def test_the_id_of_a_topic_is_in_the_brokers_log():
    said = (
        "[x] INFO [QuorumController id=1] Replayed TopicRecord for topic orders with topic ID"
        " PGuZ_-1. (org.apache.kafka.controller.X)\n"
    )
    assert answers.topic_ids([said]) == {"orders": "PGuZ_-1"}


def test_the_truth_has_what_was_done_what_was_seen_and_what_follows():
    events = [
        {"t": AT + 110, "ev": "assigned", "parts": ["o-0"], "own": ["o-0"]},
        {"t": AT + 120, "ev": "consumed", "runs": {"o-0": [0, 3, AT + 111, AT + 119]}},
        {"t": AT + 500, "ev": "closed", "own": []},
    ]
    actions = [{"t": AT, "who": "a", "do": "start"}]
    settings = {"group.min.session.timeout.ms": "100", "num.io.threads": "2"}
    programs = {"a": Program("kafka-python 3", {"x": 1}, {"commit_ms": 1}, events)}
    played = Played(
        "join",
        SCENARIOS["join"],
        "4.3.0",
        "g1",
        {"o": 1},
        settings,
        actions,
        programs,
        AT,
        AT + 600,
    )
    told = json.loads(as_lines(truth(played, LOG, BROKER, {"o": "ID", "other": "X"})))
    assert told["versions"] == {
        "broker": "Apache Kafka 4.3.0 (KRaft, one node)",
        "kafka-python": "kafka-python 3",
    }
    assert told["topic_ids"] == {"o": "ID"} and told["broker_options"] == {
        "group.min.session.timeout.ms": "100"
    }
    a = told["clients"]["a"]
    assert a["owned"] == [["o-0", AT + 110, AT + 500, "closed"]] and a["member_ids"] == ["a-1"]
    assert a["consumed"] == [["o-0", 0, 3, AT + 111, AT + 119]] and [
        e["ev"] for e in a["events"]
    ] == ["assigned", "closed"]
    assert len(told["facts"]["generations"]) == 2 and told["facts"]["requests"]["HEARTBEAT"] == 3
    assert told["actions"] == actions


def test_an_event_stands_on_one_line_however_long_it_is():
    event = {"t": 1, "own": [f"orders-{k}" for k in range(60)]}
    text = as_lines({"events": [event, event], "long": list(range(100))})
    assert json.loads(text) == {"events": [event, event], "long": list(range(100))}
    assert sum('"t": 1' in line for line in text.splitlines()) == 2
