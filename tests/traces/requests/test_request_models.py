"""The request replay against the model: what a run of the model prints is explained, and a wrong
answer in it is not.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from printed import printed_requests

from groupcheck.model.protocol.classic.scope import Scope
from groupcheck.traces.findings.report import GroupReport
from groupcheck.traces.replay import replay_file
from groupcheck.traces.requests.group_rules import SLACK_MS

FAULTS = {
    "crash": 4,
    "close": 5,
    "session_timeout": 100,
    "rebalance_timeout": 5,
    "sync_timeout": 3,
    "append_failure": 2,
    "poll_timeout": 3,
    "late_commit": 3,
}
LOST = {"disconnect": 3, "lose_response": 2, "delay_request": 1, "lose_request": 2}


def scope(members: int, **more: Any) -> Scope:
    """Long lives of small groups that commit."""
    return Scope(members=members, generations=60, records=2, partitions=members, **more)


QUIET, BUSY, OLD = scope(3), scope(2, faults=FAULTS), scope(2, faults=FAULTS, two_step=False)
BROKEN = scope(2, faults={**FAULTS, **LOST})
WRONG = scope(2, faults={"close": 6})
STEPS = 100


def replayed(lines: Sequence[str], path: Path) -> GroupReport:
    file = path / "requests.log"
    file.write_text("".join(line + "\n" for line in lines))
    report = replay_file(str(file))
    assert report.strange == 0 and report.understood == len(lines)
    (group,) = report.groups
    return group


@pytest.mark.parametrize(
    ("found", "seeds"),
    [(QUIET, range(3)), (BUSY, range(2)), (OLD, range(1))],
    ids=["quiet", "busy", "ids in one step"],
)
def test_every_run_of_the_model_holds(found: Scope, seeds: range, tmp_path: Path) -> None:
    rounds = 0
    for seed in seeds:
        lines = printed_requests(seed, found, STEPS)
        group = replayed(lines, tmp_path)
        assert (group.verdict, group.unexplained_count) == ("holds", 0), (
            seed,
            group.reason,
            group.unexplained,
        )
        rounds += len(group.timeline.rounds)
    assert rounds >= len(seeds)


def test_a_run_with_requests_that_no_line_shows_is_never_called_wrong(tmp_path: Path) -> None:
    verdicts = [
        replayed(printed_requests(seed, BROKEN, STEPS), tmp_path).verdict for seed in range(2)
    ]
    assert "violated" not in verdicts and "holds" in verdicts


def test_a_run_cut_at_any_place_is_not_called_wrong(tmp_path: Path) -> None:
    lines = printed_requests(1, QUIET, STEPS)
    for cut in range(1, len(lines), len(lines) // 8):
        group = replayed(lines[cut:], tmp_path)
        assert group.unexplained_count == 0, (cut, group.unexplained)


# -- wrong answers

Change = Callable[[dict[str, Any], dict[str, Any]], bool]


def changed(lines: Sequence[str], api: str, change: Change, seed: int) -> Iterator[list[str]]:
    """The log with one answer of this API changed; twice, where there are two."""
    places = [k for k, line in enumerate(lines) if f'"requestApiKeyName":"{api}"' in line]
    places = places[:-1] or places  # of the last one nothing follows that could contradict
    random.Random(seed).shuffle(places)
    done = 0
    for k in places:
        found = with_change(lines, k, change)
        right = found and '"errorCode":25' in found[k] and leaves_beside(lines, k)
        if found and not right:
            yield found
            done += 1
        if done == 2:
            return


def with_change(lines: Sequence[str], k: int, change: Change) -> list[str]:
    """The log with this answer changed; empty if it cannot be."""
    head, mark, rest = lines[k].partition("Completed request:")
    record, end = json.JSONDecoder().raw_decode(rest)
    if not change(record["request"], record["response"]):
        return []
    told = head + mark + json.dumps(record, separators=(",", ":")) + rest[end:]
    return [*lines[:k], told, *lines[k + 1 :]]


def record_of(line: str) -> dict[str, Any]:
    found, _ = json.JSONDecoder().raw_decode(line.partition("Completed request:")[2])
    assert isinstance(found, dict)
    return found


def leaves_beside(lines: Sequence[str], k: int) -> int:
    """The line of a LeaveGroup of the same member, over another connection and so soon after this
    line that the broker may have handled it first: then 25 is the right answer. 0: there is none.
    """
    mine = record_of(lines[k])
    asked = f'"memberId":"{mine["request"].get("memberId") or "nobody"}"'
    for n in range(k + 1, len(lines)):
        if '"requestApiKeyName":"LEAVE_GROUP"' in lines[n] and asked in lines[n]:
            its, apart = record_of(lines[n]), moment(lines[n]) - moment(lines[k])
            if apart - its["totalTimeMs"] <= SLACK_MS and its["connection"] != mine["connection"]:
                return n
    return 0


def moment(line: str) -> float:
    """Milliseconds of a line's time."""
    return datetime.strptime(line[1:24], "%Y-%m-%d %H:%M:%S,%f").timestamp() * 1000


def code(wrong: int, right: int = 0) -> Change:
    """The error code is another one."""

    def change(_: dict[str, Any], response: dict[str, Any]) -> bool:
        if response["errorCode"] != right:
            return False
        response["errorCode"] = wrong
        return True

    return change


def generation(_: dict[str, Any], response: dict[str, Any]) -> bool:
    """Not the first one that the log tells: nothing says what it should be."""
    response["generationId"] += 1
    return bool(response["errorCode"] == 0 and response["generationId"] > 2)


def leader(_: dict[str, Any], response: dict[str, Any]) -> bool:
    response["leader"] = "somebody"
    return bool(response["errorCode"] == 0)


def members(_: dict[str, Any], response: dict[str, Any]) -> bool:
    there = len(response["members"])
    response["members"] = response["members"][1:]
    return there > 0


def share(_: dict[str, Any], response: dict[str, Any]) -> bool:
    right = response["assignment"]
    response["assignment"] = "AAEAAAABAAF0AAAAAQAAAAn/////"  # partition 9 of topic t
    return bool(right)


def commit(_: dict[str, Any], response: dict[str, Any]) -> bool:
    (partition,) = response["topics"][0]["partitions"]
    partition["errorCode"] = 25 if not partition["errorCode"] else 0
    return True


@pytest.mark.parametrize(
    ("api", "change"),
    [
        ("HEARTBEAT", code(25)),
        ("HEARTBEAT", code(22)),
        ("JOIN_GROUP", generation),
        ("JOIN_GROUP", leader),
        ("JOIN_GROUP", members),
        ("JOIN_GROUP", code(25)),
        ("JOIN_GROUP", code(0, right=79)),
        ("SYNC_GROUP", share),
        ("SYNC_GROUP", code(25)),
        ("OFFSET_COMMIT", commit),
    ],
    ids=[
        "unknown member",
        "old generation",
        "generation",
        "leader",
        "members",
        "join refused",
        "id kept back",
        "share",
        "sync refused",
        "commit",
    ],
)
def test_a_wrong_answer_is_found(api: str, change: Change, tmp_path: Path) -> None:
    tried = 0
    for seed in range(6):
        for lines in changed(printed_requests(seed, WRONG, STEPS), api, change, seed):
            group = replayed(lines, tmp_path)
            if "the log ends before all" in group.reason or "no line shows how" in group.reason:
                continue  # what follows in the same step, or a lost LeaveGroup, might explain it
            assert group.verdict == "violated" and group.unexplained, (seed, group.reason)
            tried += 1
    assert tried >= 4


def test_a_heartbeat_beside_its_member_s_leave_group_may_be_answered_that_nobody_is_there(
    tmp_path: Path,
) -> None:
    """They come over two connections, and which one was handled first is not shown. Over one, or
    later than moments can be confused, the heartbeat was first, and its answer is wrong.
    """
    tried = 0
    for seed in range(8):
        lines = printed_requests(seed, WRONG, STEPS)
        for k, line in enumerate(lines):
            n = leaves_beside(lines, k) if '"HEARTBEAT"' in line else 0
            found = with_change(lines, k, code(25)) if n else []
            if not found:
                continue
            assert replayed(found, tmp_path).verdict == "holds", (seed, k)
            mine, its = record_of(line)["connection"], record_of(lines[n])["connection"]
            one = [*found[:n], found[n].replace(its, mine), *found[n + 1 :]]
            assert replayed(one, tmp_path).verdict == "violated", (seed, k)
            late = [*found[:n], *(later(rest, 20) for rest in found[n:])]
            assert replayed(late, tmp_path).verdict == "violated", (seed, k)
            tried += 1
    assert tried


def later(line: str, ms: int) -> str:
    """The line, written so much later."""
    at = datetime.strptime(line[1:24], "%Y-%m-%d %H:%M:%S,%f") + timedelta(milliseconds=ms)
    return f"[{at:%Y-%m-%d %H:%M:%S},{at.microsecond // 1000:03d}{line[24:]}"


def test_an_answer_to_a_request_that_should_wait_is_found(tmp_path: Path) -> None:
    """A JoinGroup that is answered although others are awaited: here the last one of a round of
    three is made to come a second later.
    """
    lines = list(printed_requests(2, QUIET, STEPS))
    later = [k for k, line in enumerate(lines) if '"memberId":""' in line and "JOIN_GROUP" in line]
    found = 0
    for k in later[1:]:
        head, mark, rest = lines[k].partition("Completed request:")
        record, end = json.JSONDecoder().raw_decode(rest)
        response = {
            "errorCode": 0,
            "generationId": 1,
            "protocolName": "range",
            "leader": record["response"]["memberId"],
            "members": [],
        }
        record["response"] |= response
        record["requestHeader"]["requestApiVersion"] = 3
        group = replayed(
            [
                *lines[:k],
                head + mark + json.dumps(record, separators=(",", ":")) + rest[end:],
                *lines[k + 1 :],
            ],
            tmp_path,
        )
        assert group.verdict == "violated"
        found += 1
    assert found >= 2
