"""Offsets of one watched partition: what is committed, and (as a ghost that nobody in the protocol
can see) what has been processed.

Every fact about offsets here concerns one partition, so one is watched: under `range` every
partition in turn (an initial state for each), under `any` one stands for all. Processing is in
order, so that the processed records are those below `processed`.
"""

from __future__ import annotations

from collections.abc import Iterator

from attrs import frozen

from groupcheck.model.engine import but, rule, urgent
from groupcheck.model.protocol.classic.client import Client, Prepare
from groupcheck.model.protocol.classic.scope import Scope
from groupcheck.model.protocol.link import Link, reply
from groupcheck.model.protocol.messages import Answer, Store


@frozen
class Offsets:
    """`committed`: what an OffsetFetch returns. `processed`: records that some application has
    finished, by whoever.
    """

    watched: int = 0
    committed: int = 0
    processed: int = 0


@urgent("forwards", "again", "backwards", when=lambda link: isinstance(link.request, Store))
def store_offset(link: Link, offsets: Offsets) -> Iterator[tuple[str, Link, Offsets]]:
    """The accepted commit is written: the last writer wins, offsets may go backwards. A commit
    whose append fails is retried: the same as not sent yet.
    """
    request = link.request
    assert isinstance(request, Store)
    offset = request.commit.offset
    label = (
        "forwards"
        if offset > offsets.committed
        else "again"
        if offset == offsets.committed
        else "backwards"
    )
    yield label, reply(link, Answer(request)), but(offsets, committed=offset)


@rule(
    when=lambda client: client.owned and client.position < 0 and client.prepare != Prepare.COMMITTED
)
def fetch_offset(client: Client, offsets: Offsets) -> Iterator[tuple[Client, Offsets]]:
    """A newly assigned partition starts at the committed offset (OffsetFetch is never fenced in a
    classic group).
    """
    if client.owned >> offsets.watched & 1:
        yield but(client, position=offsets.committed, dirty=False), offsets


@rule(when=lambda client: client.position >= 0 and client.prepare != Prepare.COMMITTED)
def process_record(
    client: Client, offsets: Offsets, scope: Scope
) -> Iterator[tuple[Client, Offsets]]:
    """The application finishes the next record of the watched partition."""
    if client.position < scope.records:
        position = client.position + 1
        yield (
            but(client, position=position, dirty=True),
            but(offsets, processed=max(offsets.processed, position)),
        )


OFFSET_RULES = (store_offset, fetch_offset, process_record)
