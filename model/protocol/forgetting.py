"""Dead values: what the coordinator's memory holds only for the sake of a fault that can happen no more is reset.

The last group record is read by a fail-over alone, who still owes a SyncGroup in a Stable group by the sync timer alone, who is new by the
five-minute timer alone. When the budget's last such fault is spent, states that differ only in these become one. Nothing is lost: no rule
but those three (which cannot fire any more) reads them.
"""

from __future__ import annotations

from collections.abc import Iterator

from groupcheck.model.engine import but, urgent
from groupcheck.model.protocol.faults import REMEMBERED, Budget
from groupcheck.model.protocol.group import Core, Pass, Phase, Seats, Walk
from groupcheck.model.protocol.scope import Scope


def kept_for(budget: Budget) -> tuple[str, ...]:
    """The faults for whose sake something is remembered."""
    return tuple(fault for fault in REMEMBERED if budget.allows(fault))


@urgent(when=lambda budget: budget.closing)
def close_books(core: Core, budget: Budget) -> Iterator[tuple[Core, Budget]]:
    """The last fault of its kind has happened: a walk forgets what was remembered for it."""
    if core.walk is None:
        core = but(core, keeps=kept_for(budget), walk=Walk(Pass.FORGET))
        if "fail_over" not in core.keeps:
            core = but(core, durable=(0, None, None), recorded=False)
        if core.phase == Phase.STABLE and "sync_timeout" not in core.keeps:
            core = but(core, due=0, deadline=False)
        yield core, but(budget, closing=False)


@urgent(when=lambda me, core: core.walk is not None and core.walk.at == me and core.walk.kind == Pass.FORGET)
def forget(me: int, core: Core, seats: Seats, scope: Scope) -> Iterator[tuple[Core, Seats]]:
    """One process's part of the walk."""
    durable = seats.durable if "fail_over" in core.keeps else ()
    settled = core.phase == Phase.STABLE and "sync_timeout" not in core.keeps
    newcomers = "new_member_timeout" in core.keeps
    ids = tuple((id, but(seat, due=seat.due and not settled, new=seat.new and newcomers)) for id, seat in seats)
    walk = but(core.walk, at=me + 1) if me + 1 < scope.members else None
    yield but(core, walk=walk), Seats(ids, durable)


FORGET_RULES = (close_books, forget)
