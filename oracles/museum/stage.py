"""A path carried out by real members, whose coordinator answers as the model's does.

Members are polled only when the path says that their poll thread does something, and their requests
wait until the path comes to them. So the members do what the path says, in its order, or the
performance ends with the reason why not. Heartbeats between the steps are answered 0, as a step of
the model that changes nothing.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from typing import Any

from attrs import frozen

from groupcheck.model.engine import OutageError
from groupcheck.model.protocol.codes import MEMBER_ID_REQUIRED
from groupcheck.oracles.museum.members import Event, Members
from groupcheck.oracles.museum.moves import Move
from groupcheck.oracles.museum.network import RACKS, Network, WaitingRequest
from groupcheck.oracles.museum.seen import (
    AFTER,
    AnswerSent,
    App,
    Cut,
    Fact,
    Left,
    Named,
    NetworkRequest,
    PerformanceRecord,
    claims,
    named,
)
from groupcheck.traces.messages.consumer_protocol import assignment

TOPIC = "t"
POLL_MS = 50
BOOT_S, PATIENCE_S = 60.0, 8.0  # for the JVM to come up, and for one move
AFTERWARDS_S = 1.0  # how long members are polled when the path is over
IDS_IN_TWO_STEPS = 4  # the first version of JoinGroup that is answered 79 (KIP-394)
SETTINGS: Mapping[str, object] = {
    "group.id": "g",
    "enable.auto.commit": "false",
    "heartbeat.interval.ms": 40,
    "session.timeout.ms": 10_000,
    "retry.backoff.ms": 10,
    "reconnect.backoff.ms": 10,
    "auto.offset.reset": "earliest",
    "fetch.max.wait.ms": 30,
}


@frozen
class Cast:
    """Who plays: how members are set up, and how their ids are ordered."""

    # Settings of all consumers beside `SETTINGS`.
    settings: Mapping[str, object]
    # For each process its place in the order of ids, from 0. Brokers make ids at random.
    order: tuple[int, ...]
    # Partitions of the topic.
    partitions: int
    # onJoinComplete runs as soon as SyncGroup is answered.
    atomic: bool = True
    # A process, and the partition in whose rack it is; all others are in the other rack. None:
    # members have no racks.
    near: tuple[int, int] | None = None

    def name(self, process: int) -> str:
        return chr(ord("A") + process)

    def rack(self, process: int) -> Mapping[str, object]:
        """The setting of a process's rack."""
        if self.near is None:
            return {}
        preferred, partition = self.near
        return {"client.rack": RACKS[(partition + (process != preferred)) % 2]}

    def id(self, process: int, number: int) -> str:
        """The member id for a number of the model's."""
        return f"{self.order[process]}-{self.name(process)}-{number}"

    def whose(self, id: str) -> str:
        return id.split("-")[1]


class Stage:
    """One performance."""

    def __init__(
        self,
        cast: Cast,
        release: str,
        say: Callable[[str], None],
        others: Mapping[int, str] | None = None,
    ) -> None:
        """`others`: processes of another release."""
        names = [cast.name(process) for process in range(len(cast.order))]
        self._cast, self._names = cast, names
        self._network = Network(names, {TOPIC: cast.partitions})
        releases = [(others or {}).get(process, release) for process in range(len(cast.order))]
        companies = {r: Members(r, self._network, self._happened, say) for r in set(releases)}
        self._companies = tuple(companies.values())
        self._of = {name: companies[r] for name, r in zip(names, releases, strict=True)}
        self._release = release
        self._facts: list[Fact] = []
        self._step = AFTER
        self._awaited: str | None = None  # the member whose heartbeat the path is waiting for
        self._held: dict[tuple[int, str], WaitingRequest] = {}
        self._late: dict[int, WaitingRequest] = {}
        self._commit: dict[int, WaitingRequest] = {}  # commits whose answers are still on their way
        self._metadata: dict[str, bytes] = {}  # member id -> its last subscription
        self._plan: Mapping[str, bytes] = {}
        self._grown = cast.partitions

    def perform(
        self, moves: Sequence[Move], afterwards_s: float = AFTERWARDS_S
    ) -> PerformanceRecord:
        """Carries out a path, and then polls all members for a while. Raises `OutageError` if their
        JVM does not come up.
        """
        left, where = "", 0
        with ExitStack() as stack:
            for company in self._companies:  # they run already
                stack.enter_context(company)
            stack.enter_context(self._network)
            for process, name in enumerate(self._names):
                settings = {**SETTINGS, **self._cast.settings, **self._cast.rack(process)}
                self._of[name].open(name, settings, TOPIC)
            self._wait(lambda: self._opened() or self._outage() is not None, BOOT_S)
            if not self._opened():
                raise self._outage() or OutageError(
                    f"the JVM with the consumers of Kafka {self._release} hung: no answer for"
                    f" {BOOT_S:g} s",
                    do="run it again",
                )
            try:
                for number, move in enumerate(moves):
                    self._step = move.step
                    self._move(move, moves[number + 1 :])
                self._step = AFTER
                self._afterwards(afterwards_s)
            except Left as why:
                left, where = f"step {self._step}: {why}", self._step
        return PerformanceRecord(self._release, tuple(self._facts), left, where)

    # -- one move

    def _move(self, move: Move, rest: Sequence[Move]) -> None:
        name = self._cast.name(move.process)
        final = move.step == (rest[-1] if rest else move).step
        if move.kind == "answered":
            self._answer(move, name, final)
        elif move.kind == "cut":
            self._cut(name)
        elif move.kind in ("delay", "appended"):
            pass  # members notice it by their answers
        elif move.kind == "crashes":
            raise Left("nothing here makes a consumer crash")
        elif move.kind == "late":
            self._read(self._late.pop(move.process))
        elif move.kind == "processes":
            self._process(name)
        elif move.kind == "completes":
            self._complete(name, self._assigned(name), final)
        elif move.kind == "topics":
            self._grown = move.partitions  # members see it when the path says so
        elif move.kind == "sees":
            self._see(name)
        else:
            self._receive(move, name)

    def _receive(self, move: Move, name: str) -> None:
        """A request comes, and what becomes of it."""
        if move.api == "JoinGroup":
            self._deliver_commit(move.process)
        request = self._expect(name, move.api)
        if move.kind == "delayed":
            self._late[move.process] = request
        else:
            self._read(request)
        if move.kind in ("delayed", "unanswered"):
            self._cut(name)
        else:
            self._held[move.process, request.api] = request

    def _read(self, request: WaitingRequest) -> None:
        """The coordinator reads a request."""
        if request.api == "JoinGroup":
            self._metadata[request.values["memberId"]] = request.values["protocols"][0]["metadata"]
        if request.api == "SyncGroup" and request.values["assignments"]:
            given = request.values["assignments"]
            self._plan = {one["memberId"]: one["assignment"] for one in given}

    def _expect(self, name: str, api: str) -> WaitingRequest:
        """Waits for a request of a member; polls the member unless its other thread sends it."""
        until = time.monotonic() + PATIENCE_S
        self._awaited = name if api == "Heartbeat" else None
        try:
            while time.monotonic() < until:
                for request in self._network.arrived:
                    if request.member == name and request.api == api:
                        self._network.arrived.remove(request)
                        self._note(request)
                        return request
                    if request.member == name and request.api in ("JoinGroup", "SyncGroup"):
                        raise Left(f"{name} sends {request.api}, not {api}")
                if api not in ("Heartbeat", "LeaveGroup"):
                    self._poll(name)
                self._pump(0.01)
        finally:
            self._awaited = None
        raise Left(f"{name} sends no {api}")

    def _answer(self, move: Move, name: str, final: bool) -> None:
        assert move.answer is not None
        code, request = move.answer.code, self._held.pop((move.process, move.api))
        if code == MEMBER_ID_REQUIRED and request.version < IDS_IN_TWO_STEPS:
            self._network.arrived.insert(0, request)  # it is answered when it has become a member
            return
        if move.api == "OffsetCommit":
            # The model's member hears of it at once; between that and its JoinGroup is the time
            # that the answer takes.
            self._commit[move.process] = request
            return
        self._facts.append(AnswerSent(move.step, name, move.api, code, move.answer.generation))
        if move.api == "JoinGroup":
            self._network.answer(request, self._joined(move, request))
        elif move.api == "SyncGroup":
            self._synced(move, name, request, final)
        else:
            self._network.answer(request, {"errorCode": code, "throttleTimeMs": 0})

    def _joined(self, move: Move, request: WaitingRequest) -> dict[str, Any]:
        answer = move.answer
        assert answer is not None
        told: dict[str, Any] = {"throttleTimeMs": 0, "errorCode": answer.code, "members": []}
        if answer.code:
            given = answer.code == MEMBER_ID_REQUIRED
            id = self._cast.id(move.process, answer.id) if given else ""
            return told | {"generationId": -1, "protocolName": "", "leader": "", "memberId": id}
        protocol = request.values["protocols"][0]
        id = self._cast.id(move.process, answer.id)
        if not request.values["memberId"]:
            self._metadata[id] = protocol["metadata"]
        leader = next(seat for seat in move.seats if seat.leads)
        if leader.process == move.process:
            told["members"] = [
                {"memberId": one, "groupInstanceId": None, "metadata": self._metadata[one]}
                for one in sorted(self._cast.id(s.process, s.id) for s in move.seats)
            ]
        return told | {
            "generationId": answer.generation,
            "protocolName": protocol["name"],
            "leader": self._cast.id(leader.process, leader.id),
            "memberId": id,
        }

    def _synced(self, move: Move, name: str, request: WaitingRequest, final: bool) -> None:
        assert move.answer is not None
        code = move.answer.code
        share = b"" if code else self._plan.get(request.values["memberId"], b"")
        wanted = {p for p in range(32) if move.answer.share >> p & 1}
        given = {number for _, number in assignment(share)}
        if not code and not final and given != wanted:
            raise Left(f"the leader's plan gives {name} {sorted(given)}, not {sorted(wanted)}")
        before = self._assigned(name)
        if not self._cast.atomic:
            self._wait(lambda: not self._of[name].busy(name))
        told = {"throttleTimeMs": 0, "errorCode": code, "assignment": share}
        self._network.answer(request, told)
        if not code and self._cast.atomic:
            self._complete(name, before, final)
        elif not code:
            self._read_answers(name)

    def _complete(self, name: str, before: int, final: bool) -> None:
        """onJoinComplete runs in the member's next poll. In the last step the member may also join
        again without it.
        """

        def done() -> bool:
            again = any(r.member == name and r.api == "JoinGroup" for r in self._network.arrived)
            return self._assigned(name) > before or (final and again)

        self._until(done, name, "does not take over its share")

    def _read_answers(self, name: str) -> None:
        """The member reads its answers without a poll."""
        self._of[name].read_network(name)
        self._wait(lambda: not self._of[name].busy(name))

    def _outage(self) -> OutageError | None:
        return next((o for company in self._companies if (o := company.outage())), None)

    def _opened(self) -> bool:
        return not any(self._of[name].busy(name) for name in self._names)

    def _wait(self, done: Callable[[], bool], patience_s: float = PATIENCE_S) -> None:
        until = time.monotonic() + patience_s
        while not done() and time.monotonic() < until:
            self._pump(0.01)

    def _assigned(self, name: str) -> int:
        return sum(
            isinstance(f, App) and f.member == name and f.what in ("assigned", "failed")
            for f in self._facts
        )

    def _process(self, name: str) -> None:
        done = len(self._facts)
        records = self._network.records
        records[TOPIC, 0] = records.get((TOPIC, 0), 0) + 1

        def processed() -> bool:
            facts = self._facts[done:]
            return any(isinstance(f, App) and f.what == "processed" for f in facts)

        self._until(processed, name, "processes no record")

    def _see(self, name: str) -> None:
        self._network.topics[TOPIC] = self._grown
        looked = self._network.looked[name]
        # The second look begins after the answer to the first one was read.

        def looked_twice() -> bool:
            return self._network.looked[name] > looked + 1

        self._until(looked_twice, name, "does not look at the topics")

    def _deliver_commit(self, process: int) -> None:
        request = self._commit.pop(process, None)
        if request is None:
            return
        self._accept(request)
        self._facts.append(AnswerSent(self._step, self._cast.name(process), "OffsetCommit"))

    def _cut(self, name: str) -> None:
        self._network.cut(name)
        self._facts.append(Cut(self._step, name))

    # -- the loop

    def _afterwards(self, seconds: float) -> None:
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            for name in self._names:
                self._poll(name)
            self._pump(0.02)

    def _until(self, done: Callable[[], bool], name: str, otherwise: str) -> None:
        """Polls a member until something is done. Otherwise the performance ends."""
        until = time.monotonic() + PATIENCE_S
        while not done():
            if time.monotonic() > until:
                raise Left(f"{name} {otherwise}")
            self._poll(name)
            self._pump(0.01)

    def _poll(self, name: str) -> None:
        if not self._of[name].busy(name):
            self._of[name].poll(name, POLL_MS)

    def _pump(self, seconds: float) -> None:
        """Lets things happen, and answers what the path does not speak of."""
        network = self._network
        network.pump(seconds)
        network.arrived = [request for request in network.arrived if not request.lost]
        over = self._step == AFTER
        for request in list(network.arrived):
            if over:
                self._note(request)
            beats = request.api == "Heartbeat" and self._awaited != request.member
            if beats or (over and request.api == "LeaveGroup"):
                network.arrived.remove(request)
                network.answer(request, {"throttleTimeMs": 0, "errorCode": 0})

    def _accept(self, request: WaitingRequest) -> None:
        """Answers an OffsetCommit."""
        topics = [
            {
                "name": topic["name"],
                "partitions": [
                    {"partitionIndex": p["partitionIndex"], "errorCode": 0}
                    for p in topic["partitions"]
                ],
            }
            for topic in request.values["topics"]
        ]
        self._network.answer(request, {"throttleTimeMs": 0, "topics": topics})

    def _note(self, request: WaitingRequest) -> None:
        """Keeps once what was sent; heartbeats are of no interest."""
        if request.api == "Heartbeat" or request.noted:
            return
        request.noted = True
        values = request.values
        metadata = values["protocols"][0]["metadata"] if request.api == "JoinGroup" else b""
        plan: dict[str, Named] | None = None
        if request.api == "SyncGroup" and values["assignments"]:
            plan = {
                self._cast.whose(one["memberId"]): named(assignment(one["assignment"]))
                for one in values["assignments"]
            }
        self._facts.append(
            NetworkRequest(
                self._step,
                request.member,
                request.api,
                values["memberId"],
                claims(metadata) if metadata else None,
                plan,
            )
        )

    def _happened(self, event: Event) -> None:
        fact = App(self._step, event.member, event.what, event.of)
        mine = [f for f in self._facts if f.member == fact.member]
        if fact.what != "failed" or not mine or mine[-1] != fact:  # poll throws it again and again
            self._facts.append(fact)
