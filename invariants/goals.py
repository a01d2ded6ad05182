"""Situations that the cover scopes of a variant must meet: each phase of the group, and the
dangerous moments that the invariants are about.

Outcomes of rules (every answer with its error code) are counted without goals. A goal describes
what only a state shows.
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


@goal(source="ClassicGroupState", of=CLASSIC_GROUP)
def preparing(core: Core) -> bool:
    """The group is in PreparingRebalance: a round is collecting JoinGroups."""
    return core.phase == Phase.PREPARING


@goal(source="ClassicGroupState", of=CLASSIC_GROUP)
def completing(core: Core) -> bool:
    """The group is in CompletingRebalance: a generation has begun and waits for its assignment."""
    return core.phase == Phase.COMPLETING


@goal(source="ClassicGroupState", of=CLASSIC_GROUP)
def stable(core: Core) -> bool:
    """The group is Stable: the generation has its assignment."""
    return core.phase == Phase.STABLE


@goal(source="ClassicGroupState", of=CLASSIC_GROUP)
def empty_again(core: Core) -> bool:
    """The group is Empty again after at least one generation."""
    return core.phase == Phase.EMPTY and core.generation > 0


@goal(of=CLASSIC_GROUP)
def together(a: Annotated[bool, "in_place[i]"], b: Annotated[bool, "in_place[j]"]) -> bool:
    """Two members are STABLE in the current generation at the same time."""
    return a and b


@goal(source="KIP-394; protocol: ids handed out and never used", of=CLASSIC_GROUP)
def ghost_id(seats: Annotated[Seats, "seats[i]"], client: Annotated[Client, "client[i]"]) -> bool:
    """The coordinator remembers a member id that its process has forgotten or never received."""
    return any(id != client.id for id, _ in seats)


@goal(source="protocol: C2 with zombies", of=CLASSIC_GROUP)
def zombie_owner(a: Annotated[int, "standing[i]"], b: Annotated[int, "zombie[j]"]) -> bool:
    """A process that is no longer a member still believes that it owns a partition that a member of
    the current generation owns. This is expected; it ends with the next answer that the process
    receives.
    """
    return bool(a & b)


@goal(source="protocol: C2 with a delayed JoinGroup", of=CLASSIC_GROUP)
def late_join_overlap(
    a: Annotated[int, "standing[i]"], b: Annotated[int, "left_behind[j]"]
) -> bool:
    """The coordinator counts a process as a member of the current generation because of a late
    JoinGroup. The process does not know of that generation and still owns a partition that another
    member owns now. This is expected; it ends with the next answer that the process receives.
    """
    return bool(a & b)


@goal(source="KAFKA-20938; protocol: K11", of=CLASSIC_GROUP)
def superseded(link: Link) -> bool:
    """A member waits for the answer to a parked request that the coordinator will never answer: a
    later request has replaced it, or the member was removed while it waited in SyncGroup.
    """
    return link.parked is not None and link.orphaned


@goal(of=CLASSIC_GROUP)
def leave_behind_parked(link: Link) -> bool:
    """A LeaveGroup is queued behind a parked request."""
    return any(isinstance(request, LeaveGroup) for request in link.queue)


@goal(of=CLASSIC_GROUP)
def commit_behind_join(link: Link) -> bool:
    """An OffsetCommit is queued behind a parked JoinGroup."""
    return isinstance(link.parked, JoinGroup) and any(
        isinstance(request, OffsetCommit) for request in link.queue
    )


@goal(source="protocol: at-least-once window", of=CLASSIC_GROUP)
def processed_twice(offsets: Offsets, client: Client) -> bool:
    """A member is about to process a record that was processed before."""
    return 0 <= client.position < offsets.processed


@goal(of=CLASSIC_GROUP)
def told_to_rejoin(client: Client) -> bool:
    """A STABLE member has been told to join again and has not sent JoinGroup yet."""
    return client.state == Member.STABLE and client.rejoin


@goal(of=CLASSIC_GROUP)
def unheard_member(
    core: Core, seats: Annotated[Seats, "seats[i]"], client: Annotated[Client, "client[i]"]
) -> bool:
    """A generation has begun, and one of its members does not know of it yet."""
    return (
        core.phase >= Phase.COMPLETING
        and is_member(seats[client.id])
        and client.generation != core.generation
    )
