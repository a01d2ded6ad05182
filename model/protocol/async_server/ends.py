"""The states in which the protocol may rest. Any other state in which no rule can fire is a
deadlock.
"""

from __future__ import annotations

from groupcheck.model.engine import end
from groupcheck.model.protocol.async_server.group import Core, Seats
from groupcheck.model.protocol.async_server.member import Client
from groupcheck.model.protocol.async_server.scope import AsyncScope
from groupcheck.model.protocol.classic.client import Member
from groupcheck.model.protocol.classic.group import Phase


@end
def settled(core: Core, seats: Seats, client: Client) -> bool:
    """The group is Stable, and every process is a member that goes on with its share."""
    seat = seats[client.id]
    goes_on = client.state == Member.STABLE and not client.rejoin
    return (
        core.phase == Phase.STABLE
        and goes_on
        and seat is not None
        and seat.names_its_epoch(client.generation)
        and seat.owned == client.owned
    )


@end
def edge_of_the_scope(core: Core, scope: AsyncScope) -> bool:
    """A plan is due that would be one more than the scope has."""
    return core.phase == Phase.PREPARING and core.generation >= scope.last_generation


@end("some i")
def waits_for_a_session(seats: Seats, client: Client) -> bool:
    """The timer of a member runs that lives no more, but the budget has no such fault left."""
    return any(id != client.id and not seat.join for id, seat in seats)


ENDS = (settled, edge_of_the_scope, waits_for_a_session)
