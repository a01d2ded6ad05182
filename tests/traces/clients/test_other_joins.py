"""To join, leave, synchronize and assign is said of other things than members of groups, too: of a
partition in librdkafka, of threads, brokers, and of members of other systems.
"""

from __future__ import annotations

import pytest

from groupcheck.traces.causes.diagnosis import diagnose
from groupcheck.traces.causes.evidence import Evidence
from groupcheck.traces.causes.knowledge import shipped_knowledge
from groupcheck.traces.clients.client_log import ClientLog
from groupcheck.traces.facts.steps import steps_told

MEMBERSHIP = {
    "joining", "joined", "synced", "assigned", "revoked", "left", "closed", "leading", "lost",
    "rebalancing", "rejoin_requested",
}  # fmt: skip
RDKAFKA = "%7|1700000000.102|{}|a#consumer-1| [thrd:main]: {}"
JSON = '{{"level":"info","ts":1700000000.1,"{}":"{}","name":"other"}}'
OTHERS = [
    RDKAFKA.format("OP", "t [0] received op PARTITION_JOIN (v0) in fetch-state none (opv1)"),
    RDKAFKA.format("CGRPOP", 'Group "g" received op PARTITION_JOIN in state up'),
    RDKAFKA.format("CGRPOP", 'Group "g" received op PARTITION_LEAVE in state up'),
    RDKAFKA.format("BRKJOIN", "b1:9092/1: t [0]: leaving broker (0 messages in xmitq)"),
    RDKAFKA.format("TOPBRK", "b1:9092/1: Topic t [0]: joining broker (rktp 0x7f)"),
    RDKAFKA.format("TERM", "Joining internal main thread"),
    RDKAFKA.format("TERMINATE", "Join broker threads"),
    *(JSON.format(key, word) for key in ("msg", "message")
      for word in ("joining group", "joined", "synced", "leaving group")),
    "10:00:00 INFO JGroups - node1: joining group cluster-a",
    "10:00:00 INFO Cluster Node [akka://app@h:2552] - Welcome from [akka://app@i], joining cluster",
    "10:00:00 INFO Rebalance started",
    "10:00:00 INFO Rebalance failed.",
    "10:00:00 INFO Rebalancing Complete.",
    "10:00:00 INFO Finished assignment: 42",
    "10:00:00 INFO Consumer stopped",
    "10:00:00 INFO I am elected leader for shard 5",
    "10:00:00 INFO Chosen as group leader",
    "[2024-01-01 10:00:00,000] INFO [ReplicaFetcherManager on broker 0] Removed fetcher for"
    " partitions Set(t-0) (kafka.server.ReplicaFetcherManager)",
]  # fmt: skip


@pytest.mark.parametrize("line", OTHERS)
def test_a_line_about_something_else_tells_of_no_membership(line: str) -> None:
    assert {s.kind for s in ClientLog().statements([(1, line)])} & MEMBERSHIP == set()


@pytest.mark.parametrize(
    "line",
    [
        '{"level":"INFO","msg":"joining group","group":"g"}',
        "[Worker clientId=w-1, groupId=g] Rebalance started"
        " (org.apache.kafka.connect.runtime.distributed.WorkerCoordinator:217)",
        "10:00:00 INFO o.s.k.l.KafkaMessageListenerContainer : Consumer stopped",
    ],
)
def test_the_same_words_of_a_known_library_tell_of_one(line: str) -> None:
    assert {s.kind for s in ClientLog().statements([(1, line)])} & MEMBERSHIP


def test_a_partition_that_joins_what_is_read_is_no_join_of_a_group() -> None:
    """It does so after assign(), without any group protocol, too (rd_kafka_cgrp_partition_add)."""
    add = RDKAFKA.format("PARTADD", 'Group "g": add t [0]')
    joins = RDKAFKA.format("PARTJOIN", 'Group "g": t [0]: joining')
    delete = RDKAFKA.format("PARTDEL", 'Group "g": delete t [0]')
    evidence = Evidence()
    evidence.add_all(ClientLog().statements(enumerate([add, joins, delete], 1)))
    (group,) = evidence.by_group()
    found = diagnose(group, shipped_knowledge())
    assert found.healthy == () and "join" not in str([f.text for f in found.candidates])
    (steps,) = steps_told(group.all(), True)
    assert "adds partitions to those that it reads" in steps.text
    assert "is given its partitions" not in steps.text
    assert [m.rounds for m in group.story.members] == [[]]
