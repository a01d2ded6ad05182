"""Kafka Connect's own WorkerCoordinator, step by step."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from groupcheck.model.assignors.connect import NOTHING, ConnectProtocol, Work
from groupcheck.oracles.connect.driver import Leaders
from groupcheck.oracles.connect.rounds import NAMES

Told = list[Any]
"""An answer of a leader: error, offset, leader, its url, version, connectors, tasks, revoked
connectors, revoked tasks, delay.
"""


def told(
    assigned: Work = NOTHING,
    revoked: Work = NOTHING,
    *,
    error: int = 0,
    offset: int = 1,
    delay: int = 0,
) -> Told:
    """What the leader w0 tells."""
    gone = [list(revoked.connectors), list(map(list, revoked.tasks))]
    return [
        *(error, offset, "w0", "http://w0", 2),
        *(list(assigned.connectors), list(map(list, assigned.tasks)), *gone, delay),
    ]


def work_of(answer: Told | None) -> Work:
    """The work in an answer, in its order."""
    if answer is None:
        return NOTHING
    return Work(tuple(answer[5]), tuple((name, number) for name, number in answer[6]))


class RealWorker:
    """A worker w1, and what it did at the last command."""

    def __init__(
        self,
        leaders: Leaders,
        protocol: ConnectProtocol = ConnectProtocol.SESSIONED,
        configured: Sequence[Any] = (1, ["a"], [["a", 0], ["a", 1]]),
        max_delay: int = 300_000,
    ) -> None:
        self.leaders, self.protocol, self.generation = leaders, protocol, 0
        self.do(
            "start", protocol=int(protocol), config=list(configured), maxDelay=max_delay, name="w1"
        )

    def do(self, worker: str, **more: Any) -> dict[str, Any]:
        """Carries out a command. Raises `AssertionError` if the driver cannot."""
        self.last = self.leaders.tell({"worker": worker, **more})
        assert "calls" in self.last, self.last
        return self.last

    def poll(self, *answers: Any, away_ms: int = 0) -> dict[str, Any]:
        """Polls the group; these answers come if the requests are sent. The coordinator cannot be
        found for `away_ms`.
        """
        return self.do("poll", answers=list(answers), awayMs=away_ms)

    def join_answer(self, **more: Any) -> list[Any]:
        """The JoinGroup answer of the next generation, for a follower."""
        self.generation += 1
        given = {
            "generationId": self.generation,
            "protocolType": "connect",
            "protocolName": NAMES[self.protocol],
            "leader": "w0",
            "memberId": "w1",
            **more,
        }
        return ["JoinGroup", given]

    def sync_answer(self, assignment: Told, **more: Any) -> list[Any]:
        """The SyncGroup answer with an assignment."""
        given = {
            "protocolType": "connect",
            "protocolName": NAMES[self.protocol],
            "assignment": assignment,
            **more,
        }
        return ["SyncGroup", given]

    def round(self, assignment: Told) -> dict[str, Any]:
        """It joins, and is told this."""
        return self.poll(self.join_answer(), self.sync_answer(assignment))

    @property
    def sent(self) -> list[str]:
        """The requests of the last command."""
        return [api for api, _ in self.last["sent"]]

    @property
    def calls(self) -> list[str]:
        """What the herder was called with, in order."""
        return [call[0] for call in self.last["calls"]]

    @property
    def has(self) -> Work:
        """What it reports that it runs."""
        return work_of(self.last["has"])

    def state(self, name: str = "sessioned") -> Any:
        """What the last JoinGroup of the last command says of the worker under a protocol."""
        *_, join = [data for api, data in self.last["sent"] if api == "JoinGroup"]
        return join["protocols"][name]
