"""Chains of urgent rules that are long and many: the memory in which a step notes what has fired
grows as it must.
"""

from __future__ import annotations

from groupcheck.model.engine import Spec, end, rule, single, urgent
from groupcheck.model.engine.fast.explore import explore

BRANCHES, LENGTH = 120, 700  # 84,120 firings are noted in one step


@rule
def begin(chosen, steps):
    if chosen == 0:
        yield -1, steps


@urgent
def branch(chosen, steps):
    """Inside the step, so that all its chains are noted together."""
    if chosen == -1:
        for n in range(1, BRANCHES + 1):
            yield n, LENGTH


@urgent
def walk(steps):
    if steps:
        yield steps - 1


@end
def anywhere(chosen):
    return True


def test_a_step_with_many_long_chains_is_counted_whole():
    slots = {"chosen": single(0), "steps": single(0)}
    verdict = explore(Spec("chains", slots, [begin, branch, walk], ends=[anywhere]))
    assert verdict.verdict == "holds"
    assert verdict.states == 1 + BRANCHES and verdict.transitions == BRANCHES
    assert verdict.rules == {
        "begin": BRANCHES,
        "branch": BRANCHES,
        "walk": BRANCHES * LENGTH,
    }
