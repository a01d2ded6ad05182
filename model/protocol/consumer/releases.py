"""What differs between the coordinators of Kafka's versions, as data."""

from __future__ import annotations

from collections.abc import Mapping

from attrs import evolve, frozen


@frozen
class Release:
    """The rules of one version of Kafka."""

    # Epoch 0 is accepted from every dynamic id that is stored. Before, only while its previous
    # epoch is 0, too (KAFKA-19233).
    rejoins: bool = True
    # What a member has not yet given up counts as free for itself (KAFKA-19449).
    keeps_own: bool = True
    # Topics that a member subscribes to no longer leave its assignment at once (KAFKA-19431).
    drops_topics: bool = True
    # A member that has given up what it should goes on from its own epoch. Before, from the next
    # one, which may be the epoch of another member's partitions (KAFKA-19974).
    keeps_epoch: bool = True
    # A target is not computed sooner than the assignment interval after the last one (KIP-1263).
    interval: bool = True
    # A partition keeps the epoch at which its member was given it. Before, it had that of the
    # member, so a commit with an older one was refused (KIP-1251).
    keeps_given: bool = True
    # A new group is at its target, so one whose first member subscribes by a pattern waits for it.
    begins_at_target: bool = True
    # A member that gives up its pattern rebalances the group.
    pattern_ends: bool = True
    # The successor of a static member comes in although the group is full (KAFKA-20601).
    admits_successor: bool = True
    # An empty group is at its target (KAFKA-20442).
    settles_empty: bool = True
    # Another assignor that most members name rebalances the group (KAFKA-20434).
    follows_votes: bool = True
    # A classic member is told to join again once there is another target. Before, as soon as one
    # is needed (KAFKA-20272).
    tells_of_targets: bool = True
    # A static member whose successor makes a classic group of the group brings a rebalance if the
    # group is ahead of its target. Before, if it subscribes to something else (KAFKA-20273).
    notices_old_targets: bool = True
    # With the policy `disabled` no classic member joins a consumer group (KAFKA-20640).
    keeps_classic_out: bool = True
    # A downgrade by a successor that subscribes to something else rebalances (KAFKA-19546).
    rebalances_successor: bool = True


_4_4_0 = Release()
_4_3_1 = evolve(_4_4_0, admits_successor=False, settles_empty=False, follows_votes=False)
_4_3_0 = evolve(_4_3_1, keeps_classic_out=False)
_4_2_0 = evolve(
    _4_3_0,
    interval=False,
    keeps_given=False,
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
_4_0_0 = evolve(_4_1_1, rebalances_successor=False)
RELEASES: Mapping[str, Release] = {
    "4.4.0": _4_4_0,
    "4.3.1": _4_3_1,
    "4.3.0": _4_3_0,
    "4.2.0": _4_2_0,
    "4.1.1": _4_1_1,
    "4.0.0": _4_0_0,
}
