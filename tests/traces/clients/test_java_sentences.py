"""Lines of the Java client, of all versions and layouts, and of the frameworks around it.

The logs `live-java_*` are those of kafka-clients 4.3.0 in two recorded runs; the JSON files beside
them tell what each program's own callbacks saw: [partition, from, to, how it ended].
"""

from __future__ import annotations

import gzip
import json
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

from groupcheck.traces.clients.client_log import ClientLog
from groupcheck.traces.clients.partitions import Holdings
from groupcheck.traces.clients.statement import Statement
from groupcheck.traces.clients.who import NAMES
from groupcheck.traces.lines.timestamps import show_time

DATA = Path(__file__).parents[2] / "data" / "clients"
LINES = tomllib.loads((DATA / "java_lines.toml").read_text("utf-8"))["line"]
PREFIX = "[Consumer clientId=c-1, groupId=g1]"
LOST = f"{PREFIX} Lost previously assigned partitions orders-0, orders-1"
LIVE = sorted(DATA.glob("live-java_*.log.gz"))


def said(*lines: str) -> list[Statement]:
    return list(ClientLog().statements(enumerate(lines, 1)))


@pytest.mark.parametrize("row", LINES, ids=[f"{row['kind']}-{i}" for i, row in enumerate(LINES)])
def test_a_line_says_what_the_table_tells(row: dict[str, Any]) -> None:
    statements = said(row["text"])
    (first, *_) = (s for s in statements if s.kind == row["kind"])
    assert not {s.kind for s in statements} & {*row.get("not", ())}
    assert first.library == "java"
    assert {k: getattr(first, k) for k in row.get("names", {})} == row.get("names", {})
    assert {k: first.fields.get(k) for k in row.get("fields", {})} == row.get("fields", {})


@pytest.mark.parametrize("row", LINES, ids=[f"{row['kind']}-{i}" for i, row in enumerate(LINES)])
def test_a_refused_commit_is_no_poll_timeout(row: dict[str, Any]) -> None:
    """Its text names max.poll.interval.ms, but every refused commit prints it."""
    kinds = {s.kind for s in said(row["text"])}
    if "expired" not in row["text"]:
        assert not kinds & {"poll_expired", "worker_poll_expired"}


LAYOUTS = {
    "log4j": ["[2024-03-01 10:00:00,123] WARN {} (org.apache.kafka.clients.X)"],
    "Spring Boot": ["2024-03-01T10:00:00.123Z  WARN 7 --- [orders-0-C-1] o.a.k.X  : {}"],
    "logback": ["2024-03-01 10:00:00.123 [main] WARN  o.a.k.c.c.internals.X - {}"],
    "Strimzi": ["2024-03-01 10:00:00,123 WARN {} (org.apache.kafka.clients.X) [task-thread]"],
    "with the method": ["2024-03-01 10:00:00,123 WARN {} [org.apache.kafka.X.invoke(X.java:12)]"],
    "JSON": ['{{"@timestamp":"2024-03-01T10:00:00.123Z","message":"{}","level":"WARN"}}'],
    "JSON, message first": ['{{"message":"{}","time":"2024-03-01T10:00:00.123Z","pid":3}}'],
    "log4j2's JSON": ['{{"timeMillis":1709287200123,"level":"INFO","message":"{}"}}'],
    "long JSON": ['{{"message":"{}","x":"' + "x" * 400 + '","time":"2024-03-01 10:00:00,123"}}'],
    "Kibana": ['"Mar 1, 2024 @ 10:00:00.123",orders,"{}"'],
    "laid out JSON": [
        "{{",
        '  "message": "{}",',
        '  "@timestamp": "2024-03-01T10:00:00.123Z"',
        "}}",
    ],
    "laid out JSON, time first": ["{{", ' "timestamp": 1709287200123,', ' "message": "{}"', "}}"],
    "docker compose": ["orders-1  | 2024-03-01 10:00:00.123  WARN {}"],
    "two lines": ["2024-03-01 10:00:00.123 org.apache.kafka.clients.X invoke", "WARNING: {}"],
}


@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
def test_time_names_and_partitions_are_found_in_every_layout(layout: list[str]) -> None:
    after = "2024-03-01 09:00:00.000 INFO something else"
    (one,) = said(after, *(line.format(LOST) for line in layout))
    assert (one.kind, one.group, one.client) == ("lost", "g1", "c-1")
    assert one.fields["partitions"] == "orders-0, orders-1"
    assert show_time(one.time) == "2024-03-01 10:00:00.123"


@pytest.mark.parametrize(
    ("line", "process"),
    [
        ("orders-1  | 10:00:00.123 INFO {}", "orders-1"),
        ("[pod/orders-6b7c9d5f8-x2x4z/app] {}", "orders-6b7c9d5f8-x2x4z/app"),
        ("orders-6b7c9d5f8-x2x4z app 2024-03-01 {}", "orders-6b7c9d5f8-x2x4z app"),
        ("Mar  1 10:00:00 host7 java[123]: {}", "host7 java[123]"),
        ("ERROR | {}", ""),
        ("INFO {}", ""),
    ],
)
def test_a_prefix_names_the_process(line: str, process: str) -> None:
    assert said(line.format(LOST))[0].process == process


def test_a_stack_trace_belongs_to_the_record_above() -> None:
    head = f"2024-03-01 10:00:00.123 ERROR {PREFIX} Offset commit with offsets {{}} failed"
    trace = "Caused by: org.apache.kafka.clients.consumer.CommitFailedException: Commit cannot"
    first, second = said(head, "\tat org.apache.kafka.clients.X.run(X.java:1)", trace)
    assert (first.kind, second.kind) == ("commit_failed", "commit_refused")
    assert (second.group, second.client) == ("g1", "c-1")
    assert second.time == first.time


def test_a_task_of_a_sink_has_the_group_that_its_consumer_names() -> None:
    own = "[s3|task-0] [Consumer clientId=c-7, groupId=backup] (Re-)joining group"
    failed = "WorkerSinkTask{id=s3-0} Task threw an uncaught and unrecoverable exception"
    assert [(s.kind, s.group, s.client) for s in said(own, failed)] == [
        ("joining", "backup", "c-7"),
        ("task_failed", "backup", "c-7"),
    ]


def test_a_record_without_names_does_not_take_those_of_the_one_before() -> None:
    other = "2024-03-01 10:00:01.000 ERROR org.apache.kafka.clients.consumer.CommitFailedException"
    assert said(f"2024-03-01 10:00:00.123 INFO {LOST}", other)[1].client == ""


def test_a_timestamp_in_a_message_is_not_the_time_of_the_line() -> None:
    line = (
        "2024-03-01 10:00:00,123 INFO stream-thread [a-StreamThread-1]"
        " Triggering the followup rebalance scheduled for 2024-03-01T10:10:00.000Z."
    )
    assert show_time(said(line)[0].time) == "2024-03-01 10:00:00.123"


DUMP = [
    "2024-03-01 10:00:00.123  INFO 7 --- [main] o.a.k.clients.consumer.ConsumerConfig  : "
    "ConsumerConfig values: ",
    "\tauto.offset.reset = latest",
    "\tclient.id = c-1",
    "\tgroup.id = g1",
    "\tgroup.instance.id = null",
    "\tmax.poll.interval.ms = 300000",
    "\tpartition.assignment.strategy = [class org.apache.kafka.RangeAssignor, class x.Sticky]",
    "\tsession.timeout.ms = 45000",
    "\tssl.keystore.password = null",
    "",
]
ON_ONE_LINE = '{"message":"' + "\\n".join(DUMP).replace("\t", "\\t") + '","level":"INFO"}'
IN_FRAMES = [f"app-1  | {line}" for line in DUMP]


@pytest.mark.parametrize("lines", [DUMP, [ON_ONE_LINE], IN_FRAMES], ids=["plain", "JSON", "docker"])
def test_printed_settings_are_one_statement(lines: list[str]) -> None:
    setting, lost = said(*lines, LOST)
    assert (setting.kind, setting.group, setting.client, setting.line) == (
        "setting",
        "g1",
        "c-1",
        1,
    )
    assert lost.kind == "lost"
    assert setting.fields == {
        "of": "Consumer",
        "setting_auto__offset__reset": "latest",
        "setting_client__id": "c-1",
        "setting_group__id": "g1",
        "setting_max__poll__interval__ms": 300000,
        "setting_partition__assignment__strategy": (
            "[class org.apache.kafka.RangeAssignor, class x.Sticky]"
        ),
        "setting_session__timeout__ms": 45000,
    }


def _recorded(path: Path) -> tuple[ClientLog, list[Statement]]:
    log = ClientLog()
    lines = gzip.decompress(path.read_bytes()).decode().splitlines()
    return log, list(log.statements(enumerate(lines, 1)))


@pytest.mark.parametrize(
    ("recording", "run", "truth"),
    [
        (path.stem, run, sorted(truth))
        for path in DATA.glob("live-java_*.json")
        for run, truth in json.loads(path.read_text()).items()
    ],
)
def test_a_recorded_log_tells_who_owned_what_when(
    recording: str, run: str, truth: list[tuple[str, int, int, str]]
) -> None:
    holdings = Holdings()
    for one in _recorded(DATA / f"{recording}.{run}.log.gz")[1]:
        assert one.client in ("", run)
        holdings.add(one)
    found = sorted(holdings.spans_until(None), key=lambda span: (span.partition, span.since))
    ends = {"revoked": "revoked", "killed": "end of log"}
    assert [(o.partition, o.how) for o in found] == [(p, ends[how]) for p, _, _, how in truth]
    for span, (_, since, until, _) in zip(found, truth, strict=True):
        assert span.since is not None
        assert abs(span.since - since) < 100
        assert span.until is None or abs(until - span.until) < 100


@pytest.mark.parametrize("path", LIVE, ids=[p.name.removesuffix(".log.gz") for p in LIVE])
def test_every_recorded_line_about_the_group_is_understood(path: Path) -> None:
    log, statements = _recorded(path)
    left_out = re.compile(
        "Node is not ready|Handling |Creating ListOffset|Sending ListOffset|buffered fetch data"
        r"|StickyAssignor\)|Cluster ID|network thread|RequestManager|Signal |Stop finding|akeup"
        r"|full fetch response|groupId=g1\]$"
    )
    assert [text for _, text in log.samples if not left_out.search(text)] == []
    assert {s.group for s in statements} == {"g1"} | ({""} if log.understood else set())
    assert {name for s in statements for name in s.fields if name in NAMES} == set()
