"""The states in which the protocol may rest. Any other state in which no rule can fire is a
deadlock.
"""

from __future__ import annotations

from typing import Any

from groupcheck.model.engine import end
from groupcheck.model.protocol.classic.client import Member
from groupcheck.model.protocol.classic.group import Phase
from groupcheck.model.protocol.classic.scope import Scope


def _in_place(state: Any, i: int) -> bool:
    """Is member i in the current generation, or stopped by a fatal error?"""
    client = state.client[i]
    seat = state.seats[i][client.id]
    current = client.state == Member.STABLE and client.generation == state.core.generation
    return bool(client.failed or (current and seat is not None and seat.member))


@end
def settled(state: Any) -> bool:
    """The group and all members are at rest."""
    return state.core.phase in (Phase.STABLE, Phase.EMPTY) and all(
        _in_place(state, i) for i in range(len(state.client))
    )


@end
def edge_of_the_scope(state: Any, scope: Scope) -> bool:
    """A round waits that would begin one generation more than the scope has."""
    return bool(
        state.core.phase == Phase.PREPARING and state.core.generation >= scope.last_generation
    )


@end
def waits_for_a_timer(state: Any) -> bool:
    """A timer of the coordinator still runs, but the budget has no such fault left."""
    core = state.core
    joins = core.phase == Phase.PREPARING and not core.initial and not core.all_joined
    silent = any(
        seat.armed and not seat.sync
        for seats in state.seats
        for _, seat in seats
        if not seat.join or seat.new
    )
    return bool(joins or core.deadline or silent)


ENDS = (settled, edge_of_the_scope, waits_for_a_timer)
