"""The types of a group as assignors are asked about it."""

from __future__ import annotations

from typing import Annotated

from attrs import frozen

from groupcheck.oracles.show.json_schemas import ABSENT, Count


@frozen(kw_only=True)
class Member:
    """One member."""

    subscribes: Annotated[list[str], "Its topics."]
    claims: Annotated[list[str], "The partitions that it claims."] = ABSENT
    generation: Annotated[int, "The generation of its claims."] = ABSENT
    told: Annotated[int, "The generation in the subscription itself, if it is another."] = ABSENT
    instance: Annotated[str, "Its group.instance.id."] = ABSENT
    rack: Annotated[str, "Its rack."] = ABSENT


@frozen(kw_only=True)
class Group:
    """A group as an assignor is asked about it."""

    topics: Annotated[dict[str, Count], "Topic -> number of partitions."]
    members: Annotated[
        dict[str, Member],
        "Member -> what it subscribes to and claims, in the order in which the assignor sees them.",
    ]
    racks: Annotated[dict[str, list[list[str]]], "Topic -> racks of each partition's replicas."] = (
        ABSENT
    )
