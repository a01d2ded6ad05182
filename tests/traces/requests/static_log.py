"""Request logs of groups with static members, written line by line."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from groupcheck.traces.findings.report import GroupReport
from groupcheck.traces.replay import replay_file

SESSION_MS, REBALANCE_MS = 6_000, 9_000
APIS = {"JOIN_GROUP": 11, "HEARTBEAT": 12, "LEAVE_GROUP": 13, "SYNC_GROUP": 14, "OFFSET_COMMIT": 8}
VERSIONS = {"HEARTBEAT": 3, "LEAVE_GROUP": 4, "SYNC_GROUP": 3, "OFFSET_COMMIT": 8}
IDS = {"a": "i-a", "b": "i-b", "c": "i-c"}
"""The first letter of a member id -> its instance id; others are dynamic members."""


def instance(member: str) -> str | None:
    """The instance id of `a1`, `a2` ... is `i-a`; that of `d1` is none."""
    return IDS.get(member[:1])


class StaticLog:
    """The request log of the group g. `at`: when the answer is given, in ms; `took`: how long that
    is after the request came.
    """

    def __init__(self, path: Path) -> None:
        self.path = path / "requests.log"
        self.lines: list[str] = []

    # -- requests

    def join(
        self,
        at: int,
        told: str,
        generation: int,
        members: Sequence[str] = (),
        *,
        leader: str = "",
        asked: str = "",
        code: int = 0,
        took: int = 1,
        version: int = 9,
        skips: bool = False,
        who: str = "",
        assignors: Sequence[str] = ("range",),
    ) -> None:
        """A JoinGroup with the id `asked`, answered with the id `told`. `members`: what the leader
        is told, which is the first of them unless `leader` is given; `who`: whose instance it is,
        if neither id says it.
        """
        who = who or told or asked
        answer: dict[str, Any] = {
            "errorCode": code,
            "generationId": -1 if code else generation,
            "protocolName": None if code else assignors[0],
            "leader": "" if code else leader or (members[0] if members else ""),
            "memberId": told,
            "members": [
                {"memberId": m, "groupInstanceId": instance(m), "metadata": ""} for m in members
            ],
        }
        if version >= 9:
            answer["skipAssignment"] = skips
        request = {
            "memberId": asked,
            "sessionTimeoutMs": SESSION_MS,
            "rebalanceTimeoutMs": REBALANCE_MS,
            "protocolType": "consumer",
            "protocols": [{"name": name, "metadata": ""} for name in assignors],
        }
        self._line(at, "JOIN_GROUP", who, request, answer, took, version)

    def sync(
        self,
        at: int,
        member: str,
        generation: int,
        share: str = "",
        plan: Mapping[str, str] = {},
        *,
        code: int = 0,
        took: int = 1,
    ) -> None:
        assignments = [{"memberId": m, "assignment": _bytes(s)} for m, s in plan.items()]
        request = {"memberId": member, "generationId": generation, "assignments": assignments}
        answer = {"errorCode": code, "assignment": _bytes(share)}
        self._line(at, "SYNC_GROUP", member, request, answer, took)

    def heartbeat(
        self, at: int, member: str, generation: int, code: int = 0, *, named: bool = True
    ) -> None:
        """`named`: it names the instance id."""
        request = {"memberId": member, "generationId": generation}
        self._line(at, "HEARTBEAT", member, request, {"errorCode": code}, named=named)

    def commit(self, at: int, member: str, generation: int, code: int = 0) -> None:
        request = {
            "memberId": member,
            "generationIdOrMemberEpoch": generation,
            "topics": [{"name": "t", "partitions": [{"partitionIndex": 0, "committedOffset": 1}]}],
        }
        topics = [{"name": "t", "partitions": [{"partitionIndex": 0, "errorCode": code}]}]
        self._line(at, "OFFSET_COMMIT", member, request, {"topics": topics})

    def remove(self, at: int, leavers: Sequence[tuple[str, str | None, int]]) -> None:
        """A LeaveGroup of an administrator: (member id, instance id, code of the answer) each."""
        asked = [{"memberId": m, "groupInstanceId": i} for m, i, _ in leavers]
        told = [x | {"errorCode": code} for x, (_, _, code) in zip(asked, leavers, strict=True)]
        answer = {"errorCode": 0, "members": told}
        self._line(at, "LEAVE_GROUP", "admin", {"members": asked}, answer, named=False)

    def _line(
        self,
        at: int,
        api: str,
        who: str,
        request: dict[str, Any],
        response: dict[str, Any],
        took: int = 1,
        version: int = 0,
        named: bool = True,
    ) -> None:
        if api != "LEAVE_GROUP":
            request = {"groupInstanceId": instance(who) if named else None, **request}
        record = {
            "requestHeader": {
                "requestApiKey": APIS[api],
                "requestApiVersion": version or VERSIONS[api],
                "correlationId": 1,
                "clientId": who,
                "requestApiKeyName": api,
            },
            "request": {"groupId": "g", **request},
            "response": response,
            "connection": who,
            "totalTimeMs": took,
        }
        self.lines.append(
            f"[2024-10-25 17:{at // 60_000:02}:{at // 1000 % 60:02},{at % 1000:03}] DEBUG"
            f" Completed request:{json.dumps(record)} (kafka.request.logger)\n"
        )

    # -- what a replay says

    def replayed(self) -> GroupReport:
        self.path.write_text("".join(self.lines))
        report = replay_file(str(self.path))
        assert report.strange == 0 and report.understood == len(self.lines)
        (group,) = report.groups
        return group

    def holds(self) -> GroupReport:
        """The report, in which every answer is explained."""
        group = self.replayed()
        assert (group.verdict, group.unexplained_count) == ("holds", 0), (
            group.reason,
            group.unexplained,
        )
        return group

    def wrong(self) -> tuple[int, str]:
        """The first line that is not explained, and why."""
        group = self.replayed()
        assert group.verdict == "violated", group.reason
        first = group.unexplained[0]
        return first.line, first.why


def _bytes(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def formed(log: StaticLog, version: int = 9) -> None:
    """The static members a and b and the dynamic d are in generation 1, and a leads."""
    log.join(2, "d1", -1, code=79, version=version)
    log.join(50, "a1", 1, ["a1", "b1", "d1"], took=49, version=version)
    log.join(50, "b1", 1, leader="a1", took=47, version=version)
    log.join(50, "d1", 1, leader="a1", asked="d1", took=45, version=version)
    log.sync(60, "a1", 1, "A", {"a1": "A", "b1": "B", "d1": "D"}, took=5)
    log.sync(60, "b1", 1, "B", took=6)
    log.sync(60, "d1", 1, "D", took=4)


def beat(log: StaticLog, at: int, generation: int, *members: str, code: int = 0) -> None:
    """Heartbeats, a millisecond apart."""
    for k, member in enumerate(members):
        log.heartbeat(at + 2 * k, member, generation, code)
