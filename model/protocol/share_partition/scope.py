"""The bounds of a run of a share partition."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from attrs import field, frozen
from attrs.validators import optional

from groupcheck.model.engine import ScopeError
from groupcheck.model.protocol.bounds import (
    between,
    bound,
    check_faults,
    fault_counts,
    one_of,
)
from groupcheck.model.protocol.faults import Budget

FAULTS: Mapping[str, str] = {
    "lose_response": "The answer to a ShareFetch is lost: the records count as delivered.",
    "session_end": "The share session of a member ends; the member does not know of it yet.",
    "persister_failure": "The persister does not store what it is told to.",
    "persister_timeout": "The persister stores it, but its answer does not come.",
    "fail_over": "Another broker leads the partition, and reads its state from the persister.",
}
MENDED, AS_KAFKA = "mended", "as_kafka"


@frozen
class SharePartitionScope:
    """The bounds of a run."""

    LACKS: ClassVar[Mapping[str, str]] = {}
    MORE: ClassVar[Mapping[str, str]] = {}

    members: int = bound(2, "Members that read the partition.", between(1, 4))
    records: int = bound(1, "Records of the partition.", between(1, 4))
    batch: int = bound(
        0,
        "Records of a batch of the log: they are fetched together, in the order of their offsets."
        " 0: each record is fetched by itself, in any order.",
        between(0, 4),
    )
    missing: int | None = bound(
        None,
        "An offset in a batch that has no record, as after a compaction: it is acquired with the"
        " others, and acknowledged as a gap.",
        optional(between(0, 3)),
    )
    max_delivery: int = bound(2, "group.share.delivery.count.limit.", between(1, 5))
    k33: str = bound(
        MENDED,
        "`as_kafka`: an acknowledgement of a record that the start offset has passed is answered as"
        " if it counted. `mended`: it is refused.",
        one_of((MENDED, AS_KAFKA)),
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
        if self.missing is not None and not self._inside(self.missing):
            raise ScopeError(
                f"missing is {self.missing}, which is not inside a batch of the log",
                where="scope",
                do="choose an offset between the first and the last of a batch",
            )

    def _inside(self, offset: int) -> bool:
        """Has the log the batch of this offset, and is it neither its first nor its last?"""
        if not self.batch or offset >= self.records - 1:
            return False
        return 0 < offset % self.batch < self.batch - 1

    @property
    def budget(self) -> Budget:
        if self.any_faults is not None:
            return Budget(any=self.any_faults)
        return Budget(tuple((name, n) for name, n in self.faults if n))
