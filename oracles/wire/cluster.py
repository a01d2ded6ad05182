"""The ordinary part of a cluster: topics with records, which node leads what, where the coordinator
of a group is. Answers requests that concern no group as a broker of Apache Kafka does.

Records are kept in memory. There are no replicas, no transactions, no fetch sessions (KIP-227 lets
a broker refuse them), no access control.
"""

from __future__ import annotations

import re
import time
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any
from uuid import NAMESPACE_URL, UUID, uuid5

from attrs import Factory, define, field

from groupcheck.oracles.wire.records import Batch, Record, batch, batches
from groupcheck.oracles.wire.serving import LOOPBACK, Arrival, Server
from groupcheck.traces.messages.apis import api
from groupcheck.traces.messages.message_bytes import Malformed

CLUSTER = "groupcheck"
OFFSET_OUT_OF_RANGE, CORRUPT_MESSAGE, UNKNOWN_TOPIC, NOT_LEADER = 1, 2, 3, 6
COORDINATOR_NOT_AVAILABLE, INVALID_TOPIC, UNSUPPORTED_VERSION, TOPIC_EXISTS = 15, 17, 35, 36
INVALID_PARTITIONS, POLICY_VIOLATION, UNKNOWN_SESSION, UNKNOWN_TOPIC_ID = 37, 44, 70, 100
NAME = re.compile(r"(?!\.\.?$)[a-zA-Z0-9._-]{1,249}")  # of a topic (Topic.validate)
LATEST, MAX_TIMESTAMP = -1, -3
IN_BATCH = 100  # records that are made at once
LONGEST_FETCH_S = 1.0
MOST_TOPICS, MOST_PARTITIONS = 1_000, 1_000
MOST_BYTES = 256 << 20  # of records
BROKER_RESOURCE = 4
STATIC_BROKER_CONFIG = 4

# The APIs that are answered here, in the versions in which Kafka 4.3 has them.
OFFERED = {
    api(name).key: (oldest, api(name).newest)
    for name, oldest in {
        "Produce": 3,
        "Fetch": 4,
        "ListOffsets": 1,
        "Metadata": 0,
        "FindCoordinator": 0,
        "ApiVersions": 0,
        "CreateTopics": 2,
        "InitProducerId": 0,
        "DescribeConfigs": 1,
    }.items()
}


@define(eq=False)
class Partition:
    """The log of a partition."""

    # The node that leads it.
    leader: int
    batches: list[Batch] = Factory(list)

    @property
    def end(self) -> int:
        """The offset behind the last record."""
        return self.batches[-1].end if self.batches else 0

    def fetched(self, offset: int, most: int) -> bytes:
        """The batches from the one with this offset on, as many as fit into `most` bytes, at least
        one.
        """
        out = b""
        first = bisect_right(self.batches, offset, key=lambda one: one.end)
        for k in range(first, len(self.batches)):
            raw = self.batches[k].raw
            if out and len(out) + len(raw) > most:
                break
            out += raw
        return out

    def at_time(self, timestamp_ms: int) -> tuple[int, int]:
        """The first batch that begins at that time or later: its offset and its timestamp."""
        for one in self.batches:
            if one.timestamp_ms >= timestamp_ms:
                return one.first, one.timestamp_ms
        return -1, -1


@define(eq=False)
class Cluster:
    """Topics and nodes. `server` is set before the first request comes."""

    # Where the coordinator of a group is: its node, or None if there is none now.
    coordinator: Callable[[str], int | None]
    # Properties of a broker that DescribeConfigs tells.
    configs: Mapping[str, str] = field(factory=dict)
    # The nodes that lead partitions, in turn; empty: all.
    leaders: Sequence[int] = ()
    # Partitions of a topic that is made because somebody asks for it; 0: none is made.
    new_partitions: int = 1
    server: Server = field(init=False)
    topics: dict[str, list[Partition]] = Factory(dict)
    _ids: dict[UUID, str] = Factory(dict)
    _fetching: dict[int, Arrival] = Factory(dict)
    _producers: int = 0
    _bytes: int = 0

    # -- Topics and records

    def create(self, topic: str, partitions: int) -> None:
        """Makes a topic."""
        nodes = self.leaders or sorted(self.server.ports)
        self.topics[topic] = [Partition(nodes[k % len(nodes)]) for k in range(partitions)]
        self._ids[topic_id(topic)] = topic

    def grow(self, topic: str) -> None:
        """Adds a partition to a topic."""
        nodes, logs = self.leaders or sorted(self.server.ports), self.topics[topic]
        logs.append(Partition(nodes[len(logs) % len(nodes)]))

    def append(self, topic: str, partition: int, records: Sequence[Record]) -> None:
        """Writes records, and answers who waits for them."""
        log = self.topics[topic][partition]
        for first in range(0, len(records), IN_BATCH):
            some = records[first : first + IN_BATCH]
            self._store(log, batch(log.end, some, time.time_ns() // 1_000_000))
        self._wake()

    def fill(self, topic: str, partition: int, count: int) -> None:
        """Writes so many records; the value of each says where it stands."""
        end = self.topics[topic][partition].end
        values = (f"{topic}-{partition}@{end + k}".encode() for k in range(count))
        self.append(topic, partition, [Record(None, value) for value in values])

    def _store(self, log: Partition, one: Batch) -> None:
        self._bytes += len(one.raw)
        if self._bytes > MOST_BYTES:
            raise Malformed("too many records")
        log.batches.append(one)

    def partition(self, topic: str, number: int) -> Partition | None:
        """The partition; None if there is none."""
        found = self.topics.get(topic, ())
        return found[number] if 0 <= number < len(found) else None

    def name_of(self, entry: Mapping[str, Any], field_name: str = "name") -> str | None:
        """The topic that an entry of a request names, by its name or its id; None if the id is
        unknown.
        """
        name: str | None = entry.get(field_name)
        return name if name is not None else self._ids.get(entry["topicId"])

    # -- Requests

    def answers(self, request: Arrival) -> bool:
        """Answers the request if it concerns no group. False: it does."""
        answer = _ANSWERS.get(request.api.name)
        if answer is None:
            return False
        answer(self, request)
        return True

    def _api_versions(self, request: Arrival) -> None:
        """Newer versions than are known are answered in version 0 (KIP-511)."""
        offered = self.server.offered.items()
        keys = [{"apiKey": k, "minVersion": a, "maxVersion": b} for k, (a, b) in sorted(offered)]
        if request.unknown_version:
            keys = [entry for entry in keys if entry["apiKey"] == request.api.key]
            request.answer({"errorCode": UNSUPPORTED_VERSION, "apiKeys": keys}, version=0)
        else:
            request.answer({"errorCode": 0, "apiKeys": keys})

    def _metadata(self, request: Arrival) -> None:
        asked = request.values["topics"]
        everything = asked is None or (not asked and request.version == 0)
        makes = request.values.get("allowAutoTopicCreation", True)
        every: list[dict[str, Any]] = [{"name": name} for name in self.topics]
        topics = []
        for entry in every if everything else asked:
            name = self.name_of(entry)
            if name is not None and makes and not everything and self._may_make(name):
                self.create(name, self.new_partitions)
            topics.append(self._topic(name, entry))
        request.answer(
            {
                "brokers": [
                    {"nodeId": node, "host": LOOPBACK, "port": self.server.ports[node]}
                    for node in self.server.up
                ],
                "clusterId": CLUSTER,
                "controllerId": min(self.server.up, default=-1),
                "topics": topics,
            }
        )

    def _may_make(self, name: str) -> bool:
        there = name in self.topics or len(self.topics) >= MOST_TOPICS
        return not there and bool(self.new_partitions and NAME.fullmatch(name))

    def _topic(self, name: str | None, entry: Mapping[str, Any]) -> dict[str, Any]:
        if name is None:
            return {"errorCode": UNKNOWN_TOPIC_ID, "name": None, "topicId": entry["topicId"]}
        partitions = self.topics.get(name)
        if partitions is None:
            return {"errorCode": UNKNOWN_TOPIC, "name": name, "partitions": []}
        told = [
            {
                "errorCode": 0,
                "partitionIndex": k,
                "leaderId": one.leader,
                "leaderEpoch": 0,
                "replicaNodes": [one.leader],
                "isrNodes": [one.leader],
            }
            for k, one in enumerate(partitions)
        ]
        return {"errorCode": 0, "name": name, "topicId": topic_id(name), "partitions": told}

    def _find_coordinator(self, request: Arrival) -> None:
        several = "coordinatorKeys" in request.values
        keys = request.values["coordinatorKeys"] if several else [request.values["key"]]
        found = [{"key": key, **self._coordinator(key)} for key in keys]
        request.answer({"coordinators": found} if several else found[0])

    def _coordinator(self, key: str) -> dict[str, Any]:
        node = self.coordinator(key)
        if node is None:
            why = "The coordinator is not available."
            code = COORDINATOR_NOT_AVAILABLE
            return {"errorCode": code, "errorMessage": why, "nodeId": -1, "host": "", "port": -1}
        port = self.server.ports[node]
        return {"errorCode": 0, "errorMessage": "", "nodeId": node, "host": LOOPBACK, "port": port}

    def _list_offsets(self, request: Arrival) -> None:
        topics = []
        for entry in request.values["topics"]:
            told = [
                {
                    "partitionIndex": one["partitionIndex"],
                    **self._offset(request.node, entry["name"], one),
                }
                for one in entry["partitions"]
            ]
            topics.append({"name": entry["name"], "partitions": told})
        request.answer({"topics": topics})

    def _offset(self, node: int, topic: str, asked: Mapping[str, Any]) -> dict[str, Any]:
        log = self.partition(topic, asked["partitionIndex"])
        if log is None or log.leader != node:
            return {"errorCode": UNKNOWN_TOPIC if log is None else NOT_LEADER}
        timestamp_ms, when = asked["timestamp"], -1
        if timestamp_ms == LATEST:
            offset = log.end
        elif timestamp_ms == MAX_TIMESTAMP and log.batches:
            offset, when = log.end - 1, log.batches[-1].timestamp_ms
        elif timestamp_ms < 0:  # the earliest, local or not
            offset = 0
        else:
            offset, when = log.at_time(timestamp_ms)
        return {"errorCode": 0, "timestamp": when, "offset": offset, "leaderEpoch": 0}

    # -- Fetch and Produce

    def _fetch(self, request: Arrival) -> None:
        values = request.values
        if values.get("sessionId", 0):
            request.answer({"errorCode": UNKNOWN_SESSION})
        elif self._fetched(request) or values["maxWaitMs"] <= 0:
            self._answer_fetch(request)
        else:
            wait_s = min(values["maxWaitMs"] / 1000, LONGEST_FETCH_S)
            self._fetching[request.number] = request
            self.server.later(wait_s, lambda: self._fetch_over(request))

    def _fetch_over(self, request: Arrival) -> None:
        if self._fetching.pop(request.number, None) is not None:
            self._answer_fetch(request)

    def _wake(self) -> None:
        """Answers those who wait for records that are there now."""
        for request in list(self._fetching.values()):
            if request.lost or self._fetched(request):
                self._fetch_over(request)

    def _asked(self, request: Arrival) -> Iterator[tuple[str | None, Any, Any]]:
        """The partitions of a Fetch: the topic, its entry, the partition's entry."""
        for entry in request.values["topics"]:
            topic = self.name_of(entry, "topic")
            for one in entry["partitions"]:
                yield topic, entry, one

    def _fetched(self, request: Arrival) -> bool:
        """Is there something to tell at once: records, or an error?"""
        found = [
            (log, one["fetchOffset"])
            for topic, _, one in self._asked(request)
            for log in [None if topic is None else self.partition(topic, one["partition"])]
        ]
        return any(
            log is None or log.leader != request.node or offset != log.end for log, offset in found
        )

    def _answer_fetch(self, request: Arrival) -> None:
        left = request.values.get("maxBytes", 1 << 30)
        topics: dict[int, dict[str, Any]] = {}
        for topic, entry, one in self._asked(request):
            log = None if topic is None else self.partition(topic, one["partition"])
            told: dict[str, Any] = {"partitionIndex": one["partition"], "errorCode": 0}
            end, records = -1, b""
            if log is None:
                told["errorCode"] = UNKNOWN_TOPIC if "topic" in entry else UNKNOWN_TOPIC_ID
            elif log.leader != request.node:
                told["errorCode"] = NOT_LEADER
            else:
                end, offset = log.end, one["fetchOffset"]
                if not 0 <= offset <= end:
                    told["errorCode"] = OFFSET_OUT_OF_RANGE
                elif left > 0:
                    records = log.fetched(offset, min(left, one["partitionMaxBytes"]))
                    left -= len(records)
            told |= {"highWatermark": end, "lastStableOffset": end, "logStartOffset": min(end, 0)}
            into = topics.setdefault(
                id(entry),
                {"topic": entry.get("topic"), "topicId": entry.get("topicId"), "partitions": []},
            )
            into["partitions"].append({**told, "records": records})
        request.answer({"responses": list(topics.values())})

    def _produce(self, request: Arrival) -> None:
        responses = []
        for entry in request.values["topicData"]:
            told = []
            for one in entry["partitionData"]:
                offset, code = self._produced(request.node, self.name_of(entry), one)
                told.append({"index": one["index"], "errorCode": code, "baseOffset": offset})
            about = {"name": entry.get("name"), "topicId": entry.get("topicId")}
            responses.append({**about, "partitionResponses": told})
        if request.values["acks"]:
            request.answer({"responses": responses})
        else:
            request.leave_unanswered()
        self._wake()

    def _produced(self, node: int, topic: str | None, one: Mapping[str, Any]) -> tuple[int, int]:
        """The offset of the first record, or -1, and the error code."""
        log = None if topic is None else self.partition(topic, one["index"])
        if log is None or log.leader != node:
            return -1, UNKNOWN_TOPIC if log is None else NOT_LEADER
        first = log.end
        try:
            found = batches(one["records"] or b"")
        except Malformed:
            return -1, CORRUPT_MESSAGE
        for written in found:
            self._store(log, written.moved(log.end))
        return first, 0

    def _init_producer_id(self, request: Arrival) -> None:
        self._producers += 1
        request.answer({"errorCode": 0, "producerId": self._producers, "producerEpoch": 0})

    # -- Administration

    def _create_topics(self, request: Arrival) -> None:
        told = []
        for entry in request.values["topics"]:
            name, count = entry["name"], entry["numPartitions"]
            count = self.new_partitions or 1 if count == -1 else count
            code = 0
            if name in self.topics:
                code = TOPIC_EXISTS
            elif not NAME.fullmatch(name):
                code = INVALID_TOPIC
            elif count < 1:
                code = INVALID_PARTITIONS
            elif count > MOST_PARTITIONS or len(self.topics) >= MOST_TOPICS:
                code = POLICY_VIOLATION
            elif not request.values.get("validateOnly"):
                self.create(name, count)
            told.append({"name": name, "topicId": topic_id(name), "errorCode": code})
        request.answer({"topics": told})

    def _describe_configs(self, request: Arrival) -> None:
        results = []
        for entry in request.values["resources"]:
            wanted = entry["configurationKeys"]
            there = self.configs if entry["resourceType"] == BROKER_RESOURCE else {}
            told = [
                {"name": k, "value": v, "readOnly": True, "configSource": STATIC_BROKER_CONFIG}
                for k, v in there.items()
                if wanted is None or k in wanted
            ]
            about = {k: entry[k] for k in ("resourceType", "resourceName")}
            results.append({"errorCode": 0, "errorMessage": "", **about, "configs": told})
        request.answer({"results": results})


def topic_id(name: str) -> UUID:
    """The id of a topic: the same for the same name."""
    return uuid5(NAMESPACE_URL, f"{CLUSTER}:{name}")


_ANSWERS: Mapping[str, Callable[[Cluster, Arrival], None]] = {
    "ApiVersions": Cluster._api_versions,
    "Metadata": Cluster._metadata,
    "FindCoordinator": Cluster._find_coordinator,
    "ListOffsets": Cluster._list_offsets,
    "Fetch": Cluster._fetch,
    "Produce": Cluster._produce,
    "InitProducerId": Cluster._init_producer_id,
    "CreateTopics": Cluster._create_topics,
    "DescribeConfigs": Cluster._describe_configs,
}
