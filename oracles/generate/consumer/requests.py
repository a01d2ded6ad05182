"""ConsumerGroupHeartbeats, OffsetCommits and OffsetFetches of a run as lines of the request log
(RequestConvertToJson).
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

from attrs import Factory, define

from groupcheck.model.protocol.codes import NONE
from groupcheck.model.protocol.consumer.messages import Kind
from groupcheck.model.protocol.masks import numbers
from groupcheck.oracles.generate.consumer.broker import REGEX, TOPIC_ID, member
from groupcheck.oracles.generate.consumer.happenings import Answered, Fetched
from groupcheck.oracles.generate.consumer.records import HEARTBEAT_MS, POLL_MS
from groupcheck.oracles.generate.request_wire import Line
from groupcheck.oracles.generate.run import Committed
from groupcheck.oracles.generate.template import offset_json

API, VERSION = "CONSUMER_GROUP_HEARTBEAT", 1
COMMIT, FETCH = "OFFSET_COMMIT", "OFFSET_FETCH"
BY_NAME, BY_ID = 9, 10
"""Their versions: topics by name, or by id."""


@define
class Requests:
    """Turns answers into lines."""

    random: random.Random
    # The clock of the run, in ms.
    now: Callable[[], float]
    # Which consumer of its process sends, and whether it has a group.instance.id.
    life: Callable[[int], int]
    static: Callable[[int], bool]
    # Members name topics by their ids in requests about offsets.
    ids: bool = True
    lines: list[Line] = Factory(list)
    # (process, consumer) -> its connection; how many there were.
    _connections: dict[tuple[int, int], str] = Factory(dict)
    _opened: int = 0

    def hears(self, h: Answered | Committed | Fetched) -> None:
        match h:
            case Answered():
                self._line(h.process, API, VERSION, self._request(h), self._response(h))
            case Committed():
                self._line(h.process, COMMIT, self._version, *self._commit(h))
            case Fetched():
                self._line(h.process, FETCH, self._version, *self._fetch(h))

    @property
    def _version(self) -> int:
        return BY_ID if self.ids else BY_NAME

    def _line(
        self, me: int, api: str, version: int, request: dict[str, Any], response: dict[str, Any]
    ) -> None:
        now = self.now()
        who = me, self.life(me)
        if who not in self._connections:
            self._opened += 1
            self._connections[who] = f"<:c{self._opened}:>"
        line = Line(
            api,
            f"client-{me}",
            self._connections[who],
            version,
            request,
            now - self.random.choice((0.1, 0.4, 2.0)),
            now + 0.1,
            response,
        )
        self.lines.append(line)

    def breaks(self, me: int) -> None:
        """The connection of a process breaks."""
        self._connections.pop((me, self.life(me)), None)

    def _topics(self, partitions: Any, named: str = "partitions") -> list[dict[str, Any]]:
        topic = {"topicId": TOPIC_ID} if self.ids else {"name": "t"}
        return [{**topic, named: partitions}]

    def _commit(self, h: Committed) -> tuple[dict[str, Any], dict[str, Any]]:
        """OffsetCommit and its answer."""
        asked = [
            {
                "partitionIndex": p,
                "committedOffset": offset_json(p, n),
                "committedLeaderEpoch": -1,
                "committedMetadata": "",
            }
            for p, n in h.offsets.items()
        ]
        request = {
            "groupId": "<:g:>",
            "generationIdOrMemberEpoch": _json(h.epoch),
            "memberId": member(h.member),
            "groupInstanceId": f"i{h.process}" if self.static(h.process) else None,
            "topics": self._topics(asked),
        }
        told = [{"partitionIndex": p, "errorCode": h.code} for p in h.offsets]
        return request, {"topics": self._topics(told)}

    def _fetch(self, h: Fetched) -> tuple[dict[str, Any], dict[str, Any]]:
        """OffsetFetch and its answer."""
        asked = {
            "groupId": "<:g:>",
            "memberId": None if h.member is None else member(h.member),
            "memberEpoch": _json(h.epoch),
            "topics": self._topics([*h.offsets], "partitionIndexes"),
        }
        told = [
            {
                "partitionIndex": p,
                "committedOffset": offset_json(p, n),
                "committedLeaderEpoch": -1,
                "metadata": "",
                "errorCode": NONE,
            }
            for p, n in h.offsets.items()
        ]
        topics = self._topics(told) if h.code == NONE else []
        answer = {"groupId": "<:g:>", "topics": topics, "errorCode": h.code}
        return {"groups": [asked], "requireStable": True}, {"groups": [answer]}

    def _request(self, answered: Answered) -> dict[str, Any]:
        request, me = answered.request, answered.process
        subscribed = None
        if request.subscribed is not None:
            subscribed = ["t"] if request.subscribed else []
        return {
            "groupId": "<:g:>",
            "memberId": member(answered.member),
            "memberEpoch": _json(answered.epoch),
            "instanceId": f"i{me}" if self.static(me) else None,
            "rackId": None,
            "rebalanceTimeoutMs": POLL_MS if request.full or request.kind == Kind.JOIN else -1,
            "subscribedTopicNames": subscribed,
            "subscribedTopicRegex": REGEX if request.pattern else None,
            "serverAssignor": None,
            "topicPartitions": None if request.owned is None else _partitions(request.owned),
        }

    def _response(self, answered: Answered) -> dict[str, Any]:
        given = answered.assigned
        accepted = answered.code == NONE
        return {
            "errorCode": answered.code,
            "errorMessage": None if accepted else "refused",
            "memberId": member(answered.member) if accepted else None,
            "memberEpoch": _json(answered.to_epoch) if accepted else 0,
            "heartbeatIntervalMs": HEARTBEAT_MS if accepted and answered.to_epoch > 0 else 0,
            "assignment": None if given is None else {"topicPartitions": _partitions(given)},
        }


def _json(epoch: int) -> str | int:
    return f"<:N{epoch}:>" if epoch > 0 else epoch


def _partitions(share: int) -> list[dict[str, Any]]:
    return [{"topicId": TOPIC_ID, "partitions": numbers(share)}] if share else []
