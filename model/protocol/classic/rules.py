"""All rules of the classic group without any feature, and its spec at a scope: the base of the
family.
"""

from __future__ import annotations

from groupcheck.model.engine import ScopeError, Spec, array, end, single
from groupcheck.model.protocol.classic.client import ANSWER_RULES, POLL_RULES, Client, Member
from groupcheck.model.protocol.classic.client_faults import FAULT_RULES
from groupcheck.model.protocol.classic.coordinator import REQUEST_RULES
from groupcheck.model.protocol.classic.dead_values import close_books, kept_for
from groupcheck.model.protocol.classic.failover import fail_over
from groupcheck.model.protocol.classic.group import REST, Core, Phase, Seats
from groupcheck.model.protocol.classic.offsets import OFFSET_RULES, Offsets
from groupcheck.model.protocol.classic.scope import Scope
from groupcheck.model.protocol.classic.timers import QUEUE_RULES, TIMER_RULES
from groupcheck.model.protocol.classic.walks import WALK_RULES
from groupcheck.model.protocol.link import Link

# -- The states in which the protocol may rest. Any other state in which no rule can fire is a
# deadlock.


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


# Inside a step: answers are received, walks go on, commits are stored; only then is the next
# request read.
URGENT_RULES = (*ANSWER_RULES, *WALK_RULES, close_books, OFFSET_RULES[0], *REQUEST_RULES)
RULES = (
    *TIMER_RULES,
    fail_over,
    *POLL_RULES,
    *OFFSET_RULES[1:],
    *FAULT_RULES,
    *QUEUE_RULES,
    *URGENT_RULES,
)


# What the coordinator does by itself and on request; all other rules are the members' and links'.
COORDINATOR_RULES = (
    *TIMER_RULES,
    fail_over,
    *WALK_RULES,
    close_books,
    OFFSET_RULES[0],
    *REQUEST_RULES,
)
COORDINATOR = frozenset(r.name for r in COORDINATOR_RULES)


def spec(scope: Scope) -> Spec:
    """The protocol at a scope, without invariants. Raises `ScopeError` without a bound on
    generations: there would be a state for each of them (`progress` takes the bound away).
    """
    if scope.generations is None:
        raise ScopeError("generations have no bound, which only --progress can do", where="scope")
    slots = {
        "core": single(
            Core(support=(0,) * len(scope.assignors_listed), keeps=kept_for(scope.budget))
        ),
        "budget": single(scope.budget),
        "offsets": single(Offsets()),
        "walk": single(REST),
        "seats": array(scope.members, Seats()),
        "client": array(scope.members, Client()),
        "link": array(scope.members, Link()),
    }
    listed = {"seats": tuple(Seats(listed=names) for names in scope.lists)} if scope.lists else {}
    each = scope.assignor == "range" and scope.records and not scope.cooperative
    watched = range(scope.partition_count if each else 1)
    return Spec(
        "classic",
        slots,
        RULES,
        scope,
        ends=ENDS,
        initial=[{"offsets": Offsets(watched=p), **listed} for p in watched],
    )
