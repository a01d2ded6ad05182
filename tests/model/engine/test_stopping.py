"""A search that is cut off says unknown, why, and what was left; what was violated before stays
violated.
"""

import os
import signal
import time

import pytest
from small_group import small_group

from groupcheck.model.engine import Limits, Spec, array, invariant, rule, single
from groupcheck.model.engine.fast import explore

SPEC = small_group(2, 2, 4, 2, 1)


@pytest.mark.parametrize(
    ("limits", "expected"),
    [
        (Limits(states=10_000), "stopped at the limit of 10,000 states"),
        (Limits(seconds=0.0), "stopped at the limit of 0 seconds"),
        (
            Limits(memory=1_000_000, memory_of="what its cgroup had left"),
            "stopped at the limit of 1,000,000 bytes of memory (what its cgroup had left) in level",
        ),
    ],
)
def test_a_limit_makes_the_verdict_unknown(limits, expected):
    verdict = explore.explore(SPEC, limits)
    assert verdict.verdict == "unknown"
    assert verdict.reason.startswith(expected)
    assert "states were not expanded yet" in verdict.reason
    assert verdict.states < 114_418


def test_seconds_are_looked_at_before_each_call_of_a_rule(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(time, "perf_counter", lambda: now[0])

    @rule
    def slow(number):
        now[0] += 1.0
        yield from range(100) if number < 0 else ()

    spec = Spec("slow", {"number": single(-1)}, [slow])
    verdict = explore.explore(spec, Limits(seconds=10))
    assert verdict.reason.startswith("stopped at the limit of 10 seconds")
    assert now[0] < 20


def test_a_limit_on_states_is_kept_closely():
    assert explore.explore(SPEC, Limits(states=10_000)).states < 20_000


def test_a_shrinking_frontier_gives_an_estimate():
    verdict = explore.explore(SPEC, Limits(states=113_000))
    assert "which would make about 11" in verdict.reason


def test_limits_that_are_not_reached_change_nothing():
    assert (
        explore.explore(SPEC, Limits(states=114_418, seconds=1000, memory=1 << 40)).verdict
        == "holds"
    )


@rule
def step(cell):
    if cell < 9:
        yield cell + 1


@invariant
def low(cell):
    return cell < 4


def test_a_violation_found_before_the_limit_stays_a_violation():
    spec = Spec("cells", {"cell": array(8, 0)}, [step], invariants=[low])
    verdict = explore.explore(spec, Limits(states=350))
    assert verdict.verdict == "violated"
    assert verdict.violations[0].depth == 4


def test_control_c_ends_with_unknown_and_what_was_seen():
    """The listener plays the keyboard."""
    reports = []

    def listen(progress):
        reports.append(progress)
        if progress.level == 20:
            os.kill(os.getpid(), signal.SIGINT)

    verdict = explore.explore(SPEC, progress=listen)
    assert verdict.verdict == "unknown"
    assert verdict.reason.startswith("interrupted in level 2")
    assert reports[-1].level <= 22
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_control_c_is_heard_while_a_rule_is_slow():
    @rule
    def slow(me, cell):
        if cell == 3:
            os.kill(os.getpid(), signal.SIGINT)
        if cell < 9:
            yield cell + 1

    verdict = explore.explore(Spec("slow", {"cell": array(3, 0)}, [slow]))
    assert (verdict.verdict, verdict.reason[:11]) == ("unknown", "interrupted")


def test_progress_is_told_of_every_level_that_is_not_narrow():
    reports = []
    verdict = explore.explore(SPEC, progress=reports.append)
    levels = [p.level for p in reports if not p.compiling]
    assert levels == sorted(levels)
    assert set(levels) >= {*range(1, 40), verdict.depth}
    assert reports[-1].states == verdict.states
    assert reports[-1].transitions == verdict.transitions
    assert reports[-1].frontier == 0
    assert reports[-1].memory > 0
