"""Where a group is kept: `groupcheck offsets-partition`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

from attrs import frozen

from groupcheck.model.assignors.hash_order import text_hash
from groupcheck.model.protocol.lookup import SIGN, partition_for
from groupcheck.oracles.show.json_schemas import Count, Positive

if TYPE_CHECKING:
    from rich.table import Table

PARTITIONS = 50
"""offsets.topic.num.partitions by default."""
TOPIC = "__consumer_offsets"
SCHEMA = "groupcheck.offsets-partition/1"


@frozen(kw_only=True)
class Place:
    """Where one group is kept."""

    group: Annotated[str, "The group's id."]
    hash: Annotated[int, "Java's hash of the id (String.hashCode), with its sign."]
    partition: Annotated[Count, "The partition of __consumer_offsets; its leader coordinates."]


@frozen(kw_only=True)
class OffsetsPartitionDocument:
    """What `groupcheck offsets-partition --json` prints."""

    partitions: Annotated[Positive, "Partitions of __consumer_offsets."]
    groups: Annotated[list[Place], "One object for each group, in the order of the command."]


def places(groups: Sequence[str], partitions: int) -> OffsetsPartitionDocument:
    """The partition of __consumer_offsets that keeps each group."""
    return OffsetsPartitionDocument(
        partitions=partitions,
        groups=[
            Place(group=group, hash=_signed(group), partition=partition_for(group, partitions))
            for group in groups
        ],
    )


def _signed(group: str) -> int:
    hashed = text_hash(group)
    return hashed if hashed < SIGN else hashed - 2 * SIGN


def in_words(group: str) -> str:
    """`__consumer_offsets-12 keeps the group my-group (of 50 partitions, the default); ...`."""
    return (
        f"{TOPIC}-{partition_for(group, PARTITIONS)} keeps the group {group} (of {PARTITIONS}"
        " partitions, the default); the leader of that partition is the group's coordinator"
        " (another number: `offsets-partition --partitions N`)"
    )


def run(groups: Sequence[str], partitions: int, as_json: bool) -> int:
    """`groupcheck offsets-partition`."""
    from groupcheck.oracles.show.json_schemas import document
    from groupcheck.oracles.show.terminal import answer

    found = places(groups, partitions)
    answer(lambda: document(SCHEMA, found), lambda: _lines(found), as_json)
    return 0


def _lines(found: OffsetsPartitionDocument) -> Table:
    from rich.table import Table

    from groupcheck.oracles.printable import printable

    table = Table.grid(padding=(0, 2, 0, 0))
    for place in found.groups:
        table.add_row(
            f"{TOPIC}-{place.partition}",
            printable(place.group),
            f"|{place.hash:,}| mod {found.partitions}" if place.hash != -SIGN else
            f"0 mod {found.partitions}: {place.hash:,} has no absolute value in Java",
        )  # fmt: skip
    return table
