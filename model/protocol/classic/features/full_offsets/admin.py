"""Requests from outside the group: those of an administrator, and the sweep that looks for
offsets that have expired (protocol.md 1.15; KIP-211, KIP-229, KIP-496).

Whether a request fails is decided for each group by itself: of two groups in one DeleteGroups, one
may be deleted and the other not (KIP-379 shows the same).

Kafka: GroupCoordinatorShard (deleteGroups, cleanupExpiredOffsets), OffsetMetadataManager
(deleteOffsets, cleanupExpiredOffsets), ClassicGroup (validateDeleteGroup, validateOffsetDelete,
isSubscribedToTopic, offsetExpirationCondition). The tombstones are there at once; an append that
fails is the same as a request that was not sent yet.
"""

from __future__ import annotations

from collections.abc import Iterator

from attrs import frozen

from groupcheck.model.engine import evolve, rule, urgent
from groupcheck.model.engine.rule import Rule
from groupcheck.model.protocol.classic.features.full_offsets.kept import (
    VOID,
    OffsetStore,
    Txn,
    emptied,
    written,
)
from groupcheck.model.protocol.classic.group import REST, Core, Errand, Phase, Seats, Walk
from groupcheck.model.protocol.classic.scope import Scope
from groupcheck.model.protocol.faults import Budget
from groupcheck.model.protocol.transform import extended, rewritten

Outcome = tuple[str, Core, OffsetStore, Budget]


def subscribed(core: Core) -> bool:
    """Do members of the group subscribe to the topic, as the coordinator knows it? It knows the
    subscriptions of the last generation. If that was Empty, it knows of none until the round that
    runs is complete; before the first generation it assumes the worst.
    """
    return core.phase != Phase.EMPTY and not (core.initial and core.generation)


@rule("accepted", "refused", when=lambda budget: budget.allows("reset_offsets"))
def reset_offsets(core: Core, offsets: OffsetStore, budget: Budget) -> Iterator[Outcome]:
    """An administrator sets the committed offset back to the beginning (kafka-consumer-groups.sh
    --reset-offsets --to-earliest): an OffsetCommit without a member. It makes a group that is not
    there.
    """
    spent = budget.spend("reset_offsets")
    if core.phase == Phase.EMPTY:
        yield "accepted", core, evolve(written(offsets, 0), disturbed=True), spent
    else:
        yield "refused", core, offsets, spent


# -- Erase: offsets are deleted, perhaps with the group


@frozen(kw_only=True)
class Erase(Errand):
    """Discards what open transactions appended; the group's member ids go with it. (See
    `walks` for what a walk is.)
    """

    group: bool


@rule("deleted", "subscribed", "no_group", when=lambda budget: budget.allows("delete_offsets"))
def delete_offsets(core: Core, offsets: OffsetStore, budget: Budget) -> Iterator[Outcome]:
    """An administrator deletes the offset (OffsetDelete). It is refused while members subscribe to
    the topic.
    """
    spent = budget.spend("delete_offsets")
    if not offsets.there:
        yield "no_group", core, offsets, spent
    elif subscribed(core):
        yield "subscribed", core, offsets, spent
    else:
        yield "deleted", evolve(core, errands=(Erase(group=False),)), emptied(offsets), spent


@rule("deleted", "non_empty", "no_group", when=lambda budget: budget.allows("delete_groups"))
def delete_groups(core: Core, offsets: OffsetStore, budget: Budget) -> Iterator[Outcome]:
    """An administrator deletes the group and another one, which is Empty (DeleteGroups). The other
    one goes in any case; this one only if it is Empty. The request is handled once what was
    appended before is replicated (GroupCoordinatorService.deleteGroups asks for share groups
    first).
    """
    if core.appending:
        return
    spent, offsets = budget.spend("delete_groups"), evolve(offsets, other=False)
    if not offsets.there:
        yield "no_group", core, offsets, spent
    elif core.phase != Phase.EMPTY:
        yield "non_empty", core, offsets, spent
    else:
        yield "deleted", *_gone(core, offsets), spent


@rule("deleted", "spared", when=lambda budget: budget.allows("expire_offsets"))
def expire_offsets(core: Core, offsets: OffsetStore, budget: Budget) -> Iterator[Outcome]:
    """The retention has passed since the group became Empty, and the coordinator sweeps: the offset
    goes, and the group with it; so does the other group. While members subscribe to the topic, a
    round runs, or a transaction is open that has an offset of the partition, it stays.
    """
    if not offsets.there:
        return
    spent, offsets = budget.spend("expire_offsets"), evolve(offsets, other=False)
    if core.phase != Phase.EMPTY or offsets.pending:
        yield "spared", core, offsets, spent
    else:
        yield "deleted", *_gone(core, offsets), spent


@rule(when=lambda offsets: offsets.there)
def sweep(core: Core, offsets: OffsetStore) -> Iterator[tuple[Core, OffsetStore]]:
    """The same sweep where it is no fault: with --progress nobody counts how often it happens, and
    the retention of a group that stays Empty passes in the end. It is longer than the session of
    somebody who is about to join. A coordinator that has not loaded the group sweeps nothing.
    """
    empty = core.phase == Phase.EMPTY and not core.pending and not core.loading
    if empty and not offsets.pending:
        yield _gone(core, evolve(offsets, other=False))


def _gone(core: Core, offsets: OffsetStore) -> tuple[Core, OffsetStore]:
    """Begin: the group gets a tombstone. It starts with generation 0 when it is there again."""
    nobody = (0,) * len(core.support)
    fresh = Core(
        support=nobody,
        keeps=core.keeps,
        max_size=core.max_size,
        errands=(Erase(group=True),),
    )
    return fresh, evolve(emptied(offsets), there=False)


@urgent(when=lambda me, walk: walk.at == me and isinstance(walk.errand, Erase))
def erase(
    walk: Walk[Erase], seats: Seats, txn: Txn, scope: Scope
) -> Iterator[tuple[Walk[Erase], Seats, Txn]]:
    """Voids what one process's transaction has appended, and forgets its ids."""
    if walk.errand.group:
        seats = evolve(seats.unrecorded(), ids=(), leader=None)
    txn = evolve(txn, offset=VOID, place=0) if txn.pends else txn
    yield walk.passed(walk.errand, scope), seats, txn


def erasing(end_walk: Rule) -> Rule:
    """End: nothing more to write back."""

    def call(core: Core, walk: Walk[Errand], scope: Scope) -> Iterator[tuple[Core, Walk[Errand]]]:
        if isinstance(walk.errand, Erase):
            yield core, REST
        else:
            yield from end_walk.call(core, walk, scope)

    return rewritten(end_walk, call)


def loading(fail_over: Rule) -> Rule:
    """The new coordinator loads the offsets, too."""
    return extended(
        fail_over,
        lambda before, label, after, scope: {
            **after,
            "offsets": evolve(before["offsets"], committed=before["offsets"].logged),
        },
        "offsets",
    )


ADMIN_RULES = (reset_offsets, delete_offsets, delete_groups, expire_offsets)
