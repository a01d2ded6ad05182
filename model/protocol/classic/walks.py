"""A walk: how the coordinator does something to all members inside one step.

A rule sees the seats of one process, so that its table stays small. What concerns all members, such
as answering every parked JoinGroup, is therefore a chain of urgent rules:

    begin   A function puts an errand into `core.errands`, with all that the visits need of the
            group; `begin_walk` moves it into the slot `walk`.
    visit   One rule, which does not see `core`, visits one process after the other, and notes in
            the errand what it finds.
    end     `end_walk` writes to `core` what the visits have found, and puts the walk to rest.

There are ten kinds of errands. Each is a class, and where it stands (in `rounds`, `assignment`,
`failover` or `dead_values`) its begin, its visit and its end follow in this order.

Because visits do not see `core`, the largest runs need far fewer rows, at the price of two more
links in the chain.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from groupcheck.model.engine import evolve, urgent
from groupcheck.model.engine.rule import Rule
from groupcheck.model.protocol.classic.assignment import (
    Assign,
    Claims,
    WriteRecord,
    answer_syncs,
    assigned,
    look_at_claims,
    planned,
    record_plan,
    record_written,
)
from groupcheck.model.protocol.classic.dead_values import Forget, forget, forgotten
from groupcheck.model.protocol.classic.failover import Reload, reload, reloaded
from groupcheck.model.protocol.classic.group import ENDED, REST, Core, Errand, Walk
from groupcheck.model.protocol.classic.rounds import (
    Complete,
    Dismiss,
    Elect,
    Restart,
    Vote,
    answer_joins,
    completed,
    dismiss_absent,
    dismissed,
    elect,
    elected,
    restarted,
    send_back,
    vote,
    voted,
)
from groupcheck.model.protocol.classic.scope import Scope

# Each kind of errand: the rule that visits the seats of one process, and the function that ends the
# walk.
KINDS: dict[type[Errand], tuple[Rule, Callable[[Any, Core, Scope], Iterator[Core]]]] = {
    Restart: (send_back, restarted),
    Elect: (elect, elected),
    Complete: (answer_joins, completed),
    Dismiss: (dismiss_absent, dismissed),
    Vote: (vote, voted),
    Claims: (look_at_claims, planned),
    Assign: (answer_syncs, assigned),
    WriteRecord: (record_plan, record_written),
    Reload: (reload, reloaded),
    Forget: (forget, forgotten),
}


@urgent(when=lambda core: core.errands != ())
def begin_walk(core: Core, walk: Walk[Errand]) -> Iterator[tuple[Core, Walk[Errand]]]:
    """A walk over all members begins."""
    for errand in core.errands:
        yield evolve(core, errands=()), Walk(0, errand)


@urgent(when=lambda walk: walk.at == ENDED and walk != REST)
def end_walk(core: Core, walk: Walk[Errand], scope: Scope) -> Iterator[tuple[Core, Walk[Errand]]]:
    """All members are visited: the group gets what the walk has found."""
    _, end = next(kind for errand, kind in KINDS.items() if isinstance(walk.errand, errand))
    for after in end(walk.errand, core, scope):
        yield after, REST


# Visits of features: an eager leader does not look at claims (`cooperative`), and members of one
# kind are all removed or all kept (`mixed`).
OF_FEATURES = (look_at_claims, dismiss_absent)
VISITS = (visit for visit, _ in KINDS.values() if visit not in OF_FEATURES)
WALK_RULES = (begin_walk, *VISITS, end_walk)
