"""The application: where it starts to read, and how it commits in transactions (protocol.md 2.6).

With transactions it consumes, processes and produces in a loop: what it has processed since the
last transaction, it commits as TxnOffsetCommit, and then decides. A transaction that is aborted, or
whose commit is refused, is processed again from the committed offset. The request goes over the
member's connection here, because an application that is in `poll` sends none; a request of a
producer that is lost or held up is left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from groupcheck.model.engine import evolve, rule, urgent
from groupcheck.model.engine.rule import Rule
from groupcheck.model.protocol.classic.client import Client
from groupcheck.model.protocol.classic.features.full_offsets.kept import (
    NO_OFFSET,
    Fetched,
    OffsetStore,
    Txn,
)
from groupcheck.model.protocol.classic.features.full_offsets.scope import FullOffsetsScope
from groupcheck.model.protocol.classic.offsets import paused
from groupcheck.model.protocol.codes import NONE
from groupcheck.model.protocol.link import Link, send
from groupcheck.model.protocol.messages import (
    NO_GENERATION,
    NO_ID,
    OffsetFetch,
    TxnOffsetCommit,
)
from groupcheck.model.protocol.transform import extended, rewritten

# `Client.failed` of a member whose poll has thrown NoOffsetForPartitionException, which is no error
# of the protocol.
NO_OFFSET_FOR_PARTITION = -20


def asking(fetch_offset: Rule) -> Rule:
    """The member asks for the committed offset of a newly assigned partition, with
    requireStable (KIP-447).
    """

    def call(
        client: Client, link: Link, offsets: OffsetStore, scope: FullOffsetsScope
    ) -> Iterator[tuple[Client, Link, OffsetStore]]:
        owns = client.owned >> offsets.watched & 1
        if owns and link.idle and not client.failed and not paused(client, scope):
            yield client, send(link, OffsetFetch()), offsets

    return rewritten(fetch_offset, call, "client", "link", "offsets")


@urgent(
    "started",
    "reset",
    "stopped",
    "unstable",
    when=lambda link: link.answer is not None and isinstance(link.answer.request, OffsetFetch),
)
def fetch_answer(
    client: Client, link: Link, offsets: OffsetStore, txn: Txn, scope: FullOffsetsScope
) -> Iterator[tuple[str, Client, Link, OffsetStore, Txn]]:
    """OffsetFetchResponseHandler: the member starts where the group has stopped. If nothing is
    committed, auto.offset.reset says where; the latest record may be any that was not processed
    yet. After 88 it asks again.
    """
    answer, link = link.answer, evolve(link, answer=None)
    assert isinstance(answer, Fetched)
    if answer.code != NONE:
        yield "unstable", client, link, offsets, txn
        return
    if txn.idle:
        txn = evolve(txn, since=NO_OFFSET)
    if answer.offset != NO_OFFSET:
        yield "started", evolve(client, position=answer.offset, dirty=False), link, offsets, txn
    elif scope.reset == "none":
        yield "stopped", evolve(client, failed=NO_OFFSET_FOR_PARTITION), link, offsets, txn
    else:
        latest = range(offsets.processed, scope.records + 1)
        for position in latest if scope.reset == "latest" else (0,):
            yield "reset", evolve(client, position=position, dirty=False), link, offsets, txn


def processing(process_record: Rule) -> Rule:
    """With transactions, nothing is processed while a transaction ends, and the consumer has
    nothing to commit.
    """

    def call(
        client: Client, offsets: OffsetStore, txn: Txn, scope: FullOffsetsScope
    ) -> Iterator[tuple[Client, OffsetStore, Txn]]:
        if not scope.transactional:
            for after, kept in process_record.call(client, offsets, scope):
                yield after, kept, txn
        elif txn.offset == NO_OFFSET or txn.decided is not None:
            begun = evolve(txn, since=client.position) if txn.since == NO_OFFSET else txn
            for after, kept in process_record.call(client, offsets, scope):
                yield evolve(after, dirty=False), kept, begun

    return rewritten(process_record, call, "client", "offsets", "txn")


@rule(when=lambda txn: txn.since != NO_OFFSET)
def send_txn_commit(
    client: Client, link: Link, txn: Txn, scope: FullOffsetsScope
) -> Iterator[tuple[Client, Link, Txn]]:
    """The application sends what it has processed with its transaction
    (KafkaProducer.sendOffsetsToTransaction). With the id and generation of a member that has lost
    them, it would be refused.
    """
    if not txn.idle or client.position <= txn.since or not link.idle or client.failed:
        return
    if scope.commits == "anonymous":
        request = TxnOffsetCommit(NO_ID, NO_GENERATION, client.position)
    elif client.generation == NO_GENERATION or client.closing:
        return
    else:
        request = TxnOffsetCommit(client.id, client.generation, client.position)
    yield client, send(link, request), txn


@urgent(
    "added",
    "refused",
    when=lambda link: link.answer is not None and isinstance(link.answer.request, TxnOffsetCommit),
)
def txn_answer(client: Client, link: Link, txn: Txn) -> Iterator[tuple[str, Client, Link, Txn]]:
    """TxnOffsetCommitHandler: a transaction that is refused is aborted, and the application reads
    on from the committed offset (CommitFailedException).
    """
    answer, link = link.answer, evolve(link, answer=None)
    assert answer is not None
    if answer.code == NONE:
        yield "added", client, link, txn
    else:
        yield "refused", evolve(client, position=-1), link, evolve(txn, since=NO_OFFSET)


def forgetting(original: Rule) -> Rule:
    """A process that ends takes with it what it has processed and not sent."""

    def change(
        before: dict[str, Any], label: str, after: dict[str, Any], scope: Any
    ) -> dict[str, Any]:
        gone = after["client"] == Client() != before["client"] and before["txn"].idle
        return {**after, "txn": evolve(before["txn"], since=NO_OFFSET)} if gone else after

    return extended(original, change, "txn")
