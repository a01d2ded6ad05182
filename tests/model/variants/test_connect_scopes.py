"""Pinned answers about Connect workers: what holds, and the sizes of their state spaces. The two
sizes of 3 members and any 2 faults are in the page on Connect.
"""

from __future__ import annotations

from typing import Any

import pytest

from groupcheck.model.engine import ScopeError, reference
from groupcheck.model.engine.fast.explore import explore
from groupcheck.model.engine.verdict import HOLDS
from groupcheck.oracles.explain.subject import subject

SCOPES: list[dict[str, Any]] = [
    {"members": 1, "any_faults": 2},
    {"members": 2, "any_faults": 1},
    {"members": 2, "partitions": 2, "generations": 5, "any_faults": 1},
    {"members": 2, "partitions": 2, "generations": 4, "any_faults": 1, "delay": False},
    {"members": 2, "partitions": 2, "connectors": 1, "generations": 4, "any_faults": 1},
    {"members": 2, "partitions": 2, "generations": 5, "faults": {"poll_timeout": 1, "close": 1}},
    {"members": 3, "partitions": 3, "generations": 5},
    {"members": 3, "partitions": 2, "faults": {"session_timeout": 1}},
]
SIZES: list[tuple[int, int]] = [
    (1_850, 4_144),
    (5_878, 13_908),
    (12_626, 27_370),
    (9_368, 20_496),
    (12_494, 27_032),
    (46_443, 95_386),
    (6_872, 16_188),
    (127_927, 343_905),
]


@pytest.mark.parametrize(
    ("scope", "size"),
    [
        pytest.param(*one, id=str(one[0]), marks=[pytest.mark.night] * (one[1][0] > 20_000))
        for one in zip(SCOPES, SIZES, strict=True)
    ],
)
def test_workers_keep_every_promise(scope: dict[str, Any], size: tuple[int, int]) -> None:
    verdict = explore(subject("connect", **scope).spec, symmetry=None)
    assert (verdict.verdict, verdict.violations) == (HOLDS, ())
    assert (verdict.states, verdict.transitions) == size


def test_workers_are_alike() -> None:
    """One state of each orbit stands for all, and no number changes."""
    spec = subject("connect", members=3, partitions=2).spec
    plain, folded = explore(spec), explore(spec, symmetry=True)
    assert folded.symmetry.used and folded.symmetry.representatives < plain.states / 3
    assert (folded.states, folded.transitions, folded.rules) == (
        plain.states,
        plain.transitions,
        plain.rules,
    )


def test_the_obvious_engine_says_the_same() -> None:
    spec = subject("connect", members=2, partitions=2, faults={"unreachable": 1}).spec
    fast, plain = explore(spec), reference.explore(spec)
    assert (fast.states, fast.transitions, fast.rules) == (
        plain.states,
        plain.transitions,
        plain.rules,
    )


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"atomic_complete": False}, "in the step of the answer"),
        ({"protocols": "range|range"}, "versions of Connect's protocol"),
        ({"faults": {"late_commit": 1}}, "commits nothing"),
        ({"phases": True}, "not composed with workers"),
    ],
    ids=str,
)
def test_what_workers_do_not_have_is_refused(fields: dict[str, Any], why: str) -> None:
    with pytest.raises(ScopeError, match=why):
        subject("connect", members=2, **fields)
