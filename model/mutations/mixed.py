"""Bugs of groups of static and dynamic members: one is treated as the other."""

from __future__ import annotations

from collections.abc import Iterator

from groupcheck.model.engine import but
from groupcheck.model.mutations.mutation import SEEDED, Mutation, seeded
from groupcheck.model.protocol.classic import coordinator, rounds
from groupcheck.model.protocol.classic.coordinator import Outcome
from groupcheck.model.protocol.classic.features import takeover
from groupcheck.model.protocol.classic.group import Core, Seats, Walk
from groupcheck.model.protocol.classic.rounds import Complete, Dismiss
from groupcheck.model.protocol.classic.scope import Scope
from groupcheck.model.protocol.family import MIXED
from groupcheck.model.protocol.link import Link, handled
from groupcheck.model.protocol.messages import NO_ID, JoinGroup

join_group = takeover.joining(coordinator.join_group)


@seeded(rounds.answer_joins)
def _nobody_is_removed(
    walk: Walk[Complete], seats: Seats, link: Link, scope: Scope
) -> Iterator[tuple[Walk[Complete], Seats, Link]]:
    for after, known, told in rounds.answer_joins.call(walk, but(seats, static=True), link, scope):
        yield after, but(known, static=seats.static), told


@seeded(rounds.dismiss_absent)
def _nobody_is_dismissed(
    walk: Walk[Dismiss], seats: Seats, scope: Scope
) -> Iterator[tuple[Walk[Dismiss], Seats]]:
    yield walk.passed(walk.errand, scope), seats


@seeded(join_group)
def _all_are_asked_twice(core: Core, seats: Seats, link: Link, scope: Scope) -> Iterator[Outcome]:
    if seats.static and handled(link, JoinGroup).id == NO_ID and not seats.ids:
        yield from coordinator.join_group.call(core, seats, link, scope)
    else:
        yield from join_group.call(core, seats, link, scope)


MUTATIONS = (
    Mutation(
        id="absent_dynamic_member_kept",
        ticket=SEEDED,
        title="A round that knows static members keeps every member that has not joined.",
        family=MIXED,
        invariant="absent_dynamic_members_go",
        doc=(
            "Only static members outlive a round that they have missed; Kafka filters them out of"
            " the members to be removed (completeClassicGroupJoin). Seeded: the round keeps all."
        ),
        scope={"members": 2, "generations": 2, "faults": {"rebalance_timeout": 1}},
        seeds=(_nobody_is_removed,),
    ),
    Mutation(
        id="round_of_nobody_keeps_all",
        ticket=SEEDED,
        title="A round in which nobody has joined keeps its dynamic members as well.",
        family=MIXED,
        invariant="absent_dynamic_members_go",
        doc=(
            "Kafka removes dynamic members before it finds that no static one has joined and goes"
            " on waiting. Seeded: it removes nobody."
        ),
        scope={
            "members": 2,
            "generations": 2,
            "faults": {"append_failure": 1, "rebalance_timeout": 1},
        },
        seeds=(_nobody_is_dismissed,),
    ),
    Mutation(
        id="static_member_asked_twice",
        ticket=SEEDED,
        title="A static member is told to come again with an id, as a dynamic one is.",
        family=MIXED,
        invariant="static_joins_at_once",
        doc=(
            "KIP-394 asks members for a second JoinGroup because it cannot recognise them; KIP-345"
            " can. Seeded: the answer 79 comes before the instance id is looked at."
        ),
        scope={"members": 2, "generations": 1},
        seeds=(_all_are_asked_twice,),
    ),
)
