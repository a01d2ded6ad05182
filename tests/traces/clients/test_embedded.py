"""Programs with a Kafka client inside, and kafka-node, are read in their own words."""

from __future__ import annotations

import pytest

from groupcheck.traces.causes.diagnosis import Diagnosis, diagnose
from groupcheck.traces.causes.evidence import Evidence
from groupcheck.traces.causes.knowledge import shipped_knowledge
from groupcheck.traces.clients.client_log import ClientLog
from groupcheck.traces.clients.statement import Statement
from groupcheck.traces.facts.values import named_partitions

CLICKHOUSE = "2023.05.01 10:00:00.123456 [ 123 ] {{}} <Trace> StorageKafka (queue): {}"
ARROYO = "2024-05-01 10:00:00,000 [INFO] arroyo.processing.processor: {}"
NODE = "kafka-node:ConsumerGroup {} +5ms"
ID = "kafka-node-client-bbbbbbbb-1111-1111-1111-111111111111"
RESPONSE = (
    'joinGroupResponse {"members":[],"generationId":5,"groupProtocol":"roundrobin",'
    f'"leaderId":"{ID}","memberId":"{ID}"}} from kafka-node-client'
)


def statements(*lines: str) -> list[Statement]:
    return list(ClientLog().statements(enumerate(lines, 1)))


def diagnosed(*lines: str) -> Diagnosis:
    evidence = Evidence()
    evidence.add_all(iter(statements(*lines)))
    return diagnose(evidence.by_group()[0], shipped_knowledge())


@pytest.mark.parametrize(
    ("line", "kind", "partitions"),
    [
        (CLICKHOUSE.format("Topics/partitions assigned: [ e[0:#], a.b[1:#] ]"), "assigned",
         ["e-0", "a.b-1"]),
        (CLICKHOUSE.format("Rebalance initiated. Revoking partitions: [ e[0:100] ]"), "revoked",
         ["e-0"]),
        (CLICKHOUSE.format("Got empty assignment: Not enough partitions in the topic for all"
                           " consumers?"), "assigned", []),
        (ARROYO.format("New partitions assigned: {Partition(topic=Topic(name='e'), index=3): 1}"),
         "assigned", ["e-3"]),
        (ARROYO.format('New partitions assigned: {Partition { topic: Topic("e"), index: 3 }: 12}'),
         "assigned", ["e-3"]),
        (ARROYO.format("Partitions revoked: [Partition(topic=Topic(name='e'), index=3)]"),
         "revoked", ["e-3"]),
    ],
)  # fmt: skip
def test_an_assignment_is_read(line: str, kind: str, partitions: list[str]) -> None:
    (said,) = statements(line)
    assert (said.kind, said.library, named_partitions(said)) == (kind, "librdkafka", partitions)


def test_the_same_words_of_an_application_are_not_librdkafka_s() -> None:
    some = statements("10:00:00 [ASSIGNED] New partitions assigned: [t-0]")
    assert all(said.library != "librdkafka" for said in some)


def test_clickhouse_that_polls_late_is_told_so() -> None:
    late = (
        "[rdk:MAXPOLL] [thrd:main]: Application maximum poll interval (300000ms) exceeded by 255ms"
        " (adjust max.poll.interval.ms for long-running message processing): leaving group"
    )
    (cause,) = diagnosed(CLICKHOUSE.format(late)).causes
    assert cause.cause.kind == "poll_timeout"


def test_kafka_node_tells_its_join() -> None:
    found = NODE.format("GroupCoordinator Response: { coordinatorHost: 'b1', coordinatorId: 1 }")
    some = statements(found, NODE.format(RESPONSE), NODE.format("SyncGroup Response"))
    assert [s.kind for s in some] == ["coordinator_found", "joined", "synced"]
    joined = some[1]
    assert (joined.library, joined.member, joined.fields["generation"]) == ("kafka-node", ID, 5)
    again = NODE.format(f"RECOVERY: {ID} retrying RebalanceInProgress")
    assert "rejoin_requested" in {s.kind for s in statements(again)}
