"""The rows of a fail-over in its phases on the real coordinator: they agree, and every seeded
mistake in what a coordinator answers meanwhile is found.
"""

from __future__ import annotations

import pytest

from groupcheck.model.mutations.failover_phases import MUTATIONS
from groupcheck.model.protocol.classic.features.failover_phases import Way
from groupcheck.oracles.conform import phases
from groupcheck.oracles.conform.conformance import conform
from groupcheck.oracles.conform.row_comparison import Conformance
from groupcheck.oracles.kafka.commands import FailOver, Load, Unload
from groupcheck.oracles.kafka.driver import Driver

PHASES = {"phases": "yes"}
# Outcomes that need two members, other settings, or a bug.
LARGER = {
    "elect",
    "former_join_group:inconsistent",
    "former_join_group:too_many",
    "former_offset_commit:accepted",
    "join_group:inconsistent",
    "join_group:too_many",
    "rebalance_timeout:nobody",
    "rebalance_timeout:rejected",
    "vote",
}


def ask(coordinator: Driver, **options) -> Conformance:
    return conform("classic", kafka="4.3.0", driver=coordinator, settings=PHASES, **options)


def test_every_row_of_one_member_with_every_fault_is_executed_and_agrees(coordinator: Driver):
    found = ask(coordinator, members=1, generations=1)
    assert (found.verdict, found.reason, found.differences) == ("agrees", "", ())
    assert found.counts.rows == found.counts.executed == found.counts.agreeing == 1_466
    assert found.counts.seen == found.counts.choices > 0
    assert found.counts.excuses["answers of a former coordinator"] > 0
    assert set(found.never_executed) == LARGER


SHOWN = {
    "heartbeats_fail_while_loading": "error is 0, in the model 25",
    "memory_kept_after_unload": "requests that wait",
    "served_before_loaded": "error is 14, in the model",
    "shares_not_loaded": "assignment of m2",
    "told_before_logged": "a fail-over loads",
    "unloading_forgets_members": "error is 16, in the model 25",
    "written_without_epoch": "error is 16, in the model 0",
}


@pytest.mark.parametrize("id", SHOWN)
def test_a_mistake_in_the_phases_is_found(id: str, coordinator: Driver):
    options = {"members": 1, "generations": 1, "faults": {"fail_over": 1}, "max_differences": 1}
    found = ask(coordinator, mutation=id, **options)
    assert found.verdict == "differs"
    assert any(SHOWN[id] in what for what in found.differences[0].what), found.differences[0].what


def test_every_mistake_is_tried():
    assert SHOWN.keys() == {bug.id for bug in MUTATIONS}


def test_a_former_coordinator_has_the_number_of_its_fail_over():
    zombie = FailOver(zombie=True)
    assert phases.former([zombie]) == 0
    assert phases.former([zombie, Unload(broker=0), zombie]) == 1
    assert phases.former([zombie, FailOver(), zombie]) == 0


def test_a_broker_is_elected_again_only_where_its_whole_log_survives():
    again = phases.begun(Way.REGAINED, "committed", True, ())
    assert again == (Unload(), Load(hold=True))
    lost = phases.begun(Way.REGAINED, "committed", False, ())
    assert lost == (Unload(), FailOver(keep="committed", hold=True))
