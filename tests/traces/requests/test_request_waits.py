"""Waits of the coordinator that end between two lines of the request log, so that no answer shows
it when it happens.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from groupcheck.traces.replay import replay_file

SESSION_MS, REBALANCE_MS = 6_000, 9_000
APIS = {"JOIN_GROUP": 11, "HEARTBEAT": 12, "LEAVE_GROUP": 13, "SYNC_GROUP": 14}
VERSIONS = {"JOIN_GROUP": 7, "HEARTBEAT": 3, "LEAVE_GROUP": 4, "SYNC_GROUP": 3}


class Log:
    """The request log of the group g, line by line. `at`: when the answer is given, in ms."""

    def __init__(self, path: Path) -> None:
        self.path = path / "requests.log"
        self.lines: list[str] = []

    def join(
        self, at: int, member: str, generation: int, members: Sequence[str] = (), took: int = 1
    ) -> None:
        """A JoinGroup; `members` begins with the leader."""
        leads = bool(members) and members[0] == member
        self._line(
            at,
            "JOIN_GROUP",
            member,
            {
                "memberId": member if generation >= 0 else "",
                "sessionTimeoutMs": SESSION_MS,
                "rebalanceTimeoutMs": REBALANCE_MS,
                "protocolType": "consumer",
                "protocols": [{"name": "range", "metadata": ""}],
            },
            {
                "errorCode": 0 if generation >= 0 else 79,
                "generationId": generation,
                "protocolName": "range" if members else None,
                "leader": members[0] if members else "",
                "memberId": member,
                "members": [{"memberId": m, "metadata": ""} for m in members] if leads else [],
            },
            took,
        )

    def enter(self, at: int, member: str, generation: int) -> None:
        """A new member of an empty group joins."""
        self.join(at, member, -1)
        self.join(at + 20, member, generation, [member])

    def sync(self, at: int, member: str, generation: int, members: Sequence[str] = ()) -> None:
        """A SyncGroup; `members`: those to whom it brings the assignment."""
        self._line(
            at,
            "SYNC_GROUP",
            member,
            {
                "memberId": member,
                "generationId": generation,
                "assignments": [{"memberId": m, "assignment": ""} for m in members],
            },
            {"errorCode": 0, "assignment": ""},
        )

    def heartbeat(self, at: int, member: str, generation: int, code: int = 0) -> None:
        self._line(
            at,
            "HEARTBEAT",
            member,
            {"memberId": member, "generationId": generation},
            {"errorCode": code},
        )

    def leave(self, at: int, member: str) -> None:
        self._line(
            at,
            "LEAVE_GROUP",
            member,
            {"members": [{"memberId": member}]},
            {"errorCode": 0, "members": [{"memberId": member, "errorCode": 0}]},
        )

    def _line(
        self,
        at: int,
        api: str,
        member: str,
        request: dict[str, Any],
        response: dict[str, Any],
        took: int = 1,
    ) -> None:
        record = {
            "requestHeader": {
                "requestApiKey": APIS[api],
                "requestApiVersion": VERSIONS[api],
                "correlationId": 1,
                "clientId": member,
                "requestApiKeyName": api,
            },
            "request": {"groupId": "g", **request},
            "response": response,
            "connection": member,
            "totalTimeMs": took,
        }
        self.lines.append(
            f"[2024-10-25 17:{at // 60_000:02}:{at // 1000 % 60:02},{at % 1000:03}] DEBUG"
            f" Completed request:{json.dumps(record)} (kafka.request.logger)\n"
        )

    def verdict(self) -> tuple[str, int]:
        self.path.write_text("".join(self.lines))
        report = replay_file(str(self.path))
        assert report.strange == 0 and report.understood == len(self.lines)
        return report.verdict, report.groups[0].unexplained_count


@pytest.fixture
def log(tmp_path: Path) -> Log:
    return Log(tmp_path)


def two_members(log: Log) -> None:
    """a and b are told generation 2; a leads and has sent the assignment, b has not asked for it
    yet.
    """
    log.enter(0, "a", 1)
    log.sync(100, "a", 1, ["a"])
    log.join(200, "b", -1)
    log.heartbeat(300, "a", 1, 27)
    log.join(400, "b", 2, ["a", "b"], took=180)
    log.join(400, "a", 2, ["a", "b"])
    log.sync(500, "a", 2, ["a", "b"])


@pytest.mark.parametrize(
    ("silent_ms", "expected"), [(360_000, ("holds", 0)), (3_000, ("unknown", 1))]
)
def test_a_group_is_empty_once_the_session_of_its_last_member_is_over(
    silent_ms: int, expected: tuple[str, int], log: Log
) -> None:
    log.enter(0, "a", 1)
    log.sync(100, "a", 1, ["a"])
    log.join(silent_ms, "b", -1)
    log.join(silent_ms, "c", -1)
    log.join(silent_ms + 60, "b", 3, ["b", "c"], took=50)
    log.join(silent_ms + 60, "c", 3, ["b", "c"], took=1)
    assert log.verdict() == expected


@pytest.mark.parametrize(
    ("waited_ms", "expected"), [(9_100, ("holds", 0)), (8_000, ("unknown", 1))]
)
def test_a_member_that_owes_its_sync_group_is_gone_before_the_other_member_leaves(
    waited_ms: int, expected: tuple[str, int], log: Log
) -> None:
    two_members(log)
    for at in (3_000, 6_000, 8_000):
        log.heartbeat(at, "a", 2)
        log.heartbeat(at, "b", 2)
    log.leave(400 + waited_ms, "a")
    log.enter(500 + waited_ms, "c", 4)
    assert log.verdict() == expected


@pytest.mark.parametrize(
    ("waited_ms", "expected"), [(9_100, ("holds", 0)), (8_000, ("unknown", 1))]
)
def test_a_round_does_not_wait_for_a_member_that_was_removed_before_another_one_left(
    waited_ms: int, expected: tuple[str, int], log: Log
) -> None:
    two_members(log)
    log.join(600, "c", -1)
    log.heartbeat(700, "a", 2, 27)
    log.heartbeat(700, "b", 2, 27)
    log.join(800, "c", 3, ["a", "b", "c"], took=180)
    log.join(800, "b", 3, ["a", "b", "c"], took=50)
    log.join(800, "a", 3, ["a", "b", "c"])
    log.sync(900, "a", 3, ["a", "b", "c"])
    log.sync(900, "c", 3)
    for at in (3_000, 6_000, 8_000):
        for member in "abc":
            log.heartbeat(at, member, 3)
    log.leave(800 + waited_ms, "c")
    log.heartbeat(820 + waited_ms, "a", 3, 27)
    log.join(840 + waited_ms, "a", 4, ["a"])
    assert log.verdict() == expected


def test_an_answer_that_an_old_join_group_never_gets_is_named_and_not_stumbled_over(
    log: Log,
) -> None:
    log.enter(0, "a", 1)
    log.sync(100, "a", 1, ["a"])
    log.join(602, "b", -1, took=2)
    log.lines[-1] = log.lines[-1].replace('Version": 7', 'Version": 3')
    log.join(800, "b", 2, ["a", "b"], took=199)
    log.join(800, "a", 2, ["a", "b"])
    assert log.verdict()[0] == "violated"
