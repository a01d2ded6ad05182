"""Who owns what: shares of one generation, hand-off between members, and what a member believes.

The assignment that the coordinator stores may differ from what members believe. The partitions that
a process believes to be its own are `standing` if it is a member of the current generation,
`left_behind` if it is a member that does not know of the current generation yet, and `zombie` if it
is not a member.
"""

from __future__ import annotations

from typing import Annotated

from groupcheck.model.engine import invariant, view
from groupcheck.model.protocol.classic.client import NOTHING, Client, Member, Prepare
from groupcheck.model.protocol.classic.group import Core, Phase, Seat, Seats, is_member
from groupcheck.model.protocol.classic.offsets import Offsets
from groupcheck.model.protocol.classic.scope import Scope
from groupcheck.model.protocol.family import CLASSIC_GROUP
from groupcheck.model.protocol.messages import NO_GENERATION

TWICE = (
    1 << 31
)  # a bit that no partition has: the ids of one process were given the same partition twice


def current(core: Core, seats: Seats, client: Client) -> bool:
    """Is the member's id one of the group's members, and its generation the group's?"""
    return client.generation == core.generation and is_member(seats[client.id])


@view(of=CLASSIC_GROUP)
def standing(
    core: Core, seats: Annotated[Seats, "seats[i]"], client: Annotated[Client, "client[i]"]
) -> int:
    """The partitions (bit mask) that a member of the current generation believes it owns."""
    return client.owned if current(core, seats, client) else 0


@view(of=CLASSIC_GROUP)
def claims(
    core: Core,
    seats: Annotated[Seats, "seats[i]"],
    client: Annotated[Client, "client[i]"],
    scope: Scope,
) -> int:
    """The partitions (bit mask) that a cooperative member of the current generation said it owns,
    in the JoinGroup of that generation.
    """
    seat = seats[client.id]
    if seat is None or seat.claimed == NO_GENERATION:
        return 0
    return seat.owned if scope.cooperative and current(core, seats, client) else 0


@view(of=CLASSIC_GROUP)
def rightful(
    core: Core,
    seats: Annotated[Seats, "seats[i]"],
    client: Annotated[Client, "client[i]"],
    scope: Scope,
) -> int:
    """As `standing`, without what the coordinator cannot know of: partitions that a cooperative
    member has owned since an earlier generation, and that its last subscription does not name. A
    late JoinGroup may have replaced the subscription that did, or the member is static and has
    missed a round since.
    """
    if not current(core, seats, client):
        return 0
    seat = seats[client.id]
    if not scope.cooperative or seat is None:
        return client.owned
    # A STABLE member waits for no JoinGroup: one that is parked was late.
    known = client.state == Member.STABLE and not seat.join
    if known:
        return client.owned
    told = client.owned & seat.owned
    late = seats.static and _too_late(core, seat, scope)
    return told & seat.share if late else told


def _too_late(core: Core, seat: Seat, scope: Scope) -> bool:
    """Does a static member claim what it was given before a round in which it did not take part?
    The coordinator keeps such members, and the leader of that round went by their last
    subscription, which cannot name what they were given after it.
    """
    if core.phase != Phase.PREPARING:
        return seat.claimed < core.generation - 1
    return seat.claimed < core.generation or (seat.join and scope.has("fail_over"))


@view(of=CLASSIC_GROUP)
def in_place(
    core: Core, seats: Annotated[Seats, "seats[i]"], client: Annotated[Client, "client[i]"]
) -> bool:
    """Is the member STABLE in the current generation?"""
    return client.state == Member.STABLE and current(core, seats, client)


@view(of=CLASSIC_GROUP)
def left_behind(
    core: Core, seats: Annotated[Seats, "seats[i]"], client: Annotated[Client, "client[i]"]
) -> int:
    """The partitions (bit mask) that a member believes it owns although it does not know of the
    current generation.
    """
    return (
        client.owned if is_member(seats[client.id]) and client.generation != core.generation else 0
    )


@view(of=CLASSIC_GROUP)
def zombie(seats: Annotated[Seats, "seats[i]"], client: Annotated[Client, "client[i]"]) -> int:
    """The partitions (bit mask) that a process believes it owns although it is not a member, or has
    forgotten its member id.
    """
    return 0 if is_member(seats[client.id]) else client.owned


@view(of=CLASSIC_GROUP)
def stored(seats: Annotated[Seats, "seats[i]"]) -> int:
    """The partitions (bit mask) that the stored assignment gives to the ids of one process; with
    `TWICE` if it gives one of them twice.
    """
    total = 0
    for _, seat in seats:
        total |= seat.share | (TWICE if total & seat.share else 0)
    return total


@invariant(
    source="ConsumerPartitionAssignor; KAFKA-7026; protocol: C1 UniqueOwnerPerGeneration",
    of=CLASSIC_GROUP,
)
def one_owner(a: Annotated[int, "stored[i]"], b: Annotated[int, "stored[j]"]) -> bool:
    """In one generation, no partition is assigned to two members.

    Why: an assignor gives each partition to one member, and the coordinator stores the leader's
    assignment only.
    """
    return not a & b and not (a | b) & TWICE


@invariant(
    source=(
        "KIP-62, KIP-429; ConsumerCoordinator.onJoinPrepare; protocol: C2 and C3 NoOverlapInTime"
    ),
    of=CLASSIC_GROUP,
)
def hand_off(
    a: Annotated[int, "rightful[i]"],
    b: Annotated[int, "rightful[j]"],
    c: Annotated[int, "claims[i]"],
    d: Annotated[int, "claims[j]"],
) -> bool:
    """No two members of the current generation believe at the same time that they own the same
    partition.

    Why: an eager member gives up all partitions before it sends JoinGroup, and a round completes
    only when every member has joined or was removed. A cooperative member says in JoinGroup what it
    owns, and the leader gives that to nobody else before the member has revoked it. Processes
    outside the current generation are exempt: see the goals `zombie_owner` and `late_join_overlap`.
    So are cooperative members that both say they own the partition (`both_claim`): they owned it
    before this round, which ends that. So is a member if its last subscription did not name the
    partition when the leader gave it away. There are two reasons: the subscription came in a late
    JoinGroup, or the member is static and stayed in the group although it missed the round
    (`kept_owner_overlap`).
    """
    return not a & b & ~(c & d)


@invariant(
    source="ConsumerCoordinator.onJoinComplete; KAFKA-5154; protocol: C6 SameGenerationWhenStable",
    of=CLASSIC_GROUP,
)
def views_agree(
    core: Core, seats: Annotated[Seats, "seats[i]"], client: Annotated[Client, "client[i]"]
) -> bool:
    """In a Stable group, a STABLE member of the current generation owns exactly its share of the
    stored assignment, or will own it after onJoinComplete. Exempt is a member that does not take
    its share because it no longer subscribes to a topic in it, and one whose onPartitionsRevoked
    has thrown; both join again.

    Why: the SyncGroup answer of a generation carries the share, and a member accepts it only while
    it is in that generation.
    """
    threw = client.prepare == Prepare.DONE and client.granted == NOTHING
    if (
        client.refused
        or threw
        or core.phase != Phase.STABLE
        or client.state != Member.STABLE
        or not current(core, seats, client)
    ):
        return True
    seat = seats[client.id]
    return seat is not None and seat.share == (
        client.owned if client.granted == NOTHING else client.granted
    )


@invariant(
    source="SubscriptionState",
    broken="{name} has given up p{offsets.watched}, but still has a position in it",
    of=CLASSIC_GROUP,
)
def position_needs_ownership(offsets: Offsets, client: Client) -> bool:
    """A member has a position only in a partition that it owns.

    Why: a member drops the position when it gives up the partition. Otherwise it would commit the
    position over that of the new owner (librdkafka#2782).
    """
    return client.position < 0 or bool(client.owned >> offsets.watched & 1)
