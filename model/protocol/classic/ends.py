"""The states in which the protocol may rest. Any other state in which no rule can fire is a
deadlock.
"""

from __future__ import annotations

from groupcheck.model.engine import end
from groupcheck.model.protocol.classic.client import Client, Member
from groupcheck.model.protocol.classic.group import Core, Phase, Seats
from groupcheck.model.protocol.classic.scope import Scope


@end
def settled(core: Core, seats: Seats, client: Client) -> bool:
    """The group and all members are at rest: each is in the current generation, or stopped by a
    fatal error.
    """
    seat = seats[client.id]
    current = client.state == Member.STABLE and client.generation == core.generation
    in_place = client.failed or (current and seat is not None and seat.member)
    return bool(in_place and core.phase in (Phase.STABLE, Phase.EMPTY))


@end
def edge_of_the_scope(core: Core, scope: Scope) -> bool:
    """A round waits that would begin one generation more than the scope has."""
    return core.phase == Phase.PREPARING and core.generation >= scope.last_generation


@end
def waits_for_a_round(core: Core) -> bool:
    """A timer of a round still runs, but the budget has no such fault left."""
    joins = core.phase == Phase.PREPARING and not core.initial and not core.all_joined
    return joins or core.deadline


@end("some i")
def waits_for_a_session(seats: Seats) -> bool:
    """The timer of a member still runs, but the budget has no such fault left."""
    return any(seat.armed and not seat.sync for _, seat in seats if not seat.join or seat.new)


ENDS = (settled, edge_of_the_scope, waits_for_a_round, waits_for_a_session)
