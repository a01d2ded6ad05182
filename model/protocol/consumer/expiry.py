"""The feature `expiry` (with offsets): committed offsets expire, and an empty group without any is
deleted (GroupCoordinatorShard.cleanupGroupMetadata).

Time is not counted. An offset is older than offsets.retention.minutes or not (`aged`); the group
has been empty for that long or not (`rested`). KIP-211 promises that offsets are kept until a group
has been empty for that long, or does not subscribe to their topic any more. The new group goes by
the time of the commit alone (K32).

Left out: retention times of single commits, deleted topics, and a sweep whose append fails.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from attrs import frozen

from groupcheck.model.engine import Spec, evolve, rule, urgent
from groupcheck.model.protocol.consumer import commits, heartbeats, transactions
from groupcheck.model.protocol.consumer.commits import STORED, Offsets
from groupcheck.model.protocol.consumer.memory import END, GHOSTS, REST, Core, Errand, Seat, Walk
from groupcheck.model.protocol.consumer.scope import MENDED, ConsumerScope
from groupcheck.model.protocol.transform import extended, inserted, own, rebuilt

Values = dict[str, Any]


@frozen
class Sweep(Errand):
    """Looks what members subscribe to."""

    subscribed: int = 0


@rule(when=lambda offsets: offsets.stored or offsets.pending != ())
def retention_passes(core: Core, offsets: Offsets) -> Iterator[tuple[Core, Offsets]]:
    """Nobody commits for as long as offsets are kept."""
    old = evolve(
        offsets,
        aged=offsets.stored,
        rested=not core.members,
        pending=tuple(evolve(one, aged=True) for one in offsets.pending),
    )
    if old != offsets:
        yield core, old


@rule(when=lambda core: core.exists)
def sweep_begins(
    core: Core, offsets: Offsets, scope: ConsumerScope
) -> Iterator[tuple[Core, Offsets]]:
    """The periodic sweep. (Of members' groups, one that may find something.)"""
    empty = not (core.members or offsets.stored)
    if scope.requests == "anybody" or offsets.aged or empty:
        yield evolve(core, errand=Sweep()), offsets


@urgent(when=lambda me, walk: walk.at == me and isinstance(walk.errand, Sweep))
def read_subscription(
    walk: Walk, seat: Seat | None, scope: ConsumerScope
) -> Iterator[tuple[Walk, Seat | None]]:
    """The topics of a member are subscribed to, also while it is away."""
    errand = walk.errand
    assert isinstance(errand, Sweep)
    topics = seat.topics if seat is not None else 0
    yield walk.passed(Sweep(errand.subscribed | topics), scope.members), seat


@urgent(when=lambda walk: walk.at == GHOSTS and isinstance(walk.errand, Sweep))
def read_subscriptions_of_ghosts(
    walk: Walk, ghosts: tuple[Seat, ...]
) -> Iterator[tuple[Walk, tuple[Seat, ...]]]:
    """So are those of members whose processes are gone."""
    errand = walk.errand
    assert isinstance(errand, Sweep)
    subscribed = errand.subscribed
    for ghost in ghosts:
        subscribed |= ghost.topics
    yield Walk(END, Sweep(subscribed)), ghosts


@urgent(
    "kept",
    "expired",
    "deleted",
    when=lambda walk: walk.at == END and isinstance(walk.errand, Sweep),
)
def offsets_expire(
    walk: Walk, core: Core, offsets: Offsets, scope: ConsumerScope
) -> Iterator[tuple[str, Walk, Core, Offsets]]:
    """What is old enough, has no subscriber, and waits for no transaction expires; and with its
    last offset, a group without members goes (cleanupExpiredOffsets, maybeDeleteGroup).
    """
    errand = walk.errand
    assert isinstance(errand, Sweep)
    old = offsets.stored and offsets.aged
    if scope.k32 == MENDED and not core.members:
        old = old and offsets.rested
    expires = old and not errand.subscribed & offsets.bit and not offsets.pending
    if expires:
        offsets = evolve(offsets, beyond=False, stored=False, aged=False, delivered=False)
    waits = offsets.pending and scope.release.keeps_pending
    if core.members or offsets.stored or waits:
        yield "expired" if expires else "kept", REST, core, offsets
    else:
        yield "deleted", REST, Core(topics=core.topics), evolve(offsets, rested=False)


def _committed(before: Values, label: str, after: Values, scope: Any) -> Values:
    """There is an offset."""
    if label in (*STORED, "committed"):
        return {**after, "offsets": evolve(after["offsets"], stored=True)}
    return after


def _joined(before: Values, label: str, after: Values, scope: Any) -> Values:
    """The group is not empty any more."""
    if label == "added" and after["offsets"].rested:
        return {**after, "offsets": evolve(after["offsets"], rested=False)}
    return after


OWN_TIME = (retention_passes, sweep_begins)
SWEEP_RULES = (read_subscription, read_subscriptions_of_ghosts, offsets_expire)


def expiry(spec: Spec) -> Spec:
    """The feature, on a spec with offsets, and perhaps with transactions."""
    scope: ConsumerScope = spec.scope
    changed = [
        extended(own(spec, commits.offset_commit), _committed),
        extended(own(spec, heartbeats.consumer_heartbeat), _joined, "offsets"),
    ]
    if scope.transactions:
        changed.append(extended(own(spec, transactions.write_txn_marker), _committed))
    first = next(r for r in spec.rules if r.urgent)
    return inserted(rebuilt(spec, changed, OWN_TIME), own(spec, first), *SWEEP_RULES)
