"""Whose heartbeats are heard stays a member, also while it waits for its share."""

from __future__ import annotations

from typing import Annotated, Any

from groupcheck.model.engine import goal, step_invariant
from groupcheck.model.protocol.classic import timers
from groupcheck.model.protocol.classic.client import NOTHING, Client
from groupcheck.model.protocol.classic.features.heartbeats import FAMILY as HEARD
from groupcheck.model.protocol.classic.features.heartbeats import reaches
from groupcheck.model.protocol.classic.group import Core, Seats


@step_invariant(
    "seats",
    "client",
    "link",
    rules=(timers.session_timeout.name,),
    source="KAFKA-10122; AbstractCoordinator.HeartbeatThread.run",
    broken="{name} was given its share, has not polled since, and is removed as if it were gone",
    of=HEARD,
)
def heard_while_it_waits(before: Any, after: Any, scope: Any) -> bool:
    """A member whose share was answered is not removed by its session timer because its application
    has not polled since. Not promised of members with `old_client`, nor of those whose connection
    leads to a former coordinator or to none.

    Why: the application may work for max.poll.interval.ms between two polls; its partitions would
    move, and move back with its next poll.
    """
    mine = before.client
    waits = reaches(before.link) and mine.granted != NOTHING and before.seats[mine.id] is not None
    return scope.old_client or not (waits and after.seats[mine.id] is None)


@goal(source="KAFKA-10122", of=HEARD)
def removed_before_it_polls(
    core: Core, client: Annotated[Client, "client[i]"], seats: Annotated[Seats, "seats[i]"]
) -> bool:
    """A member whose share was answered is no longer one, and has not polled since."""
    return client.granted != NOTHING and seats[client.id] is None and not core.loading
