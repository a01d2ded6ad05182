"""What `advise` says of a week agrees with days that are simulated whole, in which everything that
was described happens at random and nothing is put together.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import attrs
import pytest

from groupcheck.model.engine import UserError
from groupcheck.oracles.simulate import intervals, with_settings
from groupcheck.oracles.simulate.setup import Setup
from groupcheck.oracles.simulate.simulation import simulate
from groupcheck.oracles.simulate.uses import advice, advice_group, advice_week
from groupcheck.oracles.simulate.uses.advice import advised, usual_replications
from groupcheck.oracles.simulate.uses.advice_group import Alternative, GroupDescription, Week

MIN = 60_000.0
DAY_S = 86_400.0
# A described group by its name. Nothing dies for good here: a long run would have nobody left.
LOADS: dict[str, dict[str, Any]] = {
    "slow messages and bounces": {
        "slow_ms": 20 * MIN,
        "week": Week(deploys=5, bounces=100, crashes=0, outages=10, slow=400),
    },
    "bounces that meet each other": {
        "week": Week(deploys=0, bounces=2_000, crashes=0, outages=0),
    },
    "outages that meet deploys": {
        "week": Week(deploys=200, bounces=20, crashes=0, outages=1_000),
    },
    "a long way back, and slow messages": {
        "restart_ms": 5 * MIN,
        "slow_ms": 4 * MIN,
        "week": Week(deploys=20, bounces=50, crashes=0, outages=0, slow=1_000),
    },
}
SLOW = "slow messages and bounces"
EAGER, STATIC = Alternative("classic", 45_000), Alternative("cooperative_static", 45_000)


@pytest.fixture(autouse=True)
def few_heartbeats(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A heartbeat in nine seconds: a third of the work."""
    monkeypatch.setattr(advice_group, "DEFAULT_HEARTBEAT_MS", 9_000.0)
    yield


def described(load: str, **more: Any) -> GroupDescription:
    return GroupDescription(**{"members": 4, "partitions": 4} | LOADS[load] | more)


def whole(
    group: GroupDescription, alternative: Alternative, days: float, runs: int
) -> intervals.Interval:
    """What such a week costs (stopped, in ms), by runs of so many days."""
    one = advice_week.setup(group, alternative, advice_week.events(group)[0])
    steady = Setup(
        variant=one.variant,
        scenario="steady",
        members=one.members,
        partitions=one.partitions,
        seconds=days * DAY_S,
        until_rest=False,
        assumptions=one.assumptions,
        background=advice_week.background(group, alternative),
    )
    costs = [simulate(steady.with_(seed=seed)).lag.stopped_total_ms for seed in range(runs)]
    return intervals.mean([cost * 7 / days for cost in costs], least=0)


def of_two(monkeypatch: pytest.MonkeyPatch, group: GroupDescription) -> advice.Advice:
    """The advice if there are these two alternatives alone."""
    two = [
        attrs.evolve(a, heartbeat_interval_ms=9_000.0, max_poll_interval_ms=24 * MIN)
        for a in (EAGER, STATIC)
    ]
    monkeypatch.setattr(advice, "alternatives", lambda _: (two, ()))
    return advised(group, replications=3)


def test_a_group_with_slow_messages_gets_the_settings_that_help(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A round waits for whoever works on a slow message, so that bounces must not begin rounds."""
    group = described(SLOW)
    found = of_two(monkeypatch, group)
    assert found.recommended.alternative.variant == "cooperative_static"
    static, eager = found.costed
    assert eager.mean > 4 * static.mean
    real = whole(group, eager.alternative, 1, 1), whole(group, static.alternative, 1, 1)
    assert real[0].mean > 4 * real[1].mean
    assert static.mean == pytest.approx(real[1].mean, rel=0.5)
    # It is at rest for most of the week if bounces begin no rounds, and less if they do.
    assert max(eager.at_rest) < min(static.at_rest)


@pytest.mark.night
def test_without_what_happens_besides_the_advice_would_be_the_opposite(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(advice_week, "background", lambda *_: ())
    found = of_two(monkeypatch, described(SLOW))
    eager = next(c for c in found.costed if c.alternative.variant == "classic")
    assert eager.mean < 4 * found.best.mean


def test_more_slow_messages_than_the_members_have_time_for_are_refused() -> None:
    with pytest.raises(UserError, match=r"slow messages keep 5\.0 members busy all the time"):
        advised(described(SLOW, week=Week(slow=2_520)), replications=2)


def test_events_that_hardly_meet_are_simulated_alone() -> None:
    usual = GroupDescription(members=4, partitions=4)
    assert advice_week.background(usual, EAGER) == ()
    kinds = [one.kind for one in advice_week.background(described(SLOW), EAGER)]
    assert kinds == ["deploy", "bounce", "outage", "slow"]


def test_rare_slow_messages_are_simulated_no_more_often() -> None:
    """Several runs in place of one are only there for what slow messages do to an event."""
    rare = described(SLOW, week=Week(slow=1))
    assert advice_week.background(rare, EAGER) == ()
    assert {event.runs for event in advice_week.events(rare)} == {1}
    assert max(event.runs for event in advice_week.events(described(SLOW))) == advice_week.RUNS


def test_all_alternatives_are_compared_in_the_same_week() -> None:
    """A shorter session shortens the simulated absence, but not what the week consists of."""
    week = Week(deploys=0, bounces=4, crashes=0, outages=0)
    group = described(SLOW, restart_ms=120 * MIN, slow_ms=0.0, week=week)
    for session in (10_000.0, 1_800_000.0):
        [bounce] = advice_week.background(group, Alternative("classic", session))
        assert bounce.kind == "bounce"


def test_the_first_restarts_of_a_deploy_tell_what_all_of_them_cost() -> None:
    group = GroupDescription(members=24, partitions=24)
    deploy = advice_week.events(group)[0]
    assert deploy.times == 2
    for alternative in (EAGER, STATIC):
        part = advice_week.setup(group, alternative, deploy)
        all_ = simulate(part.with_(changed_members=24)).lag.stopped_total_ms
        assert deploy.times * simulate(part).lag.stopped_total_ms == pytest.approx(all_, rel=0.1)


def test_fewer_replications_are_usual_for_a_large_group() -> None:
    few, many = (GroupDescription(members=n, partitions=n) for n in (10, 300))
    assert (usual_replications(few), usual_replications(many)) == (8, 3)


@pytest.mark.night
@pytest.mark.parametrize("load", LOADS)
def test_each_alternative_costs_what_whole_days_cost(load: str) -> None:
    found = advised(described(load), replications=8)
    for c in found.costed:
        said, real = c.of_week, whole(found.described, c.alternative, 3.5, 6)
        assert said.high is not None and real.high is not None
        room = (said.high - said.mean) + (real.high - real.mean) + 0.1 * real.mean
        assert abs(said.mean - real.mean) <= room, (load, c.alternative, said, real)


@pytest.mark.night
def test_slow_messages_as_the_usual_work_ask_for_the_same_settings() -> None:
    """Another way to say that messages are slow: every one takes up to 20 minutes."""
    busy = with_settings({"processing_ms": "uniform:0,1200000"})
    week = Week(deploys=5, bounces=100, crashes=0.2, outages=10)
    usual = advised(GroupDescription(slow_ms=20 * MIN, week=week, assumptions=busy))
    slow = advised(GroupDescription(slow_ms=20 * MIN, week=attrs.evolve(week, slow=1_000)))
    both = [one.recommended.alternative for one in (usual, slow)]
    assert [a.variant in advice_group.STATIC for a in both] == [True, True]
    assert [a.session_timeout_ms for a in both] == [45_000, 45_000]
