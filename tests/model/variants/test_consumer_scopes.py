"""The large scopes of the consumer group: what keeps them small, and at night their counts."""

from typing import Any

import pytest

from groupcheck.model.engine import Limits, Spec
from groupcheck.model.engine.binding import indexing
from groupcheck.model.engine.staged import explore
from groupcheck.model.engine.symmetry import symmetry_of
from groupcheck.model.protocol.consumer.rules import COORDINATOR
from groupcheck.oracles.explain.subject import subject

MOST_MEMORY = 4 << 30
STEPS = {"wire": "explicit", "callbacks": "phased"}
# The TLA+ specification's scope; then what three members and more faults add.
SCOPES: dict[str, tuple[dict[str, Any], int, int]] = {
    "two topics, every step": (
        {"members": 2, "topics": 2, "partitions": 1, "any_faults": 1, **STEPS},
        289_519,
        1_014_195,
    ),
    "any 3 faults": ({"members": 2, "any_faults": 3}, 1_917_027, 15_841_560),
    "three members, any 2 faults": ({"members": 3, "any_faults": 2}, 16_604_950, 149_770_864),
    "three members, every step": (
        {"members": 3, "any_faults": 1, **STEPS},
        155_468_787,
        797_316_732,
    ),
}


def group(name: str, **more: Any) -> Spec:
    return subject("consumer", **SCOPES[name][0], **more).spec


@pytest.mark.parametrize("name", SCOPES)
def test_members_are_exchanged(name: str):
    (found,) = symmetry_of(group(name)).groups
    assert found.arrays == ("seat", "client", "link")
    possible = group(name, progress=True).only(["can_converge"])
    assert symmetry_of(possible, of_runs=True).groups == (found,)


def test_no_rule_of_the_coordinator_reads_the_client_and_no_urgent_one_has_two_indexes():
    spec = group("three members, every step")
    assert not [r.name for r in spec.rules if r.name in COORDINATOR and "client" in r.slots]
    assert not [r.name for r in spec.rules if r.urgent and len(indexing(spec, r).sizes) > 1]


def test_a_delayed_request_is_none_of_any_faults():
    assert not group("any 3 faults").scope.budget.allows("delay_request")


@pytest.mark.night
@pytest.mark.parametrize("name", SCOPES)
def test_counts_and_memory(name: str):
    _, states, transitions = SCOPES[name]
    found = explore(group(name), Limits(memory=MOST_MEMORY), symmetry=None)
    assert (found.verdict, found.states, found.transitions) == ("holds", states, transitions)
    assert found.symmetry.used == (SCOPES[name][0]["members"] > 2)
