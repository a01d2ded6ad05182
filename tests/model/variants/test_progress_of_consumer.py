"""The consumer group (KIP-848) comes to its target once faults stop, and what that rests on."""

from typing import Any

import attrs
import pytest

from groupcheck.model.engine import ScopeError, Spec
from groupcheck.model.engine.fast.explore import explore
from groupcheck.model.protocol.consumer.progress import FAIR
from groupcheck.oracles.explain.subject import subject

BOTH = ("can_converge", "group_converges")
SMALL: dict[str, Any] = {"members": 2, "partitions": 1}
# With these scopes each step that must happen in the end is needed.
SCOPES: dict[str, dict[str, Any]] = {
    "subscribe_all": {},
    "send_consumer_heartbeat": {},
    "request_arrives": {"wire": "explicit"},
    "answer_arrives": {"wire": "explicit"},
    "reconcile": {},
    "callback_returns": {"callbacks": "phased"},
    "poll_again": {"faults": {"poll_timeout": 1}},
    "ghost_expires": {"faults": {"crash": 1}},
    "interval_passes": {"interval": True},
    "session_over": {"static_members": 1, "topics": 2, "faults": {"lose_response": 1}},
}


def group(**fields: Any) -> Spec:
    return subject("consumer", progress=True, **{**SMALL, **fields}).spec


def judged(spec: Spec, symmetry: bool = False) -> Any:
    return explore(spec, liveness=True, symmetry=symmetry)


def test_the_group_converges_after_any_fault_whatever_lies_on_the_wire():
    spec = group(any_faults=1, wire="explicit", callbacks="phased")
    assert judged(spec).progress == dict.fromkeys(BOTH, "holds")


def test_that_it_can_is_judged_on_orbits_of_three_members():
    spec = group(members=3, any_faults=1).only(["can_converge"])
    verdict = judged(spec, symmetry=True)
    assert verdict.progress == {"can_converge": "holds"}
    assert verdict.symmetry.used and verdict.symmetry.representatives < verdict.states / 4


@pytest.mark.parametrize("name", SCOPES)
def test_every_fair_step_is_needed(name: str):
    spec = group(**SCOPES[name])
    assert judged(spec).progress == dict.fromkeys(BOTH, "holds")
    unfair = attrs.evolve(spec, fair=[f for f in spec.fair if f.name != name])
    assert judged(unfair).progress == {"can_converge": "holds", "group_converges": "violated"}


def test_a_late_heartbeat_is_the_only_fair_step_that_nobody_waits_for():
    late = group(faults={"delay_request": 1})
    assert {f.name for f in FAIR if f in late.fair} - {*SCOPES} == {"late_heartbeat"}


def test_k14_leaves_partitions_to_a_member_that_is_gone_for_good():
    faults = {"close": 1, "append_failure": 1, "crash": 1}
    found = judged(group(faults=faults, k14="as_kafka"))
    assert found.progress == dict.fromkeys(BOTH, "violated")
    (shortest,) = (v for v in found.violations if v.invariant == "can_converge")
    assert shortest.depth == 9
    assert {"close_consumer:failed", "crash"} <= {s.firing.name for s in shortest.path.steps}


def test_a_member_whose_joins_are_refused_waits_until_its_session_ends():
    spec = group(faults={"lose_response": 2}, kafka="4.1.1")
    assert judged(spec).progress == dict.fromkeys(BOTH, "holds")
    without = attrs.evolve(spec, fair=[f for f in spec.fair if f.name != "session_over"])
    assert judged(without).progress["group_converges"] == "violated"


@pytest.mark.parametrize("finding", ["k1", "k17", "k18", "k19", "k20"])
def test_the_other_findings_break_safety_but_members_heal(finding: str):
    spec = group(any_faults=2, **{finding: "as_kafka"}).only(["can_converge"])
    assert judged(spec).progress == {"can_converge": "holds"}


def test_a_group_in_which_nobody_must_send_anything_promises_nothing():
    with pytest.raises(ScopeError, match="no member has to send any"):
        group(requests="anybody")
