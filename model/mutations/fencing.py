"""Bugs of whom the coordinator listens to: generations that are not compared."""

from __future__ import annotations

from collections.abc import Iterator

from groupcheck.model.engine import evolve
from groupcheck.model.protocol.classic import coordinator
from groupcheck.model.protocol.classic.coordinator import Outcome
from groupcheck.model.protocol.classic.group import Core, Phase, Seats, is_member
from groupcheck.model.protocol.classic.scope import Scope
from groupcheck.model.protocol.codes import NONE, REBALANCE_IN_PROGRESS
from groupcheck.model.protocol.family import CLASSIC_GROUP
from groupcheck.model.protocol.link import Link, handled, reply
from groupcheck.model.protocol.messages import Answer, Heartbeat, OffsetCommit, Store, SyncGroup
from groupcheck.model.protocol.mutation import SEEDED, Mutation, seeded


@seeded(coordinator.heartbeat)
def _any_generation_beats(core: Core, seats: Seats, link: Link) -> Iterator[Outcome]:
    request = handled(link, Heartbeat)
    if not is_member(seats[request.id]) or request.generation == core.generation:
        yield from coordinator.heartbeat.call(core, seats, link)
    elif core.phase == Phase.PREPARING:
        yield "rebalancing", core, seats, reply(link, Answer(request, REBALANCE_IN_PROGRESS))
    else:
        yield "accepted", core, seats, reply(link, Answer(request, NONE))


@seeded(coordinator.heartbeat)
def _beats_in_a_round(core: Core, seats: Seats, link: Link) -> Iterator[Outcome]:
    for label, *values in coordinator.heartbeat.call(core, seats, link):
        if label == "rebalancing":
            assert link.request is not None
            yield "accepted", core, seats, reply(link, Answer(link.request))
        else:
            yield label, *values


@seeded(coordinator.sync_group)
def _any_generation_syncs(core: Core, seats: Seats, link: Link, scope: Scope) -> Iterator[Outcome]:
    request = handled(link, SyncGroup)
    if not is_member(seats[request.id]):
        yield from coordinator.sync_group.call(core, seats, link, scope)
        return
    taken = evolve(link, request=evolve(request, generation=core.generation))
    for label, after, known, left in coordinator.sync_group.call(core, seats, taken, scope):
        answer = (
            evolve(left.answer, request=request)
            if left.answer and left.answer != link.answer
            else left.answer
        )
        yield label, after, known, evolve(left, answer=answer)


@seeded(coordinator.offset_commit)
def _any_generation_commits(core: Core, seats: Seats, link: Link) -> Iterator[Outcome]:
    for label, *values in coordinator.offset_commit.call(core, seats, link):
        request = handled(link, OffsetCommit)
        if label == "illegal_generation" and core.phase != Phase.COMPLETING:
            yield "accepted", core, seats, evolve(link, request=Store(request))
        else:
            yield label, *values


@seeded(coordinator.offset_commit)
def _commits_while_syncing(core: Core, seats: Seats, link: Link) -> Iterator[Outcome]:
    request = handled(link, OffsetCommit)
    if core.phase == Phase.COMPLETING and is_member(seats[request.id]):
        yield "accepted", core, seats, evolve(link, request=Store(request))
    else:
        yield from coordinator.offset_commit.call(core, seats, link)


MUTATIONS = (
    Mutation(
        id="heartbeat_ignores_generation",
        ticket=SEEDED,
        title="A heartbeat of an older generation is answered as if it were of the current one.",
        family=CLASSIC_GROUP,
        invariant="heartbeat_fenced",
        doc=(
            "ILLEGAL_GENERATION is how a member hears that the group went on without it."
            " Seeded: the heartbeat's generation is not compared."
        ),
        scope={"members": 2, "generations": 2, "faults": {"fail_over": 1}},
        seeds=(_any_generation_beats,),
    ),
    Mutation(
        id="heartbeat_hides_the_round",
        ticket=SEEDED,
        title="Heartbeats are answered NONE while a round waits for the members that send them.",
        family=CLASSIC_GROUP,
        invariant="round_announced",
        doc=(
            "REBALANCE_IN_PROGRESS in a heartbeat's answer is how members hear of a round;"
            " those who do not are removed when it ends."
        ),
        scope={"members": 2, "generations": 1},
        seeds=(_beats_in_a_round,),
    ),
    Mutation(
        id="sync_ignores_generation",
        ticket=SEEDED,
        title="A SyncGroup of an older generation is given a share of the current one.",
        family=CLASSIC_GROUP,
        invariant="sync_fenced",
        doc=(
            "Seeded: the SyncGroup's generation is not compared, so that one which was held up,"
            " or sent to a new coordinator, counts in the generation of today."
        ),
        scope={"members": 1, "generations": 2, "faults": {"delay_request": 1}},
        seeds=(_any_generation_syncs,),
    ),
    Mutation(
        id="commit_ignores_generation",
        ticket=SEEDED,
        title="A commit of an older generation overwrites what the next owner has committed.",
        family=CLASSIC_GROUP,
        invariant="commit_fenced",
        doc=(
            "Seeded: the commit's generation is not compared (membership still is),"
            " so that a member that was left behind goes on committing."
        ),
        scope={"members": 2, "generations": 3, "faults": {"delay_request": 1}},
        seeds=(_any_generation_commits,),
    ),
    Mutation(
        id="commit_while_syncing",
        ticket="twmb/franz-go ee70930",
        title="A commit that comes between JoinGroup and SyncGroup is accepted.",
        family=CLASSIC_GROUP,
        invariant="commits_wait_for_sync",
        doc=(
            "The client sent commits between its JoinGroup and its SyncGroup (fixed in v1.13.2);"
            " the coordinator must refuse them."
            " Seeded: while the group is in CompletingRebalance a member's commit is accepted."
        ),
        scope={"members": 2, "generations": 2, "faults": {"late_commit": 1}},
        seeds=(_commits_while_syncing,),
    ),
)
