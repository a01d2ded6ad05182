"""Static and dynamic members in one group: each member is treated as what it is."""

from __future__ import annotations

from typing import Annotated, Any

from groupcheck.model.engine import goal, step_invariant
from groupcheck.model.protocol.classic import coordinator, rounds
from groupcheck.model.protocol.classic.client import Client
from groupcheck.model.protocol.classic.features.mixed import FAMILY as MIXED
from groupcheck.model.protocol.classic.group import Core, Phase, Seats
from groupcheck.model.protocol.messages import NO_GENERATION


@step_invariant(
    "walk",
    "seats",
    rules=(rounds.answer_joins.name, rounds.dismiss_absent.name),
    source="GroupMetadataManager.completeClassicGroupJoin; ClassicGroup.notYetRejoinedMembers",
    broken="{name} is a dynamic member that has not joined, and the round keeps it",
    of=MIXED,
)
def absent_dynamic_members_go(before: Any, after: Any) -> bool:
    """A round that ends, or waits on for static members alone, keeps no dynamic member that has not
    joined.

    Why: nobody would ever replace it, and its partitions would have no owner.
    """
    if before.seats.static or after.walk == before.walk:
        return True
    joined = {id for id, seat in before.seats if seat.join}
    return {id for id, seat in after.seats if seat.member} <= joined


@step_invariant(
    "seats",
    rules=(coordinator.join_group.name,),
    source="KIP-345; GroupMetadataManager.classicGroupJoinNewStaticMember",
    broken="{name} is a static member, and is told to come again with an id",
    of=MIXED,
)
def static_joins_at_once(before: Any, after: Any) -> bool:
    """A static member is never told to come again with an id: its instance id tells it apart.

    Why: an id that was handed out and has not joined holds up the round. One of an instance that
    crashes then would have to expire first.
    """
    return not after.seats.static or all(seat.member for _, seat in after.seats)


@goal(source="KIP-345; GroupMetadataManager.completeClassicGroupJoin", of=MIXED)
def led_past_a_static_member(
    core: Core,
    a: Annotated[Seats, "seats[i]"],
    client: Annotated[Client, "client[i]"],
    b: Annotated[Seats, "seats[j]"],
) -> bool:
    """A dynamic member leads a Stable group, and a static one belongs to it that has not joined
    this generation, and does not know of it. The leader has shared the partitions with it.
    """
    behind = a.static and bool(a.ids) and NO_GENERATION < client.generation < core.generation
    return behind and core.phase == Phase.STABLE and not b.static and b.leader is not None
