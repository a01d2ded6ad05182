"""How Kafka Connect's incremental assignor changed from release to release."""

from __future__ import annotations

from collections.abc import Mapping

from attrs import evolve, frozen


@frozen(cache_hash=True)
class Release:
    """The behaviour of an assignor. The default is the newest one; each field that is False is a
    bug that was fixed.
    """

    # Lost work that came back ends its delay (KAFKA-9184, 2.4.0). If not, the old due time stays,
    # and the next work that is lost is dealt out at once.
    ends_the_delay_of_returned_work: bool = True
    # A leader whose last assignment was not synced forgets it (KAFKA-9848, 2.5.1 and 2.6.0).
    forgets_what_was_not_synced: bool = True
    # Work that is lost although nobody has left is dealt out at once (KAFKA-9848, 2.5.1 and 2.6.0).
    knows_who_was_there: bool = True
    # What several workers run is revoked from all of them (KAFKA-9841, 2.5.1 and 2.6.0).
    revokes_duplicates: bool = True
    # Lost work is spread over all candidates; before, the first one got all of it (KAFKA-10413,
    # 2.8.0).
    spreads_lost_work: bool = True
    # Revokes what a worker has above the ceiling of the average; before, at most as many items
    # as the floor, from the first workers (KAFKA-10413, 2.8.0).
    revokes_down_to_the_ceiling: bool = True
    # What the leader tells of owners leaves out what is being revoked (KAFKA-13763, 3.3.0).
    tells_of_revocations: bool = True
    # What several workers run counts once in the load of the cluster. Only 3.3 counted it several
    # times (KAFKA-13763 brought it, KAFKA-12495 took it away).
    counts_duplicates_once: bool = True
    # Revokes for balance whenever loads differ, and in successive rounds with a back-off
    # (KAFKA-12495, 3.4.0). Before, only if a worker came with nothing, and not in the round after
    # one that revoked.
    backs_off: bool = True
    # With a delay of 0 lost work is dealt out in the same round (KAFKA-15693, 3.7.0).
    reassigns_without_delay: bool = True


CURRENT = Release()

_3_4 = evolve(CURRENT, reassigns_without_delay=False)
_3_3 = evolve(_3_4, backs_off=False, counts_duplicates_once=False)
_2_8 = evolve(_3_3, tells_of_revocations=False, counts_duplicates_once=True)
_2_5_1 = evolve(_2_8, spreads_lost_work=False, revokes_down_to_the_ceiling=False)
_2_4 = evolve(
    _2_5_1, forgets_what_was_not_synced=False, knows_who_was_there=False, revokes_duplicates=False
)
_2_3 = evolve(_2_4, ends_the_delay_of_returned_work=False)

SINCE: Mapping[str, Release] = {
    "3.7.0": CURRENT,
    "3.4.0": _3_4,
    "3.3.0": _3_3,
    "2.8.0": _2_8,
    "2.5.1": _2_5_1,
    "2.4.0": _2_4,
    "2.3.0": _2_3,
}
"""The release of Kafka in which each behaviour first came, newest first."""


def of_version(version: str) -> Release:
    """The behaviour of the assignor of a version of Kafka. No version before 2.3 has one."""
    return next(what for since, what in SINCE.items() if _numbers(since) <= _numbers(version))


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(map(int, version.split(".")))
