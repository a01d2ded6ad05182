"""What differs between Java's members of Kafka's versions, as data."""

from __future__ import annotations

from functools import cache

from attrs import frozen


@frozen
class JavaRelease:
    """How the member of one version of Kafka goes about it."""

    # An assignment is applied, and a revocation begins, only while the application polls
    # (KAFKA-20106).
    applies_in_poll: bool = True
    # Partitions that are lost are not fetched any more while the application is told.
    pauses_what_is_lost: bool = True
    # A member that has left takes no harm from the answer that there is no group.
    leaves_absent_group: bool = True
    # What a member can resolve of an assignment is acknowledged once, not again and again
    # (KAFKA-20145).
    acknowledges_once: bool = True


@cache
def java_release(kafka: str) -> JavaRelease:
    """That of a version such as 4.3.1."""
    version = tuple(map(int, kafka.split(".")))
    new = version >= (4, 3)
    return JavaRelease(new, new, new, version >= (4, 4))
