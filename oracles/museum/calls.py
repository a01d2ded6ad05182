"""A path carried out on a real broker: the requests that the model's members send are sent, and the
answers are compared with those of the model's coordinator.
"""

from __future__ import annotations

import struct
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from groupcheck.model.protocol.messages import NO_ID
from groupcheck.oracles.museum.brokers import OldBroker
from groupcheck.oracles.museum.exhibits import Exhibit
from groupcheck.oracles.museum.moves import Move
from groupcheck.oracles.museum.seen import AFTER, Cut, Fact, Left, Seen, Sent, State, Told
from groupcheck.oracles.wire.formats import HEARTBEAT, JOIN_GROUP, SYNC_GROUP, Api
from groupcheck.oracles.wire.sockets import Answered, Closed, Connections
from groupcheck.traces.messages.message_bytes import Field

GROUP = "g"
TIMEOUT_MS = 1000  # of sessions and of rounds
WAIT_S = 4.0  # several timeouts, after which everything that a timer ends is over
BEAT_S = 0.2
ANSWER_S = 5.0
STARTING = (14, 15, 16)  # the coordinator loads, is not there yet, or is not known yet
APIS = {api.name: api for api in (JOIN_GROUP, SYNC_GROUP, HEARTBEAT)}
VERSION = {"JoinGroup": 5, "SyncGroup": 3, "Heartbeat": 3}  # the newest without compact lengths
FIND_COORDINATOR = Api(
    10,
    "FindCoordinator",
    3,
    0,
    0,
    (Field("group", "string"),),
    (
        Field("error", "int16"),
        Field("node", "int32"),
        Field("host", "string"),
        Field("port", "int32"),
    ),
)
_MEMBER = (
    Field("member", "string"),
    Field("instance", "nullable_string"),
    Field("client", "string"),
    Field("host", "string"),
    Field("metadata", "bytes"),
    Field("assignment", "bytes"),
)
# Version 4 alone: brokers cannot describe static members in an older one.
DESCRIBE_GROUPS = Api(
    15,
    "DescribeGroups",
    5,
    4,
    4,
    (Field("groups", "[]string"), Field("operations", "int8")),
    (
        Field("throttle", "int32"),
        Field(
            "groups",
            (
                Field("error", "int16"),
                Field("group", "string"),
                Field("state", "string"),
                Field("protocol_type", "string"),
                Field("protocol", "string"),
                Field("members", _MEMBER),
                Field("operations", "int32"),
            ),
        ),
    ),
)
# A subscription to the topic t, and a share without partitions (version 0).
SUBSCRIPTION = struct.pack(">hih", 0, 1, 1) + b"t" + struct.pack(">i", -1)
SHARE = struct.pack(">hii", 0, 0, -1)


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

    def perform(self, moves: Sequence[Move]) -> Seen:
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
        return Seen(self._release, tuple(self._facts), left, where)

    def _connect(self) -> None:
        """Waits until the coordinator answers."""
        self._connections = Connections(self._broker.address)
        until = time.monotonic() + 30.0
        while time.monotonic() < until:
            found = self._ask(FIND_COORDINATOR, 0, {"group": GROUP})
            beats = {"group": GROUP, "generation": 1, "member": "nobody"}
            if not found["error"] and self._ask(HEARTBEAT, 0, beats)["error"] not in STARTING:
                return
            time.sleep(0.1)
        raise Left("the coordinator does not come up")

    def _ask(self, api: Api, version: int, values: Mapping[str, Any]) -> dict[str, Any]:
        return self._answer_to(self._connections.send(api, version, values))

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
        values: dict[str, Any] = {"group": GROUP, "member": member, "instance": None}
        if self._exhibit.static:
            values["instance"] = f"instance-{name}"
        if move.api == "JoinGroup":
            values |= {
                "session_timeout_ms": TIMEOUT_MS,
                "rebalance_timeout_ms": TIMEOUT_MS,
                "protocol_type": "consumer",
                "protocols": [{"name": "range", "metadata": SUBSCRIPTION}],
            }
        else:
            values["generation"] = getattr(request, "generation", -1)
        if move.api == "SyncGroup":
            shares = [{"member": one, "assignment": SHARE} for one in self._ids.values()]
            values["assignments"] = shares
        number = self._connections.send(APIS[move.api], VERSION[move.api], values)
        self._waiting[move.process, move.api] = number
        self._facts.append(Sent(move.step, name, move.api, member))

    def _receive(self, move: Move, name: str) -> None:
        answer = self._answer_to(self._waiting.pop((move.process, move.api)))
        expected = move.answer
        assert expected is not None
        error, generation = answer["error"], answer.get("generation", -1)
        self._facts.append(Told(move.step, name, move.api, error, generation))
        if move.api == "JoinGroup" and answer["member"]:
            self._ids[move.process, expected.id] = answer["member"]
            self._last[move.process] = (answer["member"], generation)
        if error != expected.code:
            raise Left(f"the answer is {error}, not {expected.code}")
        if move.api == "JoinGroup" and not error and generation != expected.generation:
            raise Left(f"the generation is {generation}, not {expected.generation}")

    def _until(self, state: str) -> None:
        """Waits until the group is in this state."""
        until = time.monotonic() + ANSWER_S
        while (found := self._described()["state"]) != state:
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
        self._facts.append(State(AFTER, found["state"], len(found["members"])))

    def _beat(self, quietly: bool = False) -> None:
        """Every process sends a heartbeat with what it was told last."""
        for process, (member, generation) in self._last.items():
            name = chr(ord("A") + process)
            values = {"group": GROUP, "generation": generation, "member": member}
            values["instance"] = f"instance-{name}" if self._exhibit.static else None
            error = self._ask(HEARTBEAT, VERSION["Heartbeat"], values)["error"]
            if not quietly:
                self._facts.append(Told(AFTER, name, "Heartbeat", error))

    def _described(self) -> dict[str, Any]:
        (found,) = self._ask(DESCRIBE_GROUPS, DESCRIBE_GROUPS.newest, {"groups": [GROUP]})["groups"]
        return dict(found)
