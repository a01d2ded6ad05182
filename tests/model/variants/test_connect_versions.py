"""Workers of several versions of Connect's protocol in one group: what holds, and what happens if
the group falls back to eager rebalancing.
"""

from __future__ import annotations

from typing import Any

import pytest

from groupcheck.model.engine import ScopeError, reference
from groupcheck.model.engine.fast.explore import explore
from groupcheck.model.engine.verdict import HOLDS
from groupcheck.oracles.explain.subject import subject

MIXED = "eager|compatible"
SCOPES: list[tuple[dict[str, Any], tuple[int, int]]] = [
    ({"members": 1, "any_faults": 2}, (1_775, 4_045)),
    ({"members": 2, "any_faults": 1}, (5_293, 13_072)),
    ({"members": 2, "any_faults": 1, "connect_protocol": MIXED}, (7_089, 16_338)),
    ({"members": 2, "partitions": 2, "connectors": 1, "connect_protocol": MIXED}, (100, 176)),
    ({"members": 3, "any_faults": 1}, (203_744, 662_002)),
    # A worker's late JoinGroup stands for it in a round that deals its work out eagerly.
    (
        {
            "members": 3,
            "connect_protocol": "eager|compatible|compatible",
            "faults": {"poll_timeout": 1, "delay_request": 1},
        },
        (3_228_390, 10_179_892),
    ),
]


@pytest.mark.parametrize(
    ("scope", "size"), [*SCOPES[:-1], pytest.param(*SCOPES[-1], marks=pytest.mark.night)], ids=str
)
def test_workers_of_any_versions_keep_every_promise(
    scope: dict[str, Any], size: tuple[int, int]
) -> None:
    verdict = explore(subject("connect_versions", **scope).spec, symmetry=None)
    assert (verdict.verdict, verdict.violations) == (HOLDS, ())
    assert (verdict.states, verdict.transitions) == size


@pytest.mark.parametrize(
    "protocol",
    ["compatible", pytest.param("sessioned", marks=pytest.mark.night), "compatible|sessioned"],
)
def test_without_eager_workers_they_are_those_of_connect(protocol: str) -> None:
    """Nothing is dealt out eagerly, and nobody runs anything but its share."""
    scope = {"members": 2, "faults": {"session_timeout": 1, "unreachable": 1}}
    mixed = explore(subject("connect_versions", **scope, connect_protocol=protocol).spec)
    alike = explore(subject("connect", **scope).spec)
    assert mixed.verdict == alike.verdict == HOLDS
    assert mixed.goals["runs_what_another_has"] is None
    if "|" not in protocol:
        assert (mixed.states, mixed.transitions) == (alike.states, alike.transitions)


def test_where_the_group_falls_back_to_eager_a_task_runs_twice() -> None:
    """FINDINGS 41, with the two workers that it names and no fault."""
    verdict = explore(subject("connect_versions", members=2, connect_protocol=MIXED).spec)
    assert verdict.goals["runs_what_another_has"] == 12


def test_a_group_that_never_falls_back_does_not_run_a_task_twice() -> None:
    """One eager worker in every generation: nobody ever rebalances incrementally."""
    scope = {"members": 2, "connect_protocol": "eager", "faults": {"close": 1, "crash": 1}}
    verdict = explore(subject("connect_versions", **scope).spec)
    assert verdict.verdict == HOLDS and verdict.goals["runs_what_another_has"] is None


def test_a_cluster_is_upgraded_bounce_by_bounce() -> None:
    verdict = explore(subject("connect_versions", members=1, faults={"bounce": 2}).spec)
    assert verdict.verdict == HOLDS and verdict.goals["upgraded"] is not None


@pytest.mark.night
def test_the_obvious_engine_says_the_same() -> None:
    scope = {"members": 2, "generations": 2, "connect_protocol": MIXED}
    spec = subject("connect_versions", **scope, faults={"config_update": 1}).spec
    fast, plain = explore(spec), reference.explore(spec)
    assert (fast.states, fast.transitions, fast.rules) == (
        plain.states,
        plain.transitions,
        plain.rules,
    )


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"connect_protocol": "eagre"}, "is no connect.protocol"),
        ({"connect_protocol": "eager|eager|eager"}, "not one for each"),
        ({"bounces": "eager>cooperative"}, "is no connect.protocol"),
        ({"protocols": "range|range"}, "versions of Connect's protocol"),
    ],
    ids=str,
)
def test_what_is_no_version_is_refused(fields: dict[str, Any], why: str) -> None:
    with pytest.raises(ScopeError, match=why):
        subject("connect_versions", members=2, **fields)
