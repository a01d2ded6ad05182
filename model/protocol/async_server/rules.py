"""All rules of the protocol, and its spec at a scope."""

from __future__ import annotations

from groupcheck.model.engine import Spec, array, single
from groupcheck.model.protocol.async_server.coordinator import REQUEST_RULES
from groupcheck.model.protocol.async_server.ends import ENDS
from groupcheck.model.protocol.async_server.failover import close_books, fail_over
from groupcheck.model.protocol.async_server.group import Core, Seats
from groupcheck.model.protocol.async_server.member import ANSWER_RULES, POLL_RULES, Client
from groupcheck.model.protocol.async_server.member_faults import FAULT_RULES
from groupcheck.model.protocol.async_server.rounds import WALK_RULES
from groupcheck.model.protocol.async_server.scope import AsyncScope
from groupcheck.model.protocol.async_server.timers import TIMER_RULES, late_request
from groupcheck.model.protocol.classic.group import REST
from groupcheck.model.protocol.link import Link

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
