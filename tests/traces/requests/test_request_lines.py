"""Lines of the request log, the consumer protocol's bytes inside them, and the order in which
requests are given on.
"""

from __future__ import annotations

import base64
import json
import struct
from pathlib import Path
from typing import Any

import pytest

from groupcheck.traces.exchanges.exchange import (
    CommitExchange,
    EpochExchange,
    FetchExchange,
    HeartbeatExchange,
    JoinExchange,
    LeaveExchange,
)
from groupcheck.traces.messages.consumer_protocol import Subscription, assignment, subscription
from groupcheck.traces.messages.message_bytes import Malformed
from groupcheck.traces.replay import replay_file
from groupcheck.traces.requests import request_log
from groupcheck.traces.requests.line import RequestNotUnderstood, exchanges
from groupcheck.traces.requests.request_log import RequestLog


def line(
    api: str,
    request: Any,
    response: Any,
    *,
    version: int = 4,
    at: str = "07:50:01,658",
    **more: Any,
) -> str:
    header = {
        "requestApiKey": 12,
        "requestApiVersion": version,
        "correlationId": 7,
        "clientId": "a",
        "requestApiKeyName": api,
    }
    record = {
        "requestHeader": header,
        "request": request,
        "response": response,
        "connection": "c",
        "totalTimeMs": 2.5,
        **more,
    }
    return (
        f"[2026-11-21 {at}] DEBUG Completed request:{json.dumps(record, separators=(',', ':'))}"
        " (kafka.request.logger)"
    )


def heartbeat(**more: Any) -> str:
    return line(
        "HEARTBEAT",
        {"groupId": "g", "generationId": 3, "memberId": "m", "groupInstanceId": None},
        {"errorCode": 27},
        **more,
    )


def test_arrival_and_answer_are_told_from_the_time_of_the_line() -> None:
    (e,) = (
        exchanges(
            5,
            heartbeat(
                totalTimeMs=20.0, requestQueueTimeMs=3.0, responseQueueTimeMs=1.0, sendTimeMs=0.5
            ),
        )
        or ()
    )
    assert isinstance(e, HeartbeatExchange)
    assert (e.arrived, e.began, e.given) == (e.answered - 20.0, e.answered - 17.0, e.answered - 1.5)
    assert (e.line, e.group, e.member, e.generation, e.code, e.client, e.connection) == (
        5,
        "g",
        "m",
        3,
        27,
        "a",
        "c",
    )


def test_a_leave_names_one_member_or_several_each_with_its_answer() -> None:
    (old,) = (
        exchanges(
            1, line("LEAVE_GROUP", {"groupId": "g", "memberId": "m"}, {"errorCode": 25}, version=1)
        )
        or ()
    )
    asked = {
        "groupId": "g",
        "members": [
            {"memberId": "m", "groupInstanceId": None, "reason": "closed"},
            {"memberId": "n"},
        ],
    }
    (new,) = (
        exchanges(
            1,
            line(
                "LEAVE_GROUP",
                asked,
                {"errorCode": 0, "members": [{"errorCode": 0}, {"errorCode": 25}]},
            ),
        )
        or ()
    )
    assert isinstance(old, LeaveExchange) and isinstance(new, LeaveExchange)
    assert [(x.member, x.code) for x in old.leavers] == [("m", 25)]
    assert [(x.member, x.code, x.reason) for x in new.leavers] == [
        ("m", 0, "closed"),
        ("n", 25, None),
    ]


def test_a_commit_is_accepted_if_some_partition_was_stored() -> None:
    def commit(*codes: int) -> CommitExchange:
        partitions = [{"partitionIndex": k, "committedOffset": 10 * k} for k in range(len(codes))]
        asked = {
            "groupId": "g",
            "generationIdOrMemberEpoch": 2,
            "memberId": "m",
            "topics": [{"name": "t", "partitions": partitions}],
        }
        told = [{"partitionIndex": k, "errorCode": code} for k, code in enumerate(codes)]
        (e,) = (
            exchanges(
                1, line("OFFSET_COMMIT", asked, {"topics": [{"name": "t", "partitions": told}]})
            )
            or ()
        )
        assert isinstance(e, CommitExchange)
        return e

    assert (commit(0, 12).code, commit(25, 25).code, commit(3, 12).code, commit().code) == (
        0,
        25,
        None,
        None,
    )
    assert commit(0, 12).offsets == (("t", 0, 0, 0), ("t", 1, 10, 12))


def test_one_offset_fetch_may_ask_for_several_groups() -> None:
    asked = {"groups": [{"groupId": "g"}, {"groupId": "h"}]}
    topics = [
        {"name": "t", "partitions": [{"partitionIndex": 0, "committedOffset": 5, "errorCode": 0}]}
    ]
    found = exchanges(
        1,
        line(
            "OFFSET_FETCH",
            asked,
            {"groups": [{"groupId": "h", "topics": topics, "errorCode": 0}]},
            version=8,
        ),
    )
    assert found is not None and [(e.group, e.code) for e in found] == [("g", None), ("h", 0)]
    assert isinstance(found[1], FetchExchange) and found[1].offsets == (("t", 0, 5),)


def test_heartbeats_of_other_protocols_are_read() -> None:
    asked, told = (
        {"groupId": "g", "memberId": "m", "memberEpoch": 3},
        {"errorCode": 0, "memberId": "m", "memberEpoch": 4},
    )
    for api, protocol in (
        ("CONSUMER_GROUP_HEARTBEAT", "consumer"),
        ("SHARE_GROUP_HEARTBEAT", "share"),
    ):
        (e,) = exchanges(1, line(api, asked, told)) or ()
        assert isinstance(e, EpochExchange) and (e.protocol, e.epoch, e.to_epoch) == (
            protocol,
            3,
            4,
        )


def test_requests_of_other_apis_are_of_others() -> None:
    assert exchanges(1, line("FETCH", {}, {})) is None
    assert exchanges(1, line("FETCH", {}, {})[:-60]) is None, (
        "a cut line of another API is nobody's loss"
    )


@pytest.mark.parametrize(
    "damaged",
    [
        heartbeat()[:-60],
        (
            "[2026-11-21 07:50:01,658] DEBUG Completed request:RequestHeader(apiKey=HEARTBEAT,"
            " apiVersion=2) -- {group_id=g}"
        ),
        heartbeat(totalTimeMs=float("nan")),
        heartbeat(totalTimeMs=-1),
        heartbeat().replace("2026-11-21 07:50:01,658", "today"),
        line("HEARTBEAT", {"groupId": ["g"], "generationId": 3}, {"errorCode": 27}),
        line("HEARTBEAT", {"groupId": "g", "generationId": 10**30}, {"errorCode": 27}),
        line("HEARTBEAT", "", ""),
        line(
            "JOIN_GROUP",
            {"groupId": "g", "protocols": [{"name": "range", "metadata": "?"}]},
            {"errorCode": 0},
        ),
        line("JOIN_GROUP", {"groupId": "g", "protocols": [7]}, {"errorCode": 0}),
    ],
)
def test_a_line_that_is_not_as_its_api_prints_it_is_refused(damaged: str) -> None:
    with pytest.raises(RequestNotUnderstood):
        exchanges(1, damaged)


def test_hostile_lines_are_counted_and_end_nothing(tmp_path: Path) -> None:
    file = tmp_path / "requests.log"
    deep = "[2026-11-21 07:50:01,658] DEBUG Completed request:" + '{"requestHeader":' * 50_000
    file.write_text(
        "\n".join(
            [heartbeat(), deep, "Completed request:", heartbeat()[:-80], heartbeat(), "\x00\x01"]
        )
        + "\n"
    )
    report = replay_file(str(file))
    assert (report.format, report.verdict, report.understood, report.strange, report.lines) == (
        "request-log",
        "unknown",
        2,
        3,
        6,
    )


# -- the consumer protocol


def text(s: str) -> bytes:
    return struct.pack(">h", len(s)) + s.encode()


OWNED = struct.pack(">i", 1) + text("t") + struct.pack(">iii", 2, 0, 3)
NO_DATA = struct.pack(">i", -1)


@pytest.mark.parametrize(
    ("version", "rest", "expected"),
    [
        (0, b"", Subscription(0, ("t", "uv"))),
        (1, OWNED, Subscription(1, ("t", "uv"), None, (("t", 0), ("t", 3)))),
        (
            2,
            OWNED + struct.pack(">i", 9),
            Subscription(2, ("t", "uv"), None, (("t", 0), ("t", 3)), 9),
        ),
        (
            3,
            OWNED + struct.pack(">i", 9) + text("r"),
            Subscription(3, ("t", "uv"), None, (("t", 0), ("t", 3)), 9, "r"),
        ),
        (
            7,
            OWNED + struct.pack(">i", 9) + text("r") + b"more",
            Subscription(7, ("t", "uv"), None, (("t", 0), ("t", 3)), 9, "r"),
        ),
    ],
)
def test_subscriptions_of_all_versions_are_decoded(
    version: int, rest: bytes, expected: Subscription
) -> None:
    data = struct.pack(">hi", version, 2) + text("t") + text("uv") + NO_DATA + rest
    assert subscription(data) == expected
    for end in range(len(data) - (4 if version == 7 else 0)):
        with pytest.raises(Malformed):
            subscription(data[:end])


def test_assignments_are_decoded() -> None:
    assert assignment(struct.pack(">h", 1) + OWNED + NO_DATA) == (("t", 0), ("t", 3))
    assert assignment(b"") == ()


@pytest.mark.parametrize(
    "data",
    [
        b"\x00",
        b"\xff\xff\x00\x00\x00\x00",
        struct.pack(">hi", 0, 2**31 - 1),
        struct.pack(">hi", 0, -5),
    ],
)
def test_bytes_that_promise_more_than_there_is_are_refused(data: bytes) -> None:
    for decode in (subscription, assignment):
        with pytest.raises(Malformed):
            decode(data)


def test_base64_of_connect_is_no_trouble(tmp_path: Path) -> None:
    join = {
        "groupId": "g",
        "memberId": "",
        "protocolType": "connect",
        "protocols": [{"name": "sessioned", "metadata": "AAE="}],
    }
    file = tmp_path / "requests.log"
    file.write_text(
        line("JOIN_GROUP", join, {"errorCode": 79, "memberId": "m", "members": []}, version=7)
        + "\n"
    )
    (g,) = replay_file(str(file)).groups
    assert (g.protocol, g.verdict) == ("connect", "unknown")
    assert base64.b64decode("AAE=") == b"\x00\x01"


# -- the order of requests


def test_requests_come_in_the_order_in_which_they_were_taken_up(tmp_path: Path) -> None:
    file = tmp_path / "requests.log"
    parked = line(
        "JOIN_GROUP",
        {"groupId": "g", "memberId": "n", "protocols": []},
        {"errorCode": 0},
        at="07:50:02,000",
        totalTimeMs=900,
    )
    file.write_text(heartbeat(at="07:50:01,600") + "\n" + parked + "\n")
    assert [type(e) for e in RequestLog(str(file)).exchanges()] == [JoinExchange, HeartbeatExchange]


def test_what_is_held_back_is_bounded_and_what_comes_too_late_is_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "requests.log"
    beats = [heartbeat(at=f"07:50:{k // 10:02},{k % 10}00") for k in range(300)]
    parked = line(
        "JOIN_GROUP",
        {"groupId": "g", "memberId": "n", "protocols": []},
        {"errorCode": 0},
        at="07:50:30,000",
        totalTimeMs=29_000,
    )
    file.write_text("\n".join([*beats, parked]) + "\n")
    monkeypatch.setattr(request_log, "MOST_HELD", 20)
    log = RequestLog(str(file))
    for seen, _ in enumerate(log.exchanges()):
        assert log.understood - seen <= 22
    assert (log.understood, log.late) == (301, 1)
