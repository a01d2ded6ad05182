"""The rows of offsets in full: a wrong model does not agree with the real coordinator, fail-overs
stand beside what an administrator asks, and transactions of two producers overlap.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from groupcheck.model.engine import evolve
from groupcheck.model.engine.rule import Rule
from groupcheck.model.protocol.classic.failover import fail_over
from groupcheck.model.protocol.classic.features.full_offsets.admin import delete_offsets
from groupcheck.model.protocol.classic.features.full_offsets.commits import txn_offset_commit
from groupcheck.model.protocol.classic.features.full_offsets.transactions import write_marker
from groupcheck.model.protocol.classic.group import Phase
from groupcheck.model.protocol.messages import JoinGroup, SyncGroup, TxnOffsetCommit
from groupcheck.model.protocol.transform import extended, own, rebuilt
from groupcheck.model.variants import load
from groupcheck.oracles.conform.conformance import conform, rows_at
from groupcheck.oracles.conform.jobs import Row
from groupcheck.oracles.conform.row import STRANGER, Asks, Fires, Memory
from groupcheck.oracles.conform.row_results import RowResults
from groupcheck.oracles.conform.rows import Rows
from groupcheck.oracles.conform.tour import Tour
from groupcheck.oracles.kafka.driver import Driver

VARIANT = load("offsets")

ONE: dict[str, Any] = {"members": 1, "generations": 1}
IN_TRANSACTIONS = {**ONE, "faults": {}, "settings": {"commits": "transactions"}}
TWO_PRODUCERS: dict[str, Any] = {
    "members": 2,
    "generations": 1,
    "faults": {},
    "settings": {"commits": "anonymous"},
}

TWO_MEMBERS: dict[str, str] = {"commits": "transactions", "two_step": "no"}


def outside(fault: str) -> dict[str, Any]:
    return {**ONE, "faults": {fault: 1}, "settings": {"commits": "consumer"}}


SEEN = {
    "aborted_offset_counts": IN_TRANSACTIONS,
    "unstable_offset_told": IN_TRANSACTIONS,
    "refused_commit_stays_pending": IN_TRANSACTIONS,
    "transaction_validated_too_early": IN_TRANSACTIONS,
    "expiry_while_rebalancing": outside("expire_offsets"),
    "expiry_of_a_live_group": outside("expire_offsets"),
    "outsider_overwrites_members": outside("reset_offsets"),
    "refused_reset_written": outside("reset_offsets"),
    "loaded_as_expired": outside("fail_over"),
    "marker_order_wins": TWO_PRODUCERS,
}


@pytest.mark.parametrize("bug", SEEN)
def test_a_model_with_a_bug_does_not_agree(bug: str, coordinator: Driver) -> None:
    found = conform(
        "offsets",
        kafka=coordinator.version,
        driver=coordinator,
        mutation=bug,
        max_differences=1,
        **SEEN[bug],
    )
    assert found.verdict == "differs"


def brings_back(delete_offsets: Rule) -> Rule:
    """OffsetDelete, of which the log knows nothing."""

    def change(before: Any, label: str, after: Any, scope: Any) -> dict[str, Any]:
        logged = before["offsets"].logged
        return {**after, "offsets": evolve(after["offsets"], logged=logged)}

    return extended(delete_offsets, change)


def settles(fail_over: Rule) -> Rule:
    """A fail-over that finds the record of an Empty group wherever a commit came later."""

    def change(before: Any, label: str, after: Any, scope: Any) -> dict[str, Any]:
        core = before["core"]
        if core.phase != Phase.EMPTY or before["offsets"].logged < 0:
            return {**after}
        return {**after, "core": evolve(after["core"], generation=core.generation)}

    return extended(fail_over, change)


WITH_FAIL_OVERS = ("fail_over", "reset_offsets", "delete_offsets")


@pytest.mark.parametrize("wrong", [None, brings_back, settles])
def test_a_fail_over_finds_what_an_administrator_was_told(
    wrong: Callable[[Rule], Rule] | None, coordinator: Driver
) -> None:
    rows = rows_at("offsets", 1, 1, WITH_FAIL_OVERS, None, {"commits": "consumer"})[1]
    if wrong is not None:
        changed = fail_over if wrong is settles else delete_offsets
        spec = VARIANT.spec(rows.scope)
        spec = rebuilt(spec, [wrong(own(spec, changed))])
        rows = Rows(rows.scope, spec, VARIANT.coordinator)
    ledger = RowResults(max_differences=1, max_rows=1500)
    Tour(rows, coordinator, ledger).run()
    assert bool(ledger.differing) == (wrong is not None)
    assert ledger.counts.executed > 50


def test_the_rows_have_two_transactions_that_are_open(coordinator: Driver) -> None:
    found = conform(
        "offsets",
        kafka=coordinator.version,
        driver=coordinator,
        **TWO_PRODUCERS,
        max_rows=1200,
        lists=True,
    )
    assert found.ledger.differing == 0
    markers = {"end_txn:commit", "end_txn:abort"}
    ends = [
        row.before.kept
        for row, _, agrees in found.listed
        if agrees and isinstance(row.given, Fires) and row.given.rule in markers
    ]
    assert any(kept is not None and kept.pending == 2 for kept in ends)


def leads_on(given: Asks, memory: Memory) -> bool:
    """Is it the next request of a member, or a commit in a transaction of a Stable group?"""
    core, request = memory.core, given.request
    if isinstance(request, JoinGroup):
        return core.phase <= Phase.PREPARING and not memory.seats[given.member].ids
    now = request.id != STRANGER and getattr(request, "generation", None) == core.generation
    commits = isinstance(request, TxnOffsetCommit) and core.phase == Phase.STABLE
    return now and (commits or isinstance(request, SyncGroup))


class OfTransactions(Tour):
    """Follows a group until it is Stable, and executes what its members commit in transactions."""

    def _enter(self, memory: Memory) -> Iterator[Row]:
        for given in self._rows.inputs(memory):
            if isinstance(given, Asks) and not leads_on(given, memory):
                continue
            outcomes = self._rows.outcomes(memory, given)
            if outcomes:
                self._waiting.update(dict.fromkeys(o.after for o in outcomes))
                yield self._ledger.enter(memory, given, outcomes)


def alone(txn_offset_commit: Rule) -> Rule:
    """A commit in a transaction, which ends that of another member."""

    def change(before: Any, label: str, after: Any, scope: Any) -> dict[str, Any]:
        pending = min(after["offsets"].pending, 1)
        return {**after, "offsets": evolve(after["offsets"], pending=pending)}

    return extended(txn_offset_commit, change)


def in_order(write_marker: Rule) -> Rule:
    """The transaction that ends last counts, whatever was written last."""

    def change(before: Any, label: str, after: Any, scope: Any) -> dict[str, Any]:
        offset = before["txn"].offset if before["txn"].decided else before["offsets"].committed
        return {**after, "offsets": evolve(after["offsets"], committed=offset, logged=offset)}

    return extended(write_marker, change)


@pytest.mark.parametrize("wrong", [None, alone, in_order])
def test_two_members_have_transactions_that_are_open(
    wrong: Callable[[Rule], Rule] | None, coordinator: Driver
) -> None:
    rows = rows_at("offsets", 2, 1, (), None, TWO_MEMBERS)[1]
    if wrong is not None:
        changed = write_marker if wrong is in_order else txn_offset_commit
        spec = VARIANT.spec(rows.scope)
        spec = rebuilt(spec, [wrong(own(spec, changed))])
        rows = Rows(rows.scope, spec, VARIANT.coordinator)
    ledger = RowResults(max_differences=1, lists=True)
    OfTransactions(rows, coordinator, ledger).run()
    assert bool(ledger.differing) == (wrong is not None)
    if wrong is None:
        before = [one.before for one in ledger.listed if one.before.kept is not None]
        both = [m for m in before if m.kept is not None and m.kept.pending == 2]
        assert any(m.core.phase == Phase.STABLE for m in both)
