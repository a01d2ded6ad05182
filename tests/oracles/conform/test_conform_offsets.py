"""The rows of offsets in full: a wrong model does not agree with the real coordinator, and what the
rows cannot do is refused.
"""

from __future__ import annotations

from typing import Any

import pytest

from groupcheck.model.engine import UserError
from groupcheck.oracles.conform.conformance import conform
from groupcheck.oracles.kafka.driver import Driver

ONE: dict[str, Any] = {"members": 1, "generations": 1}
IN_TRANSACTIONS = {**ONE, "faults": {}, "settings": {"commits": "transactions"}}


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


def test_fail_overs_and_what_an_administrator_asks_have_rows_of_their_own() -> None:
    with pytest.raises(UserError, match="no fail-over"):
        conform("offsets", kafka="4.3.0", **ONE, faults={"fail_over": 1, "delete_groups": 1})
