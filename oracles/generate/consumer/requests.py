"""ConsumerGroupHeartbeats of a run as lines of the request log (RequestConvertToJson)."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

from attrs import Factory, define

from groupcheck.model.protocol.codes import NONE
from groupcheck.model.protocol.consumer.messages import Kind
from groupcheck.model.protocol.masks import numbers
from groupcheck.oracles.generate.consumer.broker import TOPIC_ID, member
from groupcheck.oracles.generate.consumer.course import HEARTBEAT_MS, POLL_MS
from groupcheck.oracles.generate.consumer.happenings import Answered
from groupcheck.oracles.generate.request_wire import Line

API, VERSION = "CONSUMER_GROUP_HEARTBEAT", 1


@define
class Requests:
    """Turns answers into lines."""

    random: random.Random
    # The clock of the run, in ms.
    now: Callable[[], float]
    # Which consumer of its process sends, and whether it has a group.instance.id.
    life: Callable[[int], int]
    static: Callable[[int], bool]
    lines: list[Line] = Factory(list)
    # (process, consumer) -> its connection; how many there were.
    _connections: dict[tuple[int, int], str] = Factory(dict)
    _opened: int = 0

    def hears(self, answered: Answered) -> None:
        now, me = self.now(), answered.process
        who = me, self.life(me)
        if who not in self._connections:
            self._opened += 1
            self._connections[who] = f"<:c{self._opened}:>"
        line = Line(
            API,
            f"client-{me}",
            self._connections[who],
            VERSION,
            self._request(answered),
            now - self.random.choice((0.1, 0.4, 2.0)),
            now + 0.1,
            self._response(answered),
        )
        self.lines.append(line)

    def breaks(self, me: int) -> None:
        """The connection of a process breaks."""
        self._connections.pop((me, self.life(me)), None)

    def _request(self, answered: Answered) -> dict[str, Any]:
        request, me = answered.request, answered.process
        subscribed = ["t"] if request.subscribed is not None else None
        return {
            "groupId": "<:g:>",
            "memberId": member(answered.member),
            "memberEpoch": _json(answered.epoch),
            "instanceId": f"i{me}" if self.static(me) else None,
            "rackId": None,
            "rebalanceTimeoutMs": POLL_MS if request.full or request.kind == Kind.JOIN else -1,
            "subscribedTopicNames": subscribed,
            "subscribedTopicRegex": None,
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
