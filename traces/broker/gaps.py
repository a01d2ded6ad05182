"""The lines that must be missing for the next one to fit: the cheapest way through the model's
coordinator.

Many logs are filtered (a search for `group g1` keeps most lines and drops those that begin with
`Group g1`), cut or pieced together. If no world explains a line, this module says which missing
lines would. The caller, who knows whether the log has such lines at all, judges whether that is
plausible.
"""

from __future__ import annotations

from collections.abc import Set
from heapq import heappop, heappush

from attrs import frozen

from groupcheck.model.protocol.classic.group import Phase
from groupcheck.traces.broker import phase_steps as steps
from groupcheck.traces.story.events import (
    AssignmentReceived,
    EmptyAssignment,
    Event,
    GroupEmptied,
    IdHandedOut,
    JoinRejected,
    MemberAdded,
    MemberExpired,
    MemberLeft,
    NotRejoined,
    NotSynced,
    RebalanceStarted,
    RoundOpen,
    RoundStuck,
    Stabilized,
    StaticReplaced,
)

MOST_LOST = 4
SEEN_COST, UNSEEN_COST = 100, 1

SENTENCES = {
    "RebalanceStarted": "Preparing to rebalance group ...",
    "Stabilized": "Stabilized group ...",
    "GroupEmptied": "Group ... is now empty",
    "AssignmentReceived": "Assignment received from leader ...",
    "NotRejoined": "Group ... removed dynamic members who haven't joined",
    "MemberLeft": "Member ... has left",
    "MemberExpired": "Member ... has failed",
    "IdHandedOut": "... joins group ... Created a new member id",
    "MemberAdded": "... joins group ... Adding to the group",
}
"""Kind of event -> its line, as readers know it."""


@frozen
class Place:
    """A state in which a group may be: a world, and how many generations later."""

    world: steps.World
    ahead: int = 0


def _moves(place: Place) -> list[tuple[str, Place]]:
    """The coordinator's possible next steps, each with the line that it would have printed."""
    moves: list[tuple[str, Place]] = []
    started = steps.start_round(place.world)
    if started is not None:
        moves.append(("RebalanceStarted", Place(started, place.ahead)))
    for anybody, name in ((True, "Stabilized"), (False, "GroupEmptied")):
        ended = steps.end_round(place.world, anybody)
        if ended is not None:
            moves.append((name, Place(ended, place.ahead + 1)))
    if steps.PHASE[place.world] == Phase.COMPLETING:
        led = steps.leader_syncs(place.world)
        if led is not None:
            moves.append(("AssignmentReceived", Place(led, place.ahead)))
    return moves


def fits(event: Event, world: steps.World, base: int | None, starts_in: frozenset[Phase]) -> bool:
    """Could this world print the event, as far as phase and generation are concerned? `starts_in`:
    the phases in which a round with its cause may begin.
    """
    phase = steps.PHASE[world]
    if isinstance(event, RebalanceStarted):
        return phase in starts_in and (base is None or base == event.generation)
    if isinstance(event, Stabilized | GroupEmptied):
        return phase == Phase.PREPARING and (base is None or base == event.generation - 1)
    if isinstance(event, AssignmentReceived):
        return phase == Phase.COMPLETING and (base is None or base == event.generation)
    if isinstance(event, EmptyAssignment | NotSynced):
        return phase in (Phase.COMPLETING, Phase.STABLE)
    if (
        isinstance(event, IdHandedOut | MemberAdded | JoinRejected | StaticReplaced)
        and event.phase is not None
    ):
        return phase == event.phase
    if isinstance(event, NotRejoined | RoundStuck) or (
        isinstance(event, RoundOpen) and event.phase is None
    ):
        return phase == Phase.PREPARING
    if isinstance(event, MemberExpired | MemberLeft) and not event.pending:
        return (
            phase == Phase.PREPARING
            if isinstance(event, MemberLeft) and event.late
            else phase != Phase.EMPTY
        )
    return True


def shortest_gap(
    worlds: frozenset[steps.World],
    base: int | None,
    event: Event,
    starts_in: frozenset[Phase],
    seen: Set[str],
) -> tuple[tuple[str, ...], Place] | None:
    """The lines that must be missing, and the group's state after them. Lines of kinds in
    `seen` are assumed missing last. None if more than a few lines are needed.
    """
    queue: list[tuple[int, int, tuple[str, ...], Place]] = []
    order = 0
    for world in sorted(worlds):
        heappush(queue, (0, order, (), Place(world)))
        order += 1
    done: set[Place] = set()
    while queue:
        cost, _, lost, place = heappop(queue)
        if fits(event, place.world, None if base is None else base + place.ahead, starts_in):
            return lost, place
        if place in done or len(lost) >= MOST_LOST:
            continue
        done.add(place)
        for silent in sorted(steps.silent_steps(frozenset({place.world})) - {place.world}):
            heappush(queue, (cost, order, lost, Place(silent, place.ahead)))
            order += 1
        for name, after in _moves(place):
            heappush(
                queue,
                (cost + (SEEN_COST if name in seen else UNSEEN_COST), order, (*lost, name), after),
            )
            order += 1
    return None
