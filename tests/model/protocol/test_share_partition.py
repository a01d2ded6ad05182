"""Records of a share group (KIP-932): what the model counts, and what Kafka does not promise."""

from typing import Any

import pytest

from groupcheck.model.engine.staged import explore
from groupcheck.model.protocol.share_partition.scope import SharePartitionScope
from groupcheck.oracles.explain.subject import subject

COUNTS = (
    ({"members": 1}, 23, 31),
    ({"members": 2}, 60, 110),
    ({"members": 2, "any_faults": 1}, 774, 1_564),
    ({"members": 2, "any_faults": 2}, 4_766, 10_748),
    ({"members": 1, "records": 2, "any_faults": 1}, 11_879, 32_072),
    pytest.param(
        {"members": 2, "records": 2, "any_faults": 1}, 203_346, 699_482, marks=pytest.mark.night
    ),
)


@pytest.mark.parametrize(("fields", "states", "transitions"), COUNTS)
def test_counts(fields: dict[str, Any], states: int, transitions: int):
    found = explore(subject("share_partition", **fields).spec)
    assert (found.verdict, found.states, found.transitions) == ("holds", states, transitions)


@pytest.mark.parametrize(
    ("promise", "faults", "depth"),
    [
        ("archived_record_was_seen", {"lose_response": 2}, 4),
        ("deliveries_are_limited", {"fail_over": 1}, 5),
    ],
)
def test_what_is_not_promised_breaks(promise: str, faults: dict[str, int], depth: int):
    asked = subject("share_partition", members=1, faults=faults, invariants=[promise])
    found = explore(asked.spec)
    assert [v.depth for v in found.violations] == [depth]


def test_a_fault_that_there_is_not_is_refused():
    with pytest.raises(Exception, match="unknown fault"):
        SharePartitionScope(faults={"crash": 1})
