"""The bounds within which a producer's partitioner is explored."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from attrs import field, frozen
from attrs.validators import optional

from groupcheck.model.engine import ScopeError
from groupcheck.model.protocol.bounds import (
    between,
    bound,
    check_faults,
    fault_counts,
)
from groupcheck.model.protocol.faults import Budget

FAULTS: Mapping[str, str] = {
    "slow_broker": (
        "The broker of a partition becomes slow: it takes no batch before that is full, however"
        " long linger.ms is over."
    ),
}
PARTITIONERS = {
    "sticky": "KIP-480 (UniformStickyPartitioner, DefaultPartitioner; Kafka 2.4 to 3.2)",
    "built_in": "KIP-794 (BuiltInPartitioner; Kafka 3.3 and newer)",
}


def _partitioner(scope: Any, field: Any, value: object) -> None:
    if value not in PARTITIONERS:
        raise ScopeError(
            f"{field.name} is {value!r}", where="scope", do="one of " + ", ".join(PARTITIONERS)
        )


@frozen
class PartitionerScope:
    """The bounds of a run."""

    LACKS: ClassVar[Mapping[str, str]] = {}
    MORE: ClassVar[Mapping[str, str]] = {}

    partitions: int = bound(2, "Partitions of the topic.", between(1, 8))
    records: int = bound(6, "Records that the producer sends, without key.", between(0, 1000))
    batch: int = bound(3, "batch.size, in records.", between(1, 100))
    linger: int = bound(
        1,
        "How many records come within linger.ms: a batch with so many is sent, full or not, unless"
        " its broker is slow.",
        between(1, 100),
    )
    partitioner: str = bound(
        "sticky",
        "Which partitioner: `sticky` (KIP-480) or `built_in` (KIP-794).",
        _partitioner,
    )
    faults: tuple[tuple[str, int], ...] = field(
        default=(),
        converter=fault_counts,
        metadata={"doc": "Which faults may happen, and how often each."},
    )
    any_faults: int | None = bound(
        None, "Any N of all faults instead of named ones.", optional(between(0, 100))
    )

    def __attrs_post_init__(self) -> None:
        check_faults(self.faults, self.any_faults, FAULTS)

    @property
    def built_in(self) -> bool:
        """Is it the partitioner of KIP-794?"""
        return self.partitioner == "built_in"

    @property
    def budget(self) -> Budget:
        if self.any_faults is not None:
            return Budget(any=self.any_faults)
        return Budget(tuple((name, n) for name, n in self.faults if n))
