"""Whole real groups of static members, followed by the model."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import attrs
import pytest

from groupcheck.model.variants import load
from groupcheck.oracles.conform.whole import conformance
from groupcheck.oracles.conform.whole.conformance import WholeConformance, conform_whole
from groupcheck.oracles.conform.whole.fitting import Fitting
from groupcheck.oracles.conform.whole.model import Following
from groupcheck.oracles.conform.whole.schedule import Setup, Walk
from groupcheck.oracles.conform.whole.turns import Turn, possible
from groupcheck.oracles.kafka.driver import Driver, shared

EAGER, COOPERATIVE = "static_membership", "cooperative_static"
MIXED = ("mixed_membership", "cooperative_mixed")
TIMES = (1_500_000_000, 100_000_000)
TWO = Setup(2, 2, True, 1, (TIMES, TIMES), kind=load(EAGER).scope_type)
JOINS = (Turn("poll", 0), Turn("poll", 1))
STABLE = (
    *(*JOINS, Turn("fire", key="join-g"), Turn("fire", key="join-g"), Turn("sync", 0)),
    *(Turn("sync", 1), Turn("replicate"), Turn("poll", 0), Turn("poll", 1)),
)
# The same where member 1 is dynamic and asks for an id first.
SOME = (*STABLE[:2], *STABLE[1:])


def small(variant: str, driver: Driver, **options: Any) -> WholeConformance:
    given = {"members": 2, "schedules": 6, "steps": 60, "kafka": "4.3.0"} | options
    return conform_whole(variant, driver=driver, **given)


@pytest.mark.parametrize("variant", [EAGER, COOPERATIVE, *MIXED])
def test_random_schedules_of_a_group_with_static_members_agree_with_the_model(
    variant: str, coordinator: Driver, misfits: Callable[..., list[str]]
) -> None:
    result = small(variant, coordinator, seed=8, members=3)
    told = result.document()
    assert told["differences"] == [] and misfits(told) == []
    assert told["rows"] == told["agreeing"] == 360
    assert {"join_group:replaced", "takeover_committed:answered"} <= set(told["fired"])
    assert not {*told["fired"]} & {*told["not_executed"]}
    assert ("static_members" in told["drawn"]) == (variant in MIXED)


@pytest.mark.parametrize("variant", MIXED)
def test_a_process_with_an_instance_id_comes_back_and_one_without_is_asked_to_come_again(
    variant: str, coordinator: Driver
) -> None:
    walk = walked(coordinator, *SOME, Turn("crash", 0), Turn("poll", 0), variant=variant)
    assert fired(walk) == ["join_group:replaced", "takeover_committed:answered"]
    walk = walked(coordinator, *SOME, Turn("crash", 1), Turn("poll", 1), variant=variant)
    assert fired(walk) == ["join_group:id_required"]


def test_a_wrong_model_of_both_kinds_differs(coordinator: Driver) -> None:
    found = small(
        MIXED[0],
        coordinator,
        mutation="static_member_asked_twice",
        max_differences=1,
        schedules=32,
        seed=2,
    )
    assert (found.verdict, found.exit_code) == ("differs", 1)


def test_a_member_that_has_lost_its_generation_before_it_completes_counts_as_fresh(
    coordinator: Driver,
) -> None:
    """Kafka's keeps its id until its next poll; to crash would be no step of the model's."""
    walk = walked(coordinator, *STABLE[:8], *MISSED)
    assert walk.look.members[1].id and Turn("crash", 1) not in possible(walk.look)


def test_the_oldest_version_agrees_too() -> None:
    assert small(EAGER, shared("4.0.0"), kafka="4.0.0", seed=9).differences == ()


def walked(driver: Driver, *turns: Turn, variant: str = EAGER) -> Walk:
    some = 1 if variant in MIXED else None
    setup = attrs.evolve(TWO, kind=load(variant).scope_type, static_members=some)
    walk = Walk(Fitting(Following(load(variant).spec, setup.scope)), setup)
    list(driver.converse([walk.begin()]))
    for turn in turns:
        (parted,) = driver.converse([walk.take(turn)])
        assert parted is None, (turn, parted)
    return walk


def fired(walk: Walk) -> list[str]:
    return [name for name in walk.rules[-1] if name.partition(":")[0] in SHOWN]


SHOWN = ("join_group", "takeover_committed", "leave_group", "heartbeat", "close", "poll_timeout")


def test_a_process_that_comes_back_takes_over_without_a_round(coordinator: Driver) -> None:
    walk = walked(coordinator, *STABLE, Turn("crash", 1), Turn("poll", 1))
    assert fired(walk) == ["join_group:replaced", "takeover_committed:answered"]
    assert (walk.look.group.state, walk.look.members[1].generation) == ("Stable", 1)


MISSED = (
    *(Turn("fire", key="heartbeat-g-m1"), Turn("beat", 0), Turn("poll", 0)),
    *(Turn("fire", key="join-g"), Turn("beat", 1)),
)


@pytest.mark.parametrize(
    ("variant", "then"), [(EAGER, "join_group:unchanged"), (COOPERATIVE, "join_group:restarted")]
)
def test_a_cooperative_member_that_missed_a_round_starts_one_more(
    variant: str, then: str, coordinator: Driver
) -> None:
    walk = walked(coordinator, *STABLE, *MISSED, Turn("poll", 1), variant=variant)
    assert fired(walk) == [then]


def test_the_timer_of_a_replaced_id_stays_and_finds_nobody(coordinator: Driver) -> None:
    walk = walked(coordinator, JOINS[0], Turn("crash", 0), JOINS[0])
    assert [name for name, _ in walk.guesses[0].left_behind] == ["m1"]
    (parted,) = coordinator.converse([walk.take(Turn("fire", key="heartbeat-g-m1"))])
    assert parted is None and walk.guesses[0].left_behind == ()


def test_an_administrator_removes_a_member_that_learns_so_later(coordinator: Driver) -> None:
    removed = Turn("removed by an administrator", 1)
    walk = walked(coordinator, *STABLE, removed)
    assert fired(walk) == ["leave_group:removed"]
    (parted,) = coordinator.converse([walk.take(Turn("beat", 1))])
    assert parted is None and fired(walk) == ["heartbeat:unknown"]


def test_a_member_that_closes_or_does_not_poll_leaves_silently(coordinator: Driver) -> None:
    closes = walked(coordinator, *STABLE, Turn("close silently", 1))
    assert fired(closes) == ["close:silent"] and len(closes.look.group.members) == 2
    sleeps = walked(coordinator, *STABLE, Turn("poll time-out of a static member", 1))
    assert fired(sleeps) == ["poll_timeout:silent"] and len(sleeps.look.group.members) == 2


@pytest.mark.parametrize(
    "mutation", ["same_id_after_restart", "restart_starts_a_round", "absent_static_member_removed"]
)
def test_a_wrong_model_of_static_members_differs(mutation: str, coordinator: Driver) -> None:
    result = small(EAGER, coordinator, mutation=mutation, max_differences=1, schedules=32, seed=2)
    assert (result.verdict, result.exit_code) == ("differs", 1)


def test_what_no_schedule_shows_has_a_reason() -> None:
    apart = conformance.apart_from(load(COOPERATIVE))
    assert apart["takeover_failed:reverted"] == conformance.AT_ONCE
    assert apart["commit_answer:dropped"] == conformance.SWITCHED_OFF.format("commit_style")
    assert all(apart.values())
