"""The scope of a group whose offsets are modelled in full."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from attrs import frozen

from groupcheck.model.protocol.bounds import bound, one_of
from groupcheck.model.protocol.classic.scope import Scope

MORE: Mapping[str, str] = {
    "reset_offsets": (
        "An administrator sets the committed offset back to the beginning: an OffsetCommit from"
        " outside the group, which is accepted while the group is Empty."
    ),
    "delete_offsets": "An administrator deletes the committed offset (OffsetDelete, KIP-496).",
    "delete_groups": (
        "An administrator deletes the group and another one in one request (DeleteGroups, KIP-229)."
    ),
    "expire_offsets": (
        "offsets.retention.minutes pass and the coordinator looks for offsets that have expired"
        " (KIP-211)."
    ),
}
RESETS = ("earliest", "latest", "none")
COMMITS = ("consumer", "transactions", "anonymous")


@frozen(slots=False)
class FullOffsetsScope(Scope):
    """The bounds of a run, with what clients do about offsets."""

    NO_STYLES: ClassVar[str] = "`commits` says here who commits"

    MORE: ClassVar[Mapping[str, str]] = MORE

    reset: str = bound(
        "earliest",
        "Where a member starts if nothing is committed (auto.offset.reset): earliest, latest, or"
        " none, with which it stops.",
        one_of(RESETS),
    )
    commits: str = bound(
        "consumer",
        "Who commits: the consumer, or the producer in transactions, either with the consumer's id"
        " and generation (KIP-447) or, as before, anonymous.",
        one_of(COMMITS),
    )

    @property
    def skips(self) -> bool:  # type: ignore[override]
        """Does a member that finds no committed offset skip what is there?"""
        return self.reset == "latest"

    @property
    def transactional(self) -> bool:  # type: ignore[override]
        """Do producers commit?"""
        return self.commits != "consumer"
