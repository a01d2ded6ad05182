"""Bugs of commits: positions that run ahead of the application, and processing that goes on behind
the last commit.
"""

from __future__ import annotations

from collections.abc import Iterator

from groupcheck.model.engine import evolve
from groupcheck.model.protocol.classic import client as member
from groupcheck.model.protocol.classic import offsets as offset_rules
from groupcheck.model.protocol.classic.client import Client, Member, Prepare
from groupcheck.model.protocol.classic.offsets import Offsets
from groupcheck.model.protocol.classic.scope import Scope
from groupcheck.model.protocol.family import OFFSETS
from groupcheck.model.protocol.link import Link, send
from groupcheck.model.protocol.messages import OffsetCommit
from groupcheck.model.protocol.mutation import Mutation, seeded


@seeded(member.send_commit, guarded=False)
def _ahead(client: Client, link: Link) -> Iterator[tuple[Client, Link]]:
    if client.state == Member.STABLE and client.position == 0 and link.idle:
        yield client, send(link, OffsetCommit(client.id, client.generation, client.position + 1))


@seeded(offset_rules.process_record, guarded=False)
def _goes_on(client: Client, offsets: Offsets, scope: Scope) -> Iterator[tuple[Client, Offsets]]:
    if client.position >= 0:
        begun = evolve(client, prepare=Prepare.NEEDED)
        for after, done in offset_rules.process_record.call(begun, offsets, scope):
            yield evolve(after, prepare=client.prepare), done


@seeded(offset_rules.fetch_offset)
def _starts_behind(
    client: Client, offsets: Offsets, scope: Scope
) -> Iterator[tuple[Client, Offsets]]:
    for after, same in offset_rules.fetch_offset.call(client, offsets, scope):
        yield evolve(after, position=after.position + 1), same


MUTATIONS = (
    Mutation(
        id="fetch_error_skips_records",
        ticket="platformatic/kafka#267",
        title="After an error in reading the committed offset, the member starts at a later one.",
        family=OFFSETS,
        invariant="position_within_processed",
        doc=(
            'An error that should have been tried again was taken for "nothing committed",'
            " so that reading began at the end."
            " Seeded: it begins one record too late."
        ),
        scope={"members": 1, "generations": 1},
        seeds=(_starts_behind,),
    ),
    Mutation(
        id="commit_ahead_of_processing",
        ticket="KAFKA-18641",
        title="A commit covers a record that the application never received.",
        family=OFFSETS,
        invariant="committed_within_processed",
        doc=(
            "The thread that commits read a position that a poll had moved and not yet returned."
            " Seeded: the first record counts as processed as soon as it is fetched."
        ),
        scope={"members": 1, "generations": 1},
        seeds=(_ahead,),
        progress="records_processed",
        progress_scope={"members": 1, "faults": {"session_timeout": 1}},
    ),
    Mutation(
        id="processing_after_last_commit",
        ticket="KAFKA-14196",
        title="A member goes on processing while its commit before the revocation is on its way.",
        family=OFFSETS,
        invariant="revocation_pauses",
        doc=(
            "Partitions about to be revoked stayed fetchable while the auto-commit was in flight,"
            " so that what was processed then came twice."
        ),
        scope={"members": 2, "generations": 2, "records": 2},
        seeds=(_goes_on,),
    ),
)
