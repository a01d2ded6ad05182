"""What comes from outside the group while a fail-over takes its phases, row by row: all that a
coordinator that loads or a former one answers is executed, and a wrong answer differs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import attrs
import pytest

from groupcheck.model.engine import evolve
from groupcheck.model.engine.rule import Rule
from groupcheck.model.protocol.classic.features.full_offsets import admin, transactions
from groupcheck.model.protocol.classic.features.full_offsets.kept import NO_OFFSET
from groupcheck.model.protocol.classic.features.full_offsets.scope import MORE
from groupcheck.model.protocol.codes import NOT_COORDINATOR
from groupcheck.model.protocol.transform import rebuilt
from groupcheck.model.variants import load
from groupcheck.oracles.conform import full_offsets, other_broker
from groupcheck.oracles.conform.conformance import rows_at
from groupcheck.oracles.conform.row import Memory
from groupcheck.oracles.conform.row_results import RowResults
from groupcheck.oracles.conform.rows import Rows
from groupcheck.oracles.conform.tour import Tour
from groupcheck.oracles.kafka.driver import Driver

VARIANT = load("offsets")
FAULTS = ("fail_over", *MORE)
IN_FLIGHT: dict[str, Any] = {"faults": ("fail_over", "delete_offsets"), "records": "0"}


def executed(
    coordinator: Driver,
    rows: int | None,
    wrong: Sequence[Rule] = (),
    faults: tuple[str, ...] = FAULTS,
    **settings: str,
) -> RowResults:
    """`wrong`: rules of a wrong model."""
    settings = {"phases": "yes", "commits": "consumer", **settings}
    made = rows_at("offsets", 1, 1, faults, None, settings)[1]
    if wrong:
        spec = rebuilt(VARIANT.spec(made.scope), wrong)
        made = Rows(made.scope, spec, VARIANT.coordinator)
    ledger = RowResults(max_differences=1, max_rows=rows)
    Tour(made, coordinator, ledger).run()
    return ledger


ASKED = """
    delete_groups:loading delete_offsets:loading describe_groups:loading reset_offsets:loading
    former_delete_groups:no_group former_delete_groups:non_empty
    former_delete_groups:not_coordinator former_delete_offsets:deleted
    former_delete_offsets:no_group former_delete_offsets:not_coordinator
    former_delete_offsets:subscribed former_describe_groups:no_group
    former_describe_groups:not_coordinator former_describe_groups:told
    former_expire_offsets:not_coordinator former_expire_offsets:spared
    former_reset_offsets:not_coordinator former_reset_offsets:refused
"""
ENDED = """
    end_txn:abort:loading end_txn:commit:loading former_end_txn:abort:not_coordinator
    former_end_txn:abort:not_leader former_end_txn:commit:not_coordinator
    former_end_txn:commit:not_leader
"""


@pytest.mark.parametrize(
    ("commits", "rows", "said"), [("consumer", 1_100, ASKED), ("transactions", 450, ENDED)]
)
def test_all_that_an_administrator_and_a_producer_are_answered_agrees(
    commits: str, rows: int, said: str, coordinator: Driver
) -> None:
    found = executed(coordinator, rows, commits=commits)
    assert found.differing == 0
    assert set(said.split()) <= found.fired


@pytest.mark.parametrize(
    "rule", [*admin.ADMIN_RULES, transactions.write_marker], ids=lambda r: r.name
)
def test_a_coordinator_that_loads_does_nothing(rule: Rule, coordinator: Driver) -> None:
    assert executed(coordinator, 450, [rule], commits="transactions").differing


def test_an_answer_behind_an_append_in_flight_never_comes(
    coordinator: Driver, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert not executed(coordinator, None, **IN_FLIGHT).differing
    monkeypatch.setattr(full_offsets, "held", lambda outcome: False)
    assert executed(coordinator, None, **IN_FLIGHT).differing


REMEMBERS = other_broker.remembered


def without_offsets(memory: Memory) -> Memory:
    known = REMEMBERS(memory)
    return attrs.evolve(
        known, kept=known.kept and evolve(known.kept, committed=NO_OFFSET, pending=0)
    )


def without_the_other_group(memory: Memory) -> Memory:
    known = REMEMBERS(memory)
    return attrs.evolve(known, kept=known.kept and evolve(known.kept, other=False))


@pytest.mark.parametrize("remembers", [without_offsets, without_the_other_group])
def test_a_former_coordinator_answers_from_its_memory(
    remembers: Any, coordinator: Driver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(other_broker, "remembered", remembers)
    assert executed(coordinator, 1_100).differing


def test_the_end_of_a_transaction_is_told_the_writers_own_error(
    coordinator: Driver, monkeypatch: pytest.MonkeyPatch
) -> None:
    ends = {name: NOT_COORDINATOR for name in full_offsets.CODES if name.endswith(":not_leader")}
    monkeypatch.setattr(full_offsets, "CODES", full_offsets.CODES | ends)
    found = executed(coordinator, 450, commits="transactions")
    assert "error is 6, in the model 16" in found.differences[0].what[0]
