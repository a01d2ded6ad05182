"""What has to happen in the end where offsets are modelled in full: offsets of an Empty group
expire (L8), and producers and administrators stop nobody.
"""

from __future__ import annotations

from typing import Any

import attrs
import pytest

from groupcheck.invariants.registry import for_families
from groupcheck.model.engine import Spec, evolve
from groupcheck.model.engine.reference import explore
from groupcheck.model.protocol.classic.features.full_offsets.kept import OffsetStore
from groupcheck.model.protocol.classic.group import Core
from groupcheck.model.variants import load
from groupcheck.oracles.explain.subject import subject

PROMISES = [p.name for p in for_families(load("offsets").families).progress]
PRODUCING = {"commits": "transactions"}
IN_PHASES = {"phases": "yes"}


def spec(**scope: Any) -> Spec:
    return subject("offsets", progress=True, members=1, **scope).spec


def broken(given: Spec) -> set[str]:
    verdict = explore(given, liveness=True)
    assert list(verdict.progress) == PROMISES
    return {name for name, what in verdict.progress.items() if what != "holds"}


@pytest.mark.parametrize(
    ("scope", "states"),
    [
        ({"any_faults": 1}, 220),
        ({"faults": {"session_timeout": 1, "expire_offsets": 1}}, 131),
        ({"faults": {"close": 1, "fail_over": 1}, "settings": PRODUCING}, 578),
        ({"faults": {"crash": 1, "delete_groups": 1}, "settings": PRODUCING}, 434),
        pytest.param(
            {"faults": {"fail_over": 1, "close": 1}, "settings": IN_PHASES},
            3_328,
            marks=pytest.mark.night,
        ),
    ],
    ids=str,
)
def test_a_healthy_group_keeps_every_promise(scope: dict[str, Any], states: int) -> None:
    given = spec(**scope)
    assert broken(given) == set()
    assert explore(given).states == states


@pytest.mark.parametrize(
    ("scope", "rule", "promises"),
    [
        ({"faults": {"crash": 1}}, "sweep", {"empty_groups_expire"}),
        ({"faults": {"crash": 1}, "settings": PRODUCING}, "write_marker", {"empty_groups_expire"}),
    ],
    ids=str,
)
def test_without_one_fair_rule_a_promise_is_broken(
    scope: dict[str, Any], rule: str, promises: set[str]
) -> None:
    given = spec(**scope)
    less = [action for action in given.fair if rule not in action.names]
    assert len(less) == len(given.fair) - 1
    assert broken(attrs.evolve(given, fair=less)) >= promises


def test_the_offsets_of_a_group_that_is_not_loaded_are_not_swept() -> None:
    given = spec(faults={"fail_over": 1}, settings=IN_PHASES)
    (sweep,) = (r for r in given.rules if r.name == "sweep")
    core, kept = Core(support=(0,)), OffsetStore(there=True)
    assert list(sweep.call(core, kept))
    assert not list(sweep.call(evolve(core, loading=True), kept))
