"""What differs between the streams coordinators of Kafka's versions, as data."""

from __future__ import annotations

from collections.abc import Mapping

from attrs import evolve, frozen


@frozen
class StreamsRelease:
    """The rules of one version of Kafka."""

    # A target is not computed sooner than the assignment interval after the last one (KIP-1263).
    interval: bool = True
    # An empty group is at its target (KAFKA-20442).
    settles_empty: bool = True
    # A member that is stored may join again although the group is full.
    admits_stored: bool = True
    # A task that stays with its member changes its role there: an active one becomes a standby at
    # once, a standby stays until it becomes active. Before, the member gave it up first.
    changes_roles: bool = True
    # The coordinator keeps in memory what it made of the last target. A member that was removed and
    # joins again before the next one has its former tasks from there, which are in no target.
    recalls: bool = True


_4_4_0 = StreamsRelease()
_4_3_1 = evolve(
    _4_4_0, settles_empty=False, admits_stored=False, changes_roles=False, recalls=False
)
_4_2_0 = evolve(_4_3_1, interval=False)
STREAMS_RELEASES: Mapping[str, StreamsRelease] = {
    "4.4.0": _4_4_0,
    "4.3.1": _4_3_1,
    "4.3.0": _4_3_1,
    "4.2.0": _4_2_0,
}
