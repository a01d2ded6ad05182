"""Situations that the cover scopes of the asynchronous rebalance must meet."""

from __future__ import annotations

from typing import Annotated

from groupcheck.model.engine import goal
from groupcheck.model.protocol.async_server.group import Core, Seats
from groupcheck.model.protocol.async_server.member import Client
from groupcheck.model.protocol.classic.client import Member
from groupcheck.model.protocol.classic.group import Phase
from groupcheck.model.protocol.family import ASYNC_SERVER

SOURCE = "asynchronous server-side rebalance"


@goal(source=f"{SOURCE}, step 1", of=ASYNC_SERVER)
def reports_are_collected(core: Core) -> bool:
    """The group waits for reports, and nobody has stopped for that."""
    return core.phase == Phase.PREPARING and core.missing > 0


@goal(source=f"{SOURCE}, step 4", of=ASYNC_SERVER)
def goes_on_meanwhile(
    core: Core,
    seats: Annotated[Seats, "seats[i]"],
    client: Annotated[Client, "client[i]"],
    other: Annotated[Client, "client[j]"],
) -> bool:
    """A member has stopped for a plan, and another one goes on with an unchanged share."""
    seat = seats[client.id]
    unchanged = seat is not None and seat.settled and client.state == Member.STABLE
    stopped = other.state == Member.PREPARING and core.phase == Phase.COMPLETING
    return stopped and unchanged and bool(client.owned)


@goal(of=ASYNC_SERVER)
def waits_for_a_partition(core: Core, seats: Seats) -> bool:
    """A member waits for a partition that its owner has not given up yet."""
    return any(seat.join and seat.share & core.withheld for _, seat in seats)


@goal(of=ASYNC_SERVER)
def mark_is_overtaken(core: Core, client: Client) -> bool:
    """Another round collects reports while a member is about to re-join for the last plan."""
    return core.phase == Phase.PREPARING and client.rejoin


@goal(of=ASYNC_SERVER)
def dies_between(
    core: Core, seats: Annotated[Seats, "seats[i]"], client: Annotated[Client, "client[i]"]
) -> bool:
    """A member that is marked lives no more."""
    return any(seat.marked and id != client.id for id, seat in seats)


@goal(of=ASYNC_SERVER)
def loaded_and_silent(core: Core, seats: Seats) -> bool:
    """A coordinator has loaded a member, and does not know yet what it owns."""
    return any(seat.loaded is not None for _, seat in seats)


@goal(of=ASYNC_SERVER)
def zombie_beside_owner(a: Annotated[int, "rightly[i]"], b: Annotated[int, "wrongly[j]"]) -> bool:
    """A process that was removed still believes that it owns a partition of a member. This is
    expected; it ends with the next answer that the process receives.
    """
    return bool(a & b)


@goal("all i", of=ASYNC_SERVER)
def all_own(owned: Annotated[int, "rightly[i]"], core: Core) -> bool:
    """Every process is a member with partitions, in a Stable group."""
    return core.phase == Phase.STABLE and bool(owned)
