"""Bugs of members and coordinators about when to join, and how long to wait for others."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from groupcheck.model.engine import evolve
from groupcheck.model.protocol.classic import client as member
from groupcheck.model.protocol.classic import client_faults, coordinator, walks
from groupcheck.model.protocol.classic.client import Client, reset
from groupcheck.model.protocol.classic.client_faults import Outcome
from groupcheck.model.protocol.classic.group import Core, Errand, Phase, Seats, Walk
from groupcheck.model.protocol.classic.rounds import Restart, attempt, complete
from groupcheck.model.protocol.classic.scope import Scope
from groupcheck.model.protocol.family import CLASSIC_GROUP
from groupcheck.model.protocol.faults import Budget
from groupcheck.model.protocol.link import Link
from groupcheck.model.protocol.mutation import Mutation, seeded


@seeded(coordinator.join_group)
def _without_delay(core: Core, seats: Seats, link: Link, scope: Scope) -> Iterator[Any]:
    for label, after, known, answered in coordinator.join_group.call(core, seats, link, scope):
        begun = core.phase == Phase.EMPTY and after.initial
        yield (
            label,
            attempt(evolve(after, initial=False, extended=False), scope) if begun else after,
            known,
            answered,
        )


@seeded(walks.end_walk)
def _no_time_to_join(
    core: Core, walk: Walk[Errand], scope: Scope
) -> Iterator[tuple[Core, Walk[Errand]]]:
    for after, rest in walks.end_walk.call(core, walk, scope):
        begun = isinstance(walk.errand, Restart) and after.parked and not after.errands
        yield complete(after, scope) if begun else after, rest


@seeded(client_faults.disconnect)
def _new_id(client: Client, link: Link, budget: Budget) -> Iterator[Outcome]:
    for after, lost, spent in client_faults.disconnect.call(client, link, budget):
        yield reset(after, True), lost, spent


@seeded(member.send_join)
def _commits_for_ever(
    client: Client, link: Link, scope: Scope
) -> Iterator[tuple[str, Client, Link]]:
    for label, after, sent in member.send_join.call(client, link, scope):
        again = label == "committed_first"
        yield label, evolve(after, prepare=client.prepare, dirty=True) if again else after, sent


@seeded(member.send_commit)
def _commits_in_vain(client: Client, link: Link) -> Iterator[tuple[Client, Link]]:
    for after, sent in member.send_commit.call(client, link):
        yield evolve(after, dirty=client.rejoin), sent


@seeded(member.commit_answer)
def _goes_on(client: Client, link: Link) -> Iterator[tuple[str, Client, Link]]:
    for label, after, rest in member.commit_answer.call(client, link):
        if label == "refused":
            yield "dropped", evolve(client, dirty=client.position >= 0), rest
        else:
            yield label, after, rest


MUTATIONS = (
    Mutation(
        id="first_round_without_delay",
        ticket="redpanda a90cd758c7",
        title="The first round ends with the first member, and each later one starts another.",
        family=CLASSIC_GROUP,
        invariant="first_round_waits",
        doc=(
            "Without group.initial.rebalance.delay.ms N processes that start together make N rounds"
            " (fixed in 22.2.1; KIP-134 is Kafka's answer). Seeded: the delay is 0."
        ),
        scope={"members": 1, "generations": 1, "two_step": False},
        seeds=(_without_delay,),
    ),
    Mutation(
        id="round_ends_without_the_others",
        ticket="KAFKA-8653",
        title="Two members remove each other from the group, one round after the other.",
        family=CLASSIC_GROUP,
        invariant="rounds_wait_for_members",
        doc=(
            "The oldest JoinGroup names no rebalance timeout, and the coordinator took the default"
            " of the missing field for it, so that a round ended before anybody else could join"
            " (2.3.0). Seeded: a round completes as soon as it has begun."
        ),
        scope={"members": 2, "generations": 2},
        seeds=(_no_time_to_join,),
        progress="group_settles",
        progress_scope={"members": 2, "records": 0},
    ),
    Mutation(
        id="id_forgotten_on_disconnect",
        ticket="KAFKA-13214",
        title="A member that is disconnected while it joins comes back as another one.",
        family=CLASSIC_GROUP,
        invariant="id_survives_disconnect",
        doc=(
            "An error that should have been tried again made the member forget its id. The old id"
            " stayed in the group, and the round waited for it until its session expired. Seeded: a"
            " disconnect while a request is parked resets the member."
        ),
        scope={"members": 1, "generations": 1, "faults": {"disconnect": 1}},
        seeds=(_new_id,),
    ),
    Mutation(
        id="commits_instead_of_joining",
        ticket="KAFKA-14024",
        title="A member commits in every poll before it joins, and never sends JoinGroup.",
        family=CLASSIC_GROUP,
        invariant="commits_once_before_joining",
        doc=(
            "The commit in onJoinPrepare became asynchronous, and each poll sent another one"
            " (3.2.0). Seeded: a member that must join does not note that it has committed."
        ),
        scope={"members": 2, "generations": 1},
        seeds=(_commits_for_ever, _commits_in_vain),
        progress="round_completes",
        progress_scope={"members": 2},
    ),
    Mutation(
        id="refused_commit_ignored",
        ticket="tulios/kafkajs#1474, twmb/franz-go 824e34d2",
        title="A commit is answered that the member is out of the group, and the member goes on.",
        family=CLASSIC_GROUP,
        invariant="refusal_ends_membership",
        doc=(
            "The answers 22 (ILLEGAL_GENERATION) and 25 (UNKNOWN_MEMBER_ID) to a commit were told"
            " to whoever had asked for it, and the member consumed on until its next heartbeat."
            " Seeded: the refusal of a commit changes nothing."
        ),
        scope={"members": 1, "generations": 1, "faults": {"session_timeout": 1}},
        seeds=(_goes_on,),
    ),
)
