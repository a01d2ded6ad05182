"""What is durable, and the coordinator's move to another broker (protocol.md 1.14, section 8).

The group record in __consumer_offsets is written by the leader's SyncGroup and when the group
becomes Empty; nothing else survives. The moment at which a record in flight would survive is
decided when it is written: either from then on, or only with its commit. That covers every moment
between, and the record of a round that was overtaken (which a fail-over loads as Stable although no
member ever heard of it). The record of an Empty group survives from then on, or never: its append
may fail without anybody noticing, and the old members are loaded again. Kafka: CoordinatorRuntime,
GroupMetadataManager.replay, onLoaded.
"""

from __future__ import annotations

from collections.abc import Iterator

from groupcheck.model.engine import but, rule
from groupcheck.model.protocol.classic.group import Core, Pass, Walk
from groupcheck.model.protocol.faults import Budget


@rule(when=lambda budget: budget.allows("fail_over"))
def fail_over(core: Core, budget: Budget) -> Iterator[tuple[Core, Budget]]:
    """The coordinator moves: memory is dropped, the last group record is loaded, requests that were
    waiting fail.
    """
    generation, led, assignor = core.durable
    fresh = Core(
        generation=generation, led=led, assignor=assignor, durable=core.durable, keeps=core.keeps
    )
    yield (
        but(fresh, support=(0,) * len(core.support), walk=Walk(Pass.RELOAD, 0)),
        budget.spend("fail_over"),
    )
