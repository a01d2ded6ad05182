"""The steps that the coordinator takes by itself: timers fire. There is no time: a timer that runs
may fire, whatever else could happen first.
"""

from __future__ import annotations

from collections.abc import Iterator

from groupcheck.model.engine import evolve, rule
from groupcheck.model.protocol.async_server.group import Core, Seat, Seats, remove
from groupcheck.model.protocol.async_server.rounds import after_removal, attempt
from groupcheck.model.protocol.async_server.scope import AsyncScope
from groupcheck.model.protocol.classic.group import Phase
from groupcheck.model.protocol.faults import Budget
from groupcheck.model.protocol.link import Link

Outcome = tuple[Core, Seats, Budget]


@rule(when=lambda core: core.initial)
def initial_delay(core: Core, scope: AsyncScope) -> Iterator[Core]:
    """The initial delay of a group that was Empty is over (KIP-134)."""
    if core.generation < scope.last_generation:
        yield attempt(evolve(core, initial=False), scope)


@rule(when=lambda budget: budget.allows("session_timeout"))
def session_timeout(
    core: Core, seats: Seats, budget: Budget, scope: AsyncScope
) -> Iterator[Outcome]:
    """The coordinator has heard nothing from a member and removes it. A parked JoinGroup counts as
    a sign of life.
    """
    for id, seat in seats:
        if not seat.join:
            left, without = remove(core, seats, id)
            yield after_removal(left, scope), without, budget.spend("session_timeout")


@rule(when=lambda budget: budget.allows("rebalance_timeout"))
def rebalance_timeout(
    core: Core, seats: Seats, budget: Budget, scope: AsyncScope
) -> Iterator[Outcome]:
    """A member sends heartbeats, but does not re-join in time, although it has to: it is
    removed.
    """
    for id, seat in seats:
        if _has_to_rejoin(core, seat, seats.old, scope):
            left, without = remove(core, seats, id)
            yield after_removal(left, scope), without, budget.spend("rebalance_timeout")


def _has_to_rejoin(core: Core, seat: Seat, old: bool, scope: AsyncScope) -> bool:
    if core.phase == Phase.COMPLETING:
        return not seat.settled and not seat.join
    return core.phase == Phase.PREPARING and old and scope.old == "told" and not seat.heard


@rule(when=lambda link: link.late is not None)
def late_request(link: Link) -> Iterator[Link]:
    """A request of an earlier connection arrives late; nobody reads its answer."""
    yield evolve(link, request=link.late, live=False, late=None)


TIMER_RULES = (initial_delay, session_timeout, rebalance_timeout)
