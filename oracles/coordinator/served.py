"""The coordinator behind its sockets: a cluster of some nodes, one of which coordinates."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from groupcheck.model.protocol.codes import NONE, NOT_COORDINATOR
from groupcheck.oracles.coordinator import administration
from groupcheck.oracles.coordinator.group_request import GroupRequest
from groupcheck.oracles.coordinator.model import Model
from groupcheck.oracles.coordinator.offsets import Offsets
from groupcheck.oracles.coordinator.requests import Groups
from groupcheck.oracles.coordinator.settings import Settings, mutation_named
from groupcheck.oracles.wire.cluster import OFFERED, Cluster
from groupcheck.oracles.wire.records import Record
from groupcheck.oracles.wire.serving import Arrival, LogEntry, Server, Timer, in_background
from groupcheck.traces.messages.apis import api

REMARKS_KEPT = 1_000
REQUESTS: Mapping[str, Callable[[Groups, GroupRequest], None]] = {
    "JoinGroup": Groups.join_group,
    "SyncGroup": Groups.sync_group,
    "Heartbeat": Groups.heartbeat,
    "LeaveGroup": Groups.leave_group,
    "OffsetCommit": Groups.offset_commit,
    "OffsetFetch": lambda groups, request: groups.offsets.fetch(request, groups.load_code),
    "DescribeGroups": administration.describe_groups,
    "ListGroups": administration.list_groups,
    "DeleteGroups": administration.delete_groups,
    "OffsetDelete": administration.offset_delete,
}
_OLDEST = {"OffsetCommit": 2, "OffsetFetch": 1}


def offered() -> dict[int, tuple[int, int]]:
    """The APIs that are served, in the versions of Kafka 4.3: key -> oldest and newest."""
    group = {api(name).key: (_OLDEST.get(name, 0), api(name).newest) for name in REQUESTS}
    return {**OFFERED, **group}


class Coordinator:
    """A handler of the server's requests, and what can be done to it from outside: every method can
    be called by any thread.
    """

    def __init__(self, settings: Settings, note: Callable[[LogEntry], None] | None = None) -> None:
        """`note` hears every entry of the log. Raises `UserError` for a mutation that is not
        served, and for a port that is taken.
        """
        self.settings = settings
        self._node: int | None = settings.nodes
        self._timer: Timer | None = None
        # Refusals that Kafka would not have made.
        self.remarks: deque[str] = deque(maxlen=REMARKS_KEPT)
        self._cluster = Cluster(
            lambda group: self._node,
            configs=settings.configs,
            new_partitions=settings.new_partitions,
        )
        mutation = mutation_named(settings.mutation)
        self._groups = Groups(
            model=Model(mutation, settings.max_size),
            offsets=Offsets(self._cluster),
            session_ms=(settings.min_session_ms, settings.max_session_ms),
            delay_s=settings.delay_ms / 1000,
            load_s=settings.load_ms / 1000,
            say=self.remarks.append,
        )
        self._groups.model.start()  # what takes time is done before the first request comes
        self.server = Server(self, offered(), settings.nodes, settings.port, note=note)
        self._cluster.server = self.server
        for topic, partitions in settings.topics.items():
            self._cluster.create(topic, partitions)
            for partition in range(partitions if settings.records else 0):
                self._cluster.fill(topic, partition, settings.records)

    # -- A handler

    def arrived(self, request: Arrival) -> None:
        """Nothing is done before its turn."""

    def handle(self, request: Arrival) -> None:
        if self._cluster.answers(request):
            return
        if request.node != self._node:
            request.answer(refusal(request, NOT_COORDINATOR))
        else:
            REQUESTS[request.api.name](self._groups, request)
            self._wait()

    def _wait(self) -> None:
        """Sets the one timer for what happens next by itself."""
        due = self._groups.next_due
        if due is not None and (self._timer is None or due < self._timer.at):
            self._timer = self.server.later(max(0.0, due - time.monotonic()), self._advance)

    def _advance(self) -> None:
        self._timer = None
        self._groups.advance()
        self._wait()

    # -- From outside

    @property
    def address(self) -> str:
        """For bootstrap.servers."""
        return self.server.address

    def move(self, node: int | None = None) -> int:
        """The groups move to another node (the next one, if none is given), which loads them; what
        waits ends with NOT_COORDINATOR. The number of the node.
        """

        def act() -> int:
            nodes = sorted(self.server.ports)
            at = nodes.index(self._node) if self._node in nodes else -1
            self._node = nodes[(at + 1) % len(nodes)] if node is None else node
            self._groups.fail_over()
            self._wait()
            return self._node

        return self.server.call(act)

    def lose(self) -> None:
        """There is no coordinator (COORDINATOR_NOT_AVAILABLE), until `move`."""

        def act() -> None:
            self._node = None

        self.server.call(act)

    def shut(self, node: int) -> None:
        """The node is gone, with its connections, until `open`."""
        self.server.call(lambda: self.server.shut(node))

    def open(self, node: int) -> None:
        """The node is there again."""
        self.server.call(lambda: self.server.open(node))

    def produce(self, topic: str, partition: int, *values: bytes) -> None:
        """Writes records with these values."""
        records = [Record(None, value) for value in values]
        self.server.call(lambda: self._cluster.append(topic, partition, records))

    @property
    def groups(self) -> list[str]:
        """The names of all groups."""
        return self.server.call(lambda: list(self._groups.groups))

    def group(self, name: str) -> dict[str, Any] | None:
        """The group in the fields of DescribeGroups, with its generation; None if there is none."""

        def act() -> dict[str, Any] | None:
            found = self._groups.groups.get(name)
            if found is None:
                return None
            return {**administration.described(found), "generationId": found.generation}

        return self.server.call(act)

    def committed(self, group: str) -> dict[tuple[str, int], int]:
        """The committed offsets of a group, by topic and partition."""

        def act() -> dict[tuple[str, int], int]:
            return {at: found.offset for at, found in self._groups.offsets.of(group).items()}

        return self.server.call(act)

    @property
    def log(self) -> list[LogEntry]:
        """All that came and went, the oldest first, as far as it is kept."""
        return self.server.call(lambda: list(self.server.log))


def refusal(request: Arrival, code: int) -> dict[str, Any]:
    """The answer to a request of a group with this error, and nothing else."""
    values, name = request.values, request.api.name
    if name in ("OffsetCommit", "OffsetDelete"):
        topics = [
            {
                **{key: entry[key] for key in ("name", "topicId") if key in entry},
                "partitions": [
                    {"partitionIndex": one["partitionIndex"], "errorCode": code}
                    for one in entry["partitions"]
                ],
            }
            for entry in values["topics"]
        ]
        return {"errorCode": code, "topics": topics}
    if name == "OffsetFetch":
        groups = [{"groupId": g["groupId"], "errorCode": code} for g in values.get("groups", ())]
        return {"errorCode": code, "groups": groups}
    if name == "DescribeGroups":
        return {"groups": [{"errorCode": code, "groupId": g} for g in values["groups"]]}
    if name == "DeleteGroups":
        return {"results": [{"errorCode": code, "groupId": g} for g in values["groupsNames"]]}
    if name == "ListGroups":  # those of other nodes are not its business
        return {"errorCode": NONE, "groups": []}
    if name == "JoinGroup":
        return {"errorCode": code, "protocolName": "", "memberId": values["memberId"]}
    return {"errorCode": code}


@contextmanager
def coordinator(
    *, note: Callable[[LogEntry], None] | None = None, **settings: Any
) -> Iterator[Coordinator]:
    """The model's coordinator as a server on the loopback, as long as the context lasts; `settings`
    are those of `Settings`.

        with coordinator(topics={"orders": 4}, records=100) as server:
            consumer = KafkaConsumer("orders", bootstrap_servers=server.address, group_id="g")

    Raises `UserError` for settings that do not fit. What the server itself does wrong is raised at
    the end.
    """
    served = Coordinator(Settings(**settings), note)
    with in_background(served.server):
        yield served
