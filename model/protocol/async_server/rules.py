"""All rules of the protocol, and its spec at a scope."""

from __future__ import annotations

from groupcheck.model.engine import Spec, array, end, single
from groupcheck.model.protocol.async_server.coordinator import REQUEST_RULES
from groupcheck.model.protocol.async_server.failover import close_books, fail_over
from groupcheck.model.protocol.async_server.group import Core, Seats
from groupcheck.model.protocol.async_server.member import ANSWER_RULES, POLL_RULES, Client
from groupcheck.model.protocol.async_server.member_faults import FAULT_RULES
from groupcheck.model.protocol.async_server.rounds import WALK_RULES
from groupcheck.model.protocol.async_server.scope import AsyncScope
from groupcheck.model.protocol.async_server.timers import TIMER_RULES, late_request
from groupcheck.model.protocol.classic.client import Member
from groupcheck.model.protocol.classic.group import REST, Phase
from groupcheck.model.protocol.link import Link

# -- The states in which the protocol may rest. Any other state in which no rule can fire is a
# deadlock.


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


COORDINATOR_RULES = (*TIMER_RULES, fail_over, *WALK_RULES, close_books, *REQUEST_RULES)
COORDINATOR = frozenset(r.name for r in COORDINATOR_RULES)
RULES = (
    *TIMER_RULES,
    fail_over,
    *POLL_RULES,
    *FAULT_RULES,
    late_request,
    # Inside a step: answers are received, walks go on; only then is a request handled.
    *ANSWER_RULES,
    *WALK_RULES,
    close_books,
    *REQUEST_RULES,
)


def spec(scope: AsyncScope) -> Spec:
    """The protocol at a scope, without invariants."""
    slots = {
        "core": single(Core(keeps=scope.has("fail_over"))),
        "budget": single(scope.budget),
        "walk": single(REST),
        "seats": array(scope.members, Seats()),
        "client": array(scope.members, Client()),
        "link": array(scope.members, Link()),
    }
    old = [i < scope.old_clients for i in range(scope.members)]
    seats, clients = tuple(Seats(old=o) for o in old), tuple(Client(old=o) for o in old)
    return Spec(
        "async_server",
        slots,
        RULES,
        scope,
        ends=ENDS,
        initial=[{"seats": seats, "client": clients}],
    )
