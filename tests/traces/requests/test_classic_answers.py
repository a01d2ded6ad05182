"""Classic members of a consumer group in a request log: what the coordinator answers them is judged
by the model `migration`. A broker 4.3.0 was recorded with members of librdkafka; each test changes
an answer of it.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from groupcheck.traces.findings.report import GroupReport
from groupcheck.traces.replay import replay_file

DATA = Path(__file__).parents[2] / "data/requests"
DOWN = DATA / "live-rolling_downgrade.log.gz"
LINES = gzip.decompress(DOWN.read_bytes()).decode().splitlines()
Body = dict[str, Any]


def body(line: str) -> Body:
    found: Body = json.loads(line.partition("request:")[2].rpartition(" (kafka")[0])
    return found


def with_body(line: str, found: Body) -> str:
    """The line, with another request and answer."""
    head, _, rest = line.partition("request:")
    tail = rest[rest.rindex(" (kafka") :]
    return f"{head}request:{json.dumps(found, separators=(',', ':'))}{tail}"


def of_lines(tmp_path: Path, lines: list[str]) -> GroupReport:
    log = tmp_path / "requests.log"
    log.write_text("\n".join(lines) + "\n")
    (g,) = replay_file(str(log)).groups
    return g


def answers(api: str, client: str) -> list[int]:
    """The numbers of the lines with requests of a client that were answered without an error, or
    with the request to join again.
    """
    bodies = [(number, body(line)) for number, line in enumerate(LINES)]
    return [
        number
        for number, one in bodies
        if one["requestHeader"]["requestApiKeyName"] == api
        and one["requestHeader"]["clientId"] == client
        and one["response"].get("errorCode") in (0, 27)
    ]


def replayed(
    tmp_path: Path, number: int, change: Callable[[Body], None], begin: int = 0
) -> GroupReport:
    """The group after `change` of the answer on a line, in a log that begins with line `begin`."""
    one = body(LINES[number])
    change(one["response"])
    lines = [*LINES[:number], with_body(LINES[number], one), *LINES[number + 1 :]]
    return of_lines(tmp_path, lines[begin:])


def refused(g: GroupReport, number: int) -> str:
    """Why the answer on this line does not fit."""
    (one,) = [u for u in g.unexplained if u.line == number + 1]
    return one.why


def test_every_answer_of_a_real_coordinator_fits() -> None:
    (g,) = replay_file(str(DOWN)).groups
    assert g.verdict == "holds"
    assert "31 answers to classic members, by the model `migration`" in g.reason
    assert "9 answers of the classic group, by the model `classic`" in g.reason


@pytest.mark.parametrize("api", ["HEARTBEAT", "SYNC_GROUP"])
@pytest.mark.parametrize("code", [22, 25])
def test_a_member_that_is_there_in_its_generation_is_not_turned_away(
    tmp_path: Path, api: str, code: int
) -> None:
    line = answers(api, "c")[1]
    g = replayed(tmp_path, line, lambda answer: answer.update(errorCode=code))
    assert g.verdict == "violated", g.reason
    assert "could only have 0 NONE or 27 REBALANCE_IN_PROGRESS" in refused(g, line)


def test_a_log_in_which_only_classic_members_are_known_is_judged(tmp_path: Path) -> None:
    """It begins in the middle: no heartbeat from there on tells what b has."""
    begin = answers("JOIN_GROUP", "c")[2] - 3
    g = of_lines(tmp_path, LINES[begin:])
    assert (g.verdict, g.requests and g.requests.judged) == ("holds", 30)
    assert g.reason.endswith(
        "(21 answers to classic members, by the model `migration`;"
        " 9 answers of the classic group, by the model `classic`;"
        " read, not judged: 5 heartbeats of members whose record is not known,"
        " 1 request of classic members that are static or not known)"
    )
    line = answers("HEARTBEAT", "d")[0]
    g = replayed(tmp_path, line, lambda answer: answer.update(errorCode=25), begin)
    assert g.verdict == "violated", g.reason
    assert "could only have 0 NONE or 27" in refused(g, line - begin)


def test_a_log_that_shows_the_classic_group_alone_from_its_beginning_is_judged(
    tmp_path: Path,
) -> None:
    last = max(k for k, line in enumerate(LINES) if "CONSUMER_GROUP_HEARTBEAT" in line)
    g = of_lines(tmp_path, LINES[last:])
    assert g.verdict == "holds", g.reason
    assert "allows (9 answers of the classic group, by the model `classic`)" in g.reason


def test_a_classic_group_that_could_not_be_followed_makes_the_verdict_unknown(
    tmp_path: Path,
) -> None:
    """Behind the downgrade, who else was in the group when its first round began is not known."""
    line = answers("HEARTBEAT", "c")[-1]
    g = replayed(tmp_path, line, lambda answer: answer.update(errorCode=25))
    assert g.verdict == "unknown"
    assert g.reason.startswith("the group could not be followed all the way: who else was")


def test_a_generation_never_goes_back(tmp_path: Path) -> None:
    line = answers("JOIN_GROUP", "c")[1]
    g = replayed(tmp_path, line, lambda answer: answer.update(generationId=3))
    assert g.verdict == "violated", g.reason
    assert "had 4 before" in refused(g, line)


def test_a_new_member_joins_in_the_epoch_of_the_group(tmp_path: Path) -> None:
    """Another member had been told a later one."""
    line = answers("JOIN_GROUP", "d")[0]
    g = replayed(tmp_path, line, lambda answer: answer.update(generationId=4))
    assert g.verdict == "violated", g.reason
    assert "the group had 5 before" in refused(g, line)


def test_two_classic_members_never_have_a_partition_at_once(tmp_path: Path) -> None:
    share = body(LINES[answers("SYNC_GROUP", "c")[3]])["response"]["assignment"]
    line = answers("SYNC_GROUP", "d")[2]
    g = replayed(tmp_path, line, lambda answer: answer.update(assignment=share))
    assert g.verdict == "violated", g.reason
    assert "which aiJ6WjB5" in refused(g, line)


def test_a_member_keeps_what_it_was_given_until_it_joins_again(tmp_path: Path) -> None:
    """The request is the answer before, sent again, with another assignment."""
    again = answers("SYNC_GROUP", "c")[1]
    one = body(LINES[again])
    one["requestHeader"]["correlationId"] += 1
    one["response"]["assignment"] = body(LINES[answers("SYNC_GROUP", "d")[0]])["response"][
        "assignment"
    ]
    lines = [*LINES[: again + 1], with_body(LINES[again], one), *LINES[again + 1 :]]
    g = of_lines(tmp_path, lines)
    assert "it has not joined again" in refused(g, again + 1)


def test_a_member_that_is_there_may_leave(tmp_path: Path) -> None:
    up = DATA / "live-rolling_upgrade.log.gz"
    text = gzip.decompress(up.read_bytes()).decode()
    at = text.rindex('"requestApiKeyName":"LEAVE_GROUP"')
    ending = text[at:].replace('"errorCode":0}', '"errorCode":25}', 1)
    assert ending != text[at:]
    log = tmp_path / "requests.log"
    log.write_text(text[:at] + ending)
    (g,) = replay_file(str(log)).groups
    assert g.verdict == "violated", g.reason
    assert "has the code 25 UNKNOWN_MEMBER_ID for b-" in g.unexplained[0].why
