"""The answers of a broker that is no longer the coordinator (see `failover_phases`).

If it knows that, it answers 16. If not, it answers from its memory, as far as that changes neither
the memory nor the log. So each rule of a request has a copy, which reads the slots in `MEMORY`
instead of the coordinator's own.

Kafka: CoordinatorRuntime (scheduleWriteOperation, scheduleReadOperation), PartitionWriter.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Any

import attrs

from groupcheck.model.engine import Spec, array, evolve, single
from groupcheck.model.engine.rule import Rule
from groupcheck.model.engine.slot import Slot
from groupcheck.model.protocol.classic import coordinator
from groupcheck.model.protocol.classic.features.full_offsets.commits import (
    offset_fetch,
    txn_offset_commit,
)
from groupcheck.model.protocol.classic.features.full_offsets.kept import OffsetStore
from groupcheck.model.protocol.classic.features.twins import look_away, meet_twin, return_to_twin
from groupcheck.model.protocol.classic.group import Core, Seats
from groupcheck.model.protocol.codes import NOT_COORDINATOR
from groupcheck.model.protocol.link import Link, reply
from groupcheck.model.protocol.messages import Answer
from groupcheck.model.protocol.transform import outcomes_changed, rewritten

SENT_AWAY = "not_coordinator"  # the label of a former coordinator's answer 16
FORMER = "former_"  # `former_heartbeat` is `heartbeat` at the former coordinator
NOBODY = Seats()
# Slot of the coordinator's memory -> slot of what a former coordinator remembers.
MEMORY: Mapping[str, str] = {
    "core": "former",
    "seats": "former_seats",
    "offsets": "former_offsets",
}
# The rules of requests, of which a group has those of its features.
REQUESTS = (*coordinator.REQUEST_RULES, txn_offset_commit, offset_fetch)
# Rules that put the seats of an instance where the rule of a request looks for them.
BEFORE, BEHIND = (meet_twin,), (return_to_twin, look_away)

# Outcomes of requests that change the coordinator's memory or the log.
CHANGES = frozenset(
    """
    join_group:id_required join_group:added join_group:parked join_group:restarted
    join_group:replaced join_group:replaced_and_parked join_group:replaced_and_restarted
    sync_group:led sync_group:parked
    leave_group:pending leave_group:left leave_group:removed
    offset_commit:accepted txn_offset_commit:accepted txn_offset_commit:anonymous
    """.split()
)

# Outcomes whose answers the runtime holds back until what was written before is replicated. (Errors
# are not held back, nor what JoinGroup and SyncGroup are answered.)
WAITS = frozenset(
    """
    heartbeat:accepted heartbeat:rebalancing leave_group:unknown leave_group:fenced
    offset_fetch:committed offset_fetch:nothing offset_fetch:unstable
    """.split()
)


def former_slots(spec: Spec) -> dict[str, Slot]:
    """The slots of what a former coordinator remembers."""
    kept = keeps_offsets(spec)
    return {
        "former": single(None, of=Core | None),
        "former_seats": array(spec.scope.members, NOBODY),
        **({"former_offsets": single(None, of=OffsetStore | None)} if kept else {}),
    }


def keeps_offsets(spec: Spec) -> bool:
    """Are offsets in the coordinator's memory (see `full_offsets`)?"""
    return isinstance(spec.slots["offsets"].initial, OffsetStore)


# -- What a former coordinator remembers, as far as answers depend on it


def remembered_group(core: Core) -> Core:
    """Of the group. Its timers do not run."""
    return evolve(
        core,
        due=0,
        deadline=False,
        durable=(0, False, None),
        recorded=False,
        unlogged=0,
        keeps=(),
        errands=(),
    )


def remembered(seats: Seats) -> Seats:
    """Of the ids of a process."""
    kept = [(id, evolve(seat, hurried=False, due=False, owed=None)) for id, seat in seats]
    return evolve(seats, ids=tuple(kept), durable=(), durable_leader=None)


def remembered_offsets(kept: OffsetStore) -> OffsetStore:
    """Of offsets."""
    pending = min(kept.pending, 1)
    return OffsetStore(
        committed=kept.committed, logged=kept.committed, there=kept.there, pending=pending
    )


# -- Requests


@cache
def at_former(usual: Rule) -> Rule:
    """The rule of the same request to a broker that is no longer the coordinator. If it knows that,
    it answers 16. If not, it answers from its memory as `usual`, unless that would change its
    memory or the log.
    """
    guard = usual.guard
    assert guard is not None
    asks: Callable[..., bool] = guard.call
    labels = [label for label in usual.labels if f"{usual.name}:{label}" not in CHANGES]
    # That a commit is accepted is an outcome which nothing but a bug leads to.
    writes = ("accepted",) if usual.name == coordinator.offset_commit.name else ()
    mine = tuple(MEMORY.get(slot, slot) for slot in usual.slots)
    taken = mine if "former" in mine else ("former", *mine)

    def call(*given: Any) -> Iterator[Any]:
        *values, scope = given
        told = dict(zip(taken, values, strict=True))
        former: Core | None = told["former"]
        link: Link = told["link"]
        assert link.request is not None
        found = {SENT_AWAY: reply(link, Answer(link.request, NOT_COORDINATOR))}
        if former is not None:
            memory = [told[slot] for slot in mine]
            at = mine.index("link")
            for label, *after in usual.call(*memory, *((scope,) if usual.takes_scope else ())):
                waits = former.appending and f"{usual.name}:{label}" in WAITS
                if label in labels and not waits:
                    found = {label: after[at]}
        for label, link in found.items():
            yield (label, *{**told, "link": link}.values())

    call.__doc__ = f"A former coordinator is asked. {usual.doc}"
    return attrs.evolve(
        rewritten(usual, call, *taken, labels=(*labels, *writes, SENT_AWAY), takes_scope=True),
        name=FORMER + usual.name,
        guard=attrs.evolve(guard, call=lambda link: link.stale and asks(link)),
    )


@cache
def not_at_former(usual: Rule) -> Rule:
    """The rule does nothing on a connection that leads to a former coordinator."""
    return outcomes_changed(
        usual, lambda before, label, after: None if _link(before).stale else after
    )


def _link(values: Mapping[str, Any]) -> Link:
    link: Link = values["link"]
    return link


@cache
def over_former_seats(usual: Rule) -> Rule:
    """The rule over the seats that a former coordinator remembers."""
    to = tuple(MEMORY.get(slot, slot) for slot in usual.slots)
    guard = usual.guard
    assert guard is not None
    if guard.slot == "link":
        reads = guard.call
        guard = attrs.evolve(guard, call=lambda link: link.stale and reads(link))
    if not usual.parameters:
        guard = attrs.evolve(guard, slot=MEMORY.get(guard.slot, guard.slot))
    return attrs.evolve(usual, name=FORMER + usual.name, slots=to, guard=guard)
