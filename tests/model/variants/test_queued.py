"""Handling messages at once loses nothing: the fully queued model (see `queued`) against the atomic
one, two members, two generations.

Compared are all coordinator memories, all combinations of beliefs with offsets, and all rules and
labels that fire. Memories and beliefs are the same sets, with one exception: fail-over, where the
queued model has memories of one more needless round (a Heartbeat answered 22 reaches the member
while its JoinGroup, sent behind it, is already parked; the member forgets its generation and joins
once more). A JoinGroup that is held up does the same, so that every one of these memories is one of
the atomic model with a delayed request besides. Of rules, the queued model fires those that only a
queue can fire: they are named here, and each is an answer that changes nothing.
"""

from __future__ import annotations

import functools

import pytest
import queued
from all_states import Space, explore_all
from views import beliefs, fired, memories

from groupcheck.model.protocol.classic.group import Phase
from groupcheck.model.protocol.classic.rules import spec
from groupcheck.model.protocol.classic.scope import Scope
from groupcheck.model.protocol.faults import CLASSIC_FAULTS

GENERATIONS = 2
QUEUES = {"read_next", "post"}  # everything is read from a queue, everything is posted
OVERTAKEN = {
    "join_answer:ignored"
}  # a refused Heartbeat, sent ahead of the JoinGroup, has reset the member before its answer comes
ONLY_QUEUED = {
    "session_timeout": OVERTAKEN,
    "rebalance_timeout": OVERTAKEN,
    "sync_timeout": {"heartbeat:unknown"},  # sent behind a SyncGroup that came too late
    # a commit or JoinGroup whose answer the fail-over lost is sent again
    "fail_over": {*OVERTAKEN, "store_offset:again", "join_group:unchanged"},
}
ALIKE = {"reload": "reload_and_notice"}  # the same rule with the member's part


def at(*faults: str, generations: int = GENERATIONS) -> Scope:
    return Scope(assignor="any", generations=generations, faults=dict.fromkeys(faults, 1))


@functools.cache
def both(*faults: str) -> tuple[Space, Space]:
    """The atomic and the queued model."""
    return explore_all(spec(at(*faults))), explore_all(queued.spec(at(*faults)))


SETS = [
    (),
    *((fault,) for fault in CLASSIC_FAULTS),
    pytest.param(("session_timeout", "rebalance_timeout"), marks=pytest.mark.night),
]
PAIRS = [
    ("poll_timeout", "lose_request"),
    ("close", "late_commit"),
    pytest.param(("poll_timeout", "lose_response"), marks=pytest.mark.night),
    pytest.param(("close", "lose_response"), marks=pytest.mark.night),
]


@pytest.mark.parametrize("faults", SETS, ids=lambda f: "+".join(f) or "none")
def test_the_queued_model_has_the_same_memories_and_beliefs_and_the_atomic_one_adds_none(
    faults: tuple[str, ...],
) -> None:
    once, queue = both(*faults)
    assert len(queue.states) > 4 * len(once.states)
    assert beliefs(queue) == beliefs(once)
    assert memories(once) <= memories(queue)
    if faults != ("fail_over",):
        assert memories(queue) == memories(once)


@pytest.mark.parametrize("faults", PAIRS, ids="+".join)
def test_two_faults_at_once_show_the_same_in_one_generation(faults: tuple[str, ...]) -> None:
    """The pairs that had shown a difference when the model was younger: what a broken connection
    takes with it.
    """
    scope = at(*faults, generations=1)
    once, queue = explore_all(spec(scope)), explore_all(queued.spec(scope))
    assert (memories(queue), beliefs(queue)) == (memories(once), beliefs(once))


def test_the_needless_round_after_a_fail_over_is_that_of_a_delayed_request() -> None:
    once, queue = both("fail_over")
    more = memories(queue) - memories(once)
    assert more
    assert {(core.phase, core.generation) for core, *_ in more} == {(Phase.PREPARING, GENERATIONS)}
    assert more <= memories(explore_all(spec(at("fail_over", "delay_request"))))


@pytest.mark.parametrize("faults", SETS, ids=lambda f: "+".join(f) or "none")
def test_the_queued_model_fires_the_same_rules_and_those_that_only_a_queue_can_fire(
    faults: tuple[str, ...],
) -> None:
    once, queue = both(*faults)
    expected = {ALIKE.get(name, name) for name in fired(once)}
    assert fired(queue) == expected | QUEUES | (
        ONLY_QUEUED.get(faults[0], set()) if faults else set()
    )


@pytest.mark.parametrize("faults", SETS, ids=lambda f: "+".join(f) or "none")
def test_no_model_comes_to_a_stop_outside_its_ends(faults: tuple[str, ...]) -> None:
    for space in both(*faults):
        stuck = [tuple(space.values[n] for n in state) for state in space.stuck]
        assert all(space.see.rests(state) for state in stuck)
