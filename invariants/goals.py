"""Situations that the cover scopes of a variant must meet: each phase of the group, and the
dangerous moments that the invariants are about.

The outcomes of rules (every answer with its error code) are counted by themselves; here stands what
shows only in a state.
"""

from __future__ import annotations

from typing import Annotated

from groupcheck.model.engine import goal
from groupcheck.model.protocol.classic.client import Client, Member
from groupcheck.model.protocol.classic.group import Core, Phase, Seats, is_member
from groupcheck.model.protocol.classic.offsets import Offsets
from groupcheck.model.protocol.family import CLASSIC_GROUP
from groupcheck.model.protocol.link import Link
from groupcheck.model.protocol.messages import JoinGroup, LeaveGroup, OffsetCommit


@goal(source="ClassicGroupState")
def preparing(core: Core) -> bool:
    """A round is collecting JoinGroups."""
    return core.phase == Phase.PREPARING


@goal(source="ClassicGroupState")
def completing(core: Core) -> bool:
    """A generation has begun and waits for its assignment."""
    return core.phase == Phase.COMPLETING


@goal(source="ClassicGroupState")
def stable(core: Core) -> bool:
    """The assignment is there."""
    return core.phase == Phase.STABLE


@goal(source="ClassicGroupState")
def empty_again(core: Core) -> bool:
    """Everybody has gone, the group is Empty in a later generation."""
    return core.phase == Phase.EMPTY and core.generation > 0


@goal
def together(a: Annotated[bool, "in_place[i]"], b: Annotated[bool, "in_place[j]"]) -> bool:
    """Two members have their shares of the same generation."""
    return a and b


@goal(source="KIP-394; protocol: ids handed out and never used")
def ghost_id(seats: Annotated[Seats, "seats[i]"], client: Annotated[Client, "client[i]"]) -> bool:
    """The coordinator remembers an id that its process has forgotten, or was never told."""
    return any(id != client.id for id, _ in seats)


@goal(source="protocol: C2 with zombies")
def zombie_owner(a: Annotated[int, "standing[i]"], b: Annotated[int, "zombie[j]"]) -> bool:
    """A process that was removed still believes to own what a current member owns. Expected: it
    ends with the zombie's next answer.
    """
    return bool(a & b)


@goal(source="protocol: C2 with a delayed JoinGroup")
def late_join_overlap(
    a: Annotated[int, "standing[i]"], b: Annotated[int, "left_behind[j]"]
) -> bool:
    """A late JoinGroup parked a member that never gave up its partitions: the group counts it in a
    generation it has not heard of, where another member owns them. Expected: it ends with the
    member's next answer.
    """
    return bool(a & b)


@goal(source="KAFKA-20938")
def superseded(link: Link) -> bool:
    """A parked request will never be answered: a later one took its place, or its member was
    removed while it waited for its share.
    """
    return link.parked is not None and link.orphaned


@goal
def leave_behind_parked(link: Link) -> bool:
    """A LeaveGroup stands unread behind a parked request."""
    return any(isinstance(request, LeaveGroup) for request in link.queue)


@goal
def commit_behind_join(link: Link) -> bool:
    """A commit stands unread behind a parked JoinGroup."""
    return isinstance(link.parked, JoinGroup) and any(
        isinstance(request, OffsetCommit) for request in link.queue
    )


@goal(source="protocol: at-least-once window")
def processed_twice(offsets: Offsets, client: Client) -> bool:
    """A member is about to process a record that somebody has processed before."""
    return 0 <= client.position < offsets.processed


@goal
def told_to_rejoin(client: Client) -> bool:
    """A Stable member knows that a round is running and has not joined it yet."""
    return client.state == Member.STABLE and client.rejoin


@goal
def unheard_member(
    core: Core, seats: Annotated[Seats, "seats[i]"], client: Annotated[Client, "client[i]"]
) -> bool:
    """The group counts a member in a generation that the member itself has not heard of."""
    return (
        core.phase >= Phase.COMPLETING
        and is_member(seats[client.id])
        and client.generation != core.generation
    )


GOALS = {
    CLASSIC_GROUP: (
        preparing,
        completing,
        stable,
        empty_again,
        together,
        ghost_id,
        zombie_owner,
        late_join_overlap,
        superseded,
        leave_behind_parked,
        commit_behind_join,
        processed_twice,
        told_to_rejoin,
        unheard_member,
    )
}
