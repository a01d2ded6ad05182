"""A small consumer in a process of its own, spoken by hand, that keeps every rule, or makes the
mistakes that its arguments name. `judge client` has to tell them apart.
"""

from __future__ import annotations

import json
import os
import select
import struct
import sys
import time
from typing import Any

from groupcheck.oracles.judge.client import beside
from groupcheck.oracles.judge.client.beside import share_bytes, subscription_bytes
from groupcheck.oracles.wire.connections import Closed, Connections
from groupcheck.traces.messages.apis import api
from groupcheck.traces.messages.consumer_protocol import assignment

VERSIONS = beside.VERSIONS | {"Fetch": 11, "Metadata": 8}
LOST, AGAIN = (22, 25, 82), (14, 15, 16, -2)
FATAL = (23, 24, 26, 30, 81, 82)
BEAT_S, WAIT_S = 0.15, 0.05
MISTAKES = frozenset(sys.argv[1:])
BOOTSTRAP, GROUP, TOPIC = (os.environ[f"KAFKA_{n}"] for n in ("BOOTSTRAP", "GROUP", "TOPIC"))
INSTANCE = os.environ.get("KAFKA_INSTANCE_ID")
SESSION_MS = int(os.environ["GROUPCHECK_SESSION_MS"])
REBALANCE_MS = int(os.environ["GROUPCHECK_REBALANCE_MS"])
ASSIGNOR = "cooperative-sticky" if os.environ["GROUPCHECK_ASSIGNOR"] == "cooperative" else "range"
Partition = tuple[str, int]


def tell(event: str, **fields: Any) -> None:
    print(json.dumps({"schema": "groupcheck.event/1", "event": event, **fields}), flush=True)


def names(parts: frozenset[Partition]) -> list[str]:
    return [f"{topic}-{number}" for topic, number in sorted(parts)]


class Fatal(Exception):
    pass


class Client:
    def __init__(self) -> None:
        self.first = Connections(BOOTSTRAP)
        self.coordinator: Connections | None = None
        self.id, self.generation = "", -1
        self.share: frozenset[Partition] = frozenset()
        self.old: frozenset[Partition] = frozenset()
        self.position: dict[Partition, int] = {}
        # Of what it has a position.
        self.placed: frozenset[Partition] = frozenset()
        self.again = False
        self.closing = False
        # Does it lead, how many partitions has it planned, and of how many was it told?
        self.leads, self.planned, self.there = False, 0, 4
        # Until when it makes a mistake that would otherwise never end.
        self.until = 0.0

    def ask(self, name: str, values: dict[str, Any], patience_s: float = 20.0) -> dict[str, Any]:
        """The answer; an errorCode of -2 if there is none in time."""
        over = self.first if name in ("FindCoordinator", "Fetch", "Metadata") else self.coordinator
        if over is None:
            return {"errorCode": -2}
        if "stays-silent" in MISTAKES and over is self.coordinator and over.waiting:
            # No other connection to the same node, which would look for it anew.
            over.gather(0.0)
            return {"errorCode": -2}
        number = over.send(api(name), VERSIONS[name], values)
        until = time.monotonic() + patience_s
        told: Any = None
        while told is None and time.monotonic() < until and not self.stopped(0):
            told = over.gather(WAIT_S, number).get(number)
        if told is None or isinstance(told, Closed):
            gives_up = not self.closing and "stays-silent" not in MISTAKES
            if over is self.coordinator and gives_up:
                over.close()
                self.coordinator = None
            return {"errorCode": -2}
        return dict(told)

    def stopped(self, seconds: float) -> bool:
        if not self.closing and select.select([sys.stdin], [], [], seconds)[0]:
            self.closing = sys.stdin.readline().strip() in ("stop", "")
        return self.closing

    def mine(self) -> dict[str, Any]:
        return {"groupId": GROUP, "memberId": self.id, "groupInstanceId": INSTANCE}

    def failed(self, code: int) -> None:
        """What an error means, whichever request it answers."""
        if self.closing or (code == -2 and "stays-silent" in MISTAKES):
            return
        fenced = code == 82 and "goes-on-fenced" in MISTAKES
        if code in FATAL and not fenced and "tells-nothing" not in MISTAKES:
            raise Fatal(code)
        if code in AGAIN:
            if code != 14 and self.coordinator is not None:
                self.coordinator.close()
                self.coordinator = None
            self.stopped(0 if "storms" in MISTAKES else WAIT_S)
        elif code in LOST:
            self.lose(code)
        elif code == 27:
            self.again = "never-joins-again" not in MISTAKES

    def lose(self, code: int) -> None:
        if "commits-from-outside" in MISTAKES:
            self.commit(self.share, -1, "")
        if "commits-late" in MISTAKES:
            self.until = time.monotonic() + 1.2
            while time.monotonic() < self.until and not self.stopped(0.1):
                self.commit(self.share, self.generation, self.id)
        if "fetches-on" in MISTAKES:
            self.until = time.monotonic() + 1.2
            while time.monotonic() < self.until and not self.stopped(0.1):
                self.fetch()
        self.give_up("lost")
        if code == 25 and "keeps-a-dead-id" not in MISTAKES:
            self.id = ""
        self.again = True

    def give_up(self, how: str) -> None:
        if self.share:
            tell(how, partitions=names(self.share))
        self.old, self.share = self.share, frozenset()
        if "keeps-positions" not in MISTAKES:
            self.placed = frozenset()

    def find(self) -> bool:
        told = self.ask("FindCoordinator", {"key": GROUP, "keyType": 0})
        if told["errorCode"]:
            self.failed(told["errorCode"])
            return False
        self.coordinator = Connections(f"{told['host']}:{told['port']}")
        return True

    def join(self) -> bool:
        metadata = subscription_bytes(TOPIC, self.share)
        if "short-subscription" in MISTAKES:
            metadata = metadata[:-4]
        if ASSIGNOR == "range":
            self.give_up("revoked")
        values = self.mine() | {
            "sessionTimeoutMs": SESSION_MS,
            "rebalanceTimeoutMs": REBALANCE_MS,
            "protocolType": "consumer",
            "protocols": [{"name": ASSIGNOR, "metadata": metadata}],
        }
        told = self.ask("JoinGroup", values)
        code = told["errorCode"]
        if code == 79:
            self.id = told["memberId"]
            if "own-id" in MISTAKES and not self.until:
                self.until, self.id = 1.0, "mine"
                self.stopped(0.3)
            return False
        if code:
            if code == 25:
                self.stopped(0.25)
                self.id = "" if "keeps-a-dead-id" not in MISTAKES or self.until else self.id
                self.until = 1.0
            else:
                self.failed(code)
            return False
        self.id, self.generation = told["memberId"], told["generationId"]
        self.leads = told["leader"] == self.id
        return self.sync([m["memberId"] for m in told["members"]])

    def sync(self, members: list[str]) -> bool:
        every = sorted((TOPIC, number) for number in range(self.there))
        self.planned = self.there
        if self.leads:
            self.look()
        if "forgets-a-change" in MISTAKES:
            self.planned = self.there
        plan = []
        for rank, member in enumerate(sorted(members)):
            share = frozenset(every if "plans-twice" in MISTAKES else every[rank :: len(members)])
            plan.append({"memberId": member, "assignment": share_bytes(share)})
        values = self.mine() | {"generationId": self.generation, "assignments": plan}
        began = time.monotonic()
        told = self.ask("SyncGroup", values)
        if "forgets-its-join" in MISTAKES and time.monotonic() - began > 1:
            while not self.stopped(0.1):
                self.look()
        if told["errorCode"]:
            self.failed(told["errorCode"])
            return False
        self.again = False
        share = frozenset(assignment(told["assignment"]))
        self.placed &= share
        if gone := self.share - share:
            tell("revoked", partitions=names(gone))
        self.share = share
        tell("assigned", partitions=names(share), whole=True)
        if "commits-more" in MISTAKES and self.old - share:
            self.commit(self.old, self.generation, self.id)
        return True

    def look(self) -> None:
        """How many partitions there are."""
        told = self.ask("Metadata", {"topics": [{"name": TOPIC}]})
        for topic in told.get("topics", ()):
            self.there = len(topic["partitions"]) or self.there

    def begin(self) -> None:
        """Where to begin to read what it has been given."""
        new = [number for _, number in sorted(self.share - self.placed)]
        if not new:
            return
        asked = {"groupId": GROUP, "topics": [{"name": TOPIC, "partitionIndexes": new}]}
        told = self.ask("OffsetFetch", asked)
        code = told["errorCode"]
        if code and "skips-after-an-error" not in MISTAKES:
            self.failed(code)
            return
        self.position |= {(TOPIC, number): 0 for number in new}
        for part in (p for topic in told.get("topics", ()) for p in topic["partitions"]):
            self.position[TOPIC, part["partitionIndex"]] = max(0, part["committedOffset"])
        self.placed |= self.share

    def commit(self, parts: frozenset[Partition], generation: int, id: str) -> None:
        rows = [
            {"partitionIndex": number, "committedOffset": self.position.get((topic, number), 0)}
            for topic, number in sorted(parts)
        ]
        values = {"groupId": GROUP, "memberId": id, "generationIdOrMemberEpoch": generation}
        values |= {"groupInstanceId": INSTANCE, "topics": [{"name": TOPIC, "partitions": rows}]}
        told = self.ask("OffsetCommit", values, 0.3 if "stays-silent" in MISTAKES else 20.0)
        found = [p["errorCode"] for t in told.get("topics", ()) for p in t["partitions"]]
        code = max(found, default=told.get("errorCode", 0))
        if code and not self.until:
            self.failed(code)

    def fetch(self) -> None:
        parts = [
            {"partition": n, "fetchOffset": self.position.get((t, n), 0), "partitionMaxBytes": 4096}
            for t, n in sorted(self.share & self.placed)
        ]
        if parts:
            values = {"replicaId": -1, "maxWaitMs": 0, "minBytes": 0, "maxBytes": 1 << 16}
            values["topics"] = [{"topic": TOPIC, "partitions": parts}]  # type: ignore[assignment]
            told = self.ask("Fetch", values)
            for topic in told.get("responses", ()):
                for part in topic["partitions"]:
                    self.read(part["partitionIndex"], part["records"] or b"")
        if "delivers-on" in MISTAKES and self.old - self.share:
            for name in names(self.old - self.share):
                tell("delivered", partition=name, offset=0)

    def read(self, number: int, records: bytes) -> None:
        """The batches begin with their first offset, length, ... and the last offset's delta."""
        at = 0
        while at + 27 <= len(records):
            first, length = struct.unpack_from(">qi", records, at)
            (delta,) = struct.unpack_from(">i", records, at + 23)
            if at + 12 + length > len(records):
                return
            tell("delivered", partition=f"{TOPIC}-{number}", offset=first, last=first + delta)
            self.position[TOPIC, number] = first + delta + 1
            at += 12 + length

    def beat(self) -> None:
        if "no-heartbeats" in MISTAKES:
            return
        patience = 0.3 if "stays-silent" in MISTAKES else SESSION_MS / 1000
        values = self.mine() | {"generationId": self.generation}
        code = self.ask("Heartbeat", values, patience)["errorCode"]
        if code:
            self.failed(code)

    def live(self) -> None:
        member = False
        while not self.stopped(0.02):
            if self.coordinator is None and not self.find():
                continue
            if not member or self.again:
                member = self.join()
                continue
            self.beat()
            self.begin()
            self.fetch()
            if self.share & self.placed and not self.again:
                self.commit(self.share & self.placed, self.generation, self.id)
            self.look()
            if self.leads and self.planned < self.there:
                self.again = "ignores-new-partitions" not in MISTAKES
            self.stopped(BEAT_S)

    def close(self) -> None:
        over = self.coordinator
        leaves = bool(self.id) and not INSTANCE and "never-leaves" not in MISTAKES
        if over is not None and leaves:
            values = {"groupId": GROUP, "members": [{"memberId": self.id}]}
            over.gather(1.0, over.send(api("LeaveGroup"), VERSIONS["LeaveGroup"], values))
        tell("closed")


client = Client()
tell("started", library="scripted")
try:
    client.live()
except Fatal as fatal:
    tell("fatal", error=str(fatal))
client.close()
