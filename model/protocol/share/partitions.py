"""The target of a share group, and the persister, which initializes its partitions first."""

from __future__ import annotations

from collections.abc import Iterator

from groupcheck.model.engine import evolve, rule, urgent
from groupcheck.model.protocol.consumer.memory import END, Collect, Deal, Walk
from groupcheck.model.protocol.consumer.targets import (
    begin_errand,
    give_ghosts,
    give_target,
    read_ghosts,
    read_member,
    target_written,
)
from groupcheck.model.protocol.faults import Budget
from groupcheck.model.protocol.share.memory import ShareCore
from groupcheck.model.protocol.share.plans import plans
from groupcheck.model.protocol.share.scope import ShareScope


@urgent(when=lambda walk: walk.at == END and isinstance(walk.errand, Collect))
def compute_share_target(
    walk: Walk, core: ShareCore, scope: ShareScope
) -> Iterator[tuple[Walk, ShareCore]]:
    """The assignor makes a plan of the partitions that are initialized
    (maybeUpdateTargetAssignment).
    """
    errand = walk.errand
    assert isinstance(errand, Collect)
    for plan in plans(errand.seen, core.initialized, scope):
        planned = 0
        for _, share in plan:
            planned |= share
        yield Walk(0, Deal(errand.fails, plan)), evolve(core, planned=planned)


@rule("initialized", "failed", when=lambda core: core.asked != 0)
def persister_answers(core: ShareCore, budget: Budget) -> Iterator[tuple[str, ShareCore, Budget]]:
    """The persister has initialized all that it was asked for, or cannot; then the next heartbeat
    asks again (initializeShareGroupState, uninitializeShareGroupState).
    """
    rest = evolve(core, initializing=core.initializing & ~core.asked, asked=0, overdue=False)
    yield "initialized", evolve(rest, initialized=core.initialized | core.asked), budget
    if budget.allows("initialization_failure"):
        yield "failed", rest, budget.spend("initialization_failure")


@rule(when=lambda core: core.initializing != 0 and not core.overdue)
def initialization_overdue(core: ShareCore) -> Iterator[ShareCore]:
    """The persister has not answered in group.share.initialize.retry.interval.ms: the next
    heartbeat asks again. Every record of the group's partitions begins the time anew for all.
    """
    yield evolve(core, overdue=True)


WALK_RULES = (
    begin_errand,
    read_member,
    read_ghosts,
    compute_share_target,
    give_target,
    give_ghosts,
    target_written,
)
PERSISTER_RULES = (persister_answers, initialization_overdue)
