"""The evidence for the base of the classic group: its cover scopes, the outcomes that no scope
reaches, and what Kafka's code executes of it. A feature says the same of itself, in the fields of
the same names.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from groupcheck.model.protocol.classic.feature import Feature
from groupcheck.model.protocol.classic.step_words import BASE_WORDS
from groupcheck.model.protocol.covers import Fields
from groupcheck.model.protocol.family import CLASSIC_GROUP, OFFSETS
from groupcheck.model.protocol.faults import SPENT_BY

# Fail-over in its phases, which every variant has.
PHASES_SCOPE: Fields = {
    "members": 2,
    "generations": 2,
    "faults": {"fail_over": 1},
    "phases": True,
}
STYLES_SCOPE: Fields = {"members": 1, "generations": 2, "records": 2, "any_faults": 2}
# Arguments of `conform`: the rows of a fail-over in its phases.
ROWS_IN_PHASES: Mapping[str, Any] = {
    "members": 1,
    "generations": 1,
    "faults": {"fail_over": 1},
    "settings": {"phases": "yes"},
}
KAFKA_COORDINATOR = "GroupCoordinatorService of Apache Kafka, in one JVM"
KAFKA_MEMBER = "ConsumerCoordinator of Apache Kafka's Java client, with its heartbeat thread"
BOOKKEEPING: Mapping[str, str] = {
    "close_books": "The model forgets what only a fault that is spent could have read.",
    "forget": "The same, seat by seat.",
    "store_offset:again": "The real coordinator appends the offset, whatever it was before.",
}

BASE = Feature(
    name="classic",
    title="members that stop at every change",
    doc=(
        "Members stop, re-join and get a new assignment at every change: JoinGroup, SyncGroup,"
        " Heartbeat, LeaveGroup (KIP-62, KIP-134, KIP-389, KIP-394)."
    ),
    change=lambda spec: spec,
    families=(CLASSIC_GROUP, OFFSETS),
    words=BASE_WORDS,
    spent_by=SPENT_BY,
    # The smallest first.
    shows=(
        {"members": 1, "generations": 1},
        {"members": 1, "generations": 1, "atomic_complete": False},
        {"members": 2, "generations": 1, "max_size": 1},
        {"members": 2, "generations": 1, "protocols": "range|sticky"},
        {"members": 1, "generations": 1, "records": 2, "faults": {"delay_request": 1}},
        {"members": 2, "generations": 1},
        {"members": 1, "generations": 1, "any_faults": 1},
        {"members": 1, "generations": 2, "any_faults": 1},
        {"members": 2, "generations": 2, "faults": {"rebalance_timeout": 1}},
        {"members": 1, "generations": 1, "any_faults": 2},
        {"members": 2, "generations": 2, "max_size": 1, "any_faults": 1},
        {**STYLES_SCOPE, "commit_style": "sync"},
        {**STYLES_SCOPE, "commit_style": "auto"},
        {**STYLES_SCOPE, "commit_style": "async"},
        PHASES_SCOPE,
        {"members": 2, "generations": 2, "faults": {"delay_request": 1, "disconnect": 1}},
    ),
    # What a feature reaches all the same need not be taken out (see `composition`). The client's
    # answers stand in its error matrix, which `test_client_matrix.py` tests cell by cell.
    unreached={
        "commit_answer:dropped": (
            "The model's coordinator knows no errors for OffsetCommit but 14, 16, 22 and 25."
        ),
        "commit_answer:fatal": "Only a static member can be fenced (82).",
        "heartbeat_answer:fatal": "Only a static member can be fenced (82).",
        "commit_answer:rebalancing": (
            "The model's coordinator knows no errors for OffsetCommit but 14, 16, 22 and 25."
        ),
        "commit_answer:ignored": (
            "A member hears the answer to its commit before it sends JoinGroup, or "
            "after the answer to that."
        ),
        "offset_commit:rebalancing": (
            "A member commits in a generation after its SyncGroup was "
            "answered; the group is never in CompletingRebalance of that generation again."
        ),
    },
    real=KAFKA_COORDINATOR,
    unreal="nobody has named real code that does the same",
    asked={},
    # Arguments of `conform`; 5,218 rows, which take about 6 s.
    executed=(
        ROWS_IN_PHASES,
        {"members": 1, "generations": 1},
        {"members": 2, "generations": 1, "faults": {}, "settings": {"max_size": "1"}},
        {"members": 2, "generations": 1, "faults": {}, "settings": {"protocols": "range|sticky"}},
    ),
    conformed=(
        {"members": 2, "generations": 2},
        {"members": 3, "generations": 2, "faults": {"append_failure": 1, "session_timeout": 1}},
    ),
    bookkeeping=BOOKKEEPING,
    followed=("live", "whole"),
    member_generations=2,
    member_scopes=({"members": 1, "partitions": 2},),
    member_changing=(),
    member_apart={
        "crash": "A process that is gone does nothing.",
        "closed": "The model ends the process once its last requests are answered.",
        "late_commit": (
            "Kafka's member refuses a commit outside STABLE by itself and sends nothing."
        ),
    },
)
