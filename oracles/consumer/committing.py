"""Commits and fetches of the watched partition: what the real coordinator is told, and what it
answers, in the model's terms. An offset is that of the watched record, or the one beyond it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attrs import frozen

from groupcheck.model.protocol.codes import NONE
from groupcheck.model.protocol.consumer.commits import STORED, Offsets, offset_commit
from groupcheck.model.protocol.consumer.messages import Commit, Fetch, Sender, Tag, Told
from groupcheck.model.protocol.consumer.plans import place
from groupcheck.model.protocol.consumer.scope import ConsumerScope
from groupcheck.oracles.kafka.answers import Answer, FetchAnswer, PartitionsAnswer
from groupcheck.oracles.kafka.commands import Command, OffsetCommit, OffsetFetch
from groupcheck.oracles.kafka.memory import Memory

WRITES = frozenset(f"{offset_commit.name}:{label}" for label in STORED)
BEFORE, BEYOND = 1, 2
AWAY, SIMPLE = -2, -1
UNVERSIONED = 8
AHEAD = 5  # epochs, of a request that comes from nowhere


@frozen
class Author:
    """Who commits or fetches, as the real coordinator knows it."""

    id: str
    epoch: int = 0
    previous: int = 0


def told(asked: Commit | Fetch, author: Author, scope: ConsumerScope, watched: int = 0) -> Command:
    """The command."""
    topic, number = place(watched, scope)
    simple = asked.sender == Sender.SIMPLE
    epoch = _epoch(asked, author)
    if isinstance(asked, Fetch):
        member = None if simple else author.id
        return OffsetFetch(member=member, generation=epoch, topics=frozenset({(topic, number)}))
    return OffsetCommit(
        member="" if simple else author.id,
        generation=epoch,
        offsets=((topic, number, BEYOND if asked.beyond else BEFORE),),
        version=UNVERSIONED if asked.unversioned else None,
    )


def _epoch(asked: Commit | Fetch, author: Author) -> int:
    if asked.sender != Sender.MEMBER:
        return SIMPLE if asked.sender == Sender.SIMPLE else AWAY
    if asked.tag == Tag.PREVIOUS:
        return author.previous
    return max(author.epoch, 1) + (AHEAD if asked.tag == Tag.AHEAD else 0)


def answer_of_model(told: Told | None) -> dict[str, Any]:
    """The model's answer as facts."""
    if told is None:
        return {}
    return {"error": told.code, "fetched beyond": told.beyond if told.code == NONE else None}


def answer_of_kafka(answer: Answer | None) -> dict[str, Any]:
    """Kafka's answer as facts."""
    if isinstance(answer, PartitionsAnswer):
        return {"error": answer.error, "fetched beyond": None}
    if isinstance(answer, FetchAnswer):
        beyond = [offset >= BEYOND for _, _, offset in answer.offsets]
        return {"error": answer.error, "fetched beyond": None if answer.error else any(beyond)}
    return {}


def memory_of_model(offsets: Offsets | None) -> Mapping[str, Any]:
    """What is committed, as facts; none without the feature."""
    return {} if offsets is None else {"committed beyond": offsets.beyond}


def memory_of_kafka(memory: Memory, scope: ConsumerScope) -> Mapping[str, Any]:
    """The same of Kafka."""
    if not scope.offsets:
        return {}
    return {"committed beyond": any(offset >= BEYOND for *_, offset in memory.offsets)}
