"""Records of a share group (KIP-932): what the model counts, and what Kafka does not promise."""

from typing import Any

import pytest

from groupcheck.model.engine.staged import explore
from groupcheck.model.protocol.share_partition.scope import SharePartitionScope
from groupcheck.oracles.explain.subject import subject

COUNTS = (
    ({"members": 1}, 23, 31),
    ({"members": 2}, 60, 110),
    ({"members": 2, "any_faults": 1}, 884, 1_766),
    ({"members": 2, "any_faults": 2}, 5_952, 13_344),
    ({"members": 1, "records": 2, "batch": 2}, 800, 2_191),
    ({"members": 1, "records": 2, "batch": 2, "max_delivery": 3}, 1_781, 5_074),
    ({"members": 2, "records": 2, "batch": 2}, 5_310, 20_678),
    *(
        pytest.param(*case, marks=pytest.mark.night)
        for case in (
            ({"members": 1, "records": 2, "any_faults": 1}, 17_018, 45_149),
            ({"members": 2, "records": 2, "any_faults": 1}, 263_005, 909_716),
            ({"members": 1, "records": 3, "batch": 3, "missing": 1}, 15_515, 59_236),
            ({"members": 1, "records": 3, "batch": 2}, 58_295, 221_732),
            ({"members": 1, "records": 2, "batch": 2, "any_faults": 1}, 23_074, 71_230),
        )
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


def test_an_offset_without_a_record_is_inside_a_batch():
    with pytest.raises(Exception, match="not inside a batch"):
        SharePartitionScope(records=3, batch=2, missing=1)
    assert SharePartitionScope(records=3, batch=3, missing=1).missing == 1


@pytest.mark.parametrize("batch", [0, 2])
def test_a_record_that_is_passed_is_told_as_well_only_as_kafka_does(batch: int):
    fields = {"members": 1, "max_delivery": 1, "records": 2, "batch": batch}
    found = [
        explore(subject("share_partition", **fields, k33=k33).spec).verdict
        for k33 in ("mended", "as_kafka")
    ]
    assert found == ["holds", "violated"]
