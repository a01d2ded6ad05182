"""What a cluster answers about versions, topics, coordinators and records."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from node_asker import Asker

from groupcheck.oracles.wire.cluster import LATEST, OFFERED, Cluster, topic_id
from groupcheck.oracles.wire.records import batches
from groupcheck.oracles.wire.serving import Arrival, Server, in_background
from groupcheck.traces.messages.apis import api

EARLIEST = -2


class OnlyCluster:
    """A cluster whose groups are at the second node."""

    def __init__(self) -> None:
        self.cluster = Cluster(
            {"g": 2}.get,
            configs={"group.max.size": "5", "other": "x"},
        )

    def arrived(self, request: Arrival) -> None:
        pass

    def handle(self, request: Arrival) -> None:
        assert self.cluster.answers(request)


@pytest.fixture
def handler() -> OnlyCluster:
    return OnlyCluster()


@pytest.fixture
def server(handler: OnlyCluster) -> Iterator[Server]:
    with in_background(Server(handler, OFFERED, nodes=2)) as server:
        handler.cluster.server = server
        handler.cluster.create("t", 2)  # the first partition at the first node
        handler.cluster.fill("t", 0, 250)
        yield server


@pytest.fixture
def ask(server: Server) -> Asker:
    return Asker(server.address)


def test_versions_are_told_in_each_version_and_in_the_oldest_to_a_newer_client(ask):
    for version in range(5):
        keys = ask("ApiVersions", version)["apiKeys"]
        assert {k["apiKey"]: (k["minVersion"], k["maxVersion"]) for k in keys} == OFFERED
    newer = ask("ApiVersions", 60, answered=0)  # KIP-511
    assert newer["errorCode"] == 35
    assert [k["apiKey"] for k in newer["apiKeys"]] == [api("ApiVersions").key]


@pytest.mark.parametrize("version", [0, 1, 7, 9, 12, 13])
def test_metadata_names_nodes_and_leaders(ask, server, version):
    told = ask("Metadata", version, topics=[{"name": "t"}, {"name": "bad/name"}])
    assert [b["port"] for b in told["brokers"]] == [server.ports[1], server.ports[2]]
    known, unknown = told["topics"]
    assert [p["leaderId"] for p in known["partitions"]] == [1, 2]
    assert unknown["errorCode"] == 3
    if version >= 12:
        by_id = ask("Metadata", version, topics=[{"topicId": topic_id("t"), "name": None}])
        assert by_id["topics"][0]["name"] == "t"


def test_a_topic_that_somebody_asks_for_is_made_unless_it_says_otherwise(ask):
    assert ask("Metadata", 4, topics=[{"name": "n"}], allowAutoTopicCreation=False)["topics"][0][
        "errorCode"
    ]
    assert len(ask("Metadata", 4, topics=[{"name": "n"}])["topics"][0]["partitions"]) == 1
    every = ask("Metadata", 4, topics=None)["topics"]
    assert {topic["name"] for topic in every} == {"t", "n"}


def test_a_node_that_is_down_is_not_named(ask, server):
    server.call(lambda: server.shut(2))
    assert [b["nodeId"] for b in ask("Metadata", 9, topics=[])["brokers"]] == [1]


@pytest.mark.parametrize("version", [0, 1, 3, 4, 6])
def test_the_coordinator_is_found_for_one_group_and_for_several(ask, server, version):
    if version < 4:
        told = ask("FindCoordinator", version, key="g")
        assert (told["nodeId"], told["port"]) == (2, server.ports[2])
        assert ask("FindCoordinator", version, key="x")["errorCode"] == 15
    else:
        told = ask("FindCoordinator", version, coordinatorKeys=["g", "x"])["coordinators"]
        found = [(c["key"], c["errorCode"], c["nodeId"]) for c in told]
        assert found == [("g", 0, 2), ("x", 15, -1)]


def fetch(ask, version: int, offset: int, partition: int = 0, wait: int = 0, **more):
    entry = {"topicId": topic_id("t")} if version >= 13 else {"topic": "t"}
    one = {"partition": partition, "fetchOffset": offset, "partitionMaxBytes": 1 << 20, **more}
    given = {"maxWaitMs": wait, "maxBytes": 1 << 20}
    told = ask("Fetch", version, topics=[{**entry, "partitions": [one]}], **given)
    return told["responses"][0]["partitions"][0]


@pytest.mark.parametrize("version", [4, 7, 11, 12, 13, 16, 18])
def test_records_are_fetched_from_the_batch_that_has_the_offset(ask, version):
    told = fetch(ask, version, 120)
    assert (told["errorCode"], told["highWatermark"]) == (0, 250)
    assert [(b.first, b.count) for b in batches(told["records"])] == [(100, 100), (200, 50)]
    first = fetch(ask, version, 0, partitionMaxBytes=1)  # one batch at least
    assert [b.first for b in batches(first["records"])] == [0]
    assert fetch(ask, version, 250)["records"] == b""
    assert fetch(ask, version, 251)["errorCode"] == 1
    assert fetch(ask, version, 0, partition=1)["errorCode"] == 6  # the other node leads it
    assert fetch(ask, version, 0, partition=2)["errorCode"] == (100 if version >= 13 else 3)


def test_a_fetch_session_is_never_begun_and_an_old_one_is_unknown(ask):
    assert ask("Fetch", 7, sessionId=0, sessionEpoch=0, maxWaitMs=0)["sessionId"] == 0
    assert ask("Fetch", 7, sessionId=5, sessionEpoch=1, maxWaitMs=0)["errorCode"] == 70


def test_a_fetch_waits_for_records(ask, server, handler):
    def produce() -> None:
        if handler.cluster._fetching:
            handler.cluster.fill("t", 0, 1)
        else:
            server.later(0.001, produce)

    server.post(produce)
    told = fetch(ask, 12, 250, wait=60_000)
    assert [b.first for b in batches(told["records"])] == [250]


@pytest.mark.parametrize("version", [1, 4, 7, 10])
def test_offsets_are_listed(ask, version):
    def listed(timestamp: int, partition: int = 0) -> tuple[int, int]:
        one = {"partitionIndex": partition, "timestamp": timestamp}
        told = ask("ListOffsets", version, topics=[{"name": "t", "partitions": [one]}])
        found = told["topics"][0]["partitions"][0]
        return found["errorCode"], found["offset"]

    assert listed(LATEST) == (0, 250) and listed(EARLIEST) == (0, 0)
    assert listed(1) == (0, 0) and listed(1 << 50) == (0, -1)
    assert listed(LATEST, 1) == (6, -1) and listed(LATEST, 2) == (3, -1)


@pytest.mark.parametrize("version", [3, 9, 13])
def test_records_are_produced(ask, version):
    raw = batches(fetch(ask, 12, 240)["records"])[0].raw
    entry = {"topicId": topic_id("t")} if version >= 13 else {"name": "t"}

    def produced(records: bytes, index: int = 0) -> tuple[int, int]:
        data = [{**entry, "partitionData": [{"index": index, "records": records}]}]
        told = ask("Produce", version, acks=-1, topicData=data)["responses"][0]
        found = told["partitionResponses"][0]
        return found["errorCode"], found["baseOffset"]

    assert produced(raw) == (0, 250) and produced(raw) == (0, 300)
    assert produced(raw[:-1] + b"!") == (2, -1)
    assert produced(raw, 1) == (6, -1)
    assert [b.first for b in batches(fetch(ask, 12, 260)["records"])] == [250, 300]


TOPICS = {"new": (3, 0), "of.the-default_": (-1, 0), "t": (1, 36), "x": (0, 37), "é": (1, 17)}


@pytest.mark.parametrize("by_themselves", [0, 2])
def test_topics_are_created_even_where_none_is_made_by_itself(ask, handler, by_themselves):
    handler.cluster.new_partitions = by_themselves
    asked = [{"name": name, "numPartitions": n} for name, (n, _) in TOPICS.items()]
    told = ask("CreateTopics", 7, topics=asked)["topics"]
    assert {t["name"]: t["errorCode"] for t in told} == {n: code for n, (_, code) in TOPICS.items()}
    assert len(handler.cluster.topics["of.the-default_"]) == (by_themselves or 1)


def test_settings_are_told(ask):
    resources = [{"resourceType": 4, "resourceName": "1", "configurationKeys": ["group.max.size"]}]
    told = ask("DescribeConfigs", 4, resources=resources)["results"][0]["configs"]
    assert [(c["name"], c["value"]) for c in told] == [("group.max.size", "5")]
    assert ask("InitProducerId", 4, transactionalId=None)["producerId"] == 1
