"""Bugs that show only where two processes have one instance id."""

from __future__ import annotations

from collections.abc import Iterator

from groupcheck.model.mutations.mutation import SEEDED, Mutation, seeded
from groupcheck.model.protocol.classic.features.twins import meet_twin, tell_twin
from groupcheck.model.protocol.classic.group import Seats
from groupcheck.model.protocol.family import TWINS
from groupcheck.model.protocol.link import Link


@seeded(meet_twin)
def _joins_beside(
    theirs: Seats, mine: Seats, link: Link
) -> Iterator[tuple[str, Seats, Seats, Link]]:
    for label, *after in meet_twin.call(theirs, mine, link):
        if label == "fenced":
            yield label, *after


@seeded(tell_twin)
def _waits_on(mine: Seats, link: Link, theirs: Seats) -> Iterator[tuple[Seats, Link, Seats]]:
    yield from ()


MUTATIONS = (
    Mutation(
        id="twin_joins_beside",
        ticket="KAFKA-8500",
        title="A second process with the same instance id becomes a member beside the first one.",
        family=TWINS,
        invariant="twins_share_one_id",
        doc=(
            "In PreparingRebalance the second process was added, and the first one was not replaced"
            " (before 2.3.0). Seeded: in every phase, a JoinGroup without an id does not look for"
            " the id that its instance has."
        ),
        scope={"members": 2, "generations": 1},
        seeds=(_joins_beside,),
    ),
    Mutation(
        id="replaced_twin_waits_on",
        ticket=SEEDED,
        title="The process whose id another one has taken waits for an answer for ever.",
        family=TWINS,
        invariant="parked_is_remembered",
        doc=(
            "replaceStaticMember answers the JoinGroup or SyncGroup that is parked under the old id"
            " 82, over the connection of the process that sent it. Seeded: it does not."
        ),
        scope={"members": 2, "generations": 1},
        seeds=(_waits_on,),
    ),
)
