"""The model's own member as a program under test, perhaps with a known bug: `judge client` has to
find nothing in the healthy one. Its variant is that which its environment asks for (static,
cooperative or classic); arguments: the id of a mutation or nothing, and another variant.

Each row of the member says what it sends and does next; this program gives it polls, heartbeats,
commits, records, answers and broken connections as they come over the wire.
"""

from __future__ import annotations

import json
import os
import select
import struct
import sys
import time
from collections import deque
from typing import Any

import attrs

from groupcheck.model.engine import UserError
from groupcheck.model.mutations import mutation as of
from groupcheck.model.protocol import messages
from groupcheck.model.protocol.classic.client import NOTHING
from groupcheck.model.variants import load
from groupcheck.oracles.conform.member.every_row import rows_of
from groupcheck.oracles.conform.member.member_memory import Does, Input, Memory, Outcome, callbacks
from groupcheck.oracles.judge.client import beside
from groupcheck.oracles.judge.client.beside import share_bytes, subscription_bytes
from groupcheck.oracles.wire.connections import CONNECT_S, Closed, Connections
from groupcheck.traces.messages.apis import api
from groupcheck.traces.messages.consumer_protocol import assignment

VERSIONS = beside.VERSIONS | {"Fetch": 11}
PARTITIONS, GENERATIONS = 4, 900
POLL_S, BEAT_S, COMMIT_S, BACK_OFF_S = 0.04, 0.2, 0.25, 0.05
BOOTSTRAP, GROUP, TOPIC = (os.environ[f"KAFKA_{n}"] for n in ("BOOTSTRAP", "GROUP", "TOPIC"))
INSTANCE = os.environ.get("KAFKA_INSTANCE_ID")
SESSION_MS = int(os.environ["GROUPCHECK_SESSION_MS"])
REBALANCE_MS = int(os.environ["GROUPCHECK_REBALANCE_MS"])


def tell(event: str, **fields: Any) -> None:
    print(json.dumps({"schema": "groupcheck.event/1", "event": event, **fields}), flush=True)


def parts(mask: int) -> list[tuple[str, int]]:
    return [(TOPIC, n) for n in range(PARTITIONS) if mask >> n & 1]


class Member:
    def __init__(self, mutation: str, variant: str) -> None:
        settings = {"partitions": str(PARTITIONS), "autocommit": "yes"}
        bug = mutation if mutation and of(mutation).concerns(load(variant)) else None
        self.rows: Any = rows_of(variant, GENERATIONS, bug, settings)[0]
        # The rows say nothing of styles of commits.
        self.silent_close = mutation == "closes_without_commit"
        # Its bug is in the step that takes over the share: that step is one with the answer.
        self.atomic = bool(bug) and "sync_answer" in of(mutation).rules
        if self.atomic:
            scope = attrs.evolve(self.rows.scope, atomic_complete=True)
            self.rows = type(self.rows)(scope, attrs.evolve(self.rows.spec, scope=scope))
        # The rows pause it whatever its rule says.
        self.goes_on = bool(bug) and "process_record" in of(mutation).rules
        self.cooperative = self.rows.scope.cooperative
        self.assignor = "cooperative-sticky" if self.cooperative else "range"
        self.m: Memory = self.rows.start()
        self.first = Connections(BOOTSTRAP)
        self.coordinator: Connections | None = None
        # Requests in flight on the wire, in the order of `m.flight`.
        self.flight: deque[int] = deque()
        self.early: dict[int, Any] = {}
        self.ids: dict[int, str] = {}
        self.position = [0] * PARTITIONS
        self.members: list[str] = []
        self.heard = self.polled = self.beaten = self.committed = time.monotonic()
        # The member before it sent the SyncGroup that is in flight.
        self.before_sync: Memory | None = None
        self.closing = False
        self.fetching: int | None = None
        # The partitions of which it has a position.
        self.placed: set[int] = set()

    # -- the model's member

    def do(self, given: Input) -> bool:
        """Something happens to the member. False if it cannot happen."""
        outcomes = self.rows.outcomes(self.m, given)
        if not outcomes:
            return False
        done: Outcome = outcomes[0]
        before, self.m = self.m, done.after or self.m
        had = self.placed.copy()
        # One that is not told of its loss goes on with the position that it had.
        deaf = self.cooperative and self.m.client.position >= 0 and not self.m.client.owned
        called = callbacks(before, done)
        if self.atomic and done.after is not None and not done.gave_up:
            was, now = before.client.owned, self.m.client.owned
            called += [("revoked", was & ~now), ("assigned", now & ~was)] if was != now else []
        for kind, mask in called:
            if kind != "assigned" and (self.m.client.position < 0 or not mask & 1):
                self.placed -= {n for _, n in parts(mask)}
            if (mask or kind == "assigned") and not (deaf and kind == "lost"):
                tell(kind, partitions=[f"{t}-{n}" for t, n in parts(mask)])
        if not before.flight and [type(one) for one in done.sent] == [messages.SyncGroup]:
            self.before_sync = before
        elif given.does is None:
            self.before_sync = None
        for request in () if given.does == Does.BREAK_POLL else done.sent:  # it was lost
            self.send(request, before, had)
        if done.after is not None and not self.m.known and before.known:
            self.cut()
        if done.thrown:
            tell("fatal", error=str(done.thrown))
            self.closing = True
        return True

    def cut(self) -> None:
        if self.coordinator is not None:
            self.coordinator.close()
            self.coordinator = None
        self.flight.clear()
        self.early.clear()

    def number(self, name: str) -> int:
        """The model's number of an id."""
        known = next((k for k, one in self.ids.items() if one == name), None)
        if known is None:
            known = max(self.ids, default=-1) + 1
            self.ids[known] = name
        return known

    # -- the wire

    def send(self, request: Any, before: Memory, placed: set[int]) -> None:
        if self.coordinator is None:
            return
        name = type(request).__name__
        id = self.ids.get(request.id, "") if request.id >= 0 else ""
        values: dict[str, Any] = {"groupId": GROUP, "memberId": id, "groupInstanceId": INSTANCE}
        if hasattr(request, "generation"):
            values["generationId"] = values["generationIdOrMemberEpoch"] = request.generation
        if isinstance(request, messages.JoinGroup):
            owned = frozenset(parts(max(0, request.owned))) if self.cooperative else frozenset()
            listed = {"name": self.assignor, "metadata": subscription_bytes(TOPIC, owned)}
            values |= {"sessionTimeoutMs": SESSION_MS, "rebalanceTimeoutMs": REBALANCE_MS}
            values |= {"protocolType": "consumer", "protocols": [listed]}
        elif isinstance(request, messages.SyncGroup):
            values["assignments"] = self.plan()
        elif isinstance(request, messages.OffsetCommit):
            ahead = request.offset - before.client.position
            rows = [
                {"partitionIndex": n, "committedOffset": self.position[n] + ahead}
                for _, n in parts(before.client.owned or self.m.client.owned)
                if n in placed
            ]
            values["topics"] = [{"name": TOPIC, "partitions": rows}]
        elif isinstance(request, messages.LeaveGroup):
            values["members"] = [{"memberId": id, "groupInstanceId": INSTANCE}]
        sent = self.coordinator.send(api(name), VERSIONS[name], values, whose=1)
        self.flight.append(sent)

    def plan(self) -> list[dict[str, Any]]:
        every = [(TOPIC, n) for n in range(PARTITIONS)]
        return [
            {"memberId": m, "assignment": share_bytes(frozenset(every[k :: len(self.members)]))}
            for k, m in enumerate(sorted(self.members))
        ]

    def find(self) -> bool:
        number = self.first.send(
            api("FindCoordinator"), VERSIONS["FindCoordinator"], {"key": GROUP, "keyType": 0}
        )
        told: Any = self.first.gather(CONNECT_S, number).get(number)
        if told is None or isinstance(told, Closed) or told["errorCode"]:
            if isinstance(told, dict) and told["errorCode"] == 30:
                tell("fatal", error="30")
                self.closing = True
            time.sleep(BACK_OFF_S)
            return False
        self.coordinator = Connections(f"{told['host']}:{told['port']}")
        self.heard = time.monotonic()
        return True

    def hear(self) -> None:
        """Answers, in the order of their requests."""
        if self.coordinator is None or not self.flight:
            return
        self.early |= self.coordinator.gather(0.0)
        while self.flight and self.flight[0] in self.early and self.coordinator is not None:
            told = self.early.pop(self.flight.popleft())
            if isinstance(told, Closed):
                if self.before_sync is not None:
                    self.m, self.before_sync = self.before_sync, None
                    self.do(Input(Does.BREAK_POLL))
                elif not self.do(Input(Does.BREAK)):
                    self.m = attrs.evolve(self.m, known=False)
                self.cut()
                time.sleep(BACK_OFF_S)
                return
            self.heard = time.monotonic()
            self.answered(self.m.flight[0].request, told)

    def answered(self, request: Any, told: dict[str, Any]) -> None:
        code = told.get("errorCode", 0)
        for topic in told.get("topics", ()):
            code = max([code, *(p["errorCode"] for p in topic["partitions"])])
        given = Input(code=code)
        if isinstance(request, messages.JoinGroup) and code in (0, 79):
            given = attrs.evolve(given, id=self.number(told["memberId"]))
            if not code:
                self.members = [m["memberId"] for m in told["members"]]
                leads = told["leader"] == told["memberId"]
                given = attrs.evolve(given, generation=told["generationId"], leads=leads)
        elif isinstance(request, messages.SyncGroup) and not code:
            share = sum(1 << n for _, n in assignment(told["assignment"]))
            given = attrs.evolve(given, share=share)
        self.do(given)
        if code in (14, 27) and not isinstance(request, messages.Heartbeat):
            time.sleep(BACK_OFF_S)

    def begin(self) -> None:
        """Asks where to begin to read."""
        new = [n for _, n in parts(self.m.client.owned) if n not in self.placed]
        if self.coordinator is None or not new:
            return
        asked = {"groupId": GROUP, "topics": [{"name": TOPIC, "partitionIndexes": new}]}
        number = self.coordinator.send(api("OffsetFetch"), VERSIONS["OffsetFetch"], asked, whose=1)
        until = time.monotonic() + SESSION_MS / 1000
        told: Any = None
        while told is None and time.monotonic() < until and self.coordinator is not None:
            found = self.coordinator.gather(CONNECT_S, number)
            told = found.pop(number, None)
            self.early |= found
        if told is None or isinstance(told, Closed) or told["errorCode"]:
            self.m = attrs.evolve(self.m, known=False)
            self.cut()
            return
        self.do(Input(Does.FETCH, offset=0))
        for part in (p for topic in told["topics"] for p in topic["partitions"]):
            begins = max(0, part["committedOffset"]) + max(0, self.m.client.position)
            self.position[part["partitionIndex"]] = begins
        self.placed.update(new)

    def fetch(self) -> None:
        """Records of what it owns, unless it may not read now."""
        if self.fetching is not None:
            told: Any = self.first.gather(0.0).get(self.fetching)
            if told is None:
                return
            self.fetching = None
            if self.owned() and isinstance(told, dict):
                self.read(told)
        owned = self.owned()
        if owned:
            asked = [
                {"partition": n, "fetchOffset": self.position[n], "partitionMaxBytes": 4096}
                for _, n in owned
            ]
            values = {"replicaId": -1, "maxWaitMs": 0, "minBytes": 0, "maxBytes": 1 << 16}
            topics = [{"topic": TOPIC, "partitions": asked}]
            self.fetching = self.first.send(
                api("Fetch"), VERSIONS["Fetch"], {**values, "topics": topics}
            )

    def owned(self) -> list[tuple[str, int]]:
        c = self.m.client
        paused = self.m.paused and not self.goes_on
        reads = attrs.evolve(self.m, client=attrs.evolve(c, position=0), paused=paused)
        may = c.owned and c.granted == NOTHING and self.rows.may_process(reads)
        return [one for one in parts(c.owned) if one[1] in self.placed] if may else []

    def read(self, told: dict[str, Any]) -> None:
        now = {n for _, n in self.owned()}
        for topic in told.get("responses", ()):
            for part in topic["partitions"]:
                number, records, at = part["partitionIndex"], part["records"] or b"", 0
                while number in now and at + 27 <= len(records):
                    first, length = struct.unpack_from(">qi", records, at)
                    (delta,) = struct.unpack_from(">i", records, at + 23)
                    tell(
                        "delivered", partition=f"{TOPIC}-{number}", offset=first, last=first + delta
                    )
                    self.position[number] = first + delta + 1
                    at += 12 + length

    # -- its life

    def stopped(self) -> bool:
        if select.select([sys.stdin], [], [], 0.005)[0]:
            sys.stdin.readline()
            self.closing = True
        return self.closing

    def live(self) -> None:
        while not self.stopped():
            now = time.monotonic()
            self.hear()
            if self.coordinator is None and not self.find():
                continue
            if self.m.flight and now - self.heard > SESSION_MS / 1000:
                waits = self.m.waits_for(messages.Heartbeat)
                if waits and self.do(Input(Does.SILENCE)):
                    self.cut()
                self.heard = now
            if now - self.polled > POLL_S:
                self.polled = now
                self.do(Input(Does.POLL))
                self.begin()
                self.fetch()
            if self.m.known and now - self.beaten > BEAT_S:
                self.beaten = now
                if not self.m.waits_for(messages.Heartbeat):
                    self.do(Input(Does.BEAT))
            if self.m.known and now - self.committed > COMMIT_S:
                self.committed = now
                if not self.m.waits_for(messages.OffsetCommit) and self.m.client.owned:
                    self.do(Input(Does.COMMIT))

    def close(self) -> None:
        if self.silent_close:
            self.m = attrs.evolve(self.m, client=attrs.evolve(self.m.client, position=-1))
        self.do(Input(Does.CLOSE))
        if self.coordinator is not None:
            self.coordinator.gather(0.3)
        tell("closed")


asked = "cooperative" if os.environ["GROUPCHECK_ASSIGNOR"] == "cooperative" else "classic"
asked = "static_membership" if INSTANCE else asked
try:
    bug, variant = [*sys.argv[1:], *("", asked)[len(sys.argv) - 1 :]]
    member = Member(bug, variant)
except UserError as error:
    sys.exit(str(error))
tell("started", library="model")
member.live()
member.close()
