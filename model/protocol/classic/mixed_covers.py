"""What groups of static and dynamic members never show, and the scopes in which `conform` executes
them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from groupcheck.model.protocol.classic import static_covers

OF_NOBODY = (
    "commit_answer:dropped",
    "commit_answer:ignored",
    "commit_answer:rebalancing",
    "join_group:inconsistent",
    "offset_commit:rebalancing",
    "vote",
)  # what neither a static nor a dynamic member leads to
UNREACHED = {
    **{name: static_covers.UNREACHED[name] for name in OF_NOBODY},
    "leave_group:fenced": "A static member sends no LeaveGroup, and a dynamic one is not fenced.",
}
EXECUTED: tuple[Mapping[str, Any], ...] = (
    {"members": 1, "generations": 1, "faults": {"append_failure": 1}},
    {"members": 1, "generations": 1, "settings": {"static_members": "0"}},
    {
        "members": 2,
        "generations": 1,
        "faults": {"append_failure": 1},
        "settings": {"max_size": "1"},
    },
)
ASKED: Mapping[str, Any] = static_covers.ASKED
# Outcomes of the coordinator that groups of static and dynamic members do not have.
NEVER_EXECUTED = {name: UNREACHED[name] for name in ("join_group:inconsistent", "vote")}
