"""Dead values: what the coordinator remembers only because a fault could read it is reset once that
fault can no longer happen.

Only a fail-over reads the last group record. Only the sync timer reads which members have not sent
SyncGroup in a Stable group. Only the five-minute timer reads which members are new. When the last
such fault of the budget is spent, states that differ only in these values become one. Nothing is
lost: no other rule reads them, and those three cannot fire any more.
"""

from __future__ import annotations

from collections.abc import Iterator

from attrs import frozen

from groupcheck.model.engine import evolve, urgent
from groupcheck.model.protocol.classic.group import Core, Errand, Phase, Seats, Walk
from groupcheck.model.protocol.classic.scope import Scope
from groupcheck.model.protocol.faults import REMEMBERED, Budget


def kept_for(budget: Budget) -> tuple[str, ...]:
    """`Core.keeps` for a budget."""
    return tuple(fault for fault in REMEMBERED if budget.allows(fault))


# -- Forget: the last fault of its kind has happened


@frozen(kw_only=True)
class Forget(Errand):
    """Dead values are reset at every seat. (See `walks` for what a walk is.)"""

    # As `Core.keeps`.
    keeps: tuple[str, ...]
    # The group is Stable, and no timer waits for SyncGroup any more.
    settled: bool


@urgent(when=lambda budget: budget.closing)
def close_books(core: Core, budget: Budget) -> Iterator[tuple[Core, Budget]]:
    """The last fault of its kind has happened, and what was remembered for it is reset."""
    yield keeping(core, kept_for(budget)), evolve(budget, closing=False)


def keeping(core: Core, keeps: tuple[str, ...]) -> Core:
    """Begin: the group remembers only what these faults may read."""
    settled = core.phase == Phase.STABLE and "sync_timeout" not in keeps
    core = evolve(core, keeps=keeps, errands=(Forget(keeps=keeps, settled=settled),))
    if "fail_over" not in keeps:
        core = evolve(core, durable=(0, False, None), recorded=False, unlogged=0)
    if settled:
        core = evolve(core, due=0, deadline=False)
    return core


@urgent(when=lambda me, walk: walk.at == me and isinstance(walk.errand, Forget))
def forget(walk: Walk[Forget], seats: Seats, scope: Scope) -> Iterator[tuple[Walk[Forget], Seats]]:
    """Resets the memory of one process's ids."""
    errand = walk.errand
    if "fail_over" not in errand.keeps:
        seats = seats.unrecorded()
    newcomers = "new_member_timeout" in errand.keeps
    ids = [
        (
            id,
            evolve(
                seat,
                due=seat.due and not errand.settled,
                owed=None if errand.settled else seat.owed,
                new=seat.new and newcomers,
                hurried=seat.hurried and newcomers,
            ),
        )
        for id, seat in seats
    ]
    yield walk.passed(errand, scope), evolve(seats, ids=tuple(ids))


def forgotten(errand: Forget, core: Core, scope: Scope) -> Iterator[Core]:
    """End: nothing more to write back."""
    yield core
