"""The order in which a Java `HashMap` or `HashSet` gives its elements: where a result of Kafka's
depends on it, it can be computed.

Buckets one after the other, inside a bucket in order of insertion. A table has 16 buckets or the
power of two that keeps it at most three quarters full. (A bucket of more than eight becomes a tree
in a table of 64 and more, and may then lead with another element: left out.)

Which member keeps the larger share, and whose claim is considered first, depends on this order. So
the assignors here are deterministic and give the same answer as Kafka's classes, not just one of
several allowed answers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import TypeVar

from groupcheck.model.assignors.group import Partition

T = TypeVar("T")
SMALLEST = 16
_32 = 0xFFFFFFFF
_64 = 0xFFFFFFFFFFFFFFFF


@lru_cache(maxsize=1 << 14)
def text_hash(text: str) -> int:
    """`String.hashCode`, as an unsigned number of 32 bits; over UTF-16 code units, as Java's
    strings are.
    """
    units = text.encode("utf-16-be", "surrogatepass")
    value = 0
    for at in range(0, len(units), 2):
        value = (31 * value + (units[at] << 8) + units[at + 1]) & _32
    return value


def partition_hash(partition: Partition) -> int:
    """`TopicPartition.hashCode`."""
    topic, number = partition
    return (31 * (31 + number) + text_hash(topic)) & _32


def topic_id(topic: str) -> tuple[int, int]:
    """An id (two halves of 64 bits, signed) for a topic of which only the name is known. It follows
    from the name.
    """
    return 0x7000000000000000 | text_hash(topic), 1


def id_hash(topic: str) -> int:
    """`Uuid.hashCode` of the topic's id."""
    high, low = topic_id(topic)
    both = (high ^ low) & _64
    return (both >> 32) ^ (both & _32)


def number_hash(number: int) -> int:
    """`Integer.hashCode`."""
    return number & _32


def buckets_for(elements: int) -> int:
    """The table's size after so many insertions into an empty one, none removed."""
    buckets = SMALLEST
    while elements > buckets * 3 // 4:
        buckets *= 2
    return buckets


def bucket(hashed: int, buckets: int) -> int:
    """Where an element of that hash code lies."""
    return (hashed ^ (hashed >> 16)) & (buckets - 1)


def in_hash_order(
    elements: Sequence[T], hashed: Callable[[T], int], buckets: int | None = None
) -> list[T]:
    """Distinct elements, given in order of insertion, in the order in which a hash table gives
    them.
    """
    size = buckets or buckets_for(len(elements))
    return sorted(elements, key=lambda element: bucket(hashed(element), size))


def copied(elements: Sequence[T], hashed: Callable[[T], int]) -> list[T]:
    """The same, of a `HashSet` made from another collection: it starts with room for all
    (HashSet(Collection)).
    """
    wanted, buckets = int(len(elements) / 0.75) + 1, SMALLEST
    while buckets < wanted:
        buckets *= 2
    return in_hash_order(elements, hashed, buckets)


@lru_cache(maxsize=1 << 10)
def _by_text(texts: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(in_hash_order(texts, text_hash))


def by_text(texts: Iterable[str]) -> tuple[str, ...]:
    """Distinct texts, given in order of insertion, in a hash table's order."""
    return _by_text(tuple(texts))
