"""The sticky partitioner: how many states there are, and who gets how much."""

from __future__ import annotations

from typing import Any

import attrs
import pytest

from groupcheck import check
from groupcheck.model.engine import ScopeError, reference
from groupcheck.model.engine.staged import explore
from groupcheck.model.engine.verdict import HOLDS
from groupcheck.model.protocol.sticky_partitioner.rules import Part, Producer, append_record, spec
from groupcheck.model.protocol.sticky_partitioner.scope import PartitionerScope

SIZES: list[tuple[dict[str, Any], int, int, int]] = [
    ({"partitions": 1}, 14, 13, 14),
    ({}, 37, 36, 19),
    ({"any_faults": 1}, 187, 272, 20),
    ({"linger": 3, "any_faults": 2}, 124, 284, 13),
    ({"partitioner": "built_in", "any_faults": 1, "records": 9}, 640, 1022, 27),
    ({"partitioner": "built_in", "linger": 2}, 33, 32, 13),
]


@pytest.mark.parametrize(("fields", "states", "transitions", "levels"), SIZES)
def test_a_scope_has_its_states_in_both_engines_and_nobody_is_stuck(
    fields: dict[str, Any], states: int, transitions: int, levels: int
) -> None:
    scope = PartitionerScope(**fields)
    slow, fast = reference.explore(spec(scope)), explore(spec(scope))
    assert (slow.states, slow.transitions, slow.depth) == (states, transitions, levels)
    assert (fast.states, fast.transitions, fast.depth) == (states, transitions, levels)
    assert slow.rules == fast.rules
    assert slow.violations == fast.violations == ()


UNEVEN = "slow_brokers_get_no_more"


def test_with_kip_480_the_partition_of_a_slow_broker_gets_three_times_as_much() -> None:
    found = check("sticky_partitioner", invariants=[UNEVEN], faults={"slow_broker": 1})
    assert [(v.invariant, v.depth) for v in found.verdict.violations] == [(UNEVEN, 9)]
    parts = [state for _, state in slot("part", found.verdict.violations[0].path)]
    assert sorted((p.slow, p.got, p.stays) for p in parts) == [(False, 1, 1), (True, 3, 1)]
    assert "p1 has got 3 and p0 has got 1" in found.explanations[0].sentence


def slot(name: str, path: Any) -> list[tuple[Any, Any]]:
    """The values of an array at the end of a path."""
    values = zip(path.places, path.states[-1], strict=True)
    return [(place, value) for place, value in values if place[0] == name]


@pytest.mark.parametrize("linger", [1, 2, 3])
def test_with_kip_794_it_does_not(linger: int) -> None:
    settings = {"partitioner": "built_in", "records": "12", "linger": str(linger)}
    found = check("sticky_partitioner", invariants=[UNEVEN], any_faults=2, settings=settings)
    assert found.verdict.verdict == HOLDS


def test_a_batch_that_linger_has_closed_gets_no_more_records() -> None:
    scope = PartitionerScope(linger=2)
    producer, part = Producer(left=3, choosing=False, produced=2), Part(sticky=True, open=2)
    assert list(append_record.call(producer, part, scope)) == []
    ((label, _, after),) = append_record.call(producer, attrs.evolve(part, slow=True), scope)
    assert (label, after.open) == ("into_batch", 3)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"partitioner": "random"}, "partitioner is 'random'"),
        ({"faults": {"crash": 1}}, "unknown fault 'crash'"),
        ({"faults": {"slow_broker": 1}, "any_faults": 1}, "exclude each other"),
        ({"batch": 0}, "batch is 0"),
    ],
)
def test_a_scope_that_makes_no_sense_is_refused(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(ScopeError, match=message):
        PartitionerScope(**fields)
