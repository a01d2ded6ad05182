"""The coordinator behind its sockets: a real client works with it, it can be moved, and bytes of
anybody do no harm.
"""

from __future__ import annotations

import random
import socket
import time
from collections.abc import Callable

import kafka
import pytest
from node_asker import PATIENCE_S, Asker

from groupcheck.model.engine import UserError
from groupcheck.oracles.coordinator.served import Coordinator, coordinator
from groupcheck.oracles.wire.serving import LOOPBACK
from groupcheck.traces.messages.apis import APIS, request_bytes


def wait(until: Callable[[], object]) -> None:
    end = time.monotonic() + PATIENCE_S
    while not until():
        assert time.monotonic() < end
        time.sleep(0.01)


def consumer(served: Coordinator) -> kafka.KafkaConsumer:
    return kafka.KafkaConsumer(
        "t",
        bootstrap_servers=served.address,
        group_id="g",
        enable_auto_commit=False,
        auto_offset_reset="earliest",
        session_timeout_ms=3_000,
        heartbeat_interval_ms=100,
        retry_backoff_ms=20,
        fetch_max_wait_ms=50,
    )


def test_a_real_client_reads_commits_follows_the_coordinator_and_leaves():
    with coordinator(topics={"t": 2}, records=3, nodes=2) as served:
        one = consumer(served)
        read: list[bytes] = []

        # A poll that ends before the second SyncGroup is answered, on a busy machine, loses the
        # assignment for ever: kafka-python 3.0.12 asks `need_rejoin` again, which its own leader
        # has answered meanwhile (`_assignment_snapshot`), and never awaits the join that goes on.
        def reads(count: int) -> bool:
            for records in one.poll(timeout_ms=PATIENCE_S * 1_000).values():
                read.extend(record.value for record in records)
            return len(read) >= count

        wait(lambda: reads(6))
        assert sorted(read) == [f"t-{p}@{k}".encode() for p in range(2) for k in range(3)]
        one.commit()
        assert served.committed("g") == {("t", 0): 3, ("t", 1): 3}
        group = served.group("g")
        assert group is not None and group["groupState"] == "Stable"
        assert served.move() == 1
        served.produce("t", 1, b"after the move")
        wait(lambda: reads(7))
        assert read[6:] == [b"after the move"]
        one.commit()
        assert served.committed("g")["t", 1] == 4
        again = served.group("g")
        assert again is not None and again["generationId"] == group["generationId"]
        one.close()
        wait(lambda: served.group("g")["groupState"] == "Empty")  # type: ignore[index]
        assert served.server.log.forgotten == 0
        assert {noted.why for noted in served.log if noted.what == "refused"} == set()


def test_without_a_coordinator_there_is_none_until_the_groups_have_moved():
    with coordinator(nodes=2) as served:
        ask = Asker(served.address)
        beat = {"groupId": "g", "memberId": "nobody", "generationId": 1}
        served.lose()
        assert ask("FindCoordinator", 2, key="g")["errorCode"] == 15
        assert ask("Heartbeat", 4, **beat)["errorCode"] == 16
        assert ask("ListGroups", 4)["errorCode"] == 0
        assert served.move() == 1
        found = ask("FindCoordinator", 2, key="g")
        assert (found["errorCode"], found["port"]) == (0, served.server.ports[1])
        assert ask("Heartbeat", 4, **beat)["errorCode"] == 25
        assert ask("DescribeGroups", 5, groups=["g"])["groups"][0]["groupState"] == "Dead"


def test_bytes_of_anybody_end_only_their_connection():
    dice = random.Random(3)
    with coordinator() as served:
        for number in range(300):
            about = dice.choice([APIS[key] for key in sorted(served.server.offered)])
            oldest, newest = served.server.offered[about.key]
            raw = bytearray(request_bytes(about, dice.randint(oldest, newest), number, "x", {}))
            for _ in range(dice.randint(0, 4)):
                raw[dice.randrange(12, len(raw))] = dice.randrange(256)
            peer = socket.create_connection((LOOPBACK, served.server.ports[1]))
            peer.sendall(raw)
            peer.close()
        wait(lambda: served.server.requests + _refused(served) >= 300)
        assert 0 < _refused(served) < 300
        assert served.group("nobody") is None  # it still answers


def _refused(served: Coordinator) -> int:
    return sum(noted.what == "refused" for noted in served.log)


WRONG = {
    "--nodes": {"nodes": 0},
    "--records": {"records": 1_000, "topics": {"t": 1_000, "u": 1}},
    "--topic t": {"topics": {"t": 0}},
    "--max-size": {"max_size": 16},
    "--min-session": {"min_session_ms": 0},
    "--mutation": {"mutation": "keeps_partitions_when_lost"},  # a bug of members
}


@pytest.mark.parametrize(("where", "settings"), WRONG.items())
def test_settings_that_do_not_fit_are_refused(where, settings):
    with pytest.raises(UserError) as raised, coordinator(**settings):
        pass
    assert raised.value.where == where
