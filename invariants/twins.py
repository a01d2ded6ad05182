"""Two processes with one instance id (KIP-345): the later one has it, the earlier one is fenced."""

from __future__ import annotations

from typing import Annotated

from groupcheck.model.engine import goal, invariant
from groupcheck.model.protocol.classic.features.twins import FAMILY as TWINS
from groupcheck.model.protocol.classic.group import Seats


@invariant(
    source="ClassicGroup.replaceStaticMember; protocol: C13, S7",
    broken="{name} and another process have one instance id, and both are members",
    of=TWINS,
)
def twins_share_one_id(a: Annotated[Seats, "seats[i]"], b: Annotated[Seats, "seats[j]"]) -> bool:
    """Of two processes with the same instance id, at most one has a member id that the group knows.

    Why: both would be members, and the leader would share the partitions with two of them. The
    group record has one place for an instance.
    """
    return not (a.twin and b.twin and a.ids and b.ids)


@goal(source="protocol: C13; KIP-345", of=TWINS)
def replaced_twin_owns(
    mine: Annotated[Seats, "seats[i]"],
    a: Annotated[int, "zombie[i]"],
    theirs: Annotated[Seats, "seats[j]"],
    b: Annotated[int, "standing[j]"],
) -> bool:
    """Two processes with one instance id believe that they own the same partition: the later one
    got it with the id, and the earlier one has not heard yet that it is fenced.
    """
    return mine.twin and theirs.twin and bool(a & b)
