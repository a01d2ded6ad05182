"""Consumer groups (KIP-848): how many states there are, which readings are safe, and what differs
between versions of Kafka.
"""

from __future__ import annotations

from typing import Any

import attrs
import pytest

from groupcheck.invariants.registry import for_families
from groupcheck.model.engine import ScopeError, Spec, reference
from groupcheck.model.engine.fast.explore import explore
from groupcheck.model.engine.verdict import HOLDS, VIOLATED, Verdict
from groupcheck.model.protocol.consumer.heartbeats import (
    consumer_heartbeat,
    leave_consumer_group,
    reconcile_member,
)
from groupcheck.model.protocol.consumer.memory import REST, Core, Deal, Previous, Seat, Walk
from groupcheck.model.protocol.consumer.messages import Answer, Kind, Link, Request, Tag
from groupcheck.model.protocol.consumer.plans import key_of, plans
from groupcheck.model.protocol.consumer.rules import spec
from groupcheck.model.protocol.consumer.scope import ConsumerScope
from groupcheck.model.protocol.consumer.targets import give_target
from groupcheck.model.protocol.consumer.votes import NONE, preferred, preferred_with
from groupcheck.model.protocol.family import CONSUMER

PROMISES = for_families((CONSUMER,))
EXPLICIT = {"topics": 2, "partitions": 1, "wire": "explicit", "callbacks": "phased"}


def promised(**fields: Any) -> Spec:
    bare = spec(ConsumerScope(**fields))
    more = {"goals": PROMISES.goals, "views": PROMISES.views}
    return attrs.evolve(bare, invariants=PROMISES.invariants, **more)


def check(**fields: Any) -> Verdict:
    return explore(promised(**fields))


@pytest.mark.parametrize(
    ("fields", "states", "transitions", "depth"),
    [
        ({"members": 2, "any_faults": 1}, 6_228, 23_386, 18),
        ({"members": 2, "any_faults": 2}, 141_827, 762_599, 23),
        ({"members": 2, "topics": 2, "partitions": 1, "any_faults": 2}, 212_756, 1_078_405, 23),
        ({"members": 2, "static_members": 1, "any_faults": 1}, 5_511, 20_013, 18),
        # The scope of the public TLA+ specification (kafka-tlaplus).
        ({"members": 2, "any_faults": 1, **EXPLICIT}, 289_519, 1_014_195, 57),
    ],
    ids=str,
)
def test_the_mended_group_holds_and_has_so_many_states(
    fields: dict[str, Any], states: int, transitions: int, depth: int
) -> None:
    verdict = check(**fields)
    assert (verdict.verdict, verdict.goals_not_met) == (HOLDS, ())
    assert (verdict.states, verdict.transitions, verdict.depth) == (states, transitions, depth)


@pytest.mark.parametrize(
    "fields",
    [
        {"members": 2, "partitions": 1, "faults": {"append_failure": 1}},
        {"members": 2, "static_members": 1, "partitions": 1, "faults": {"crash": 1}},
        {"members": 1, "requests": "anybody", "any_faults": 1},
    ],
    ids=str,
)
def test_both_engines_tell_the_same(fields: dict[str, Any]) -> None:
    fast, plain = check(**fields), reference.explore(promised(**fields))
    assert (fast.verdict, fast.states, fast.transitions) == (
        plain.verdict,
        plain.states,
        plain.transitions,
    )
    assert fast.rules == plain.rules


def test_members_are_exchanged_where_the_assignor_does_not_know_them() -> None:
    fields = {"members": 3, "partitions": 1, "any_faults": 1}
    verdict = explore(promised(**fields), symmetry=True)
    assert verdict.symmetry.used and verdict.symmetry.representatives < verdict.states / 4
    assert verdict.states == check(**fields).states


PATTERNS = {"partitions": 1, "requests": "anybody", "patterns": True}
NAMED = {"partitions": 1, "requests": "anybody", "assignor": "named", "kafka": "4.4.0"}
FINDINGS = [
    ("k1", {"any_faults": 2}, "member_holds_what_it_was_given", 7),
    ("k1", {"any_faults": 1, "callbacks": "phased"}, "member_holds_what_it_was_given", 8),
    ("k1", {"any_faults": 1, "wire": "explicit"}, "member_holds_what_it_was_given", 11),
    ("k14", {"any_faults": 2}, "session_is_watched", 3),
    ("k17", {"faults": {"delay_request": 1}}, "member_holds_what_it_was_given", 7),
    (
        "k18",
        {"faults": {"delay_request": 1, "metadata": 1}},
        "member_holds_what_it_was_given",
        10,
    ),
    ("k19", {"any_faults": 1}, "revocation_is_watched", 7),
    ("k20", {"any_faults": 1}, "only_revocations_are_watched", 5),
    (
        "k22",
        {"members": 1, "static_members": 1, "topics": 2, "k3": "as_kafka", **PATTERNS},
        "given_can_be_consumed",
        3,
    ),
    ("k22", {"members": 1, "topics": 2, **PATTERNS}, "given_can_be_consumed", 2),
    ("k24", NAMED, "heartbeat_moves_nothing", 3),
    (
        "kafka_20641",
        {"static_members": 1, "faults": {"close": 1}},
        "parked_member_revokes_nothing",
        6,
    ),
]


@pytest.mark.parametrize(("finding", "fields", "promise", "depth"), FINDINGS)
def test_a_finding_breaks_its_promise_as_kafka_is_and_not_mended(
    finding: str, fields: dict[str, Any], promise: str, depth: int
) -> None:
    asked = promised(**{"members": 2, **fields, finding: "as_kafka"}).only([promise])
    verdict = explore(attrs.evolve(asked, views=PROMISES.views))
    assert verdict.verdict == VIOLATED
    assert [(v.invariant, v.depth) for v in verdict.violations] == [(promise, depth)]


@pytest.mark.parametrize(
    "fields",
    [
        {"faults": {"delay_request": 1, "metadata": 1}},
        {"members": 1, "topics": 2, "static_members": 1, **PATTERNS},
        NAMED,
        {"assignment_epochs": True, "any_faults": 1},
    ],
)
def test_mended_readings_hold_beyond_any_faults(fields: dict[str, Any]) -> None:
    """Late requests that are dropped; patterns that a join by names ends; ties that one order
    breaks; and what was given at which epoch.
    """
    assert check(**{"members": 2, **fields}).verdict == HOLDS


def test_the_assignor_that_asks_wins_a_tie_in_a_copy_and_the_first_one_in_the_group() -> None:
    assert preferred(NONE) == preferred((1, 1)) == "uniform" != preferred((1, 2))
    assert preferred_with((1, 1), "range", "range") == "range"
    assert preferred_with((1, 1), "", "") == preferred_with((1, 1), "uniform", "uniform")
    assert preferred_with((2, 2), "range", "range") == "uniform"
    assert preferred_with((1, 0), "", "range") == "range"


@pytest.mark.parametrize("kafka", ["4.0.0", "4.2.0", "4.4.0"])
def test_the_promises_hold_with_the_rules_of_each_version(kafka: str) -> None:
    assert check(members=2, partitions=1, any_faults=1, kafka=kafka).verdict == HOLDS


@pytest.mark.parametrize(
    ("current", "new_target", "known", "then"),
    [
        (True, False, Tag.CURRENT, Tag.CURRENT),
        (True, False, Tag.PREVIOUS, Tag.OLD),
        (True, True, Tag.CURRENT, Tag.OLD),
        (False, False, Tag.CURRENT, Tag.OLD),
    ],
)
def test_a_static_member_comes_back_with_its_epoch_if_the_target_stands(
    current: bool, new_target: bool, known: Tag, then: Tag
) -> None:
    """So what is still on its way with that epoch counts again, but not with the one before."""
    scope = ConsumerScope(members=1, static_members=1, wire="explicit")
    seat: Seat | None = Seat(current, previous=Previous.OLDER, assigned=3, target=3, subscribed=3)
    core = Core(exists=True, held=3, members=1, topics=3)
    link = Link(request=Request(Kind.PARK), back=Answer(tag=known), static=True, lost=True)
    [(label, core, seat, link)] = leave_consumer_group.call(core, seat, link, scope)
    assert seat is not None and label == "parked"
    if new_target:
        plan = Deal(False, ((key_of(seat, 0, scope), 3),))
        [(_, seat)] = give_target.call(Walk(0, plan), seat, scope)
    link = attrs.evolve(link, request=Request(Kind.JOIN, owned=0, subscribed=3), lost=True)
    [(label, core, seat, link)] = consumer_heartbeat.call(core, seat, link, scope)
    assert label == "replaced"
    [(_, core, seat, link, _)] = reconcile_member.call(core, seat, link, REST, scope)
    assert seat is not None and (seat.current, seat.resumes) == (True, False)
    assert link.back is not None and link.back.tag == then


def test_a_scope_that_cannot_be_is_refused_in_words() -> None:
    with pytest.raises(ScopeError, match=r"Kafka 4\.2\.0 has no assignment interval"):
        ConsumerScope(kafka="4.2.0", interval=True)
    with pytest.raises(ScopeError, match="more than there are members"):
        ConsumerScope(members=1, static_members=2)
    with pytest.raises(ScopeError, match="exclude each other"):
        ConsumerScope(any_faults=1, faults={"crash": 1})
    with pytest.raises(ScopeError, match="unknown fault 'flood'"):
        ConsumerScope(faults={"flood": 1})
    with pytest.raises(ScopeError, match="plans, more than"):
        ConsumerScope(members=8, partitions=8)
    with pytest.raises(ScopeError, match="no place for Java's members"):
        ConsumerScope(java=True, requests="anybody")


@pytest.mark.parametrize("field", ["auto_commit", "k16", "k23", "k25"])
def test_what_only_javas_members_look_at_is_refused_without_them(field: str) -> None:
    value: Any = True if field == "auto_commit" else "as_kafka"
    with pytest.raises(ScopeError, match=f"{field} is about Java's members"):
        ConsumerScope(**{field: value})
    ConsumerScope(java=True, **{field: value})


def test_each_assignor_makes_the_plans_that_it_is_known_for() -> None:
    def shares(assignor: str, *seen: tuple[int, int, int]) -> set[tuple[int, ...]]:
        scope = ConsumerScope(assignor=assignor)
        return {tuple(share for _, share in plan) for plan in plans(seen, 0b11, scope)}

    new = (0b11, 0, 0), (0b11, 0, 1)
    kept = (0b11, 0, 0), (0b11, 0b01, 1)
    assert shares("any", (0b11, 0, -1), (0b11, 0, -1)) == {(0, 3), (1, 2)}
    assert shares("sticky", *[(s, t, -1) for s, t, _ in kept]) == {(2, 1)}
    assert shares("range", *new) == shares("range", *kept) == {(1, 2)}
    assert shares("uniform", *kept) == {(2, 1)}
