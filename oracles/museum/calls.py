"""A path carried out on a real broker: the requests that the model's members send are sent, and the
answers are compared with those of the model's coordinator.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from groupcheck.model.protocol.messages import NO_ID
from groupcheck.oracles.museum.brokers import OldBroker
from groupcheck.oracles.museum.exhibits import Exhibit
from groupcheck.oracles.museum.moves import Move
from groupcheck.oracles.museum.seen import (
    AFTER,
    AnswerSent,
    Cut,
    Fact,
    Left,
    NetworkRequest,
    PerformanceRecord,
    State,
)
from groupcheck.oracles.wire.connections import Answered, Closed, Connections
from groupcheck.traces.messages.apis import api
from groupcheck.traces.messages.consumer_protocol import (
    Subscription,
    assignment_bytes,
    subscription_bytes,
)

GROUP = "g"
TIMEOUT_MS = 1000  # of sessions and of rounds
WAIT_S = 4.0  # several timeouts, after which everything that a timer ends is over
BEAT_S = 0.2
ANSWER_S = 5.0
STARTING = (14, 15, 16)  # the coordinator loads, is not there yet, or is not known yet
VERSION = {  # the newest without compact lengths
    "JoinGroup": 5,
    "SyncGroup": 3,
    "Heartbeat": 3,
    "FindCoordinator": 0,
    "DescribeGroups": 4,
}
SUBSCRIPTION = subscription_bytes(Subscription(0, ("t",)))
SHARE = assignment_bytes((), version=0)


class Caller:
    """One performance on a broker."""

    def __init__(self, exhibit: Exhibit, release: str, say: Callable[[str], None]) -> None:
        self._exhibit, self._release = exhibit, release
        self._broker = OldBroker(release, exhibit.settings, say)
        self._facts: list[Fact] = []
        self._step = AFTER
        self._ids: dict[tuple[int, int], str] = {}  # (process, the model's number) -> member id
        self._waiting: dict[tuple[int, str], int] = {}  # the number of a request that waits
        self._answers: dict[int, Answered] = {}  # those that have come, by number
        # Of each process, the id and the generation that it was told last.
        self._last: dict[int, tuple[str, int]] = {}

    def perform(self, moves: Sequence[Move]) -> PerformanceRecord:
        left, where = "", 0
        with self._broker:
            try:
                self._connect()
                for move in moves:
                    self._step = move.step
                    self._move(move)
                self._step = AFTER
                self._afterwards()
            except Left as why:
                left, where = f"step {self._step}: {why}", self._step
            finally:
                self._connections.close()
        return PerformanceRecord(self._release, tuple(self._facts), left, where)

    def _connect(self) -> None:
        """Waits until the coordinator answers."""
        self._connections = Connections(self._broker.address)
        until = time.monotonic() + 30.0
        while time.monotonic() < until:
            found = self._ask("FindCoordinator", {"key": GROUP})
            beats = {"groupId": GROUP, "generationId": 1, "memberId": "nobody"}
            if (
                not found["errorCode"]
                and self._ask("Heartbeat", beats)["errorCode"] not in STARTING
            ):
                return
            time.sleep(0.1)
        raise Left("the coordinator does not come up")

    def _ask(self, name: str, values: Mapping[str, Any]) -> dict[str, Any]:
        return self._answer_to(self._connections.send(api(name), VERSION[name], values))

    def _answer_to(self, number: int) -> dict[str, Any]:
        if number not in self._answers:
            self._answers |= self._connections.gather(ANSWER_S, number)
        answer = self._answers.pop(number, None)
        if answer is None or isinstance(answer, Closed):
            raise Left("the broker gives no answer")
        return answer

    # -- one move

    def _move(self, move: Move) -> None:
        name = chr(ord("A") + move.process)
        if move.kind == "sends":
            self._send(move, name)
        elif move.kind == "answered":
            self._receive(move, name)
        elif move.kind == "crashes":
            for key in [key for key in self._waiting if key[0] == move.process]:
                del self._waiting[key]
            self._last.pop(move.process, None)
            self._facts.append(Cut(move.step, name, "crashes"))
        elif move.kind == "delay":
            self._until("CompletingRebalance")
        elif move.kind == "appended":
            self._until("Stable")
        else:
            raise Left(f"nothing here can make it happen that a member {move.kind}")

    def _send(self, move: Move, name: str) -> None:
        request = move.request
        id = getattr(request, "id", NO_ID)
        member = "" if id == NO_ID else self._ids[move.process, id]
        values: dict[str, Any] = {"groupId": GROUP, "memberId": member}
        if self._exhibit.static:
            values["groupInstanceId"] = f"instance-{name}"
        if move.api == "JoinGroup":
            values |= {
                "sessionTimeoutMs": TIMEOUT_MS,
                "rebalanceTimeoutMs": TIMEOUT_MS,
                "protocolType": "consumer",
                "protocols": [{"name": "range", "metadata": SUBSCRIPTION}],
            }
        else:
            values["generationId"] = getattr(request, "generation", -1)
        if move.api == "SyncGroup":
            shares = [{"memberId": one, "assignment": SHARE} for one in self._ids.values()]
            values["assignments"] = shares
        number = self._connections.send(api(move.api), VERSION[move.api], values)
        self._waiting[move.process, move.api] = number
        self._facts.append(NetworkRequest(move.step, name, move.api, member))

    def _receive(self, move: Move, name: str) -> None:
        answer = self._answer_to(self._waiting.pop((move.process, move.api)))
        expected = move.answer
        assert expected is not None
        error, generation = answer["errorCode"], answer.get("generationId", -1)
        self._facts.append(AnswerSent(move.step, name, move.api, error, generation))
        if move.api == "JoinGroup" and answer["memberId"]:
            self._ids[move.process, expected.id] = answer["memberId"]
            self._last[move.process] = (answer["memberId"], generation)
        if error != expected.code:
            raise Left(f"the answer is {error}, not {expected.code}")
        if move.api == "JoinGroup" and not error and generation != expected.generation:
            raise Left(f"the generation is {generation}, not {expected.generation}")

    def _until(self, state: str) -> None:
        """Waits until the group is in this state."""
        until = time.monotonic() + ANSWER_S
        while (found := self._described()["groupState"]) != state:
            if time.monotonic() > until:
                raise Left(f"the group is {found or 'unknown'}, not {state}")
            time.sleep(0.02)

    # -- afterwards

    def _afterwards(self) -> None:
        """Brings about, or waits for, the failure that the path predicts."""
        if self._exhibit.afterwards == "fail_over":
            self._connections.close()
            self._broker.restart()
            self._connect()
            self._beat()
        elif self._exhibit.afterwards:
            until = time.monotonic() + WAIT_S
            while time.monotonic() < until:
                if self._exhibit.afterwards == "heartbeats":
                    self._beat(quietly=True)
                time.sleep(BEAT_S)
        found = self._described()
        self._facts.append(State(AFTER, found["groupState"], len(found["members"])))

    def _beat(self, quietly: bool = False) -> None:
        """Every process sends a heartbeat with what it was told last."""
        for process, (member, generation) in self._last.items():
            name = chr(ord("A") + process)
            values = {"groupId": GROUP, "generationId": generation, "memberId": member}
            values["groupInstanceId"] = f"instance-{name}" if self._exhibit.static else None
            error = self._ask("Heartbeat", values)["errorCode"]
            if not quietly:
                self._facts.append(AnswerSent(AFTER, name, "Heartbeat", error))

    def _described(self) -> dict[str, Any]:
        (found,) = self._ask("DescribeGroups", {"groups": [GROUP]})["groups"]
        return dict(found)
