"""Whole real groups of cooperative members, followed by the model."""

from __future__ import annotations

from typing import Any

import pytest

from groupcheck.model.variants import load
from groupcheck.oracles.conform.whole.conformance import WholeConformance, conform_whole
from groupcheck.oracles.conform.whole.fitting import Fitting
from groupcheck.oracles.conform.whole.model import Following
from groupcheck.oracles.conform.whole.schedule import Setup, Walk
from groupcheck.oracles.conform.whole.turns import Turn
from groupcheck.oracles.kafka.driver import Driver, shared


def small(driver: Driver, **options: Any) -> WholeConformance:
    given = {"members": 2, "schedules": 8, "steps": 60, "kafka": "4.3.0"} | options
    return conform_whole("cooperative", driver=driver, **given)


@pytest.mark.parametrize("members", [2, 3])
def test_random_schedules_of_a_cooperative_group_agree_with_the_model(
    members: int, coordinator: Driver
) -> None:
    told = small(coordinator, members=members, seed=3).document()
    assert told["differences"] == []
    assert told["rows"] == told["agreeing"] == 480
    assert {"look_at_claims", "join_complete", "sync_answer:assigned"} <= set(told["fired"])


def test_the_oldest_version_agrees_too() -> None:
    assert small(shared("4.0.0"), kafka="4.0.0", seed=4).differences == ()


@pytest.mark.parametrize(
    ("mutation", "what"),
    [
        ("claims_nothing", "claimed partitions"),
        ("eager_in_a_cooperative_group", "partitions"),
        ("round_resets_late_member", "generation"),
    ],
)
def test_a_wrong_cooperative_model_differs(mutation: str, what: str, coordinator: Driver) -> None:
    result = small(
        coordinator, mutation=mutation, max_differences=1, steps=100, members=3, schedules=32
    )
    assert (result.verdict, result.exit_code) == ("differs", 1)
    assert any(what in line for line in result.differences[0].what)


TIMES = (1_500_000_000, 100_000_000)
A, B, C = (Turn("poll", i) for i in range(3))
OVER = Turn("fire", key="join-g")
GENERATION_1 = (
    *(A, B, A, B, OVER, OVER, Turn("sync", 0), Turn("sync", 1)),
    *(Turn("replicate"), A, B),
)
GENERATION_2_IS_LOST = (
    *(C, C, Turn("beat", 0), A, Turn("beat", 1), B),
    *(Turn("fail_over", key="committed"), Turn("sync", 1)),
)


def test_a_member_of_a_lost_generation_starts_a_round_because_of_its_user_data(
    coordinator: Driver,
) -> None:
    variant = load("cooperative")
    setup = Setup(3, 3, True, 1, (TIMES,) * 3, kind=variant.scope_type)
    walk = Walk(Fitting(Following(variant.spec, setup.scope)), setup)
    list(coordinator.converse([walk.begin()]))
    for turn in (*GENERATION_1, *GENERATION_2_IS_LOST):
        assert list(coordinator.converse([walk.take(turn)])) == [None], turn
    assert (walk.look.group.state, walk.look.group.generation) == ("Stable", 1)
    (parted,) = coordinator.converse([walk.take(B)])
    assert parted is None and walk.rules[-1][:2] == ("send_join:sent", "join_group:restarted")
