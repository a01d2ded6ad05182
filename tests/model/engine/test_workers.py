"""Several processes that call rules: the same answers, the same errors, nobody left behind."""

import os

import attrs
import pytest
from small_group import small_group
from two_phase_commit import two_phase_commit

from groupcheck.model.engine import Limits, RuleError, Spec, array, rule
from groupcheck.model.engine.fast import explore, forked


@pytest.fixture
def always_fork(monkeypatch):
    """Even the smallest batch is divided; the processes that were forked."""
    children = []
    plain = forked._forked

    def forking(*args):
        pid, pipe = plain(*args)
        children.append(pid)
        return pid, pipe

    monkeypatch.setattr(forked, "WORTH", 0.0)
    monkeypatch.setattr(forked, "_forked", forking)
    return children


def answer(spec, workers):
    verdict = explore.explore(spec, Limits(states=5_000), workers=workers)
    violations = [(v.invariant, v.depth) for v in verdict.violations]
    return attrs.evolve(verdict, seconds=0.0, bytes_per_state=0.0, violations=()), violations


def are_gone(children):
    for pid in children:
        with pytest.raises(ChildProcessError):
            os.waitpid(pid, os.WNOHANG)
    return bool(children)


@pytest.mark.parametrize(
    ("workers", "spec"),
    [
        (2, small_group(2, 2, 2, 1, 1)),
        pytest.param(3, two_phase_commit(4), marks=pytest.mark.night),
    ],
)
def test_the_answer_does_not_depend_on_the_number_of_workers(always_fork, workers, spec):
    assert answer(spec, workers) == answer(spec, 1)
    assert len(always_fork) > 10
    assert are_gone(always_fork)


@rule
def climb(step):
    if step < 12:
        yield step + 1


@rule
def fall_at_9(step):
    if step == 9:
        raise OSError("slipped")
        yield


def test_a_rule_at_fault_in_a_worker_is_reported_as_ever(always_fork):
    with pytest.raises(RuleError, match="slipped") as caught:
        explore.explore(Spec("stairs", {"step": array(2, 0)}, [climb, fall_at_9]), workers=3)
    assert caught.value.rule == "fall_at_9"
    assert caught.value.key
    assert are_gone(always_fork)


def test_values_that_cannot_be_sent_are_made_by_the_parent(always_fork):
    @attrs.frozen
    class Local:
        n: int = 0

    @rule
    def count(local):
        if local.n < 8:
            yield Local(local.n + 1)

    spec = Spec("local", {"local": array(2, Local())}, [count])
    assert answer(spec, 2) == answer(spec, 1)
    assert always_fork
    assert are_gone(always_fork)


def test_a_search_with_workers_can_be_continued(always_fork, tmp_path):
    spec = small_group(2, 2, 2, 1, 1)
    explore.explore(spec, Limits(states=2_000), workers=2, checkpoint=tmp_path)
    whole = explore.explore(spec)
    resumed = explore.explore(spec, workers=2, resume=tmp_path)
    assert (resumed.states, resumed.transitions, resumed.depth, resumed.rules) == (
        whole.states,
        whole.transitions,
        whole.depth,
        whole.rules,
    )
