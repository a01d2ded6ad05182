"""Bugs of timers that do not run, or run for too long, and of rounds that nobody looks at again."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import attrs

from groupcheck.model.engine import evolve
from groupcheck.model.protocol.classic import coordinator, rounds, timers, walks
from groupcheck.model.protocol.classic.coordinator import Outcome
from groupcheck.model.protocol.classic.group import Core, Errand, Phase, Seat, Seats, Walk
from groupcheck.model.protocol.classic.rounds import Complete
from groupcheck.model.protocol.classic.scope import Scope
from groupcheck.model.protocol.family import CLASSIC_GROUP
from groupcheck.model.protocol.faults import Budget
from groupcheck.model.protocol.link import Link
from groupcheck.model.protocol.mutation import Mutation, seeded


def _each(seats: Seats, before: Seats, change: Callable[[Seat, Seat], Seat]) -> Seats:
    """The seats with those changed that were there before: `change(seat before, seat now)`."""
    for id, seat in seats:
        was = before[id]
        if was is not None:
            seats = seats.put(id, change(was, seat))
    return seats


def _at_the_edge(core: Core, scope: Scope) -> Scope:
    """A scope in which the round at hand is not completed."""
    return attrs.evolve(scope, generations=max(core.generation, 1))


@seeded(rounds.answer_joins)
def _newcomer_without_timer(
    walk: Walk[Complete], seats: Seats, link: Link, scope: Scope
) -> Iterator[Any]:
    for after, kept, answered in rounds.answer_joins.call(walk, seats, link, scope):
        yield (
            after,
            _each(kept, seats, lambda was, now: evolve(now, armed=now.armed and not was.new)),
            answered,
        )


@seeded(rounds.answer_joins)
def _newcomer_timer_kept(
    walk: Walk[Complete], seats: Seats, link: Link, scope: Scope
) -> Iterator[Any]:
    for after, kept, answered in rounds.answer_joins.call(walk, seats, link, scope):
        yield after, _each(kept, seats, lambda was, now: evolve(now, new=was.new)), answered


@seeded(walks.end_walk)
def _no_deadline(core: Core, walk: Walk[Errand], scope: Scope) -> Iterator[Any]:
    for after, rest in walks.end_walk.call(core, walk, scope):
        yield evolve(after, deadline=False), rest


@seeded(coordinator.join_group)
def _id_without_timer(core: Core, seats: Seats, link: Link, scope: Scope) -> Iterator[Outcome]:
    for label, after, known, answered in coordinator.join_group.call(core, seats, link, scope):
        for id, seat in known:
            if label == "id_required" and seats[id] is None:
                known = known.put(id, evolve(seat, armed=False))
        yield label, after, known, answered


@seeded(timers.session_timeout)
def _expiry_looks_away(core: Core, seats: Seats, budget: Budget, scope: Scope) -> Iterator[Any]:
    if core.phase == Phase.PREPARING:
        scope = _at_the_edge(core, scope)
    yield from timers.session_timeout.call(core, seats, budget, scope)


@seeded(coordinator.leave_group)
def _leaving_looks_away(core: Core, seats: Seats, link: Link, scope: Scope) -> Iterator[Outcome]:
    if core.phase == Phase.PREPARING:
        scope = _at_the_edge(core, scope)
    yield from coordinator.leave_group.call(core, seats, link, scope)


MUTATIONS = (
    Mutation(
        id="newcomer_without_timer",
        ticket="KAFKA-9752",
        title="No session timer is started for a member that has joined as a new one.",
        family=CLASSIC_GROUP,
        invariant="timer_runs",
        doc=(
            "At the end of the round the timer of a new member was completed at once and never"
            " started again; a newcomer that died meanwhile was waited for in every later round."
            " Seeded: its timer is not armed."
        ),
        scope={"members": 1, "generations": 1, "faults": {"new_member_timeout": 1}},
        seeds=(_newcomer_without_timer,),
        progress="group_settles",
        progress_scope={"members": 1, "two_step": False, "faults": {"crash": 1}},
    ),
    Mutation(
        id="newcomer_timer_kept",
        ticket="KAFKA-9232",
        title="A new member is removed after five minutes although it sends heartbeats.",
        family=CLASSIC_GROUP,
        invariant="new_only_while_parked",
        doc="The fixed timer of a new member was not cancelled when its JoinGroup was answered.",
        scope={"members": 1, "generations": 1, "faults": {"new_member_timeout": 1}},
        seeds=(_newcomer_timer_kept,),
    ),
    Mutation(
        id="no_sync_deadline",
        ticket="KAFKA-12890",
        title="No timer ends the wait for members that do not send SyncGroup.",
        family=CLASSIC_GROUP,
        invariant="sync_deadline_runs",
        doc=(
            "Heartbeats during CompletingRebalance kept a leader alive"
            " that never sent its SyncGroup, and nothing else bounded the phase."
        ),
        scope={"members": 1, "generations": 1},
        seeds=(_no_deadline,),
        progress="assignment_arrives",
        progress_scope={"members": 2, "faults": {"hang": 1}},
    ),
    Mutation(
        id="id_without_timer",
        ticket="redpanda 6a11f7c4a2",
        title="A round waits for ever for an id that was handed out and never used.",
        family=CLASSIC_GROUP,
        invariant="timer_runs",
        doc=(
            "Ids that were handed out counted as members still to join,"
            " without an expiry (Redpanda before 22.1.1; the same gap as KAFKA-7909)."
        ),
        scope={"members": 1, "generations": 1},
        seeds=(_id_without_timer,),
        progress="pending_id_ends",
        progress_scope={"members": 1, "faults": {"crash": 1}},
    ),
    Mutation(
        id="expiry_leaves_round_waiting",
        ticket="KAFKA-7909",
        title="The id that a round waits for expires, and the round goes on waiting.",
        family=CLASSIC_GROUP,
        invariant="full_rounds_complete",
        doc=(
            "The expiry of an id that never joined did not look"
            " whether everybody who is left has joined."
        ),
        scope={"members": 2, "generations": 2, "faults": {"session_timeout": 1}},
        seeds=(_expiry_looks_away,),
    ),
    Mutation(
        id="leave_leaves_round_waiting",
        ticket="streamnative/kop#380",
        title="The last member that a round waits for leaves, and the round goes on waiting.",
        family=CLASSIC_GROUP,
        invariant="full_rounds_complete",
        doc=(
            "Removing a member in PreparingRebalance did not look"
            " whether everybody who is left has joined."
        ),
        scope={"members": 2, "generations": 2, "faults": {"close": 1}},
        seeds=(_leaving_looks_away,),
    ),
)
