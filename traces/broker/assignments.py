"""Assignments as the coordinator of consumer groups prints them (GroupMetadataManager), with the
topics' ids in place of their names.
"""

from __future__ import annotations

import re

PARTITIONS_READ = 200_000
# A name is looked for where one begins, once: a long line costs time in proportion to its length.
_PARTITION = re.compile(r"(?<![\w.-])([\w.-]{1,249}-\d{1,9})(?:@-?\d{1,18})?(?=[,\]])")
"""With the epoch in which it was given, from 4.3 on (KIP-1251)."""
_MEMBER = re.compile(r"(?<![^\s,{}=])([^\s,{}=]{1,300})=\w{1,80}\(partitions=\{([^{}]*)\}")
_TOPIC = re.compile(
    r"(?<![\w.-])([\w.-]{1,249})=(?:\[([\d, ]*)\]|RangeSet\(from=(\d{1,7})[^,]{0,20}, to=(\d{1,7}))"
)


def held(text: str) -> frozenset[str]:
    """`[id-0@2, id-1@2]` or `[id-0, id-1]` -> the partitions, 200,000 at most."""
    return frozenset(_PARTITION.findall(text)[:PARTITIONS_READ])


def shares(text: str) -> dict[str, frozenset[str]] | None:
    """`{member=MemberAssignment(partitions={id=[0, 1]}), ...}.` -> member -> its partitions,
    200,000 in all at most; None if the line was cut.
    """
    if not text.rstrip(".").endswith("}"):
        return None
    room = PARTITIONS_READ
    found: dict[str, frozenset[str]] = {}
    for member, topics in _MEMBER.findall(text):
        some: list[str] = []
        for topic, listed, first, end in _TOPIC.findall(topics):
            if first:
                numbers = [*map(str, range(int(first), min(int(end), int(first) + room)))]
            else:
                numbers = listed.split(", ") if listed else []
            some += [f"{topic}-{n}" for n in numbers[:room]]
            room -= len(numbers[:room])
        found[member] = frozenset(some)
    return found
