"""The consumer group (KIP-848) comes to its target once faults stop, and what that rests on."""

from typing import Any

import attrs
import pytest

from groupcheck.model.engine import ScopeError, Spec
from groupcheck.model.engine.fast.explore import explore
from groupcheck.model.protocol.consumer.progress import FAIR
from groupcheck.oracles.explain.subject import subject

# M1 to M6, each by a promise or two.
EVERY = (
    "can_converge",
    "group_converges",
    "revocation_ends",
    "wait_for_partitions_ends",
    "gone_member_is_removed",
    "target_follows",
    "process_is_member_again",
    "new_partition_is_seen",
)
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
    "session_over": {"static_members": 1, "faults": {"crash": 1}},
    "revocation_over": {"partitions": 2, "resends": False, "faults": {"append_failure": 1}},
}


def group(**fields: Any) -> Spec:
    return subject("consumer", progress=True, **{**SMALL, **fields}).spec


def judged(spec: Spec, symmetry: bool = False) -> Any:
    return explore(spec, liveness=True, symmetry=symmetry)


def broken(verdict: Any) -> set[str]:
    return {name for name, kind in verdict.progress.items() if kind == "violated"}


def test_the_group_converges_after_any_fault_whatever_lies_on_the_wire():
    spec = group(any_faults=1, wire="explicit", callbacks="phased")
    assert judged(spec).progress == dict.fromkeys(EVERY, "holds")


def test_that_it_can_is_judged_on_orbits_of_three_members():
    spec = group(members=3, any_faults=1).only(["can_converge"])
    verdict = judged(spec, symmetry=True)
    assert verdict.progress == {"can_converge": "holds"}
    assert verdict.symmetry.used and verdict.symmetry.representatives < verdict.states / 4


@pytest.mark.parametrize("name", SCOPES)
def test_every_fair_step_is_needed(name: str):
    spec = group(**SCOPES[name])
    assert judged(spec).progress == dict.fromkeys(EVERY, "holds")
    unfair = attrs.evolve(spec, fair=[f for f in spec.fair if f.name != name])
    found = broken(judged(unfair))
    assert "group_converges" in found and "can_converge" not in found


def test_a_late_heartbeat_is_the_only_fair_step_that_nobody_waits_for():
    late = group(faults={"delay_request": 1})
    assert {f.name for f in FAIR if f in late.fair} - {*SCOPES} == {"late_heartbeat"}


def test_k14_leaves_partitions_to_a_member_that_is_gone_for_good():
    faults = {"close": 1, "append_failure": 1, "crash": 1}
    found = judged(group(faults=faults, k14="as_kafka"))
    assert broken(found) == {
        "can_converge",
        "group_converges",
        "gone_member_is_removed",
        "wait_for_partitions_ends",
    }
    (shortest,) = (v for v in found.violations if v.invariant == "can_converge")
    assert shortest.depth == 9
    assert {"close_consumer:failed", "crash"} <= {s.firing.name for s in shortest.path.steps}


def test_a_member_whose_joins_are_refused_waits_until_its_session_ends():
    fields: dict[str, Any] = {"faults": {"lose_response": 2}}
    assert not broken(judged(group(kafka="4.1.1", **fields)))
    k4 = judged(group(kafka="4.1.1", sessions_heal=False, **fields))
    assert "process_is_member_again" in broken(k4)
    assert not broken(judged(group(kafka="4.2.0", sessions_heal=False, **fields)))


def test_k3_stops_a_static_member_for_good_whose_answer_was_lost():
    fields: dict[str, Any] = {"members": 1, "static_members": 1, "faults": {"lose_response": 1}}
    assert not broken(judged(group(**fields)))
    found = judged(group(k3="as_kafka", **fields))
    assert broken(found) == {"process_is_member_again"}


def test_a_process_whose_instance_another_one_has_may_fail_for_good():
    spec = group(members=1, static_members=1, faults={"crash": 1})
    assert not broken(judged(spec))
    assert "hear_answer:fatal" not in judged(spec).never_fired


def test_k19_blocks_a_partition_for_good_unless_members_say_everything_again():
    fields: dict[str, Any] = {"partitions": 2, "faults": {"append_failure": 1}}
    assert not broken(judged(group(k19="as_kafka", **fields)))
    found = judged(group(k19="as_kafka", resends=False, **fields))
    assert {"revocation_ends", "wait_for_partitions_ends", "group_converges"} <= broken(found)


@pytest.mark.parametrize(
    ("name", "step", "fields"),
    [
        ("target_follows", "send_consumer_heartbeat", {"faults": {"close": 1}}),
        ("new_partition_is_seen", "send_consumer_heartbeat", {"faults": {"metadata": 1}}),
        ("revocation_ends", "callback_returns", {"callbacks": "phased"}),
        ("wait_for_partitions_ends", "reconcile", {}),
        ("gone_member_is_removed", "ghost_expires", {"faults": {"crash": 1}}),
        ("process_is_member_again", "poll_again", {"faults": {"poll_timeout": 1}}),
    ],
)
def test_each_promise_falls_without_the_step_that_keeps_it(
    name: str, step: str, fields: dict[str, Any]
):
    spec = group(**{"partitions": 2, **fields}).only([name])
    unfair = attrs.evolve(spec, fair=[f for f in spec.fair if f.name != step])
    assert (broken(judged(spec)), broken(judged(unfair))) == (set(), {name})


@pytest.mark.parametrize("finding", ["k1", "k17", "k18", "k19", "k20"])
def test_the_other_findings_break_safety_but_members_heal(finding: str):
    spec = group(any_faults=2, **{finding: "as_kafka"}).only(["can_converge"])
    assert judged(spec).progress == {"can_converge": "holds"}


def test_a_group_in_which_nobody_must_send_anything_promises_nothing():
    with pytest.raises(ScopeError, match="no member has to send any"):
        group(requests="anybody")
