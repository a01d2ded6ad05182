"""Share groups (KIP-932): what the model counts, and what it tells of its scopes."""

from typing import Any

import pytest

from groupcheck.model.engine import ScopeError
from groupcheck.model.engine.binding import indexing
from groupcheck.model.engine.staged import explore
from groupcheck.model.engine.symmetry import symmetry_of
from groupcheck.model.protocol.share.plans import plans
from groupcheck.model.protocol.share.rules import COORDINATOR
from groupcheck.model.protocol.share.scope import ShareScope
from groupcheck.oracles.check.run import check
from groupcheck.oracles.explain.subject import subject

COUNTS = (
    ({"members": 1}, 6, 9),
    ({"members": 2}, 131, 382),
    ({"members": 2, "any_faults": 1}, 1_697, 7_649),
)


@pytest.mark.parametrize(("fields", "states", "transitions"), COUNTS)
def test_counts(fields: dict[str, Any], states: int, transitions: int):
    found = explore(subject("share", **fields).spec)
    assert (found.verdict, found.states, found.transitions) == ("holds", states, transitions)


@pytest.mark.night
def test_counts_of_two_faults():
    two = explore(subject("share", members=2, any_faults=2).spec)
    assert (two.verdict, two.states, two.transitions) == ("holds", 27_836, 234_163)


def test_progress_holds_with_a_fault():
    found = check("share", members=2, partitions=1, any_faults=1, progress=True)
    assert {*found.verdict.progress.values()} == {"holds"}


def test_what_kafka_does_where_a_leave_cannot_be_appended_is_found():
    faults = {"close": 1, "append_failure": 1}
    spec = subject("share", members=1, partitions=1, k14="as_kafka", faults=faults).spec
    assert explore(spec).verdict == "violated"


def test_members_are_exchanged_and_the_coordinator_never_sees_the_client():
    spec = subject("share", members=3, any_faults=1).spec
    (found,) = symmetry_of(spec).groups
    assert found.arrays == ("seat", "client", "link")
    assert not [r.name for r in spec.rules if r.name in COORDINATOR and "client" in r.slots]
    assert not [r.name for r in spec.rules if r.urgent and len(indexing(spec, r).sizes) > 1]


def test_a_simple_plan_gives_no_partition_and_no_member_more_than_needed():
    scope = ShareScope(members=4, partitions=2, assignor="simple")
    found = [[share for _, share in plan] for plan in plans(((3, 0, -1),) * 4, 3, scope)]
    assert [1, 1, 2, 2] in found and [0, 1, 1, 2] in found
    assert not [shares for shares in found if 3 in shares or shares.count(1) > 2]
    assert [[share for _, share in plan] for plan in plans(((3, 0, -1),), 3, scope)] == [[3]]


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"faults": {"rebalance_timeout": 1}}, "nobody waits for a member of a share group"),
        ({"kafka": "4.2.0", "interval": True}, "has no assignment interval"),
        ({"members": 8, "partitions": 8}, "plans"),
        ({"faults": {"crash": 1}, "any_faults": 1}, "exclude each other"),
    ],
)
def test_a_scope_that_cannot_be_is_refused(fields: dict[str, Any], says: str):
    with pytest.raises(ScopeError, match=says):
        ShareScope(**fields)
