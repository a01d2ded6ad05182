"""How transactions end: the producer decides, and the marker reaches the coordinator later.

Kafka: OffsetMetadataManager.replayEndTransactionMarker. A transaction that is left alone by its
process times out, which is an abort; or its process had sent EndTxn, which is a commit.
"""

from __future__ import annotations

from collections.abc import Iterator

from groupcheck.model.engine import evolve, rule
from groupcheck.model.protocol.classic.client import Client
from groupcheck.model.protocol.classic.features.full_offsets.kept import (
    NO_OFFSET,
    VOID,
    OffsetStore,
    Txn,
)


@rule("commit", "abort", when=lambda txn: txn.offset != NO_OFFSET and txn.decided is None)
def end_transaction(
    client: Client, txn: Txn, offsets: OffsetStore
) -> Iterator[tuple[str, Client, Txn, OffsetStore]]:
    """The transaction is committed, and with it what was produced from its records; or it is
    aborted, and the application reads on from the committed offset.
    """
    delivered = max(offsets.delivered, txn.offset)
    yield (
        "commit",
        client,
        evolve(txn, decided=True, since=NO_OFFSET),
        evolve(offsets, delivered=delivered),
    )
    rewound = evolve(client, position=-1) if client.position >= 0 else client
    yield "abort", rewound, evolve(txn, decided=False, since=NO_OFFSET), offsets


@rule("committed", "superseded", "aborted", "void", when=lambda txn: txn.decided is not None)
def write_marker(offsets: OffsetStore, txn: Txn) -> Iterator[tuple[str, OffsetStore, Txn]]:
    """The marker arrives (WriteTxnMarkers). The offset of a committed transaction replaces the
    committed one if it stands behind it in the log.
    """
    ended = evolve(txn, offset=NO_OFFSET, place=0, decided=None)
    if txn.offset == VOID:
        yield "void", offsets, ended
        return
    label = "aborted"
    if txn.decided:
        label = "committed" if txn.place > offsets.place else "superseded"
    if label == "committed":
        offsets = evolve(offsets, committed=txn.offset, logged=txn.offset, place=txn.place)
    offsets = evolve(offsets, pending=offsets.pending - 1)
    if not offsets.pending:
        offsets = evolve(offsets, top=0, place=0)
    yield label, offsets, ended
