"""Makes a record of what the coordinator's server notes and the program says.

Only what rules need is kept of a message, and only so many events of a run.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from typing import Any

from attrs import evolve

from groupcheck.model.assignors import Partition
from groupcheck.oracles.judge.client.beside import BESIDE, read_share, read_subscription
from groupcheck.oracles.judge.client.events import Event as Said
from groupcheck.oracles.judge.client.knowledge import Following, Knowledge
from groupcheck.oracles.judge.client.machine_time import MachineTime
from groupcheck.oracles.judge.client.record import (
    NO_GENERATION,
    NOTHING,
    App,
    Asked,
    Closed,
    Committed,
    Event,
    Listed,
    MemberSeat,
    Opened,
    Record,
    Told,
)
from groupcheck.oracles.wire.serving import LogEntry

MOST_EVENTS = 40_000
MOST_PARTITIONS = 1_000  # of one request
NAMES = 200  # characters of an id
UNKNOWN_TOPIC = "?"


class Watch:
    """Gathers the events of one run. Called by several threads."""

    def __init__(
        self,
        session_ms: int,
        rebalance_ms: int,
        topic_of: Callable[[Any], str] = lambda id: UNKNOWN_TOPIC,
    ) -> None:
        """`topic_of`: the name of a topic from its id."""
        self._topic_of = topic_of
        self._following = Following(session_ms, rebalance_ms)
        self._began = time.monotonic()
        self._lock = threading.Lock()
        self.events: list[Event] = []
        self.dropped = 0
        # Connections of members beside the client, and what those of the client have asked.
        self._beside: set[int] = set()
        self._asked: dict[int, Asked] = {}
        # What counts of the time until now.
        self.clock = MachineTime()
        # The commits of members beside it that are not answered yet.
        self._commits: dict[int, Mapping[Partition, int]] = {}

    def now(self) -> float:
        """Seconds since the run began."""
        return time.monotonic() - self._began

    def add(self, event: Event) -> None:
        """Keeps an event, if there are not too many."""
        with self._lock:
            self._following.see(event)
            if len(self.events) < MOST_EVENTS:
                self.events.append(event)
            else:
                self.dropped += 1

    @property
    def knowledge(self) -> Knowledge:
        """What the client knows now."""
        return self._following.now

    def heard(self, said: Said) -> None:
        """The application has said something."""
        self.add(App(self.now(), said))

    def noted(self, entry: LogEntry) -> None:
        """The server has noted something."""
        at = self.now()
        if entry.client == BESIDE:  # a member beside it
            self._beside.add(entry.connection)
        if entry.connection in self._beside:
            self._of_others(at, entry)
            return
        if entry.what == "opened":
            self.add(Opened(at, entry.node, entry.connection))
        elif entry.what == "request":
            asked = self._request(at, entry)
            self._asked[entry.number] = asked
            self.add(asked)
        elif entry.what == "answer":
            request = self._asked.pop(entry.number, None)
            if request is not None:
                found = self._offsets(_by_topic(request.api, entry.values))
                self.add(_answer(at, request, entry.values, found))
        else:
            self.add(Closed(at, entry.node, entry.connection, entry.what == "cut"))

    def _of_others(self, at: float, entry: LogEntry) -> None:
        """What a member beside the client commits."""
        if entry.api != "OffsetCommit":
            return
        if entry.what == "request":
            self._commits[entry.number] = self._offsets(entry.values["topics"])
            return
        offsets = self._commits.pop(entry.number, None)
        if offsets and entry.what == "answer" and not error_of(entry.api, entry.values):
            self.add(Committed(at, offsets))

    def _request(self, at: float, entry: LogEntry) -> Asked:
        values = entry.values
        more: dict[str, Any] = {}
        if entry.api == "JoinGroup":
            more = {
                "protocols": tuple(map(_listed, values["protocols"][:20])),
                "session_ms": values["sessionTimeoutMs"],
                "rebalance_ms": max(0, values.get("rebalanceTimeoutMs", 0)),
            }
        elif entry.api == "SyncGroup":
            more = {
                "plan": {
                    one["memberId"][:NAMES]: read_share(one["assignment"])
                    for one in values["assignments"]
                }
            }
        elif entry.api in ("Fetch", "OffsetCommit"):
            more = {"offsets": self._offsets(values.get("topics") or ())}
        elif entry.api == "LeaveGroup":
            listed = values.get("members") or [values]
            more = {"members": tuple(m.get("memberId", "")[:NAMES] for m in listed[:100])}
        generation = values.get("generationId", values.get("generationIdOrMemberEpoch"))
        return Asked(
            at,
            entry.number,
            entry.node,
            entry.connection,
            entry.api,
            entry.version,
            member=values.get("memberId", "")[:NAMES],
            generation=NO_GENERATION if generation is None else generation,
            instance=values.get("groupInstanceId"),
            **more,
        )

    def _offsets(self, topics: Any) -> dict[Partition, int]:
        found: dict[Partition, int] = {}
        for topic in topics:
            name = topic.get("name") or topic.get("topic") or self._topic_of(topic.get("topicId"))
            for part in topic["partitions"]:
                if len(found) < MOST_PARTITIONS:
                    number = part.get("partition", part.get("partitionIndex", 0))
                    offset = part.get("fetchOffset", part.get("committedOffset", -1))
                    found[name, number] = offset
        return found

    def stalled(self, seconds: float) -> None:
        """A timer has gone off so much too late."""
        self.clock.stalled(self.now(), seconds)

    def record(self, **about: Any) -> Record:
        """All that was gathered, by its clock; `about`: the other fields of the record."""
        clock = self.clock
        with self._lock:
            events = sorted(self.events, key=lambda event: event.at)
        counted = tuple(evolve(event, at=clock(event.at)) for event in events)
        return Record(counted, clock=clock, dropped=self.dropped, **about)


def error_of(api: str, values: Mapping[str, Any]) -> int:
    """The error in an answer, wherever its API has it; of several the largest."""
    found = [values.get("errorCode", 0)]
    for name in ("topics", "coordinators", "groups"):
        for one in values.get(name) or ():
            found.append(one.get("errorCode", 0) if isinstance(one, Mapping) else 0)
            if api in ("OffsetCommit", "OffsetFetch") and isinstance(one, Mapping):
                found += [part.get("errorCode", 0) for part in one.get("partitions") or ()]
    if api == "Metadata":
        return 0  # its topics are asked for by others
    return int(max(found, key=abs))


def _by_topic(api: str, values: Mapping[str, Any]) -> Any:
    """The topics in the answer to an OffsetFetch."""
    if api != "OffsetFetch":
        return ()
    groups = [values, *(values.get("groups") or ())]
    return [topic for group in groups for topic in group.get("topics") or ()]


def _answer(
    at: float, request: Asked, values: Mapping[str, Any], found: Mapping[Partition, int]
) -> Told:
    error = error_of(request.api, values)
    more: dict[str, Any] = {"offsets": {p: offset for p, offset in found.items() if offset >= 0}}
    if request.api == "Metadata":
        topics = values.get("topics") or ()
        more["partitions"] = {t["name"]: len(t["partitions"]) for t in topics if t.get("name")}
    elif request.api == "JoinGroup":
        more |= {
            "member": values.get("memberId", ""),
            "generation": values.get("generationId", NO_GENERATION),
            "protocol": values.get("protocolName") or "",
            "seats": tuple(map(_seated, values.get("members") or ())),
        }
    elif request.api == "SyncGroup" and not error:
        more |= {"share": read_share(values.get("assignment", b"")) or NOTHING}
    return Told(at, request.number, error, **more)


def _listed(protocol: Mapping[str, Any]) -> Listed:
    said, wrong = read_subscription(protocol["metadata"])
    return Listed(protocol["name"][:NAMES], frozenset(said.topics), frozenset(said.owned), wrong)


def _seated(member: Mapping[str, Any]) -> MemberSeat:
    said, _ = read_subscription(member["metadata"])
    instance = member.get("groupInstanceId")
    return MemberSeat(member["memberId"], instance, frozenset(said.topics), frozenset(said.owned))
