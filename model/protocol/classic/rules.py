"""All rules of the classic group without any feature, and its spec at a scope: the base of the
family.
"""

from __future__ import annotations

from groupcheck.model.engine import ScopeError, Spec, array, single
from groupcheck.model.protocol.classic.client import ANSWER_RULES, POLL_RULES, Client
from groupcheck.model.protocol.classic.client_faults import FAULT_RULES
from groupcheck.model.protocol.classic.coordinator import REQUEST_RULES
from groupcheck.model.protocol.classic.dead_values import close_books, kept_for
from groupcheck.model.protocol.classic.ends import ENDS
from groupcheck.model.protocol.classic.failover import fail_over
from groupcheck.model.protocol.classic.group import REST, Core, Seats
from groupcheck.model.protocol.classic.offsets import OFFSET_RULES, Offsets
from groupcheck.model.protocol.classic.scope import Scope
from groupcheck.model.protocol.classic.timers import QUEUE_RULES, TIMER_RULES
from groupcheck.model.protocol.classic.walks import WALK_RULES
from groupcheck.model.protocol.link import Link

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
