"""Who owns what: shares of one generation, hand-off between members, and what a member believes.

What the coordinator stored for a generation and what members believe are two things. `standing`,
`left_behind` and `zombie` are what a process owns as a member of the current generation, as a
member that has not heard of the current generation yet, and as no member (any more).
"""

from __future__ import annotations

from typing import Annotated

from groupcheck.model.engine import invariant, view
from groupcheck.model.protocol.classic.client import NOTHING, Client, Member
from groupcheck.model.protocol.classic.group import Core, Phase, Seats, is_member
from groupcheck.model.protocol.classic.offsets import Offsets
from groupcheck.model.protocol.family import CLASSIC_GROUP

TWICE = (
    1 << 31
)  # a bit that no partition has: the ids of one process were given the same partition twice


def current(core: Core, seats: Seats, client: Client) -> bool:
    """Is the member's id one of the group's members, and its generation the group's?"""
    return client.generation == core.generation and is_member(seats[client.id])


@view
def standing(
    core: Core, seats: Annotated[Seats, "seats[i]"], client: Annotated[Client, "client[i]"]
) -> int:
    """The partitions (bit mask) that a member of the current generation believes to own."""
    return client.owned if current(core, seats, client) else 0


@view
def in_place(
    core: Core, seats: Annotated[Seats, "seats[i]"], client: Annotated[Client, "client[i]"]
) -> bool:
    """Has the member joined the current generation, and been given its share?"""
    return client.state == Member.STABLE and current(core, seats, client)


@view
def left_behind(
    core: Core, seats: Annotated[Seats, "seats[i]"], client: Annotated[Client, "client[i]"]
) -> int:
    """The partitions (bit mask) of a member that the group counts in a generation which the member
    has not heard of.
    """
    return (
        client.owned if is_member(seats[client.id]) and client.generation != core.generation else 0
    )


@view
def zombie(seats: Annotated[Seats, "seats[i]"], client: Annotated[Client, "client[i]"]) -> int:
    """The partitions (bit mask) that a process believes to own although it is no member, or has
    forgotten that it was.
    """
    return 0 if is_member(seats[client.id]) else client.owned


@view
def stored(seats: Annotated[Seats, "seats[i]"]) -> int:
    """The partitions (bit mask) that the stored assignment gives to the ids of one process; with
    `TWICE` if it gives one of them twice.
    """
    total = 0
    for _, seat in seats:
        total |= seat.share | (TWICE if total & seat.share else 0)
    return total


@invariant(source="ConsumerPartitionAssignor; KAFKA-7026")
def one_owner(a: Annotated[int, "stored[i]"], b: Annotated[int, "stored[j]"]) -> bool:
    """In one generation no partition is assigned to two members.

    Why: the leader's assignor partitions the topic's partitions; the coordinator stores what it is
    given, from the leader alone.
    """
    return not a & b and not (a | b) & TWICE


@invariant(source="KIP-62; AbstractCoordinator.onJoinPrepare")
def hand_off(a: Annotated[int, "standing[i]"], b: Annotated[int, "standing[j]"]) -> bool:
    """No two members of the current generation believe at the same time that they own the same
    partition.

    Why: an eager member gives up everything before JoinGroup, and a round completes only when
    everybody who counts as a member has joined. A process that the current generation does not know
    may still believe so: a zombie, see the goals `zombie_owner` and `late_join_overlap`.
    """
    return not a & b


@invariant(source="ConsumerCoordinator.onJoinComplete; KAFKA-5154")
def views_agree(
    core: Core, seats: Annotated[Seats, "seats[i]"], client: Annotated[Client, "client[i]"]
) -> bool:
    """In a Stable group, a member that has completed its join in the current generation owns
    exactly the share that was stored for it.

    Why: the share is sent with the SyncGroup answer of that generation, and installed only if the
    member still is of that generation.
    """
    if (
        core.phase != Phase.STABLE
        or client.state != Member.STABLE
        or not current(core, seats, client)
    ):
        return True
    seat = seats[client.id]
    return seat is not None and seat.share == (
        client.owned if client.granted == NOTHING else client.granted
    )


@invariant(source="SubscriptionState")
def position_needs_ownership(offsets: Offsets, client: Client) -> bool:
    """A member has a position only in a partition that it owns.

    Why: the position is dropped with the partition; one that outlived it would be committed over
    somebody else's (librdkafka#2782).
    """
    return client.position < 0 or bool(client.owned >> offsets.watched & 1)


VIEWS = {CLASSIC_GROUP: (standing, in_place, left_behind, zombie, stored)}
INVARIANTS = {CLASSIC_GROUP: (one_owner, hand_off, views_agree, position_needs_ownership)}
