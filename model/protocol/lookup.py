"""Which broker coordinates a group: the leader of one partition of __consumer_offsets."""

from __future__ import annotations

from groupcheck.model.assignors.hash_order import text_hash

SIGN = 2**31


def partition_for(group: str, partitions: int) -> int:
    """The partition of __consumer_offsets, of so many, that holds the group's records.

    The one hash without an absolute value, Integer.MIN_VALUE, counts as 0. (Kafka:
    GroupCoordinatorService.partitionFor, Utils.abs, String.hashCode.)
    """
    hashed = text_hash(group)
    magnitude = hashed if hashed < SIGN else 2 * SIGN - hashed
    return magnitude % SIGN % partitions
