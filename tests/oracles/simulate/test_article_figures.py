"""The two groups that an article tells of: what makes their pauses grow, and its figures beside
ours.
"""

from __future__ import annotations

import json

import pytest

from groupcheck.oracles.command_line import cli
from groupcheck.oracles.simulate import Setup, article, intervals, simulate, with_settings
from groupcheck.oracles.simulate.kinds import ASSUMED, MEASURED, SCENARIO, kinds

# Nothing takes time but what a test sets.
AT_ONCE = with_settings(
    {
        "network_ms": 1,
        "append_ms": 0,
        "revoke_ms": 0.001,
        "resume_ms": 0,
        "service_ms": 0,
        "answer_ms": 0,
        "assign_ms_per_partition": 0,
        "records_per_s": 0,
    }
)


def grown(members: int, variant: str = "classic", **changes: float) -> Setup:
    setup = Setup(variant=variant, members=members, partitions=members, assumptions=AT_ONCE)
    return setup.with_(**changes)


def test_each_size_is_a_sample_of_its_own_and_variants_of_one_size_see_the_same() -> None:
    groups = [Setup(variant="async_server", members=n, partitions=n) for n in (7, 8, 9)]
    assert len({simulate(group).longest_pause_ms for group in groups}) == 3
    draws = {Setup(variant=v, members=7, partitions=7).draws for v in article.VARIANTS}
    assert len(draws) == 1


def test_a_coordinator_that_looks_at_all_members_for_each_join_holds_up_a_large_group() -> None:
    """Each of n JoinGroups takes b * n: the last one is handled n * n * b after the first, if that
    is longer than a heartbeat interval.
    """
    n, b = 20, 20.0
    quick = simulate(grown(n))
    slow = simulate(grown(n, join_ms_per_member=b))
    assert quick.longest_pause_ms < 3_200
    # The first two JoinGroups, those of the new member, come before anybody stops.
    assert slow.longest_pause_ms == pytest.approx((n - 1) * n * b, rel=0.05)
    half = simulate(grown(n // 2, join_ms_per_member=b))
    assert half.longest_pause_ms < 3_200, "a quarter of the time is hidden by the heartbeats"


def test_an_asynchronous_member_waits_for_its_own_join_alone() -> None:
    n, b = 20, 20.0
    slow = simulate(grown(n, "async_server", join_ms_per_member=b))
    quick = simulate(grown(n, "async_server"))
    assert slow.longest_pause_ms - quick.longest_pause_ms == pytest.approx(n * b, rel=0.01)


def test_commits_and_look_ups_of_all_members_wait_for_the_one_thread() -> None:
    """All members send SyncGroup at once, and then look up their positions: who is late waits for
    nearly all others, twice. In the asynchronous group one or two members do that.
    """
    n, service = 40, 5.0
    native = simulate(grown(n, service_ms=service)).longest_pause_ms
    assert native - simulate(grown(n)).longest_pause_ms > 1.5 * n * service
    pauses = [
        simulate(grown(n, "async_server", service_ms=s, heartbeat_interval_ms=40_000))
        for s in (0, service)
    ]
    # A commit, JoinGroup and a look-up, one after the other.
    more = pauses[1].longest_pause_ms - pauses[0].longest_pause_ms
    assert more == pytest.approx(3 * service, abs=2)


def test_a_stall_longer_than_five_minutes_makes_as_long_a_round_if_members_may_poll_so_late() -> (
    None
):
    sick = Setup(scenario="sick-host", members=5, partitions=5).with_(stall_ms=500_000)
    assert simulate(sick).longest_pause_ms == pytest.approx(290_000, abs=3_000)
    late = sick.with_(max_poll_interval_ms=600_000)
    assert simulate(late).longest_pause_ms == pytest.approx(490_000, abs=3_000)


def test_the_means_of_the_article_are_those_that_it_prints() -> None:
    native, other = (
        [sum(runs) / 8 for runs in groups.values()]
        for groups in (article.NATIVE, article.ASYNCHRONOUS)
    )
    assert native == pytest.approx([3120.125, 7086.25])
    assert other == pytest.approx([25.625, 39.725])


def test_no_more_inputs_are_fitted_than_there_are_figures() -> None:
    fitted = [one for one in article.OF_THAT_TIME if one.kind == "fitted"]
    assert len(fitted) < 4  # the last figure is not fitted: it can fail
    assert len({one.source for one in fitted}) == len(fitted)


def test_every_assumption_has_a_kind() -> None:
    named = [*MEASURED, *SCENARIO, *ASSUMED]
    default = kinds(with_settings({}))
    assert len(named) == len({*named}) and {*named} < {*default}
    settings = {name for name, kind in default.items() if kind == "setting"}
    assert all(name.endswith("_ms") for name in settings)
    assert kinds(with_settings({"network_ms": 3}))["network_ms"] == "given"


def test_the_ratio_of_runs_that_are_not_paired_has_the_interval_of_welch() -> None:
    """Computed by hand: logarithms 0, 2 and 0, 4; variances 2 and 8, of the means 1 and 4; 25 / 17
    degrees of freedom, rounded down to 1: 12.706.
    """
    from math import e, log, sqrt

    found = intervals.unpaired_ratio([1, e**2], [1, e**4])
    assert found is not None and found.low is not None and found.high is not None
    assert log(found.mean) == pytest.approx(-1)
    assert log(found.high) - log(found.mean) == pytest.approx(12.706 * sqrt(5), rel=1e-3)
    assert log(found.mean) - log(found.low) == pytest.approx(12.706 * sqrt(5), rel=1e-3)
    assert intervals.unpaired_ratio([1], [1, 2]) is None
    assert intervals.unpaired_ratio([0, 1], [1, 2]) is None


def asked(capsys: pytest.CaptureFixture[str], *more: str) -> dict[str, object]:
    command = "simulate --members 6 --compare classic,async_server --replications 2 --json"
    assert cli.run([*command.split(), *more]) == 0
    found: dict[str, object] = json.loads(capsys.readouterr().out)
    return found


def test_the_figures_stand_beside_those_of_the_article(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a group of a size of which the article tells; here that is made to be a small one."""
    assert asked(capsys)["article"] is None
    monkeypatch.setattr(article, "NATIVE", {6: (3000, 4000)})
    monkeypatch.setattr(article, "ASYNCHRONOUS", {6: (20, 30)})
    found: dict[str, object] = asked(capsys)
    told = found["article"]
    assert isinstance(told, dict)
    assert told["article"]["native_ms"]["mean"] == 3500
    assert told["article"]["ratio_of_means"] == 140
    assert told["ours"]["native_ms"]["low"] <= told["ours"]["native_ms"]["mean"]
    assert told["of_that_time"]["asynchronous_ms"] != told["ours"]["asynchronous_ms"]
    assert [one["kind"] for one in told["inputs"]].count("fitted") == len(told["inputs"])
    assert isinstance(found["kinds"], dict) and found["kinds"]["service_ms"] == "measured"
    changed = asked(capsys, "--set", "network_ms=2")
    assert isinstance(changed["article"], dict) and changed["article"]["of_that_time"] is None
    assert asked(capsys, "--scenario", "crash")["article"] is None
    assert (
        cli.run("simulate --members 6 --compare classic,async_server --replications 2".split()) == 0
    )
    text = capsys.readouterr().out
    assert "article, 8 runs" in text and "fitted: native pauses of 3,000 members" in text
