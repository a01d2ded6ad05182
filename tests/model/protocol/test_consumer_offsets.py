"""Offsets of consumer groups (KIP-848): what is promised over which faults, and where Kafka does
not keep it.
"""

from __future__ import annotations

from typing import Any

import pytest

from groupcheck.model.engine import ScopeError, reference
from groupcheck.model.engine.staged import explore
from groupcheck.model.engine.verdict import HOLDS, VIOLATED
from groupcheck.model.protocol.consumer.client import Client
from groupcheck.model.protocol.consumer.commits import Offsets, judged
from groupcheck.model.protocol.consumer.memory import Core, Seat
from groupcheck.model.protocol.consumer.messages import Commit, Link, Tag
from groupcheck.model.protocol.consumer.offsets import Position, commit_of
from groupcheck.model.protocol.consumer.scope import ConsumerScope
from groupcheck.oracles.explain.subject import subject

LATE = {"delay_commit": 1}
JAVA = {"java": True, "callbacks": "phased"}
STALE = {"partitions": 1, "faults": {"poll_timeout": 1, "close": 1}}
# The static member comes back, and the other one leaves.
BACK = {"partitions": 1, "static_members": 1, "faults": {**LATE, "poll_timeout": 1, "close": 1}}
DROPS = {"topics": 2, "partitions": 1, "interval": True, "faults": {**LATE, "subscription": 1}}
STEPS = {"partitions": 1, "wire": "explicit"}
# Two members consume one partition, and each commits.
TWO = {"k1": "as_kafka", "k27": "as_kafka"}
SET_BACK, REFUSED = "former_owner_sets_nothing_back", "commit_of_owner_counts"


def group(**fields: Any) -> Any:
    return subject("consumer", **{"members": 2, "offsets": True, **fields}).spec


@pytest.mark.parametrize(
    ("fields", "states", "transitions"),
    [
        ({"any_faults": 1}, 35_962, 147_778),
        ({"any_faults": 1, "partitions": 1, **JAVA}, 5_860, 24_173),
        pytest.param(
            {"any_faults": 2, "partitions": 1, **JAVA}, 153_731, 755_566, marks=pytest.mark.night
        ),
        pytest.param(
            {"any_faults": 2, "auto_commit": True}, 1_004_155, 5_498_486, marks=pytest.mark.night
        ),
        pytest.param(
            {"any_faults": 2, "static_members": 1}, 846_660, 4_464_527, marks=pytest.mark.night
        ),
    ],
    ids=str,
)
def test_no_offset_is_lost_or_set_back(
    fields: dict[str, Any], states: int, transitions: int
) -> None:
    verdict = explore(group(**fields))
    assert (verdict.verdict, verdict.goals_not_met) == (HOLDS, ())
    assert (verdict.states, verdict.transitions) == (states, transitions)


def test_both_engines_tell_the_same() -> None:
    spec = group(partitions=1, faults=LATE, auto_commit=True)
    fast, plain = explore(spec), reference.explore(spec)
    assert (fast.verdict, fast.states, fast.transitions) == (
        plain.verdict,
        plain.states,
        plain.transitions,
    )


@pytest.mark.parametrize(
    ("fields", "promise", "depth"),
    [
        ({**BACK, "k26": "as_kafka"}, SET_BACK, 18),
        ({**DROPS, "k27": "as_kafka"}, SET_BACK, 12),
        ({**JAVA, **STALE, "k28": "as_kafka"}, SET_BACK, 20),
        ({**STEPS, "kafka": "4.2.0"}, REFUSED, 12),
        ({"any_faults": 1, "callbacks": "phased", **TWO}, SET_BACK, 16),
    ],
    ids=str,
)
def test_as_kafka_is_a_commit_is_refused_or_sets_back(
    fields: dict[str, Any], promise: str, depth: int
) -> None:
    verdict = explore(group(**fields).only([promise]))
    assert verdict.verdict == VIOLATED
    assert [(v.invariant, v.depth) for v in verdict.violations] == [(promise, depth)]


@pytest.mark.parametrize("kafka", ["4.3.0", "4.4.0"])
def test_between_acknowledgement_and_answer_a_commit_counts_from_4_3_on(kafka: str) -> None:
    assert explore(group(**STEPS, kafka=kafka)).verdict == HOLDS


@pytest.mark.parametrize(
    ("kafka", "commit", "seat", "label"),
    [
        ("4.3.1", Commit(tag=Tag.PREVIOUS), Seat(assigned=1), "by_partition"),
        ("4.3.1", Commit(tag=Tag.PREVIOUS), Seat(revoking=1), "by_partition"),
        ("4.3.1", Commit(tag=Tag.PREVIOUS), Seat(assigned=1, fresh=1), "stale"),
        ("4.3.1", Commit(tag=Tag.OLD, given=True), Seat(assigned=1), "stale"),
        ("4.3.1", Commit(tag=Tag.PREVIOUS), Seat(assigned=2), "stale"),
        ("4.2.0", Commit(tag=Tag.PREVIOUS), Seat(assigned=1), "stale"),
        ("4.2.0", Commit(tag=Tag.CURRENT), Seat(assigned=1), "accepted"),
        ("4.3.1", Commit(tag=Tag.CURRENT), Seat(assigned=1, parked=True), "stale"),
        ("4.3.1", Commit(tag=Tag.CURRENT), None, "unknown"),
    ],
    ids=str,
)
def test_a_commit_is_judged_by_its_epoch_and_its_partition(
    kafka: str, commit: Commit, seat: Seat | None, label: str
) -> None:
    scope = ConsumerScope(kafka=kafka, offsets=True)
    assert judged(Core(exists=True, members=1), seat, commit, 1, scope) == label


@pytest.mark.parametrize(
    ("tag", "seat", "former"),
    [
        (Tag.CURRENT, Seat(assigned=1, fresh=1), False),
        (Tag.OLD, Seat(assigned=1), False),
        (Tag.OLD, Seat(revoking=1), False),
        (Tag.OLD, Seat(assigned=1, fresh=1), True),
        (Tag.OLD, Seat(assigned=2), True),
        (Tag.OLD, None, True),
    ],
    ids=str,
)
def test_a_member_that_has_missed_two_answers_may_still_own_what_it_commits(
    tag: Tag, seat: Seat | None, former: bool
) -> None:
    commit = commit_of(Client(), Link(tag=tag), seat, Position.BEYOND, Offsets())
    assert commit == Commit(tag=tag, beyond=True, former=former)


@pytest.mark.night
def test_a_late_commit_of_an_owner_that_has_missed_two_answers_is_its_own() -> None:
    faults = {**LATE, "lose_response": 2, "metadata": 1}
    assert explore(group(faults=faults)).verdict == HOLDS


def test_a_scope_of_offsets_that_cannot_be_is_refused_in_words() -> None:
    with pytest.raises(ScopeError, match="k28 is about Java's members"):
        ConsumerScope(k28="as_kafka", offsets=True)
