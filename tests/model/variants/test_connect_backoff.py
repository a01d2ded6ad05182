"""Workers that cannot read the topic of configurations in time: what holds, and what happens if the
leader is the one that cannot.
"""

from __future__ import annotations

from typing import Annotated, Any

import attrs
import pytest

from groupcheck.model.engine import invariant, reference
from groupcheck.model.engine.fast.explore import explore
from groupcheck.model.engine.verdict import HOLDS
from groupcheck.model.protocol.connect.worker import Backs, Worker
from groupcheck.oracles.explain.subject import subject

UNREAD = {"config_timeout": 1, "config_update": 1}
SCOPES: list[tuple[dict[str, Any], tuple[int, int]]] = [
    ({"members": 2, "any_faults": 2}, (205_712, 608_748)),
    ({"members": 3, "any_faults": 1}, (210_803, 652_302)),
    ({"members": 2, "partitions": 2, "generations": 5, "faults": UNREAD}, (7_541, 15_326)),
    ({"members": 2, "partitions": 2, "generations": 6, "faults": UNREAD}, (8_121, 16_476)),
]


@pytest.mark.parametrize(
    ("scope", "size"),
    [*(pytest.param(*large, marks=pytest.mark.night) for large in SCOPES[:2]), *SCOPES[2:]],
    ids=str,
)
def test_workers_that_back_off_keep_every_promise(
    scope: dict[str, Any], size: tuple[int, int]
) -> None:
    verdict = explore(subject("connect_backoff", **scope).spec, symmetry=None)
    assert (verdict.verdict, verdict.violations) == (HOLDS, ())
    assert (verdict.states, verdict.transitions) == size


def test_without_the_fault_they_are_the_workers_of_connect() -> None:
    scope = {"members": 2, "faults": {"session_timeout": 1, "config_update": 1}}
    backing = explore(subject("connect_backoff", **scope).spec)
    plain = explore(subject("connect", **scope).spec)
    assert (backing.states, backing.transitions) == (plain.states, plain.transitions)


def test_a_leader_that_leaves_runs_what_its_successor_gives_away() -> None:
    """FINDINGS 42: in the smallest group, in its shortest schedule."""
    scope = {"members": 2, "partitions": 2, "generations": 3, "faults": UNREAD}
    verdict = explore(subject("connect_backoff", **scope).spec)
    assert verdict.goals["runs_while_it_backs_off"] == 16


@invariant
def leavers_are_counted(leavers: int, workers: Annotated[tuple[Worker, ...], "worker[:]"]) -> bool:
    return leavers == sum(worker.backs == Backs.COUNTED for worker in workers)


def test_the_leader_waits_for_those_that_have_left_and_for_nobody_else() -> None:
    """`delay_over` sees no worker, and goes by their count."""
    faults = {**UNREAD, "crash": 1, "poll_timeout": 1}
    spec = subject("connect_backoff", members=2, partitions=2, generations=4, faults=faults).spec
    verdict = explore(attrs.evolve(spec, invariants=[leavers_are_counted], goals=[]))
    assert verdict.verdict == HOLDS and verdict.rules["sync_answer:unread"]


@pytest.mark.night
def test_the_obvious_engine_says_the_same() -> None:
    spec = subject("connect_backoff", members=2, generations=3, faults=UNREAD).spec
    fast, plain = explore(spec), reference.explore(spec)
    assert fast.rules["sync_answer:unread"] and fast.rules["reads_again"]
    assert (fast.states, fast.transitions, fast.rules) == (
        plain.states,
        plain.transitions,
        plain.rules,
    )
