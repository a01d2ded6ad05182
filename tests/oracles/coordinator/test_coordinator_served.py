"""The coordinator behind its sockets: the model's walk over the wire finds nothing wrong, a known
bug is found, a real client works with it, and bytes of anybody do no harm.
"""

from __future__ import annotations

import random
import socket
import time
from collections.abc import Callable

import kafka
import pytest
from groupcheck.oracles.conform.live.live import explore, rows_of
from groupcheck.oracles.conform.live.subscribing import TOPIC

from groupcheck.model.engine import UserError
from groupcheck.oracles.coordinator.served import Coordinator, coordinator
from groupcheck.oracles.wire.serving import LOOPBACK
from groupcheck.oracles.wire.sockets import Connections
from groupcheck.traces.messages.apis import APIS, api, request_bytes

KAFKA = {"topics": {TOPIC: 1}, "min_session_ms": 6_000, "new_partitions": 0}
PATIENCE_S = 60.0


def quiet(message: str) -> None:
    pass


def wait(until: Callable[[], object]) -> None:
    end = time.monotonic() + PATIENCE_S
    while not until():
        assert time.monotonic() < end
        time.sleep(0.01)


@pytest.mark.parametrize("variant", ["mixed_membership", "cooperative"])
def test_the_walk_that_asks_real_brokers_finds_the_coordinator_of_the_model(variant):
    with coordinator(**KAFKA) as served:
        total, disagreement = explore(rows_of(variant), served.address, 10, 0, quiet)
    assert disagreement is None
    assert total.schedules >= 10 and len(total.rows) > 40 and len(total.refused) > 5


def test_the_walk_finds_a_known_bug():
    with coordinator(**KAFKA, mutation="member_without_id") as served:
        _, disagreement = explore(rows_of("classic"), served.address, 5, 0, quiet)
    assert disagreement is not None
    assert disagreement.what == ("request 3: error is 0, in the model 79",)


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

        def reads(count: int) -> bool:
            for records in one.poll(timeout_ms=100).values():
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
        connections = Connections(served.address)

        def ask(name: str, version: int, **values: object) -> dict[str, object]:
            number = connections.send(api(name), version, values)
            answer = connections.gather(PATIENCE_S, number)[number]
            assert isinstance(answer, dict)
            return answer

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
        connections.close()


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
    "--records": {"records": -1},
    "--topics t": {"topics": {"t": 0}},
    "--max-size": {"max_size": 16},
    "--min-session": {"min_session_ms": 0},
    "--mutation": {"mutation": "keeps_partitions_when_lost"},  # a bug of members
}


@pytest.mark.parametrize(("where", "settings"), WRONG.items())
def test_settings_that_do_not_fit_are_refused(where, settings):
    with pytest.raises(UserError) as raised, coordinator(**settings):
        pass
    assert raised.value.where == where
