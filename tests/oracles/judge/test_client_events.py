"""What a program under test prints, and what is understood of it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from groupcheck.oracles.judge.client.events import (
    LONGEST_LINE,
    Assigned,
    Closed,
    CommitFailed,
    Committed,
    Delivered,
    Failed,
    Lost,
    MemberSettings,
    Other,
    Revoked,
    Started,
    read_line,
)
from groupcheck.traces.event_lines.event import SCHEMA, BadEvent

T0, T1, NOW = ("t", 0), ("my-topic", 1), 1_764_000_000_123


def line(event: str, **more: Any) -> str:
    return json.dumps({"schema": SCHEMA, "event": event, "time": NOW, **more})


@pytest.mark.parametrize(
    ("printed", "meant"),
    [
        (line("started", library="x", version="1"), Started("x", "1")),
        (line("assigned", partitions=["t-0", "my-topic-1"], whole=True),
         Assigned(frozenset({T0, T1}), True)),
        (line("revoked", partitions=["t-0"]), Revoked(frozenset({T0}))),
        (line("lost", partitions=[]), Lost(frozenset())),
        (line("delivered", partition="t-0", offset=3), Delivered(T0, 3, 3)),
        (line("delivered", partition="t-0", offset=3, last=9),
         Delivered(T0, 3, 9)),
        (line("commit", offsets={"t-0": 5}), Committed({T0: 5})),
        (line("commit_failed", error="NOT_COORDINATOR"),
         CommitFailed("NOT_COORDINATOR")),
        (line("error", error=25), Failed("UNKNOWN_MEMBER_ID")),
        (line("error", error="FencedInstanceIdException"),
         Failed("FENCED_INSTANCE_ID")),
        (line("fatal", error="Broker: Static consumer fenced by other consumer with same"
              " group.instance.id: Fatal consumer error"),
         Failed("FENCED_INSTANCE_ID", True)),
        (line("error", error="an invalid_record of ours"),
         Failed("an invalid_record of ours")),
        (line("error", error="the disk is full"), Failed("the disk is full")),
        (line("fatal", error="FENCED_INSTANCE_ID"),
         Failed("FENCED_INSTANCE_ID", True)),
        (line("closed"), Closed()),
        (line("joined", generation=5), Other("joined")),
    ],
)  # fmt: skip
def test_an_event_of_our_format_is_understood(printed: str, meant: object) -> None:
    assert read_line(printed) == (meant,)
    assert read_line(f"INFO consumer {printed}") == (meant,)


def test_the_lines_of_kafkas_verifiable_consumer_are_understood() -> None:
    """As Kafka's own tool prints them; librdkafka's has no count in a partition."""
    printed = """
{"timestamp":1,"name":"startup_complete"}
{"timestamp":2,"name":"partitions_assigned","partitions":[{"topic":"t","partition":0}]}
{"timestamp":3,"name":"records_consumed","count":3,"partitions":[{"topic":"t","partition":0,"count":3,"minOffset":0,"maxOffset":2}]}
{"timestamp":4,"name":"offsets_committed","offsets":[{"topic":"t","partition":0,"offset":3}],"success":true}
{"timestamp":5,"name":"offsets_committed","offsets":[{"topic":"t","partition":0,"offset":3}],"error":"no","success":false}
{"timestamp":5,"name":"offsets_committed","success":"yes"}
{"timestamp":6,"name":"partitions_revoked","partitions":[{"topic":"t","partition":0}]}
{"name": "records_consumed", "_totcount": 1, "count": 1, "partitions": [ { "topic": "t", "partition": 0, "minOffset": 7, "maxOffset": 7 }]}
{"timestamp":8,"name":"shutdown_complete"}
""".strip().splitlines()  # noqa: E501
    assert [event for one in printed for event in read_line(one)] == [
        Started(),
        Assigned(frozenset({T0})),
        Delivered(T0, 0, 2),
        Committed({T0: 3}),
        CommitFailed("no", {T0: 3}),
        CommitFailed(""),
        Revoked(frozenset({T0})),
        Delivered(T0, 7, 7),
        Closed(),
    ]


@pytest.mark.parametrize(
    "printed",
    ["", "joined the group", '{"name": "a record of the program\'s own log"}', '["name"]',
     '"name" {', '{"ev": "assigned", "parts": ["t-0"]}', '"name"' + "[" * 10_000],
)  # fmt: skip
def test_other_lines_are_the_programs_log(printed: str) -> None:
    assert read_line(printed) == ()


@pytest.mark.parametrize(
    "printed",
    [
        line("delivered", partition="t-0"),
        line("delivered", partition="t-0", offset=5, last=4),
        line("delivered", partition="t", offset=5),
        line("assigned", partitions=["-"]),
        line("assigned", partitions=["t-" + "9" * 10]),
        line("assigned", partitions=["t-\u0663"]),
        line("commit", offsets={"t-0": "5"}),
        line("commit", offsets={"t-0": True}),
        line("fallen"),
        SCHEMA,
        line("error", error="x" * LONGEST_LINE),
        '{"name": "partitions_assigned"}',
        '{"name": "partitions_assigned", "partitions": [5]}',
        '{"name": "records_consumed", "partitions": [{"topic": "t", "partition": 0}]}',
        '{"name": "startup_complete", "timestamp": "now"}',
    ],
)
def test_an_event_that_is_not_as_its_format_says_is_refused(printed: str) -> None:
    with pytest.raises(BadEvent):
        read_line(printed)


def test_a_dynamic_member_gets_no_instance_id() -> None:
    told = MemberSettings(bootstrap="127.0.0.1:1", group="g", topic="t")
    assert "KAFKA_INSTANCE_ID" not in told.environment()
    static = MemberSettings(bootstrap="127.0.0.1:1", group="g", topic="t", instance="i")
    assert static.environment() == told.environment() | {"KAFKA_INSTANCE_ID": "i"}
