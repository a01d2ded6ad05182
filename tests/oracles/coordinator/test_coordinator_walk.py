"""The walk with which `conform --live` asks real brokers, at the coordinator of the model."""

from __future__ import annotations

import pytest

from groupcheck.oracles.coordinator.served import coordinator
from groupcheck.oracles.judge.live.live import explore, rows_of

KAFKA = {"topics": {"t": 1}, "min_session_ms": 6_000, "new_partitions": 0}


def quiet(message: str) -> None:
    pass


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
