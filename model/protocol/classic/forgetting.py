"""Dead values: what the coordinator's memory holds only for the sake of a fault that can happen no
more is reset.

The last group record is read by a fail-over alone, who still owes a SyncGroup in a Stable group by
the sync timer alone, who is new by the five-minute timer alone. When the budget's last such fault
is spent, states that differ only in these become one. Nothing is lost: no rule but those three
(which cannot fire any more) reads them.
"""

from __future__ import annotations

from collections.abc import Iterator

from groupcheck.model.engine import but, urgent
from groupcheck.model.protocol.classic.group import Core, Pass, Phase, Walk
from groupcheck.model.protocol.faults import REMEMBERED, Budget


def kept_for(budget: Budget) -> tuple[str, ...]:
    """The faults for whose sake something is remembered."""
    return tuple(fault for fault in REMEMBERED if budget.allows(fault))


@urgent(when=lambda budget: budget.closing)
def close_books(core: Core, budget: Budget) -> Iterator[tuple[Core, Budget]]:
    """The last fault of its kind has happened: a walk forgets what was remembered for it."""
    keeps = kept_for(budget)
    settled = core.phase == Phase.STABLE and "sync_timeout" not in keeps
    core = but(core, keeps=keeps, walk=Walk(Pass.FORGET, 0, keeps=keeps, settled=settled))
    if "fail_over" not in keeps:
        core = but(core, durable=(0, False, None), recorded=False)
    if settled:
        core = but(core, due=0, deadline=False)
    yield core, but(budget, closing=False)
