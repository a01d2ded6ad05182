"""What groups of static and dynamic members show beyond those of static ones, and the scopes in
which `conform` executes them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from groupcheck.model.protocol.classic import static_covers
from groupcheck.model.protocol.classic.covers import cover, derived

COVERS = derived(
    static_covers.COVERS,
    cover(
        """
        close:behind close:heard close:unheard closed heartbeat:illegal_generation
        heartbeat_answer:told_to_rejoin join_answer:id_given join_answer:ignored
        join_group:id_required join_group:unchanged leave_answer leave_behind_parked
        leave_group:left leave_group:pending offset_commit:illegal_generation poll_timeout:heard
        processed_twice read_next rebalance_timeout:nobody send_join:committed_first
        session_timeout:pending told_to_rejoin unheard_member zombie_owner
        """,
        members=2,
        generations=2,
        max_size=1,
        any_faults=1,
    ),
    cover("dismiss_absent", members=1, generations=2, any_faults=2),
    cover("led_past_a_static_member", members=2, generations=2, any_faults=1),
    cover(
        "poll_timeout:unheard",
        members=2,
        generations=1,
        faults={"poll_timeout": 1, "lose_request": 1},
    ),
)
UNREACHED = {
    **static_covers.UNREACHED,
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
# The members that `conform --side member` executes: a static one, and a dynamic one.
KINDS: tuple[Mapping[str, Any], ...] = tuple(
    {"members": 1, "partitions": 2, "static_members": count} for count in (1, 0)
)
ASKED: Mapping[str, Any] = static_covers.ASKED
# Outcomes of the coordinator that groups of static and dynamic members do not have.
NEVER_EXECUTED = {name: UNREACHED[name] for name in ("join_group:inconsistent", "vote")}
