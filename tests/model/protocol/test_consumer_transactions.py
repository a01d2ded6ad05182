"""Offsets of consumer groups (KIP-848) in transactions, and their expiry: what holds over which
faults, and where Kafka does not keep it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import attrs
import pytest

from groupcheck.model.engine import ScopeError, reference
from groupcheck.model.engine.staged import explore
from groupcheck.model.engine.verdict import HOLDS, VIOLATED
from groupcheck.model.mutations import mutation
from groupcheck.model.protocol.codes import GROUP_ID_NOT_FOUND, ILLEGAL_GENERATION
from groupcheck.model.protocol.codes import STALE_MEMBER_EPOCH as STALE
from groupcheck.model.protocol.consumer.commits import Offsets, Pending
from groupcheck.model.protocol.consumer.messages import Commit
from groupcheck.model.protocol.consumer.scope import ConsumerScope
from groupcheck.model.protocol.consumer.transactions import (
    Txn,
    code_of,
    with_pending,
    without_pending,
)
from groupcheck.oracles.explain.subject import subject

TRANSACTIONS = {"transactions": True, "partitions": 1}
EXPIRY = {"expiry": True, "partitions": 1}


def group(**fields: Any) -> Any:
    return subject("consumer", **{"members": 2, "offsets": True, **fields}).spec


@pytest.mark.parametrize(
    ("fields", "states", "transitions"),
    [
        ({**EXPIRY, "any_faults": 1}, 2_793, 11_410),
        ({**EXPIRY, **TRANSACTIONS, "any_faults": 1, "static_members": 1}, 3_588, 13_783),
        pytest.param({**TRANSACTIONS, "any_faults": 2}, 64_238, 308_092, marks=pytest.mark.night),
        pytest.param({**EXPIRY, "any_faults": 2}, 73_340, 383_948, marks=pytest.mark.night),
    ],
    ids=str,
)
def test_records_are_delivered_once_and_no_offset_expires_that_is_needed(
    fields: dict[str, Any], states: int, transitions: int
) -> None:
    verdict = explore(group(**fields))
    assert (verdict.verdict, verdict.goals_not_met) == (HOLDS, ())
    assert (verdict.states, verdict.transitions) == (states, transitions)


def test_both_engines_tell_the_same_of_transactions_that_expire() -> None:
    spec = group(**{**EXPIRY, **TRANSACTIONS, "faults": {"close": 1}, "members": 1})
    fast, plain = explore(spec), reference.explore(spec)
    assert (fast.verdict, fast.states, fast.transitions) == (
        plain.verdict,
        plain.states,
        plain.transitions,
    )


@pytest.mark.parametrize(
    ("fields", "promise", "depth"),
    [
        ({**EXPIRY, "faults": {"close": 1}, "k32": "as_kafka"}, "offset_outlives_its_group", 8),
        (
            {**TRANSACTIONS, "faults": {"lose_response": 1}, "kafka": "4.2.0"},
            "transaction_of_owner_counts",
            9,
        ),
    ],
    ids=str,
)
def test_as_kafka_is_an_offset_expires_too_early_or_a_transaction_is_refused(
    fields: dict[str, Any], promise: str, depth: int
) -> None:
    verdict = explore(group(**fields).only([promise]))
    assert verdict.verdict == VIOLATED
    assert [(v.invariant, v.depth) for v in verdict.violations] == [(promise, depth)]


def test_the_end_of_a_transaction_counts_by_the_place_of_its_offset() -> None:
    both = with_pending(with_pending(Offsets(), None, True), None, False)
    assert both.pending == (Pending(True), Pending(False))
    label, first = without_pending(both, 0, True)
    assert (label, first.beyond, first.pending) == ("committed", True, (Pending(False),))
    # The other way round, what the first one commits is older than what the second one has.
    _, second = without_pending(both, 1, True)
    assert second.pending == (Pending(True, newer=False),)
    assert without_pending(second, 0, True) == ("superseded", Offsets())
    assert without_pending(both, 0, False) == ("aborted", Offsets(pending=(Pending(False),)))
    # A second offset of a transaction stands where it was sent.
    assert with_pending(both, 0, False).pending == (Pending(False), Pending(False))


def test_processes_may_be_exchanged_though_their_offsets_wait_in_order() -> None:
    spec = group(**TRANSACTIONS, requests="anybody", max_size=1)
    one, other = (explore(spec, symmetry=s) for s in (True, False))
    assert one.symmetry.used and one.symmetry.representatives < one.states * 0.6
    assert not other.symmetry.used and other.rules["move_up"] > 0
    for verdict in (one, other):
        assert (verdict.verdict, verdict.states, verdict.transitions, verdict.depth) == (
            HOLDS,
            1_783,
            65_866,
            14,
        )


def test_a_process_begins_no_transaction_before_its_last_one_has_ended() -> None:
    # A fetch that waits for transactions keeps it from that, too; this one does not wait.
    spec = mutation("fetch_ignores_transactions").apply(group(**TRANSACTIONS))
    process = next(rule for rule in spec.rules if rule.name == "process_watched_record")
    began: list[Txn] = []

    def call(*given: Any) -> Iterator[Any]:
        for outcome in process.call(*given):
            began.append(given[process.slots.index("txn")])
            yield outcome

    rules = [attrs.evolve(r, call=call) if r is process else r for r in spec.rules]
    assert explore(attrs.evolve(spec, rules=rules).only([])).verdict == HOLDS
    assert {*began} == {Txn.NONE}


@pytest.mark.parametrize(
    ("kafka", "unversioned", "stale", "absent"),
    [
        ("4.3.1", False, ILLEGAL_GENERATION, ILLEGAL_GENERATION),
        ("4.4.0", False, STALE, GROUP_ID_NOT_FOUND),
        ("4.4.0", True, ILLEGAL_GENERATION, ILLEGAL_GENERATION),
    ],
)
def test_a_transaction_is_told_why_it_is_refused_from_4_4_on(
    kafka: str, unversioned: bool, stale: int, absent: int
) -> None:
    scope = ConsumerScope(kafka=kafka, offsets=True, transactions=True)
    commit = Commit(in_transaction=True, unversioned=unversioned)
    assert (code_of("stale", commit, scope), code_of("absent", commit, scope)) == (stale, absent)


def test_a_scope_of_transactions_that_cannot_be_is_refused_in_words() -> None:
    for fields, said in (
        ({"transactions": True}, "transactions needs offsets"),
        ({"expiry": True}, "expiry needs offsets"),
        (
            {"transactions": True, "offsets": True, "java": True},
            r"simple ones .*\(leave out java\)",
        ),
        ({"transactions": True, "offsets": True, "auto_commit": True}, "leave out auto_commit"),
    ):
        with pytest.raises(ScopeError, match=said):
            ConsumerScope(**fields)
