"""Bugs that show on the way from eager to cooperative rebalancing: a member keeps its partitions
while the group uses an assignor that does not look at claims.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from groupcheck.model.engine import but
from groupcheck.model.mutations.mutation import SEEDED, Mutation, seeded
from groupcheck.model.protocol.classic import client as member
from groupcheck.model.protocol.classic import coordinator
from groupcheck.model.protocol.classic.client import Client
from groupcheck.model.protocol.classic.coordinator import Outcome
from groupcheck.model.protocol.classic.features.upgrade import (
    COOPERATIVE,
    UpgradeScope,
    bounce,
    following,
)
from groupcheck.model.protocol.classic.group import Core, Seats
from groupcheck.model.protocol.classic.scope import Scope
from groupcheck.model.protocol.family import UPGRADE
from groupcheck.model.protocol.faults import Budget
from groupcheck.model.protocol.link import Link


@seeded(bounce)
def _first_assignor_decides(
    client: Client, seats: Seats, keeps: bool, budget: Budget, scope: UpgradeScope
) -> Iterator[tuple[Client, Seats, bool, Budget]]:
    for down, known, _, spent in bounce.call(client, seats, keeps, budget, scope):
        yield down, known, known.listed[0] == COOPERATIVE, spent


@seeded(coordinator.join_group)
def _anybody_is_let_in(core: Core, seats: Seats, link: Link, scope: Scope) -> Iterator[Outcome]:
    listed = seats.listed
    if not coordinator.agrees(core, seats, scope):
        seats = but(seats, listed=(*listed, *set(scope.assignors_listed) - {*listed}))
    for label, after, known, told in coordinator.join_group.call(core, seats, link, scope):
        yield label, after, but(known, listed=listed), told


send_join = following(member.send_join)


@seeded(send_join)
def _eager_member_keeps(*given: Any) -> Iterator[tuple[str, Client, Link, bool]]:
    *values, keeps, scope = given
    for label, after, sent, _ in send_join.call(*values, True, scope):
        yield label, after, sent, keeps


MUTATIONS = (
    Mutation(
        id="eager_member_keeps",
        ticket=SEEDED,
        title="An eager member keeps its partitions while it joins.",
        family=UPGRADE,
        invariant="joins_as_its_protocol_says",
        doc=(
            "A member revokes everything before it joins unless all its assignors are cooperative."
            " Seeded: onJoinPrepare always keeps what the member owns, as in a cooperative one."
        ),
        scope={"members": 2, "generations": 2, "records": 0},
        seeds=(_eager_member_keeps,),
    ),
    Mutation(
        id="first_assignor_decides",
        ticket="twmb/franz-go v1.13.0",
        title="A member with assignors of both kinds is cooperative because of the first of them.",
        family=UPGRADE,
        invariant="hand_off",
        doc=(
            "After the first bounce a process lists cooperative-sticky before range, and the group"
            " still uses range, because others list nothing else. The member kept its partitions"
            " while it joined, and the eager leader gave them away. Kafka's client takes the"
            " highest protocol that all its assignors support, so it stays eager. Seeded: the first"
            " assignor decides."
        ),
        scope={
            "members": 3,
            "generations": 2,
            "records": 0,
            "faults": {"close": 1, "bounce": 1},
        },
        seeds=(_first_assignor_decides,),
    ),
    Mutation(
        id="one_bounce_let_in",
        ticket=SEEDED,
        title="A process that lists cooperative-sticky alone is let into a group that uses range.",
        family=UPGRADE,
        invariant="hand_off",
        doc=(
            "With one bounce instead of two, a cooperative member meets eager ones that do not list"
            " its assignor. Kafka answers 23 (supportsProtocols). Seeded: it is let in, and keeps"
            " its partitions while a leader shares them that does not look at claims."
        ),
        scope={
            "members": 3,
            "generations": 2,
            "records": 0,
            "protocols": "range|cooperative-sticky|range",
            "faults": {"close": 1},
        },
        seeds=(_anybody_is_let_in,),
    ),
)
