"""Bugs of members that hold on to what they no longer own, and of plans that give a partition
twice.
"""

from __future__ import annotations

from collections.abc import Iterator

from groupcheck.model.engine import evolve
from groupcheck.model.protocol.classic import assignment, client_faults
from groupcheck.model.protocol.classic import client as member
from groupcheck.model.protocol.classic.assignment import Assign
from groupcheck.model.protocol.classic.client import Client, Member, Prepare, install
from groupcheck.model.protocol.classic.client_faults import Labelled, Outcome
from groupcheck.model.protocol.classic.group import Seats, Walk
from groupcheck.model.protocol.classic.scope import Scope
from groupcheck.model.protocol.codes import NONE
from groupcheck.model.protocol.family import CLASSIC_GROUP
from groupcheck.model.protocol.faults import Budget
from groupcheck.model.protocol.link import Link
from groupcheck.model.protocol.messages import NO_GENERATION, SyncGroup
from groupcheck.model.protocol.mutation import SEEDED, Mutation, seeded


def _holding(before: Client, after: Client) -> Client:
    """`after`, still owning what `before` owned."""
    return evolve(after, owned=before.owned, position=before.position, dirty=before.dirty)


@seeded(member.send_join)
def _keeps_on_rejoin(
    client: Client, link: Link, scope: Scope
) -> Iterator[tuple[str, Client, Link]]:
    for label, after, sent in member.send_join.call(client, link, scope):
        keeps = label == "sent" and client.generation != NO_GENERATION
        yield label, _holding(client, after) if keeps else after, sent


@seeded(member.send_join)
def _keeps_when_lost(
    client: Client, link: Link, scope: Scope
) -> Iterator[tuple[str, Client, Link]]:
    for label, after, sent in member.send_join.call(client, link, scope):
        keeps = label == "sent" and client.generation == NO_GENERATION
        yield label, _holding(client, after) if keeps else after, sent


@seeded(member.send_join)
def _keeps_position(client: Client, link: Link, scope: Scope) -> Iterator[tuple[str, Client, Link]]:
    for label, after, sent in member.send_join.call(client, link, scope):
        yield (
            label,
            evolve(after, position=client.position, dirty=client.dirty)
            if label == "sent"
            else after,
            sent,
        )


@seeded(client_faults.lose_response)
def _synced_without_answer(
    client: Client, link: Link, budget: Budget, scope: Scope
) -> Iterator[Outcome]:
    for after, lost, spent in client_faults.lose_response.call(client, link, budget, scope):
        if isinstance(lost.request, SyncGroup):
            after = evolve(after, state=Member.STABLE, prepare=Prepare.NEEDED)
        yield after, lost, spent


@seeded(member.sync_answer)
def _synced_without_generation(
    client: Client, link: Link, scope: Scope
) -> Iterator[tuple[str, Client, Link]]:
    for label, after, rest in member.sync_answer.call(client, link, scope):
        assert link.answer is not None
        if label == "ignored" and link.answer.code == NONE:
            yield (
                "assigned",
                install(evolve(client, state=Member.STABLE, granted=link.answer.share), scope),
                rest,
            )
        else:
            yield label, after, rest


@seeded(client_faults.poll_timeout)
def _completes_after_leaving(client: Client, link: Link, budget: Budget) -> Iterator[Labelled]:
    for label, after, sent, spent in client_faults.poll_timeout.call(client, link, budget):
        yield label, evolve(after, granted=client.granted), sent, spent


@seeded(assignment.answer_syncs)
def _assigned_twice(
    walk: Walk[Assign], seats: Seats, link: Link, scope: Scope
) -> Iterator[tuple[Walk[Assign], Seats, Link]]:
    for after, shared, answered in assignment.answer_syncs.call(walk, seats, link, scope):
        errand = evolve(after.errand, free=(1 << scope.partition_count) - 1)
        yield evolve(after, errand=errand), shared, answered


MUTATIONS = (
    Mutation(
        id="keeps_partitions_on_rejoin",
        ticket=SEEDED,
        title="A member goes on with its partitions while it joins the next generation.",
        family=CLASSIC_GROUP,
        invariant="hand_off",
        doc=(
            "Eager members give up everything before JoinGroup."
            " Seeded: onJoinPrepare does not,"
            " so that the member owns in the new generation what others are given there."
        ),
        scope={"members": 2, "generations": 2, "atomic_complete": False},
        seeds=(_keeps_on_rejoin,),
    ),
    Mutation(
        id="keeps_partitions_when_lost",
        ticket="KAFKA-12983",
        title="A member that lost its id joins anew and keeps the partitions that it had.",
        family=CLASSIC_GROUP,
        invariant="hand_off",
        doc=(
            "The consumer reset its generation and member id in the middle of a rebalance"
            " without clearing what it owned."
            " Seeded: a member whose generation is gone skips onPartitionsLost."
        ),
        scope={"members": 2, "generations": 3, "faults": {"session_timeout": 1}},
        seeds=(_keeps_when_lost,),
    ),
    Mutation(
        id="stored_offset_outlives_revocation",
        ticket="confluentinc/librdkafka#2782",
        title="The offset of an earlier ownership survives the revocation.",
        family=CLASSIC_GROUP,
        invariant="position_needs_ownership",
        doc=(
            "A stored offset was not dropped with the partition,"
            " and committed over the next owner's when the partition came back."
            " Seeded: the position stays."
        ),
        scope={"members": 2, "generations": 1},
        seeds=(_keeps_position,),
    ),
    Mutation(
        id="rejoin_forgotten_before_sync",
        ticket="KAFKA-5154",
        title="A member whose SyncGroup is cut off believes that it has joined.",
        family=CLASSIC_GROUP,
        invariant="views_agree",
        doc=(
            "The need to re-join was forgotten with the JoinGroup answer, so that after"
            " a disconnect during SyncGroup the consumer went on with its old subscription state."
            " Seeded: a SyncGroup whose answer is lost leaves the member STABLE."
        ),
        scope={"members": 1, "generations": 1, "faults": {"lose_response": 1}},
        seeds=(_synced_without_answer,),
    ),
    Mutation(
        id="synced_without_generation",
        ticket="aio-libs/aiokafka#727",
        title="A member that left while its SyncGroup was parked still takes its share.",
        family=CLASSIC_GROUP,
        invariant="joined_with_identity",
        doc=(
            "Another task had reset generation and member id while SyncGroup was in flight;"
            ' the success handler went on, "synced with generation -1".'
            " Seeded: the answer is not compared with the generation of today."
        ),
        scope={"members": 1, "generations": 1, "faults": {"poll_timeout": 1}},
        seeds=(_synced_without_generation,),
    ),
    Mutation(
        id="completes_after_leaving",
        ticket="KAFKA-8104",
        title=(
            "The heartbeat thread leaves between the SyncGroup answer and onJoinComplete,"
            " which still runs."
        ),
        family=CLASSIC_GROUP,
        invariant="joined_with_identity",
        doc=(
            "The heartbeat thread cleared the generation after the answer was stored"
            " and before onJoinComplete ran."
            " Seeded: the share that waits to be installed survives the reset."
        ),
        scope={
            "members": 1,
            "generations": 1,
            "atomic_complete": False,
            "faults": {"poll_timeout": 1},
        },
        seeds=(_completes_after_leaving,),
    ),
    Mutation(
        id="stale_claims_assigned",
        ticket="KAFKA-7026",
        title="The leader's plan gives one partition to two members.",
        family=CLASSIC_GROUP,
        invariant="one_owner",
        doc=(
            "The sticky assignor trusted the claims of members"
            " that had dropped out and come back (KIP-341)."
            " Seeded: what one member was given, the next may be given too."
        ),
        scope={"members": 2, "generations": 1, "assignor": "any", "records": 0},
        seeds=(_assigned_twice,),
    ),
)
