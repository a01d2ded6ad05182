"""Published specifications have the numbers and verdicts that TLC 2.18 finds on the originals."""

import pytest
from published_specs import NOT_IDLE, allocator, peterson, process, token_ring, voting
from test_progress import must_be_lassos

from groupcheck.model.engine import reference, weak
from groupcheck.model.engine.fast import explore

# The spec; its distinct states, states generated without the initial ones, and depth by TLC; and
# the promises that TLC finds broken, with the steps of the lasso that is found here. (TLC's lassos
# are as long, or longer.)
BY_TLC = {
    "EWD426": (lambda: token_ring(4, 4), (256, 640, 1), {}),
    "EWD426 with too few values": (lambda: token_ring(5, 3), (243, 729, 1), {"one_token": 15}),
    "EWD426 without fairness": (lambda: token_ring(4, 4, False), (256, 640, 1), {"one_token": 0}),
    "Peterson": (lambda: peterson(weak(process)), (42, 76, 11), {}),
    "Peterson, which may stay idle": (
        lambda: peterson(NOT_IDLE),
        (42, 76, 11),
        {"enters_again": 0},
    ),
    "Peterson without fairness": (peterson, (42, 76, 11), {"enters": 1, "enters_again": 0}),
    "SimpleAllocator, 2 clients": (lambda: allocator(2, 2), (64, 198, 5), {"satisfied": 4}),
    "SimpleAllocator, 3 clients": (lambda: allocator(3, 2), (400, 1632, 6), {"satisfied": 4}),
    "Voting": (lambda: voting(2), (599, 3123, 11), {}),
    "Voting, 3 ballots": (lambda: voting(3), (6752, 41016, 16), {}),
}
# With how many steps TLC breaks the refinement.
BROKEN = {
    "Peterson, where the lock is free too early": (
        lambda: peterson(holds=("cs",)), "refines Lock", 5,
    ),
    "Voting for what is not safe": (lambda: voting(2, True), "refines Consensus", 4),
}  # fmt: skip


ENGINES = {"reference": reference.explore, "fast": explore.explore}
# The reference engine would take seconds for the largest one.
RUNS = [(name, engine) for name in BY_TLC for engine in ENGINES if BY_TLC[name][1][0] < 1000]
RUNS += [("Voting, 3 ballots", "fast")]


@pytest.mark.parametrize(("name", "engine"), RUNS)
def test_published_specifications_are_as_tlc_finds_them(name, engine):
    make, numbers, broken = BY_TLC[name]
    spec = make()
    verdict = ENGINES[engine](spec, liveness=True)
    assert (verdict.states, verdict.transitions, verdict.depth) == numbers
    assert {v.invariant: len(v.path.steps) for v in verdict.violations} == broken
    must_be_lassos(spec, verdict)


@pytest.mark.parametrize("name", BROKEN)
@pytest.mark.parametrize("engine", ENGINES)
def test_broken_refinements_are_as_short_as_tlc_finds_them(name, engine):
    make, promise, steps = BROKEN[name]
    (broken,) = ENGINES[engine](make()).violations
    assert (broken.invariant, len(broken.path.steps)) == (promise, steps)
