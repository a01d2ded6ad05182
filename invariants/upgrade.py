"""Eager and cooperative members in one group, on the way from one protocol to the other
(KIP-429).
"""

from __future__ import annotations

from typing import Annotated, Any

from groupcheck.model.engine import goal, step_invariant
from groupcheck.model.protocol.classic import client as members
from groupcheck.model.protocol.classic import client_faults
from groupcheck.model.protocol.classic.client import Client
from groupcheck.model.protocol.classic.features.upgrade import COOPERATIVE, UpgradeScope
from groupcheck.model.protocol.classic.features.upgrade import FAMILY as UPGRADE
from groupcheck.model.protocol.classic.group import Core, Phase, Seats
from groupcheck.model.protocol.codes import INCONSISTENT_GROUP_PROTOCOL
from groupcheck.model.protocol.messages import NO_GENERATION, NO_ID


@step_invariant(
    "client",
    "keeps",
    rules=(
        members.send_join.name,
        client_faults.lose_response.name,
        client_faults.delay_request.name,
        client_faults.late_commit.name,
    ),
    source="KIP-429; ConsumerCoordinator.onJoinPrepare",
    broken="{name} sends JoinGroup, and what it owns is not what its rebalance protocol says",
    of=UPGRADE,
)
def joins_as_its_protocol_says(before: Any, after: Any) -> bool:
    """A cooperative member still owns its partitions when it sends JoinGroup. An eager one has
    given them up, and so has a cooperative one that has lost its generation or its id.

    Why: a leader takes what nobody claims for free. An eager member claims nothing.
    """
    client = before.client
    lost = client.generation == NO_GENERATION or client.id == NO_ID
    joins = after.client.state == members.Member.PREPARING
    kept = client.owned if before.keeps and not lost else 0
    return not joins or client.prepare == members.Prepare.DONE or bool(after.client.owned == kept)


@goal(source="ClassicGroup.supportsProtocols; KIP-429", of=UPGRADE)
def bounce_refused(
    core: Core, client: Annotated[Client, "client[i]"], keeps: Annotated[bool, "keeps[i]"]
) -> bool:
    """A process that lists `cooperative-sticky` alone has stopped because of error 23
    (INCONSISTENT_GROUP_PROTOCOL), and the group that does not support it goes on.
    """
    return keeps and client.failed == INCONSISTENT_GROUP_PROTOCOL and core.phase == Phase.STABLE


@goal(source="KIP-429; ClassicGroup.selectProtocol", of=UPGRADE)
def both_protocols_in_one_generation(
    core: Core,
    a: Annotated[bool, "in_place[i]"],
    b: Annotated[bool, "in_place[j]"],
    one: Annotated[bool, "keeps[i]"],
    other: Annotated[bool, "keeps[j]"],
) -> bool:
    """A Stable group has an eager and a cooperative member, in the middle of the second bounce."""
    return core.phase == Phase.STABLE and a and b and one and not other


@goal(source="KIP-429", of=UPGRADE)
def upgraded(core: Core, seats: Seats, keeps: bool, client: Client, scope: UpgradeScope) -> bool:
    """All processes are cooperative members of a Stable group that uses `cooperative-sticky`."""
    voted = core.assignor is not None and scope.assignors_listed[core.assignor]
    member = seats[client.id] is not None and client.generation == core.generation
    return core.phase == Phase.STABLE and voted == COOPERATIVE and member and keeps
