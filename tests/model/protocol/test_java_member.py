"""Java's members of a consumer group: how many states there are, which readings are safe, and what
a member does with an answer in each of its states.
"""

from __future__ import annotations

from typing import Any

import attrs
import pytest

from groupcheck.invariants.registry import for_families
from groupcheck.model.engine import Spec, reference
from groupcheck.model.engine.fast.explore import explore
from groupcheck.model.engine.verdict import HOLDS, VIOLATED, Verdict
from groupcheck.model.protocol.consumer.client import Member
from groupcheck.model.protocol.consumer.java_member import (
    Calls,
    Event,
    JavaMember,
    Phase,
    Reconciliation,
    given,
    reconciling,
)
from groupcheck.model.protocol.consumer.java_rules import (
    application_subscribes,
    java_hears,
    unsubscribe_goes_on,
)
from groupcheck.model.protocol.consumer.messages import Answer, Kind, Link
from groupcheck.model.protocol.consumer.rules import spec
from groupcheck.model.protocol.consumer.scope import ConsumerScope
from groupcheck.model.protocol.family import CONSUMER, JAVA_MEMBERS

PROMISES = for_families((CONSUMER, JAVA_MEMBERS))
PHASED = {"callbacks": "phased"}
EXPLICIT = {"wire": "explicit"}


def promised(**fields: Any) -> Spec:
    bare = spec(ConsumerScope(java=True, **fields))
    more = {"goals": PROMISES.goals, "views": PROMISES.views}
    return attrs.evolve(bare, invariants=PROMISES.invariants, **more)


def check(**fields: Any) -> Verdict:
    return explore(promised(**fields))


@pytest.mark.parametrize(
    ("fields", "states", "transitions", "depth"),
    [
        ({"members": 2, "any_faults": 1}, 17_591, 76_105, 29),
        ({"members": 2, "any_faults": 1, **PHASED}, 32_705, 142_115, 34),
        pytest.param(
            {"members": 2, "any_faults": 1, "kafka": "4.2.0", **PHASED},
            33_463,
            145_259,
            34,
            marks=pytest.mark.night,
        ),
        pytest.param(
            {"members": 2, "any_faults": 1, "auto_commit": True, **PHASED},
            50_119,
            207_865,
            38,
            marks=pytest.mark.night,
        ),
        ({"members": 1, "any_faults": 2, **EXPLICIT, **PHASED}, 4_645, 13_257, 30),
    ],
    ids=str,
)
def test_java_members_with_mended_readings_hold_and_have_so_many_states(
    fields: dict[str, Any], states: int, transitions: int, depth: int
) -> None:
    verdict = check(**fields)
    assert verdict.verdict == HOLDS
    assert (verdict.states, verdict.transitions, verdict.depth) == (states, transitions, depth)


def test_both_engines_tell_the_same_of_java_members() -> None:
    fields = {"members": 1, "any_faults": 1, **EXPLICIT, **PHASED}
    fast, plain = check(**fields), reference.explore(promised(**fields))
    assert (fast.verdict, fast.states, fast.transitions, fast.rules) == (
        plain.verdict,
        plain.states,
        plain.transitions,
        plain.rules,
    )


def test_java_members_are_exchanged() -> None:
    fields = {"members": 3, "partitions": 1}
    verdict = explore(promised(**fields), symmetry=True)
    assert verdict.symmetry.used and verdict.symmetry.representatives < verdict.states / 4
    assert verdict.states == check(**fields).states


FINDINGS = [
    ("k1", {"members": 2, "any_faults": 1, **PHASED}, "member_holds_what_it_was_given", 12),
    ("k1_prime", {"members": 2, "any_faults": 1}, "member_holds_what_it_was_given", 11),
    ("k1_prime", {"members": 2, "any_faults": 1, **EXPLICIT}, "member_holds_what_it_was_given", 15),
    ("k16", {"members": 2, "any_faults": 1}, "member_holds_what_it_was_given", 10),
    ("k16", {"members": 1, "any_faults": 1}, "who_is_out_consumes_nothing", 6),
    (
        "k22",
        {"members": 1, "static_members": 1, "topics": 2, "patterns": True, "any_faults": 1},
        "given_can_be_consumed",
        7,
    ),
    ("k23", {"members": 1, "any_faults": 1, **EXPLICIT}, "member_joins_by_its_join", 7),
    ("k23", {"members": 2, "any_faults": 1, **EXPLICIT}, "member_holds_what_it_was_given", 17),
    ("k25", {"members": 1, "any_faults": 2, **PHASED}, "unsubscribe_runs_its_callback", 9),
]


@pytest.mark.parametrize(("finding", "fields", "promise", "depth"), FINDINGS)
def test_a_finding_of_java_breaks_its_promise_as_kafka_is(
    finding: str, fields: dict[str, Any], promise: str, depth: int
) -> None:
    asked = promised(**fields, **{finding: "as_kafka"}).only([promise])
    verdict = explore(attrs.evolve(asked, views=PROMISES.views))
    assert verdict.verdict == VIOLATED
    assert [(v.invariant, v.depth) for v in verdict.violations] == [(promise, depth)]


def test_before_kafka_4_3_nothing_waits_to_be_applied() -> None:
    fields = {"members": 2, "partitions": 1, "any_faults": 1, "kafka": "4.2.0"}
    assert check(**fields, k16="as_kafka").verdict == HOLDS


def heard(member: JavaMember, answer: Answer, **fields: Any) -> tuple[str, JavaMember]:
    """What a member does with an answer."""
    [(label, after, _)] = java_hears.call(
        member, Link(answer=answer), ConsumerScope(java=True, **fields)
    )
    return label, after


STABLE = JavaMember(
    Member.STABLE, True, 1, True, 1, assigned=1, said=True, told=True, full=False, subscribed=3
)


@pytest.mark.parametrize(
    ("code", "state", "known"),
    [
        (14, Member.STABLE, True),
        (15, Member.STABLE, False),
        (16, Member.STABLE, False),
        (25, Member.JOINING, True),
        (29, Member.STABLE, True),
        (69, Member.FATAL, True),
        (81, Member.FATAL, True),
        (82, Member.FATAL, True),
        (110, Member.JOINING, True),
        (111, Member.FATAL, True),
        (128, Member.FATAL, True),
    ],
)
def test_each_error_forgets_what_was_sent(code: int, state: Member, known: bool) -> None:
    after = heard(STABLE, Answer(code))[1]
    assert (after.state, after.known) == (state, known)
    assert (after.full, after.said, after.told) == (True, False, False)


def test_a_listener_is_told_before_a_fenced_member_joins() -> None:
    label, after = heard(STABLE, Answer(110), **PHASED)
    assert (label, after.state) == ("fenced", Member.FENCED)
    assert after.waiting == (Event(Calls.LOST, 1),) and after.paused == 1


@pytest.mark.parametrize(
    ("kafka", "state"), [("4.2.0", Member.FATAL), ("4.3.1", Member.UNSUBSCRIBED)]
)
def test_a_group_that_is_gone_ends_a_leave(kafka: str, state: Member) -> None:
    left = JavaMember(leaving=True)
    after = heard(left, Answer(69, last=True), kafka=kafka)[1]
    assert (after.state, after.leaving) == (state, False)


@pytest.mark.parametrize(
    ("kafka", "label", "running"),
    [("4.3.1", "skipped", None), ("4.2.0", "called", Event(Calls.ASSIGNED, 1))],
)
def test_unsubscribe_takes_what_waited_before_it_returns(
    kafka: str, label: str, running: Event | None
) -> None:
    scope = ConsumerScope(java=True, kafka=kafka, **PHASED)
    waits = JavaMember(leaving=True, waiting=(Event(Calls.ASSIGNED, 1),))
    answered = heard(waits, Answer(last=True), kafka=kafka, **PHASED)[1]
    assert (answered.leaving, answered.unsubscribing) == (False, True)
    assert application_subscribes.guard is not None
    assert not application_subscribes.guard.allows((), answered)
    [(done, after)] = unsubscribe_goes_on.call(answered, scope)
    assert (done, after.unsubscribing, after.running) == (label, False, running)


@pytest.mark.parametrize("state", [Member.STALE, Member.FATAL])
@pytest.mark.parametrize("code", [0, 25])
def test_who_is_out_for_good_or_for_now_follows_no_answer(state: Member, code: int) -> None:
    member = attrs.evolve(STABLE, state=state)
    assert heard(member, Answer(code, assigned=2))[1].state == state


def test_an_assignment_that_comes_back_is_another_one() -> None:
    there = given(STABLE, 3)
    back = given(there, 1)
    assert (there.state, back.state) == (Member.RECONCILING, Member.RECONCILING)
    acknowledges = reconciling(back, ConsumerScope(java=True), polls=False)
    assert (acknowledges.state, acknowledges.done, acknowledges.said) == (
        Member.ACKNOWLEDGING,
        True,
        False,
    )
    assert given(STABLE, 1) == STABLE


@pytest.mark.parametrize(("kafka", "again"), [("4.3.1", True), ("4.4.0", False)])
def test_what_cannot_be_resolved_is_acknowledged_again_before_4_4(kafka: str, again: bool) -> None:
    scope = ConsumerScope(java=True, kafka=kafka, topics=2)
    partly = given(attrs.evolve(STABLE, subscribed=0b0011), 0b0101)
    once = reconciling(partly, scope, polls=True)
    assert (once.state, once.current, once.partial) == (Member.ACKNOWLEDGING, 1, True)
    back = once.heartbeat_sent()
    assert back.state == Member.RECONCILING
    assert (reconciling(back, scope, polls=True).state == Member.ACKNOWLEDGING) is again


def test_a_revocation_begins_in_a_poll_since_4_3() -> None:
    loses = given(attrs.evolve(STABLE, current=3, target=3, assigned=3), 1)
    for kafka, in_background in (("4.2.0", True), ("4.3.1", False)):
        scope = ConsumerScope(java=True, kafka=kafka, **PHASED)
        began = reconciling(loses, scope, polls=False)
        assert (began.taking is not None) is in_background
        polled = reconciling(loses, scope, polls=True)
        assert polled.taking == Reconciliation(1, gone=2, phase=Phase.REVOKE)
        assert polled.waiting == (Event(Calls.REVOKED, 2),) and polled.paused == 2


def test_a_member_that_k25_has_unsubscribed_takes_no_assignment() -> None:
    """SubscriptionState throws, and Kafka 4.2 begins anew in each round."""
    left = given(JavaMember(Member.RECONCILING, ended=True), 0)
    assert reconciling(left, ConsumerScope(java=True, kafka="4.2.0", **PHASED), polls=False) == left


def test_a_join_carries_everything_and_a_plain_heartbeat_nothing() -> None:
    scope = ConsumerScope(java=True)
    joins = attrs.evolve(STABLE, state=Member.JOINING).heartbeat(Link().tag, scope)
    assert (joins.kind, joins.owned, joins.full, joins.subscribed) == (Kind.JOIN, 0, True, 3)
    plain = STABLE.heartbeat(Link().tag, scope)
    assert (plain.owned, plain.full, plain.subscribed) == (None, False, None)
    after_an_error = STABLE.forgotten().heartbeat(Link().tag, scope)
    assert (after_an_error.owned, after_an_error.full, after_an_error.subscribed) == (1, True, 3)
