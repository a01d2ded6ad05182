"""A consumer group's heartbeats in a request log: a real broker's answers are allowed by the model,
and an answer that is changed is found.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from groupcheck.traces.exchanges.exchange import EpochExchange
from groupcheck.traces.findings.report import GroupReport
from groupcheck.traces.replay import replay_file
from groupcheck.traces.requests.consumer_answers import ConsumerAnswers
from groupcheck.traces.requests.words import RefusedAnswer

DATA = Path(__file__).parents[2] / "data"
LOG = DATA / "requests/live-kip848.log.gz"


def changed(path: Path, line: int, change: Callable[[Any, Any], None]) -> GroupReport:
    """The group of the recording after `change` of the request and the answer of a line."""
    lines = gzip.decompress(LOG.read_bytes()).decode().splitlines()
    begin, end = lines[line - 1].index("{"), lines[line - 1].rindex("}") + 1
    document = json.loads(lines[line - 1][begin:end])
    assert document["requestHeader"]["requestApiKeyName"] == "CONSUMER_GROUP_HEARTBEAT"
    change(document["request"], document["response"])
    lines[line - 1] = lines[line - 1][:begin] + json.dumps(document) + lines[line - 1][end:]
    path.write_text("\n".join(lines) + "\n")
    (group,) = replay_file(str(path)).groups
    return group


@pytest.mark.parametrize(
    "name, group",
    [("requests/live-kip848.log.gz", "g1"), ("captures/everything.pcap.gz", "modern")],
)
def test_every_answer_of_a_real_broker_is_allowed(name: str, group: str) -> None:
    (found,) = [g for g in replay_file(str(DATA / name)).groups if g.group == group]
    assert found.verdict == "holds", found.reason
    assert found.requests is not None and found.requests.judged > 50


def test_a_member_that_is_seen_later_is_read_and_not_judged(tmp_path: Path) -> None:
    log = tmp_path / "later.log"
    log.write_text("\n".join(gzip.decompress(LOG.read_bytes()).decode().splitlines()[9:]))
    (found,) = replay_file(str(log)).groups
    assert found.verdict == "holds"
    assert "; read, not judged: " in found.reason
    assert "heartbeats of members whose record is not known" in found.reason


def epoch_back(_: Any, answer: Any) -> None:
    answer["memberEpoch"] -= 1


def fenced(_: Any, answer: Any) -> None:
    answer["errorCode"] = 110


def unknown(_: Any, answer: Any) -> None:
    answer["errorCode"] = 25


def from_the_future(request: Any, _: Any) -> None:
    request["memberEpoch"] += 7


def given_twice(_: Any, answer: Any) -> None:
    (topic,) = answer["assignment"]["topicPartitions"]
    topic["partitions"].append(1)


@pytest.mark.parametrize(
    "change, line, why",
    [
        (epoch_back, 58, "has epoch 4, and the member had epoch 5"),
        (fenced, 24, "has the code 110 FENCED_MEMBER_EPOCH, but could only have 0 NONE"),
        (unknown, 56, "has the code 25 UNKNOWN_MEMBER_ID, but could only have 0 NONE"),
        (from_the_future, 58, "has the code 0 NONE, but could only have 110 FENCED_MEMBER_EPOCH"),
        (given_twice, 50, "-1, which Z7QpNdpeQ7e4G5GQkVGhHw still has (line 49)"),
    ],
)
def test_a_changed_answer_is_found(
    tmp_path: Path, change: Callable[[Any, Any], None], line: int, why: str
) -> None:
    group = changed(tmp_path / "changed.log", line, change)
    assert group.verdict == "violated", group.reason
    assert group.unexplained[0].line == line and why in group.unexplained[0].why
    if change is given_twice:
        assert "in epoch 4 gives it" in group.reason


def test_what_missing_requests_explain_is_no_violation(tmp_path: Path) -> None:
    """Between this heartbeat and the one before, its connection had others that are not shown."""
    group = changed(tmp_path / "changed.log", 14, fenced)
    assert group.verdict == "unknown" and "lines are missing near line 14" in group.reason


def beat(at: int, member: str, epoch: int, to_epoch: int) -> EpochExchange:
    """A heartbeat after so many ms; a member that joins is given nothing."""
    joins = epoch == 0
    return EpochExchange(
        line=at, api="CONSUMER_GROUP_HEARTBEAT", version=1, client=member, connection=member,
        correlation=at, arrived=at, began=at, given=at + 0.5, answered=at + 1, group="g", code=0,
        member=member, protocol="consumer", epoch=epoch, to_epoch=to_epoch, interval_ms=5_000,
        owned=frozenset() if joins else None, assigned=frozenset() if joins else None,
    )  # fmt: skip


@pytest.mark.parametrize("leaves", [True, False])
def test_epochs_begin_anew_only_in_a_group_that_may_have_been_empty(leaves: bool) -> None:
    wrong: list[RefusedAnswer] = []
    answers = ConsumerAnswers(wrong.append)
    answers.observe(beat(1, "a", 0, 5))
    answers.observe(beat(2, "a", -1, -1) if leaves else beat(2, "a", 5, 5))
    answers.observe(beat(3, "b", 0, 1))
    assert [one.e.line for one in wrong] == ([] if leaves else [3])
