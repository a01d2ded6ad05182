"""Bugs of static members: who holds an instance id, and what a restart moves."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from groupcheck.model.engine import evolve
from groupcheck.model.protocol.classic import coordinator, rounds
from groupcheck.model.protocol.classic.coordinator import Outcome
from groupcheck.model.protocol.classic.features import takeover
from groupcheck.model.protocol.classic.features.static import FAMILY as STATIC_MEMBERS
from groupcheck.model.protocol.classic.features.twins import FAMILY as TWINS
from groupcheck.model.protocol.classic.group import Core, Phase, Seats, Walk
from groupcheck.model.protocol.classic.rounds import Complete
from groupcheck.model.protocol.classic.scope import Scope
from groupcheck.model.protocol.codes import UNKNOWN_MEMBER_ID
from groupcheck.model.protocol.link import Link, handled, reply
from groupcheck.model.protocol.messages import NO_ID, Answer, Heartbeat, JoinGroup
from groupcheck.model.protocol.mutation import SEEDED, Mutation, seeded

join_group = takeover.joining(coordinator.join_group)
heartbeat = takeover.fencing(coordinator.heartbeat)
STABLE = {"members": 1, "generations": 1, "faults": {"crash": 1}}


@seeded(takeover.takeover_committed)
def _never_logged(core: Core, seats: Seats, link: Link) -> Iterator[tuple[Any, ...]]:
    for label, after, known, told in takeover.takeover_committed.call(core, seats, link):
        old = evolve(known, durable=seats.durable, durable_leader=seats.durable_leader)
        yield label, after, old, told


def _is_taken_over(core: Core, seats: Seats, link: Link, phase: Phase) -> bool:
    """Does a JoinGroup take the place of another id, in this phase?"""
    return handled(link, JoinGroup).id == NO_ID and bool(seats.ids) and core.phase == phase


@seeded(join_group)
def _swapped_while_syncing(core: Core, seats: Seats, link: Link, scope: Scope) -> Iterator[Outcome]:
    if not _is_taken_over(core, seats, link, Phase.COMPLETING):
        yield from join_group.call(core, seats, link, scope)
        return
    request, ((old, seat),) = handled(link, JoinGroup), seats.ids
    id = coordinator.new_id(seats, link)
    swapped = takeover.renamed(seats, old, id, evolve(seat, sync=False))
    answer = Answer(request, id=id, generation=core.generation)
    yield "unchanged", core, swapped, reply(link, answer)


@seeded(join_group)
def _added_to_the_round(core: Core, seats: Seats, link: Link, scope: Scope) -> Iterator[Outcome]:
    if not _is_taken_over(core, seats, link, Phase.PREPARING):
        yield from join_group.call(core, seats, link, scope)
        return
    yield from coordinator.join_group.call(core, seats, link, scope)


@seeded(join_group)
def _same_id_again(core: Core, seats: Seats, link: Link, scope: Scope) -> Iterator[Outcome]:
    if not _is_taken_over(core, seats, link, Phase.STABLE):
        yield from join_group.call(core, seats, link, scope)
        return
    ((id, _),) = seats.ids
    answer = Answer(handled(link, JoinGroup), id=id, generation=core.generation)
    yield "unchanged", core, seats, reply(link, answer)


@seeded(join_group)
def _round_at_every_restart(
    core: Core, seats: Seats, link: Link, scope: Scope
) -> Iterator[Outcome]:
    if not _is_taken_over(core, seats, link, Phase.STABLE):
        yield from join_group.call(core, seats, link, scope)
        return
    syncing = evolve(core, phase=Phase.COMPLETING)
    yield from join_group.call(syncing, seats, link, scope)


@seeded(join_group)
def _leader_stays_away(core: Core, seats: Seats, link: Link, scope: Scope) -> Iterator[Outcome]:
    for label, after, known, told in join_group.call(core, seats, link, scope):
        replaced = label == "replaced" and seats.leader is not None
        yield label, after, evolve(known, leader=None) if replaced else known, told


@seeded(heartbeat)
def _replaced_is_unknown(core: Core, seats: Seats, link: Link, *scope: Scope) -> Iterator[Outcome]:
    request = handled(link, Heartbeat)
    if takeover.fenced(seats, request.id):
        yield "unknown", core, seats, reply(link, Answer(request, UNKNOWN_MEMBER_ID))
    else:
        yield from heartbeat.call(core, seats, link)


@seeded(join_group)
def _replaced_waits_on(core: Core, seats: Seats, link: Link, scope: Scope) -> Iterator[Outcome]:
    for label, after, known, told in join_group.call(core, seats, link, scope):
        waits = label.startswith("replaced") and not link.live and link.parked is not None
        kept = evolve(told, parked=link.parked, answer=None) if waits else told
        yield label, after, known, kept


@seeded(rounds.answer_joins)
def _absent_are_removed(
    walk: Walk[Complete], seats: Seats, link: Link, scope: Scope
) -> Iterator[tuple[Walk[Complete], Seats, Link]]:
    dynamic = evolve(seats, static=False)
    for after, known, told in rounds.answer_joins.call(walk, dynamic, link, scope):
        yield after, evolve(known, static=True), told


MUTATIONS = (
    Mutation(
        id="takeover_not_logged",
        ticket="KAFKA-10284",
        title="A static member's new id is not in the log, so a fail-over brings the old one back.",
        family=STATIC_MEMBERS,
        invariant="takeover_is_durable",
        doc=(
            "When a static member came back to a Stable group, its new id was swapped in memory"
            " only (2.3.0 to 2.6.0). After a fail-over the live process was fenced, and the commits"
            " of the old one were accepted. Seeded: the group record keeps the old id."
        ),
        scope={"members": 1, "generations": 1, "faults": {"crash": 1, "fail_over": 1}},
        seeds=(_never_logged,),
    ),
    Mutation(
        id="takeover_misses_the_plan",
        ticket="KAFKA-9801",
        title="A static member comes back while members sync, and the plan names its old id.",
        family=STATIC_MEMBERS,
        invariant="takeover_restarts_the_round",
        doc=(
            "In CompletingRebalance the id was swapped without a new round (2.3, 2.4). The leader's"
            " plan named the old id, so the new one got nothing, and its partitions had no owner in"
            " a Stable group. Seeded: the JoinGroup is answered at once with the generation that"
            " waits for its plan."
        ),
        scope=STABLE,
        seeds=(_swapped_while_syncing,),
    ),
    Mutation(
        id="instance_joins_twice",
        ticket="KAFKA-8500",
        title="While a round runs, two processes with one instance id both become members.",
        family=STATIC_MEMBERS,
        invariant="one_id_per_instance",
        doc=(
            "The id of an instance was replaced in a Stable group only; in PreparingRebalance a"
            " second process was added beside the first (before 2.3.0). Seeded: a JoinGroup without"
            " an id adds a member there."
        ),
        scope=STABLE,
        seeds=(_added_to_the_round,),
        apart={TWINS: "both twins have an id then, and the instance goes back and forth for ever"},
    ),
    Mutation(
        id="same_id_after_restart",
        ticket="KAFKA-8715",
        title="A static member that comes back gets the id of the process before it.",
        family=STATIC_MEMBERS,
        invariant="takeover_gives_a_new_id",
        doc=(
            "The id was made of the instance id and the time at which the group had changed its"
            " state (2.3.0). Where that had not changed, two processes had the same id, and fencing"
            " could not tell them apart. Seeded: the old id is given again in a Stable group."
        ),
        scope=STABLE,
        seeds=(_same_id_again,),
    ),
    Mutation(
        id="absent_static_member_removed",
        ticket="KAFKA-8220",
        title="A round removes a static member that is in the middle of a restart.",
        family=STATIC_MEMBERS,
        invariant="absent_members_stay",
        doc=(
            "The rebalance timeout removed every member that had not joined, static ones included"
            " (before 2.3.0). Seeded: a round that completes treats all members as dynamic."
        ),
        scope={"members": 2, "generations": 2, "faults": {"rebalance_timeout": 1}},
        seeds=(_absent_are_removed,),
    ),
    Mutation(
        id="restart_starts_a_round",
        ticket=SEEDED,
        title="Every restart of a static member stops the whole group.",
        family=STATIC_MEMBERS,
        invariant="restart_moves_nothing",
        doc=(
            "KIP-345 lets a member come back within its session timeout without a round. Seeded: a"
            " takeover in a Stable group is treated as one in CompletingRebalance."
        ),
        scope=STABLE,
        seeds=(_round_at_every_restart,),
    ),
    Mutation(
        id="restarted_leader_forgotten",
        ticket=SEEDED,
        title="A leader that comes back under a new id leads no more, and nobody else does.",
        family=STATIC_MEMBERS,
        invariant="restarted_leader_leads",
        doc=(
            "The group's leader is a member id, so it has to be replaced like all others"
            " (ClassicGroup.replaceStaticMember). Seeded: it is not."
        ),
        scope=STABLE,
        seeds=(_leader_stays_away,),
        progress="assignment_arrives",
        progress_scope={"members": 2, "faults": {"crash": 1}},
    ),
    Mutation(
        id="replaced_id_unknown",
        ticket=SEEDED,
        title="A process whose id was replaced hears 25, joins again and takes the place back.",
        family=STATIC_MEMBERS,
        invariant="replaced_id_fenced",
        doc=(
            "FENCED_INSTANCE_ID stops one of two processes with the same instance id. Seeded: the"
            " coordinator answers heartbeats as it does for members without an instance id. The"
            " processes fence each other for ever."
        ),
        scope={"members": 1, "generations": 1, "faults": {"delay_request": 1}},
        seeds=(_replaced_is_unknown,),
    ),
    Mutation(
        id="replaced_request_left_waiting",
        ticket=SEEDED,
        title="The parked request of an id that was replaced is never answered.",
        family=STATIC_MEMBERS,
        invariant="parked_is_remembered",
        doc=(
            "When an id is replaced, its parked JoinGroup or SyncGroup is answered 82"
            " (ClassicGroup.replaceStaticMember). Seeded: it is not."
        ),
        scope={"members": 1, "generations": 1, "faults": {"delay_request": 1}},
        seeds=(_replaced_waits_on,),
    ),
)
