"""What offsets in full show beyond the classic group, and the scopes in which `conform` executes
them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from groupcheck.model.protocol.classic import covers
from groupcheck.model.protocol.classic.covers import PHASES_SCOPE, ROWS_IN_PHASES, cover, derived
from groupcheck.model.protocol.classic.features.full_offsets.scope import MORE

COVERS = derived(
    covers.COVERS,
    cover("fetch_answer:reset offset_fetch:nothing", members=1, generations=1),
    cover(
        """
        delete_groups:deleted delete_groups:no_group delete_groups:non_empty
        delete_offsets:deleted delete_offsets:no_group delete_offsets:subscribed erase
        expire_offsets:deleted expire_offsets:spared fetch_answer:started
        joining_without_subscriptions offset_fetch:committed reset_offsets:accepted
        reset_offsets:refused
        """,
        members=1,
        generations=1,
        any_faults=1,
    ),
    cover("reading_again", members=1, generations=2, any_faults=1),
    cover("fetch_answer:stopped", members=1, generations=1, reset="none"),
    cover(
        """
        end_transaction:abort end_transaction:commit fetch_answer:unstable offset_fetch:unstable
        send_txn_commit txn_answer:added txn_offset_commit:anonymous write_marker:aborted
        write_marker:committed
        """,
        members=1,
        generations=1,
        commits="anonymous",
    ),
    cover(
        "commit_answer:dropped offset_commit:no_group",
        members=1,
        generations=2,
        faults={"session_timeout": 1, "delete_groups": 1},
    ),
    cover(
        """
        pending_and_committed txn_answer:refused txn_offset_commit:accepted
        txn_offset_commit:unknown write_marker:superseded
        """,
        members=1,
        generations=2,
        faults={"session_timeout": 1, "reset_offsets": 1},
        commits="transactions",
    ),
    cover(
        "txn_offset_commit:no_group write_marker:void",
        members=1,
        generations=2,
        faults={"session_timeout": 1, "delete_groups": 1},
        commits="transactions",
    ),
    cover(
        "txn_offset_commit:illegal_generation",
        members=1,
        generations=2,
        any_faults=1,
        commits="transactions",
    ),
    cover(
        """
        fetch_answer:retry former_offset_fetch:committed former_offset_fetch:not_coordinator
        former_offset_fetch:nothing offset_fetch:loading
        """,
        **PHASES_SCOPE,
    ),
    cover(
        """
        former_offset_fetch:unstable former_txn_offset_commit:not_coordinator txn_answer:retry
        txn_offset_commit:loading
        """,
        members=1,
        generations=1,
        faults={"fail_over": 1},
        phases=True,
        commits="transactions",
    ),
)

TIMERS = ("append_failure", "session_timeout", "rebalance_timeout", "sync_timeout")
IN_TRANSACTIONS = {"commits": "transactions"}
OUTSIDE = ("fail_over", *MORE)
# Arguments of `conform`.
ASKED: Mapping[str, Any] = {
    "members": 1,
    "generations": 1,
    "faults": dict.fromkeys((*TIMERS, *MORE), 1),
}
EXECUTED: tuple[Mapping[str, Any], ...] = (
    {
        "members": 1,
        "generations": 1,
        "faults": dict.fromkeys((*TIMERS, "new_member_timeout", "fail_over"), 1),
        "settings": {"commits": "consumer"},
    },
    {
        "members": 2,
        "generations": 1,
        "faults": {},
        "settings": {"max_size": "1", "records": "0"},
    },
    {
        "members": 2,
        "generations": 1,
        "faults": {},
        "settings": {"protocols": "range|sticky", "records": "0"},
    },
    {
        "members": 1,
        "generations": 1,
        "faults": dict.fromkeys(OUTSIDE, 1),
        "settings": {"commits": "consumer"},
    },
    {
        "members": 1,
        "generations": 1,
        "faults": {"delete_offsets": 1},
        "settings": IN_TRANSACTIONS,
    },
)
CONFORMED: tuple[Mapping[str, Any], ...] = (
    ASKED,
    {**ASKED, "settings": IN_TRANSACTIONS},
    {**ASKED, "faults": {"fail_over": 1, "session_timeout": 1}, "settings": IN_TRANSACTIONS},
    {**ROWS_IN_PHASES, "faults": dict.fromkeys(OUTSIDE, 1)},
    {
        **ROWS_IN_PHASES,
        "faults": dict.fromkeys(OUTSIDE, 1),
        "settings": {"phases": "yes", **IN_TRANSACTIONS},
    },
    {
        **ASKED,
        "faults": dict.fromkeys((*OUTSIDE, "session_timeout"), 1),
        "settings": IN_TRANSACTIONS,
    },
    # The second process is a producer alone.
    {**ASKED, "members": 2, "faults": {}, "settings": {"commits": "anonymous"}},
)
