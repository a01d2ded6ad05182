"""The content of a line of a request log: the fields of requests and answers, as Kafka's
RequestConvertToJson writes them.
"""

from __future__ import annotations

import json
import math
from typing import Any

from attrs import Factory, define, frozen

from groupcheck.model.protocol.classic.group import Core
from groupcheck.model.protocol.classic.scope import Scope
from groupcheck.model.protocol.messages import (
    Heartbeat,
    JoinGroup,
    LeaveGroup,
    OffsetCommit,
    SyncGroup,
)
from groupcheck.oracles.generate.run import Names, Who
from groupcheck.oracles.generate.template import assignment, subscribed

SESSION_MS, REBALANCE_MS = 6000, 9000
CODES = {
    "unknown": 25,
    "illegal_generation": 22,
    "rebalancing": 27,
    "accepted": 0,
    "stable": 0,
    "left": 0,
    "pending": 0,
    "id_required": 79,
    "too_many": 81,
    "unchanged": 0,
    "inconsistent": 23,
    "fenced": 82,
    "removed": 0,
}
NAMED = {
    JoinGroup: "JOIN_GROUP",
    SyncGroup: "SYNC_GROUP",
    Heartbeat: "HEARTBEAT",
    LeaveGroup: "LEAVE_GROUP",
    OffsetCommit: "OFFSET_COMMIT",
}
KEYS = {
    "JOIN_GROUP": 11,
    "SYNC_GROUP": 14,
    "HEARTBEAT": 12,
    "LEAVE_GROUP": 13,
    "OFFSET_COMMIT": 8,
    "OFFSET_FETCH": 9,
    "CONSUMER_GROUP_HEARTBEAT": 68,
}


@define
class Line:
    """A line of the log: a request, and its answer when it is given."""

    api: str
    # client id
    client: str
    connection: str
    # of the API
    version: int
    request: dict[str, Any]
    # milliseconds since the beginning
    arrived: float
    given: float = 0.0
    response: dict[str, Any] = Factory(dict)
    # its number on its connection
    correlation: int = 1
    # of a takeover: who led when it was handled
    leader: str = ""

    def text(self) -> str:
        answered = math.ceil(self.given)
        header = {
            "requestApiKey": KEYS[self.api],
            "requestApiVersion": self.version,
            "correlationId": self.correlation,
            "clientId": self.client,
            "requestApiKeyName": self.api,
        }
        record = {
            "isForwarded": False,
            "requestHeader": header,
            "request": self.request,
            "response": {"throttleTimeMs": 0, **self.response},
            "connection": self.connection,
            "totalTimeMs": answered - self.arrived,
            "requestQueueTimeMs": 0.0,
            "localTimeMs": 0.0,
            "remoteTimeMs": 0.0,
            "throttleTimeMs": 0,
            "responseQueueTimeMs": 0.0,
            "sendTimeMs": answered - self.given,
        }
        return (
            f"DEBUG Completed request:{json.dumps(record, separators=(',', ':'))}"
            " (kafka.request.logger)"
        )


@frozen
class Wire:
    """The fields of the requests and answers of one run."""

    scope: Scope
    names: Names
    # The version of JoinGroup that static members send.
    static_join: int = 9

    def instance(self, me: int) -> str | None:
        """The instance id of a process."""
        return f"client-{me}" if self.scope.static else None

    def request(self, request: Any, me: int, name: str, watched: int) -> tuple[int, dict[str, Any]]:
        """(version, fields) of a request of a process; `name`: the member id in it; `watched`: the
        partition whose offsets are committed.
        """
        shared: dict[str, Any] = {"groupId": "<:g:>", "memberId": name}
        if self.scope.static:
            shared["groupInstanceId"] = self.instance(me)
        if isinstance(request, JoinGroup):
            timeouts = {
                "sessionTimeoutMs": SESSION_MS,
                "rebalanceTimeoutMs": REBALANCE_MS,
                "protocolType": "consumer",
            }
            protocols = [
                {"name": self.assignor, "metadata": subscribed(request.claimed, request.owned)}
            ]
            version = self.static_join if self.scope.static else 7 if self.scope.two_step else 3
            return version, shared | timeouts | {"protocols": protocols}
        if isinstance(request, SyncGroup):
            return 3, shared | {"generationId": f"<:N{request.generation}:>", "assignments": []}
        if isinstance(request, Heartbeat):
            return 3, shared | {"generationId": f"<:N{request.generation}:>"}
        if isinstance(request, LeaveGroup):
            leaver = {"memberId": name, "groupInstanceId": self.instance(me)}
            return 4, {"groupId": "<:g:>", "members": [leaver]}
        assert isinstance(request, OffsetCommit)
        partition = {
            "partitionIndex": watched,
            "committedOffset": f"<:O{request.offset}:>",
            "committedLeaderEpoch": -1,
            "committedMetadata": "",
        }
        return 8, shared | {
            "generationIdOrMemberEpoch": f"<:N{request.generation}:>",
            "topics": [{"name": "t", "partitions": [partition]}],
        }

    @property
    def assignor(self) -> str:
        return "cooperative-sticky" if self.scope.cooperative else "range"

    def response(
        self,
        line: Line,
        code: int,
        who: Who,
        core: Core,
        seats: dict[Who, Any],
        leader: Who | None,
        watched: int,
    ) -> dict[str, Any]:
        """The fields of an answer."""
        if line.api == "JOIN_GROUP":
            return (
                self._not_joined(line, code, who)
                if code
                else self._joined(line, who, core, seats, leader)
            )
        if line.api == "SYNC_GROUP":
            return {"errorCode": code, "assignment": "" if code else assignment(seats[who].share)}
        if line.api == "LEAVE_GROUP":
            return {"errorCode": 0, "members": [line.request["members"][0] | {"errorCode": code}]}
        if line.api == "OFFSET_COMMIT":
            partition = {"partitionIndex": watched, "errorCode": code}
            return {"topics": [{"name": "t", "partitions": [partition]}]}
        return {"errorCode": code}

    def _not_joined(self, line: Line, code: int, who: Who) -> dict[str, Any]:
        tells = code in (79, 82) or (code == 25 and not self.scope.static)
        member = line.request["memberId"]
        return {
            "errorCode": code,
            "generationId": -1,
            "protocolName": None,
            "leader": "",
            "memberId": self.names.mark(who) if tells and who in self.names else member,
            "members": [],
        }

    def _joined(
        self, line: Line, who: Who, core: Core, seats: dict[Who, Any], leader: Who | None
    ) -> dict[str, Any]:
        assert leader is not None
        members: list[dict[str, Any]] = [
            {"memberId": self.names.mark(w), "metadata": subscribed(s.claimed, s.owned)}
            for w, s in seats.items()
            if s.member
        ]
        if self.scope.static:
            mine = [self.instance(w[0]) for w, s in seats.items() if s.member]
            members = [m | {"groupInstanceId": i} for m, i in zip(members, mine, strict=True)]
        answer = {
            "errorCode": 0,
            "generationId": f"<:N{core.generation}:>",
            "protocolName": self.assignor,
            "leader": self.names.mark(leader),
            "memberId": self.names.mark(who),
            "members": members if who == leader else [],
        }
        return answer | ({"skipAssignment": False} if line.version >= 9 else {})
