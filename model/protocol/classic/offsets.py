"""Offsets of one watched partition: what is committed, and what has been processed.

Every promise about offsets concerns a single partition, so only one is watched: under `range` each
partition in turn (there is an initial state for each), under `any` one stands for all. Records are
processed in order, so that the processed ones are those below `processed`.
"""

from __future__ import annotations

from collections.abc import Iterator

from attrs import frozen

from groupcheck.model.engine import evolve, rule, urgent
from groupcheck.model.protocol.classic.client import Client, Prepare
from groupcheck.model.protocol.classic.scope import Scope
from groupcheck.model.protocol.link import Link, handled, reply
from groupcheck.model.protocol.messages import Answer, Store


@frozen
class Offsets:
    """The offsets of the watched partition."""

    # Which partition is watched; it never changes.
    watched: int = 0
    # The committed offset, as an OffsetFetch returns it.
    committed: int = 0
    # How many records some member has processed. A ghost: no rule of the protocol decides by it.
    processed: int = 0


@urgent("forwards", "again", "backwards", when=lambda link: isinstance(link.request, Store))
def store_offset(link: Link, offsets: Offsets) -> Iterator[tuple[str, Link, Offsets]]:
    """The accepted commit is written: the last writer wins, and offsets may go backwards. A commit
    whose append fails is retried, which is the same as not having sent it yet.
    """
    request = handled(link, Store)
    offset = request.commit.offset
    label = (
        "forwards"
        if offset > offsets.committed
        else "again"
        if offset == offsets.committed
        else "backwards"
    )
    yield label, reply(link, Answer(request)), evolve(offsets, committed=offset)


def paused(client: Client, scope: Scope) -> bool:
    """Does the member hold back the records of what it is about to revoke? An eager one does while
    it commits before it joins. While a callback runs, the application processes nothing.
    """
    commits = client.prepare == Prepare.COMMITTED and not scope.cooperative
    return commits or client.prepare == Prepare.REVOKING


@rule(when=lambda client: client.owned and client.position < 0)
def fetch_offset(
    client: Client, offsets: Offsets, scope: Scope
) -> Iterator[tuple[Client, Offsets]]:
    """The member starts a newly assigned partition at the committed offset. (OffsetFetch is never
    fenced in a classic group.)
    """
    if client.owned >> offsets.watched & 1 and not paused(client, scope):
        yield evolve(client, position=offsets.committed, dirty=False), offsets


@rule(when=lambda client: client.position >= 0)
def process_record(
    client: Client, offsets: Offsets, scope: Scope
) -> Iterator[tuple[Client, Offsets]]:
    """The application finishes the next record of the watched partition."""
    if client.position < scope.records and not paused(client, scope):
        position = client.position + 1
        yield (
            evolve(client, position=position, dirty=True),
            evolve(offsets, processed=max(offsets.processed, position)),
        )


OFFSET_RULES = (store_offset, fetch_offset, process_record)
