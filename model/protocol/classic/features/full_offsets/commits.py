"""How the coordinator answers commits and fetches of members (protocol.md 1.10; KIP-447).

Kafka: OffsetMetadataManager (validateOffsetCommit, validateTransactionalOffsetCommit,
commitTransactionalOffset, fetchOffsets), ClassicGroup.validateOffsetCommit.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import attrs

from groupcheck.model.engine import evolve, urgent
from groupcheck.model.engine.rule import Rule
from groupcheck.model.protocol.classic.features.full_offsets.kept import (
    NO_OFFSET,
    Fetched,
    OffsetStore,
    Txn,
    written,
)
from groupcheck.model.protocol.classic.features.takeover import fenced
from groupcheck.model.protocol.classic.group import Core, Phase, Seats, is_member
from groupcheck.model.protocol.codes import (
    FENCED_INSTANCE_ID,
    GROUP_ID_NOT_FOUND,
    ILLEGAL_GENERATION,
    UNKNOWN_MEMBER_ID,
    UNSTABLE_OFFSET_COMMIT,
)
from groupcheck.model.protocol.link import Link, handled, reply
from groupcheck.model.protocol.messages import (
    NO_ID,
    Answer,
    OffsetFetch,
    Store,
    TxnOffsetCommit,
)
from groupcheck.model.protocol.transform import extended, rewritten

TxnOutcome = tuple[str, Core, Seats, Link, OffsetStore, Txn]


def creating(join_group: Rule) -> Rule:
    """A JoinGroup without an id makes the group, if it is not there."""

    def change(
        before: dict[str, Any], label: str, after: dict[str, Any], scope: Any
    ) -> dict[str, Any]:
        makes = before["link"].request.id == NO_ID
        return {**after, "offsets": evolve(before["offsets"], there=True)} if makes else after

    return extended(join_group, change, "offsets")


def looking_up(offset_commit: Rule) -> Rule:
    """A commit of a member of a group that is not there is answered 69 (22 before version 9)."""

    def change(
        before: dict[str, Any], label: str, after: dict[str, Any], scope: Any
    ) -> tuple[str, dict[str, Any]] | dict[str, Any]:
        if before["offsets"].there:
            return label, after
        link = before["link"]
        return "no_group", {
            **after,
            "link": reply(link, Answer(link.request, GROUP_ID_NOT_FOUND)),
        }

    changed = extended(offset_commit, change, "offsets")
    return attrs.evolve(changed, labels=(*changed.labels, "no_group"))


def storing(store_offset: Rule) -> Rule:
    """The accepted commit is written. An open transaction that has appended an offset before is
    overtaken: it will not replace this one.
    """

    def call(link: Link, offsets: OffsetStore) -> Iterator[tuple[str, Link, OffsetStore]]:
        request = handled(link, Store)
        offset = request.commit.offset
        label = (
            "forwards"
            if offset > offsets.committed
            else "again"
            if offset == offsets.committed
            else "backwards"
        )
        yield label, reply(link, Answer(request)), written(offsets, offset)

    return rewritten(store_offset, call)


def _refused(
    core: Core, seats: Seats, kept: OffsetStore, request: TxnOffsetCommit
) -> tuple[str, int]:
    """Why a transactional commit is refused, as label and code; ("", 0) if it is not."""
    if not kept.there:
        return ("no_group", ILLEGAL_GENERATION) if request.generation >= 0 else ("", 0)
    if request.generation < 0 and (core.phase == Phase.EMPTY or request.id == NO_ID):
        return "", 0
    if fenced(seats, request.id):
        return "fenced", FENCED_INSTANCE_ID
    if not is_member(seats[request.id]):
        return "unknown", UNKNOWN_MEMBER_ID
    if request.generation != core.generation:
        return "illegal_generation", ILLEGAL_GENERATION
    return "", 0


@urgent(
    "no_group",
    "unknown",
    "illegal_generation",
    "accepted",
    "anonymous",
    when=lambda link: isinstance(link.request, TxnOffsetCommit),
)
def txn_offset_commit(
    core: Core, seats: Seats, link: Link, offsets: OffsetStore, txn: Txn
) -> Iterator[TxnOutcome]:
    """A producer commits for a member. The id and the generation must be right, if the request has
    any; without them it is accepted from anybody, in every state. Unlike a commit of the member's
    own it is accepted in CompletingRebalance, and starts no session timer.
    """
    request = handled(link, TxnOffsetCommit)
    label, code = _refused(core, seats, offsets, request)
    if label:
        yield label, core, seats, reply(link, Answer(request, code)), offsets, txn
        return
    pending = offsets.pending + (not txn.pends)
    if pending == 1:  # places count from here
        offsets = evolve(offsets, top=0, place=0)
    offsets = evolve(offsets, pending=pending, top=offsets.top + 1, there=True)
    txn = evolve(txn, offset=request.offset, place=offsets.top)
    label = "anonymous" if request.generation < 0 else "accepted"
    yield label, core, seats, reply(link, Answer(request)), offsets, txn


@urgent("committed", "nothing", "unstable", when=lambda link: isinstance(link.request, OffsetFetch))
def offset_fetch(link: Link, offsets: OffsetStore) -> Iterator[tuple[str, Link, OffsetStore]]:
    """Whoever asks is told the committed offset; ids and generations do not count. A stable fetch
    is answered 88 while a transaction is open that has an offset of the partition.
    """
    request = handled(link, OffsetFetch)
    if request.stable and offsets.pending:
        yield (
            "unstable",
            reply(link, Fetched(request=request, code=UNSTABLE_OFFSET_COMMIT)),
            offsets,
        )
        return
    label = "nothing" if offsets.committed == NO_OFFSET else "committed"
    yield label, reply(link, Fetched(request=request, offset=offsets.committed)), offsets
