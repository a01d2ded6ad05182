"""A process that starts looks for the coordinator first, and asks a broker that can answer."""

from __future__ import annotations

from typing import Annotated

from groupcheck.model.engine import goal, invariant
from groupcheck.model.protocol.classic.client import Client, Member
from groupcheck.model.protocol.classic.features.first_lookup import FAMILY as LOOKING
from groupcheck.model.protocol.classic.features.first_lookup import Brokers, Lookup
from groupcheck.model.protocol.link import Link


@invariant(
    source="NetworkClient.leastLoadedNode",
    broken="{name} asks a broker that it could not reach just now, and there are others",
    of=LOOKING,
)
def asks_least_loaded(lookup: Annotated[Lookup, "lookup[i]"]) -> bool:
    """A member never asks a broker whose connection has failed and that it has to leave alone.

    Why: it would never find the coordinator while one broker of its list is down.
    """
    return lookup.asked is None or not lookup.backing_off >> lookup.asked & 1


@invariant(
    source="AbstractCoordinator.ensureCoordinatorReady",
    broken="{name} sends JoinGroup and does not know yet who coordinates the group",
    of=LOOKING,
)
def looks_up_before_joining(
    client: Annotated[Client, "client[i]"], link: Annotated[Link, "link[i]"]
) -> bool:
    """A member that has not found the coordinator has sent nothing to it.

    Why: another broker answers 16 NOT_COORDINATOR, and the group never hears of the member.
    """
    nothing = client.state == Member.UNJOINED and link.parked is None and not link.queue
    return not link.seeks or nothing


@goal(source="NetworkClient.leastLoadedNode", of=LOOKING)
def asks_elsewhere(lookup: Annotated[Lookup, "lookup[i]"]) -> bool:
    """A member could not reach one broker, and asks another one for the coordinator."""
    return bool(lookup.backing_off) and lookup.asked is not None


@goal(source="KafkaApis.getCoordinator", of=LOOKING)
def brokers_disagree(lookup: Annotated[Lookup, "lookup[i]"], brokers: Brokers) -> bool:
    """A member asks a broker that does not know the coordinator yet, while another one does."""
    asked = lookup.asked
    knows = brokers.know | brokers.down
    return asked is not None and bool(brokers.know) and not knows >> asked & 1
