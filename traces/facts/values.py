"""The values of statements that facts compare: offsets, partitions, coordinators, names."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from groupcheck.traces.clients.nodes import coordinator_address, coordinator_number, node_text
from groupcheck.traces.clients.partitions import is_cut, partitions_of, partitions_told
from groupcheck.traces.clients.statement import Statement
from groupcheck.traces.clients.who import AIOKAFKA, KAFKA_PYTHON, KAFKAJS
from groupcheck.traces.story.member import client_of

MOST_PARTITIONS = 10_000
"""Of one statement."""
_OF_JAVA = re.compile(r"([\w.-]{1,249}-\d{1,9})=(?:OffsetAndMetadata\{offset=)?(\d{1,18})(?!\d)")
_OF_PYTHON = re.compile(
    r"topic=u?['\"]?([\w.-]{1,249})['\"]?, partition=(\d{1,9})\)"
    r"['\"]?\s?[:=,]\s?(?:OffsetAndMetadata\(offset=)?(\d{1,18})(?!\d)"
)
_OF_RUBY = re.compile(r"([\w.-]{1,249})/(\d{1,9}): ?(\d{1,18})(?!\d)")
# A topic, then partitions with their offsets: JSON of KafkaJS, the lines of kafka-go, franz-go.
_OF_TOPIC = re.compile(
    r"\"?topic\"?: ?\"?(?P<topic>[\w.-]{1,249})|\"?partition\"?:? ?\"?(?P<partition>\d{1,9})\"?"
    r"(?:,\s?\"offset\")?: ?\"?(?P<offset>\d{1,18})(?!\d)"
)
_NUMBER = re.compile(r"(?<![-\w])\d{1,18}(?![\d…]|\.\.)")
"""An offset; what is negative (such as -1001 of librdkafka) stands for none."""
_BROKER_NUMBER = re.compile(r"/(\d{1,9})\Z")


def value_of(said: Statement, name: str) -> Any:
    """The value of a field; `.text`, `.kind`, `.who`, ... are those of the statement itself."""
    if not name.startswith("."):
        return said.fields.get(name)
    own = _OWN.get(name)
    return own(said) if own is not None else getattr(said, name[1:]) or None


def same_name(said: Statement) -> str:
    """A name that stays the same when a member gets a new id. Python's libraries name themselves by
    this id alone, and KafkaJS does so in some of its lines.
    """
    by_id = said.library in (KAFKA_PYTHON, AIOKAFKA, KAFKAJS) and said.who == said.member
    return client_of(said.who) if by_id else said.who


def named_partitions(said: Statement) -> list[str]:
    """The partitions that a statement names, each as topic-number."""
    fields = said.fields
    if "topic" in fields and "partition" in fields:
        return [f"{fields['topic']}-{fields['partition']}"]
    texts = (fields.get(name) for name in ("partitions", "partition", "partition_name"))
    told = next((str(text) for text in texts if text is not None), "")
    found = partitions_of(told)[:MOST_PARTITIONS]
    return found or ([told] if told and fields.get("partitions") is None else [])


def committed_offsets(said: Statement) -> Iterator[tuple[str, int]]:
    """(partition, offset) of each commit that a statement tells."""
    if (offset := said.fields.get("offset")) is not None:
        number = _NUMBER.search(str(offset))
        if number is not None:
            yield from ((p, int(number[0])) for p in named_partitions(said)[:1])
        return
    text = str(said.fields.get("offsets") or "")
    found = list(_listed_offsets(text))
    yield from found[:-1] if is_cut(text) else found  # the last number may be a part of one


def _listed_offsets(text: str) -> Iterator[tuple[str, int]]:
    for partition, number in _OF_JAVA.findall(text):
        yield partition, int(number)
    for pattern in (_OF_PYTHON, _OF_RUBY):
        for topic, partition, number in pattern.findall(text):
            yield f"{topic}-{partition}", int(number)
    topic = ""
    for found in _OF_TOPIC.finditer(text if "artition" in text else ""):
        topic = found["topic"] or topic
        if topic and found["partition"]:
            yield f"{topic}-{found['partition']}", int(found["offset"])


def _count(said: Statement) -> int | None:
    """How many partitions a statement names as all that a member has; None if it does not tell."""
    if isinstance(n := said.fields.get("n"), int):
        return n
    listed = said.fields.get("partitions")
    if listed is None:
        return len(set(named_partitions(said))) or None if "partition" in said.fields else None
    told = partitions_told(str(listed), said.library)
    return None if told is None else len(set(told))


def _coordinator(said: Statement) -> str | None:
    """The coordinator that a line names, by its number where it tells it."""
    number = coordinator_number(said)
    if number is None:
        found = _BROKER_NUMBER.search(str(said.fields.get("coordinator", "")))
        number = int(found[1]) if found else None
    return f"broker {number}" if number is not None else coordinator_address(said)


def _broker(said: Statement) -> str | None:
    number = said.fields.get("broker")
    return node_text(said) or (f"broker {number}" if number not in (None, -1) else None)


_OWN = {
    ".who": lambda said: same_name(said) or None,
    ".id": lambda said: said.who or None,
    ".partitions": _count,
    ".coordinator": _coordinator,
    ".broker": _broker,
}
