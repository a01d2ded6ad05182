"""What the coordinator promises over time, asked of all short histories of a small group: by day of
the shortest, at night of all.
"""

from __future__ import annotations

import pytest

from groupcheck.oracles.conform.conformance import conform
from groupcheck.oracles.conform.promises import PROMISES, Finding
from groupcheck.oracles.conform.row_comparison import Conformance
from groupcheck.oracles.conform.short_histories import search
from groupcheck.oracles.conform.transcript import lines
from groupcheck.oracles.kafka.driver import Driver

Findings = dict[tuple[str, str], Finding]

# In 4.0.0 to 4.3.0, by FINDINGS.md.
KNOWN = {
    "answered": {
        "JoinGroup of a member that asks again",
        "SyncGroup of a member that asks again",
        "SyncGroup of a member that is gone",
    },
    "refused_plan": {
        "answered 15",
        "answered 27",
        "answered 15, and loaded",
        "answered 27, and loaded",
    },
    "leaving": {"LeaveGroup"},
    "log": {
        "Empty, after Fire heartbeat",
        "Empty, after Fire join",
        "Empty, after LeaveGroup",
    },
    "delay": {"Fire join"},
    "five_minutes": {"Heartbeat", "OffsetCommit"},
    "one_generation": {"told again after FailOver"},
    "unchanged": {"after FailOver"},
    "common_protocol": {"after FailOver"},
}


@pytest.fixture(scope="module")
def run(coordinator: Driver) -> Conformance:
    return conform(
        "classic", kafka="4.3.0", driver=coordinator, members=1, generations=1, findings=True
    )


@pytest.fixture(scope="module")
def found(run: Conformance) -> Findings:
    return {(f.promise, f.kind): f for f in run.findings}


def schedule(found: Findings, promise: str, kind: str) -> list[str]:
    """The commands that show it, without their numbers."""
    told = lines(found[promise, kind].transcript)
    return [line[5:] for line in told if not line.startswith("     ")]


@pytest.mark.night
def test_these_promises_are_broken_in_these_ways_and_no_others(run: Conformance, found, misfits):
    assert misfits(run.document()) == []
    assert run.verdict == "agrees" and run.asked is not None and run.asked > 10_000
    kinds = {promise: {k for p, k in found if p == promise} for promise, _ in found}
    assert kinds == KNOWN and kinds.keys() <= PROMISES.keys()


@pytest.mark.night
def test_the_schedule_of_a_finding_is_the_shortest_one(found: Findings):
    told = lines(found["leaving", "LeaveGroup"].transcript)
    assert told[5:7] == ["  6  FailAppends", "  7  LeaveGroup member=m2  -> 15"]
    assert "= Empty" in told[7]


@pytest.mark.night
def test_a_generation_is_told_again_to_others_after_a_crash_before_its_plan_was_written(
    found: Findings,
):
    told = schedule(found, "one_generation", "told again after FailOver")
    assert len(told) == 5 and told[2].startswith("FailOver")
    assert "generation 1, leader m1, members m1" in told[1]
    assert "generation 1, leader m2, members m2" in told[4]


@pytest.mark.night
def test_a_plan_that_a_join_overtook_is_loaded_although_nobody_was_given_it(found: Findings):
    told = schedule(found, "refused_plan", "answered 27, and loaded")
    assert [line.split()[0] for line in told[3:]] == ["SyncGroup", "JoinGroup", "FailOver"]
    assert told[4].endswith("request 4: 27")


@pytest.mark.night
def test_after_a_fail_over_a_follower_that_changed_nothing_starts_a_round(found: Findings):
    told = schedule(found, "unchanged", "after FailOver")
    assert told[-2:] == [
        "FailOver",
        'JoinGroup member=m2 protocols=["range","roundrobin"]',
    ]


@pytest.mark.night
def test_after_a_fail_over_a_newcomer_with_a_common_protocol_is_refused(found: Findings):
    told = schedule(found, "common_protocol", "after FailOver")
    assert told[-2:] == ["FailOver", 'JoinGroup version=3 protocols=["roundrobin"]  -> 23']


@pytest.mark.night
def test_a_join_group_that_is_sent_again_is_never_answered(found: Findings):
    told = schedule(found, "answered", "JoinGroup of a member that asks again")
    assert len(told) == 3 and all(line.startswith("JoinGroup") for line in told)


def test_nothing_else_is_broken_without_a_fail_over(coordinator: Driver):
    assert {promise for promise, _ in search(coordinator, 4).findings} == {"answered"}
