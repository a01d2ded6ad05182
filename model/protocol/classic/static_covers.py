"""What groups of static members never show, and the scopes in which `conform` executes them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from groupcheck.model.protocol.classic import covers

ONE_STEP = "A static member is never told to come again with an id."
NO_LEAVING = "A static member sends no LeaveGroup; an administrator names no member id."
SAME = "All members list the same assignors."
REACHED = (
    "commit_answer:fatal",
    "heartbeat_answer:fatal",
)
IN_PHASES_STATIC = covers.cover(covers.OF_PHASES, **covers.PHASES_SCOPE)
UNREACHED = {
    **{name: why for name, why in covers.UNREACHED.items() if name not in REACHED},
    "join_group:id_required": ONE_STEP,
    "join_answer:id_given": ONE_STEP,
    "session_timeout:pending": ONE_STEP,
    "rebalance_timeout:nobody": ONE_STEP,
    "join_answer:ignored": "Only a LeaveGroup or an id that was replaced could be heard before.",
    "leave_group:left": NO_LEAVING,
    "leave_group:pending": NO_LEAVING,
    "leave_group:fenced": NO_LEAVING,
    "leave_behind_parked": NO_LEAVING,
    "leave_answer": NO_LEAVING,
    "closed": NO_LEAVING,
    "join_group:inconsistent": SAME,
    "vote": SAME,
}
# Arguments of `conform`. A round that begins while a takeover waits for its append needs three
# members, which are too many for rows: schedules in the tests execute those outcomes.
EXECUTED: tuple[Mapping[str, Any], ...] = (
    {"members": 1, "generations": 1, "faults": {"append_failure": 1, "sync_timeout": 1}},
    {
        "members": 1,
        "generations": 1,
        "faults": {"fail_over": 1, "session_timeout": 1, "new_member_timeout": 1},
    },
    {
        "members": 2,
        "generations": 1,
        "faults": {"append_failure": 1},
        "settings": {"max_size": "1"},
    },
)
ASKED: Mapping[str, Any] = {
    "members": 2,
    "generations": 1,
    "faults": {"append_failure": 1, "rebalance_timeout": 1},
}
# Outcomes of the coordinator that a group of static members does not have.
NEVER_EXECUTED = {
    name: UNREACHED[name]
    for name in (
        "join_group:id_required",
        "join_group:inconsistent",
        "leave_group:pending",
        "rebalance_timeout:nobody",
        "session_timeout:pending",
        "vote",
    )
}
