"""What differs between Java's members of Kafka's versions, as data."""

from __future__ import annotations

from functools import cache

from attrs import frozen

from groupcheck.model.protocol.consumer.releases import rule


@frozen
class JavaRelease:
    """How the member of one version of Kafka goes about it."""

    applies_in_poll: bool = rule(
        "An assignment is applied, and a revocation begins, only while the application polls "
        "(KAFKA-20106)."
    )
    pauses_what_is_lost: bool = rule(
        "Partitions that are lost are not fetched any more while the application is told."
    )
    leaves_absent_group: bool = rule(
        "A member that has left takes no harm from the answer that there is no group."
    )
    acknowledges_once: bool = rule(
        "What a member can resolve of an assignment is acknowledged once, not again and again "
        "(KAFKA-20145)."
    )


@cache
def java_release(kafka: str) -> JavaRelease:
    """That of a version such as 4.3.1."""
    version = tuple(map(int, kafka.split(".")))
    new = version >= (4, 3)
    return JavaRelease(new, new, new, version >= (4, 4))
