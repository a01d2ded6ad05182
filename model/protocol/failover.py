"""What is durable, and the coordinator's move to another broker (protocol.md 1.14, section 8).

The group record in __consumer_offsets is written by the leader's SyncGroup and when the group becomes Empty; nothing else survives. The moment at
which a record in flight would survive is decided when it is written: either from then on, or only with its commit. That covers every moment
between, and the record of a round that was overtaken (which a fail-over loads as Stable although no member ever heard of it). The record of
an Empty group survives from then on, or never: its append may fail without anybody noticing, and the old members are loaded again.
Kafka: CoordinatorRuntime, GroupMetadataManager.replay, onLoaded.
"""

from __future__ import annotations

from collections.abc import Iterator

from groupcheck.model.engine import but, rule, urgent
from groupcheck.model.protocol.faults import Budget
from groupcheck.model.protocol.group import Core, Pass, Phase, Seat, Seats, Walk, supported
from groupcheck.model.protocol.link import Link
from groupcheck.model.protocol.rounds import shares
from groupcheck.model.protocol.scope import Scope


def write_record(core: Core, scope: Scope) -> Core:
    """From now on, a fail-over loads the leader's assignment, whether or not its append is ever seen to commit."""
    return but(core, recorded=True, walk=Walk(Pass.RECORD, left=core.members, free=(1 << scope.partition_count) - 1))


@urgent(when=lambda me, core: core.walk is not None and core.walk.at == me and core.walk.kind == Pass.RECORD)
def record_plan(me: int, core: Core, seats: Seats, scope: Scope) -> Iterator[tuple[Core, Seats]]:
    """The leader's assignment is written to the log."""
    members = [(id, seat) for id, seat in seats if seat.member]
    plans: list[tuple[Walk | None, tuple[tuple[int, int, int], ...]]] = [(core.walk, ())]
    for id, seat in members:
        extended: list[tuple[Walk | None, tuple[tuple[int, int, int], ...]]] = []
        for walk, plan in plans:
            assert walk is not None
            for share in shares(walk, core.members, scope):
                rest = but(walk, left=walk.left - 1, rank=walk.rank + 1, free=walk.free & ~share)
                extended.append((rest, (*plan, (id, share, seat.claimed))))
        plans = extended
    for walk, plan in plans:
        assert walk is not None
        if me + 1 < scope.members:
            yield but(core, walk=but(walk, at=me + 1)), Seats(seats.ids, plan)
        else:
            yield but(core, durable=(core.generation, core.leader, core.assignor), walk=None), Seats(seats.ids, plan)


@rule(when=lambda budget: budget.allows("fail_over"))
def fail_over(core: Core, budget: Budget) -> Iterator[tuple[Core, Budget]]:
    """The coordinator moves: memory is dropped, the last group record is loaded, requests that were waiting fail."""
    generation, leader, assignor = core.durable
    fresh = Core(generation=generation, leader=leader, assignor=assignor, durable=core.durable, keeps=core.keeps)
    yield but(fresh, support=(0,) * len(core.support), walk=Walk(Pass.RELOAD)), budget.spend("fail_over")


@urgent(when=lambda me, core: core.walk is not None and core.walk.at == me and core.walk.kind == Pass.RELOAD)
def reload(me: int, core: Core, seats: Seats, link: Link, scope: Scope) -> Iterator[tuple[Core, Seats, Link]]:
    """The members of the record are loaded, each with a full session timer; ids that were only handed out are forgotten."""
    narrow = bool(scope.lists)
    loaded = tuple((id, Seat(True, claimed=claimed, share=share, loaded=narrow)) for id, share, claimed in seats.durable)
    core = but(core, members=core.members + len(loaded))
    if loaded:
        core = supported(core, me, len(loaded), scope, narrow)
    if me + 1 < scope.members:
        core = but(core, walk=but(core.walk, at=me + 1))
    else:
        core = but(core, phase=Phase.STABLE if core.members else Phase.EMPTY, walk=None)
    yield core, Seats(loaded, seats.durable), Link()


RECORD_RULES = (record_plan, reload)
