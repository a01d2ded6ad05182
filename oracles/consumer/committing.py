"""Commits and fetches of the watched partition: what the real coordinator is told, and what it
answers, in the model's terms. An offset is that of the watched record, or the one beyond it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from attrs import frozen

from groupcheck.model.protocol.codes import NONE
from groupcheck.model.protocol.consumer.commits import STORED, Offsets, offset_commit
from groupcheck.model.protocol.consumer.expiry import offsets_expire, retention_passes, sweep_begins
from groupcheck.model.protocol.consumer.messages import (
    Commit,
    Fetch,
    Marker,
    Sender,
    Tag,
    Told,
)
from groupcheck.model.protocol.consumer.scope import ConsumerScope
from groupcheck.model.protocol.consumer.transactions import (
    PENDS,
    txn_offset_commit,
    write_txn_marker,
)
from groupcheck.oracles.kafka.answers import Answer, FetchAnswer, PartitionsAnswer
from groupcheck.oracles.kafka.commands import (
    Advance,
    Command,
    EndTxn,
    Fire,
    OffsetCommit,
    OffsetFetch,
    TxnOffsetCommit,
)
from groupcheck.oracles.kafka.memory import SWEEP, Memory

WRITES = frozenset(
    f"{rule.name}:{label}"
    for rule, labels in (
        (offset_commit, STORED),
        (txn_offset_commit, PENDS),
        (write_txn_marker, ("committed", "superseded", "aborted")),
        (offsets_expire, ("expired", "deleted")),
    )
    for label in labels
)
# With expiry: offsets are kept for a minute, members are silent for longer, and only the sweep that
# a row fires comes.
KEPT_MS, SILENT_MS = 60_000, 36_000_000
RETENTION = {
    "offsets.retention.minutes": "1",
    "offsets.retention.check.interval.ms": str(SILENT_MS),
    "group.consumer.max.session.timeout.ms": str(SILENT_MS),
    "group.consumer.session.timeout.ms": str(SILENT_MS),
}
BEFORE, BEYOND = 1, 2
AWAY, SIMPLE = -2, -1
UNVERSIONED = 8
KIP_1319 = 6  # the version of TxnOffsetCommit that knows member epochs
AHEAD = 5  # epochs, of a request that comes from nowhere


@frozen
class Author:
    """Who commits or fetches, as the real coordinator knows it."""

    id: str
    epoch: int = 0
    previous: int = 0


def told(
    asked: Commit | Fetch | Marker,
    author: Author,
    where: tuple[str, int],
    process: int,
    *,
    tells_transactions: bool = False,
) -> Command:
    """The command. `where`: topic and partition; `process`: the number of the process that sends
    it, which is its producer's; `tells_transactions`: does a TxnOffsetCommit know member epochs?
    """
    if isinstance(asked, Marker):
        return EndTxn(producer=process, commit=asked.commits)
    simple = asked.sender == Sender.SIMPLE
    epoch = epoch_of(asked, author)
    if isinstance(asked, Fetch):
        member = None if simple else author.id
        return OffsetFetch(
            member=member,
            generation=epoch,
            topics=frozenset({where}),
            stable=asked.stable,
        )
    offsets = ((*where, BEYOND if asked.beyond else BEFORE),)
    if asked.in_transaction:
        newest = tells_transactions and not asked.unversioned
        return TxnOffsetCommit(
            member="" if simple else author.id,
            generation=epoch,
            producer=process,
            offsets=offsets,
            version=KIP_1319 if newest else None,
        )
    return OffsetCommit(
        member="" if simple else author.id,
        generation=epoch,
        offsets=offsets,
        version=UNVERSIONED if asked.unversioned else None,
    )


def epoch_of(asked: Commit | Fetch, author: Author) -> int:
    """The epoch of a commit or a fetch."""
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


def passing(title: str) -> tuple[Command, ...]:
    """The commands of a row in which nobody asks anything; none, if the row is another one."""
    if title == retention_passes.name:
        return (Advance(ms=KEPT_MS),)
    return (Fire(timer=SWEEP),) if title == sweep_begins.name else ()


def memory_of_model(
    offsets: Offsets | None, places: Sequence[int | None], scope: ConsumerScope
) -> Mapping[str, Any]:
    """What is committed, and what waits, as facts; none without the feature. `places`: those of the
    processes' offsets among what waits.
    """
    if offsets is None:
        return {}
    found = [(who, offsets.pending[at]) for who, at in enumerate(places) if at is not None]
    waits = tuple((who, one.beyond, one.newer) for who, one in found)
    return {
        "committed beyond": offsets.beyond,
        "committed": offsets.stored if scope.expiry else None,
        "in transactions": tuple(sorted(waits)),
    }


def memory_of_kafka(memory: Memory, scope: ConsumerScope) -> Mapping[str, Any]:
    """The same of Kafka."""
    if not scope.offsets:
        return {}
    waits = ((who, offset >= BEYOND, newer) for who, _, _, offset, newer in memory.pending)
    return {
        "committed beyond": any(offset >= BEYOND for *_, offset in memory.offsets),
        "committed": bool(memory.offsets) if scope.expiry else None,
        "in transactions": tuple(sorted(waits)),
    }
