"""What differs between the coordinators of Kafka's versions, as data."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attrs import evolve, field, frozen


def rule(doc: str) -> Any:
    """A rule that the newest version has. `doc`: what it does, and perhaps what was before."""
    return field(default=True, metadata={"doc": doc})


@frozen
class Release:
    """The rules of one version of Kafka."""

    rejoins: bool = rule(
        "Epoch 0 is accepted from every dynamic id that is stored. Before, only while its "
        "previous epoch is 0, too (KAFKA-19233)."
    )
    keeps_own: bool = rule(
        "What a member has not yet given up counts as free for itself (KAFKA-19449)."
    )
    drops_topics: bool = rule(
        "Topics that a member subscribes to no longer leave its assignment at once (KAFKA-19431)."
    )
    keeps_epoch: bool = rule(
        "A member that has given up what it should goes on from its own epoch. Before, from "
        "the next one, which may be the epoch of another member's partitions (KAFKA-19974)."
    )
    interval: bool = rule(
        "A target is not computed sooner than the assignment interval after the last one "
        "(KIP-1263)."
    )
    keeps_given: bool = rule(
        "A partition keeps the epoch at which its member was given it. Before, it had that of "
        "the member, so a commit with an older one was refused (KIP-1251)."
    )
    writes_idle: bool = rule(
        "A member that subscribes to nothing any more, as its pattern is not resolved, is written "
        "anew even if it has nothing, so its previous epoch is that of the record."
    )
    begins_at_target: bool = rule(
        "A new group is at its target, so one whose first member subscribes by a pattern "
        "waits for it."
    )
    refreshes: bool = rule(
        "Regular expressions are resolved anew after a while (KAFKA-18813). Before, only for new"
        " topics, or where one is not resolved."
    )
    pattern_ends: bool = rule("A member that gives up its pattern rebalances the group.")
    admits_successor: bool = rule(
        "The successor of a static member comes in although the group is full (KAFKA-20601)."
    )
    settles_empty: bool = rule("An empty group is at its target (KAFKA-20442).")
    tells_transactions: bool = rule(
        "A TxnOffsetCommit is told that its epoch is stale (113), or that there is no group (69), "
        "from its version 6 on. Before, both are 22 ILLEGAL_GENERATION (KIP-1319)."
    )
    follows_votes: bool = rule(
        "Another assignor that most members name rebalances the group (KAFKA-20434)."
    )
    tells_of_targets: bool = rule(
        "A classic member is told to join again once there is another target. Before, as soon "
        "as one is needed (KAFKA-20272)."
    )
    notices_old_targets: bool = rule(
        "A static member whose successor makes a classic group of the group brings a "
        "rebalance if the group is ahead of its target. Before, if it subscribes to something "
        "else (KAFKA-20273)."
    )
    keeps_classic_out: bool = rule(
        "With the policy `disabled` no classic member joins a consumer group (KAFKA-20640)."
    )
    keeps_pending: bool = rule(
        "A group that has nothing but offsets of open transactions stays. Before, the sweep "
        "deletes it (KAFKA-19164)."
    )
    rebalances_successor: bool = rule(
        "A downgrade by a successor that subscribes to something else rebalances (KAFKA-19546)."
    )


_4_4_0 = Release()
_4_3_1 = evolve(
    _4_4_0,
    admits_successor=False,
    settles_empty=False,
    follows_votes=False,
    tells_transactions=False,
)
_4_3_0 = evolve(_4_3_1, keeps_classic_out=False)
_4_2_0 = evolve(
    _4_3_0,
    interval=False,
    keeps_given=False,
    writes_idle=False,
    begins_at_target=False,
    tells_of_targets=False,
    notices_old_targets=False,
)
_4_1_1 = evolve(
    _4_2_0,
    rejoins=False,
    keeps_own=False,
    drops_topics=False,
    keeps_epoch=False,
    pattern_ends=False,
)
_4_0_0 = evolve(_4_1_1, refreshes=False, keeps_pending=False, rebalances_successor=False)
RELEASES: Mapping[str, Release] = {
    "4.4.0": _4_4_0,
    "4.3.1": _4_3_1,
    "4.3.0": _4_3_0,
    "4.2.0": _4_2_0,
    "4.1.1": _4_1_1,
    "4.0.0": _4_0_0,
}
