"""Bugs of membership, leadership and counts, and of answers that never come or come twice."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import attrs

from groupcheck.model.engine import evolve
from groupcheck.model.protocol.classic import (
    assignment,
    coordinator,
    failover,
    rounds,
    timers,
    walks,
)
from groupcheck.model.protocol.classic.assignment import Assign
from groupcheck.model.protocol.classic.coordinator import Outcome
from groupcheck.model.protocol.classic.failover import Reload
from groupcheck.model.protocol.classic.group import Core, Errand, Seats, Walk
from groupcheck.model.protocol.classic.rounds import Complete, Restart
from groupcheck.model.protocol.classic.scope import Scope
from groupcheck.model.protocol.family import CLASSIC_GROUP
from groupcheck.model.protocol.faults import Budget
from groupcheck.model.protocol.link import Link, handled
from groupcheck.model.protocol.messages import JoinGroup
from groupcheck.model.protocol.mutation import SEEDED, Mutation, seeded


@seeded(coordinator.leave_group)
def _leader_stays(core: Core, seats: Seats, link: Link, scope: Scope) -> Iterator[Outcome]:
    for label, after, left, answered in coordinator.leave_group.call(core, seats, link, scope):
        yield label, evolve(after, led=core.led), evolve(left, leader=seats.leader), answered


@seeded(coordinator.join_group)
def _one_too_many(core: Core, seats: Seats, link: Link, scope: Scope) -> Iterator[Outcome]:
    if scope.max_size is not None:
        scope = attrs.evolve(scope, max_size=scope.max_size + 1)
    yield from coordinator.join_group.call(core, seats, link, scope)


@seeded(coordinator.join_group)
def _member_at_once(core: Core, seats: Seats, link: Link, scope: Scope) -> Iterator[Outcome]:
    labels = coordinator.join_group.call(core, seats, link, attrs.evolve(scope, two_step=False))
    yield from labels


@seeded(coordinator.join_group)
def _counted_twice(core: Core, seats: Seats, link: Link, scope: Scope) -> Iterator[Outcome]:
    request = handled(link, JoinGroup)
    seat = seats[request.id]
    known = seats if seat is None else seats.put(request.id, evolve(seat, join=False))
    yield from coordinator.join_group.call(core, known, link, scope)


@seeded(timers.session_timeout)
def _still_pending(core: Core, seats: Seats, budget: Budget, scope: Scope) -> Iterator[Any]:
    for label, after, left, spent in timers.session_timeout.call(core, seats, budget, scope):
        yield label, evolve(after, pending=core.pending), left, spent


@seeded(rounds.send_back)
def _sync_forgotten(walk: Walk[Restart], seats: Seats, link: Link, scope: Scope) -> Iterator[Any]:
    for after, kept, _ in rounds.send_back.call(walk, seats, link, scope):
        yield after, kept, link


@seeded(rounds.answer_joins)
def _superseded_answered(
    walk: Walk[Complete], seats: Seats, link: Link, scope: Scope
) -> Iterator[Any]:
    if isinstance(link.parked, JoinGroup):
        link = evolve(link, orphaned=False)
    yield from rounds.answer_joins.call(walk, seats, link, scope)


@seeded(assignment.answer_syncs)
def _nobody_told(walk: Walk[Assign], seats: Seats, link: Link, scope: Scope) -> Iterator[Any]:
    for after, shared, _ in assignment.answer_syncs.call(walk, seats, link, scope):
        for id, seat in seats:
            stored = shared[id]
            assert stored is not None
            shared = shared.put(id, evolve(stored, sync=seat.sync))
        yield after, shared, link


@seeded(coordinator.sync_group)
def _still_awaited(core: Core, seats: Seats, link: Link, scope: Scope) -> Iterator[Outcome]:
    for label, after, known, answered in coordinator.sync_group.call(core, seats, link, scope):
        yield label, evolve(after, due=core.due, deadline=core.deadline), known, answered


@seeded(failover.fail_over)
def _record_ignored(core: Core, budget: Budget) -> Iterator[Any]:
    for after, spent in failover.fail_over.call(core, budget):
        yield evolve(after, generation=0), spent


@seeded(failover.reload)
def _leader_not_loaded(walk: Walk[Reload], seats: Seats, link: Link, scope: Scope) -> Iterator[Any]:
    for after, loaded, fresh in failover.reload.call(walk, seats, link, scope):
        lost = loaded.leader is not None
        others = tuple((id, seat) for id, seat in loaded if id != loaded.leader)
        errand = evolve(after.errand, change=after.errand.change - lost)
        yield evolve(after, errand=errand), evolve(loaded, ids=others), fresh


@seeded(walks.end_walk)
def _nobody_leads(core: Core, walk: Walk[Errand], scope: Scope) -> Iterator[Any]:
    for after, rest in walks.end_walk.call(core, walk, scope):
        yield evolve(after, led=after.led and not isinstance(walk.errand, Complete)), rest


@seeded(walks.end_walk)
def _still_parked(core: Core, walk: Walk[Errand], scope: Scope) -> Iterator[Any]:
    for after, rest in walks.end_walk.call(core, walk, scope):
        yield (
            evolve(after, parked=core.parked) if isinstance(walk.errand, Complete) else after,
            rest,
        )


@seeded(rounds.send_back)
def _expelled_still_counted(
    walk: Walk[Restart], seats: Seats, link: Link, scope: Scope
) -> Iterator[Any]:
    for after, kept, answered in rounds.send_back.call(walk, seats, link, scope):
        errand = evolve(after.errand, change=walk.errand.change)
        yield evolve(after, errand=errand), kept, answered


MUTATIONS = (
    Mutation(
        id="leader_forgotten",
        ticket=SEEDED,
        title="The leader leaves, and the group still expects the assignment from it.",
        family=CLASSIC_GROUP,
        invariant="leader_is_a_member",
        doc=(
            "Seeded: leaving does not take the leadership away;"
            " with the leader's SyncGroup the whole group would wait for somebody who is gone."
        ),
        scope={"members": 1, "generations": 1, "faults": {"close": 1}},
        seeds=(_leader_stays,),
    ),
    Mutation(
        id="size_cap_off_by_one",
        ticket="KAFKA-9885",
        title="One member more than group.max.size gets in.",
        family=CLASSIC_GROUP,
        invariant="size_cap",
        doc=(
            "The coordinator let more members in than the limit says (KAFKA-9885, KAFKA-9844)."
            " Seeded: the count is compared with the limit plus one."
        ),
        scope={"members": 2, "generations": 1, "max_size": 1},
        seeds=(_one_too_many,),
    ),
    Mutation(
        id="member_without_id",
        ticket="KAFKA-7610",
        title="A first JoinGroup makes a member, and each retry of it another one.",
        family=CLASSIC_GROUP,
        invariant="id_before_membership",
        doc=(
            "A joiner without a member id cannot be recognised when it retries,"
            " so that a slow round bred members that nobody was (KIP-394 hands out ids first)."
        ),
        scope={"members": 1, "generations": 1},
        seeds=(_member_at_once,),
    ),
    Mutation(
        id="joined_twice_counted_twice",
        ticket=SEEDED,
        title="A member that joins again over a new connection is counted twice.",
        family=CLASSIC_GROUP,
        invariant="joins_counted",
        doc=(
            "Seeded: a JoinGroup that takes the place of a parked one of the same member"
            " is counted too, and the round completes without somebody else."
        ),
        scope={"members": 1, "generations": 1, "faults": {"disconnect": 1}},
        seeds=(_counted_twice,),
    ),
    Mutation(
        id="expired_id_still_counted",
        ticket=SEEDED,
        title="An id that expires is still counted as one that will join.",
        family=CLASSIC_GROUP,
        invariant="members_counted",
        doc=(
            "Seeded: the expiry of an id that was handed out and never used"
            " does not take it from the count."
        ),
        scope={"members": 1, "generations": 1, "faults": {"session_timeout": 1}},
        seeds=(_still_pending,),
    ),
    Mutation(
        id="parked_sync_forgotten",
        ticket=SEEDED,
        title="A new round begins, and members that wait for their share are not told.",
        family=CLASSIC_GROUP,
        invariant="parked_is_remembered",
        doc=(
            "Seeded: the start of a round does not answer parked SyncGroups,"
            " whose members wait until their request times out."
        ),
        scope={"members": 2, "generations": 1, "faults": {"append_failure": 1}},
        seeds=(_sync_forgotten,),
        progress="round_completes",
        progress_scope={"members": 1, "faults": {"append_failure": 1}},
    ),
    Mutation(
        id="share_never_sent",
        ticket=SEEDED,
        title="The assignment is stored, and those who wait for it are not told.",
        family=CLASSIC_GROUP,
        invariant="parked_in_their_phase",
        doc="Seeded: the group becomes Stable without answering parked SyncGroups.",
        scope={"members": 1, "generations": 1},
        seeds=(_nobody_told,),
    ),
    Mutation(
        id="synced_still_awaited",
        ticket=SEEDED,
        title="The sync timer goes on running for members that have sent SyncGroup.",
        family=CLASSIC_GROUP,
        invariant="syncs_counted",
        doc=(
            "Seeded: SyncGroup does not take its member from the count of those that are awaited;"
            " the timer would start a round that nobody needs."
        ),
        scope={"members": 1, "generations": 1},
        seeds=(_still_awaited,),
    ),
    Mutation(
        id="superseded_join_answered",
        ticket=SEEDED,
        title="A JoinGroup that a later one has replaced is answered with the later one's answer.",
        family=CLASSIC_GROUP,
        invariant="answered_at_most_once",
        doc=(
            "Seeded: when a JoinGroup arrives twice, over an old connection and a new one,"
            " the one answer of the round reaches the request that was given up."
        ),
        scope={"members": 1, "generations": 1, "faults": {"delay_request": 1}},
        seeds=(_superseded_answered,),
    ),
    Mutation(
        id="record_ignored_on_load",
        ticket="redpanda 1ce995cd96",
        title="A new coordinator starts to count generations from the beginning.",
        family=CLASSIC_GROUP,
        invariant="generation_only_grows",
        doc=(
            "Recovery did not use the stored group."
            " Seeded: the generation of the last record is not loaded."
        ),
        scope={"members": 1, "generations": 1, "faults": {"fail_over": 1}},
        seeds=(_record_ignored,),
    ),
    Mutation(
        id="leader_not_loaded",
        ticket=SEEDED,
        title="A new coordinator loads the members of the record, but not the one that leads.",
        family=CLASSIC_GROUP,
        invariant="elected_is_a_member",
        doc=(
            "Seeded: the record's leader is lost while the group is loaded;"
            " the group goes on under a leader that is no member."
        ),
        scope={"members": 1, "generations": 1, "faults": {"fail_over": 1}},
        seeds=(_leader_not_loaded,),
    ),
    Mutation(
        id="generation_without_leader",
        ticket=SEEDED,
        title="A round completes, and no member is told that it is the leader.",
        family=CLASSIC_GROUP,
        invariant="generation_is_led",
        doc=(
            "Seeded: the leader is forgotten when the round completes;"
            " everybody waits in SyncGroup until the sync timer removes them."
        ),
        scope={"members": 1, "generations": 1},
        seeds=(_nobody_leads,),
    ),
    Mutation(
        id="answered_joins_still_counted",
        ticket=SEEDED,
        title="JoinGroups that were answered are still counted as waiting.",
        family=CLASSIC_GROUP,
        invariant="rounds_are_counted",
        doc=(
            "Seeded: the count of parked JoinGroups is not reset when the round completes,"
            " so that the next round seems full too early."
        ),
        scope={"members": 1, "generations": 1},
        seeds=(_still_parked,),
    ),
    Mutation(
        id="expelled_still_counted",
        ticket=SEEDED,
        title="A member that the sync timer removes is still counted.",
        family=CLASSIC_GROUP,
        invariant="passed_are_counted",
        doc=(
            "Seeded: who is removed for not sending SyncGroup stays in the count of members,"
            " and the next round waits for it."
        ),
        scope={"members": 1, "generations": 1, "faults": {"sync_timeout": 1}},
        seeds=(_expelled_still_counted,),
    ),
)
