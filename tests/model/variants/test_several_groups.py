"""Requests of an administrator about several groups, and pinned counts."""

from __future__ import annotations

from typing import Any

import pytest

from groupcheck.model.engine.staged import explore
from groupcheck.model.engine.verdict import HOLDS, Verdict
from groupcheck.model.protocol.classic.features.full_offsets.kept import OffsetStore
from groupcheck.model.protocol.classic.features.several_groups import (
    Other,
    describe_groups,
    reset_groups,
)
from groupcheck.model.protocol.classic.group import Core, Phase
from groupcheck.model.protocol.faults import Budget
from groupcheck.oracles.explain.subject import subject

ONCE = Budget((("describe_groups", 1), ("reset_groups", 1)))
LEFT = {name: Budget(((name, 1),)) for name in ("describe_groups", "reset_groups")}


def checked(**fields: Any) -> Verdict:
    return explore(subject("offsets+several_groups", **fields).spec)


@pytest.mark.parametrize(
    ("fields", "states", "transitions"),
    [
        ({"members": 1, "generations": 1, "any_faults": 1}, 172, 359),
        (
            {
                "members": 2,
                "generations": 1,
                "faults": {"reset_groups": 1, "describe_groups": 1},
            },
            568,
            1_684,
        ),
    ],
)
def test_all_promises_hold(fields: dict[str, Any], states: int, transitions: int) -> None:
    verdict = checked(**fields)
    assert (verdict.verdict, verdict.states, verdict.transitions) == (HOLDS, states, transitions)


@pytest.mark.parametrize(("phase", "label"), [(Phase.EMPTY, "accepted"), (Phase.STABLE, "refused")])
def test_an_empty_group_is_reset_whatever_becomes_of_this_one(phase: Phase, label: str) -> None:
    kept = OffsetStore(committed=1, logged=1, there=True)
    ((told, _, mine, other, left),) = reset_groups.call(Core(phase=phase), kept, Other(), ONCE)
    assert (told, other, left) == (label, Other(reset=True), LEFT["describe_groups"])
    assert mine.committed == (0 if label == "accepted" else 1)


@pytest.mark.parametrize(("there", "label"), [(True, "described"), (False, "no_group")])
def test_a_group_is_described_whatever_becomes_of_this_one(there: bool, label: str) -> None:
    ((told, _, other, left),) = describe_groups.call(OffsetStore(there=there), Other(), ONCE)
    assert (told, other, left) == (label, Other(described=True), LEFT["reset_groups"])


def test_a_coordinator_that_loads_is_asked_again() -> None:
    fields = {"members": 1, "generations": 1, "records": 0, "phases": True}
    faults = {"fail_over": 1, "describe_groups": 1}
    verdict = checked(**fields, faults=faults)
    assert verdict.verdict == HOLDS and verdict.rules["describe_groups:described"]
