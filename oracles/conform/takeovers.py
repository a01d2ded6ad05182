"""Static members in rows (KIP-345): ids that take the place of others, and the appends of their
records.
"""

from __future__ import annotations

from collections.abc import Iterator

from groupcheck.model.protocol.classic import takeover
from groupcheck.model.protocol.classic.group import Phase, Seats, unlogged
from groupcheck.model.protocol.messages import NO_ID, JoinGroup
from groupcheck.oracles.conform.rows import Asks, Fires, Input, Memory, Outcome

Key = tuple[int, int]  # (process, id)


def instance(seats: Seats, me: int) -> str | None:
    """The instance id of a process; None if it is dynamic."""
    return f"i{me}" if seats.static else None


def renamed(before: Memory, now: Memory) -> dict[Key, Key]:
    """New id -> the id whose place it has taken in this step."""
    found = {}
    for me, (was, seats) in enumerate(zip(before.seats, now.seats)):
        if seats.static and len(was.ids) == len(seats.ids) == 1:
            ((old, _),), ((new, _),) = was.ids, seats.ids
            if old != new:
                found[me, new] = me, old
    return found


def in_flight(memory: Memory) -> Iterator[tuple[int, bool]]:
    """The processes whose takeovers wait for their appends, each with whether a fail-over would
    find the record.
    """
    for me, seats in enumerate(memory.seats):
        for id, seat in seats:
            if seat.takes is not None:
                yield me, not unlogged(seats, id, seat)


def begins(before: Memory, given: Input, outcome: Outcome) -> bool:
    """Does a takeover append a record?"""
    if not isinstance(given, Asks) or not isinstance(given.request, JoinGroup):
        return False
    stays = before.core.phase == outcome.after.core.phase == Phase.STABLE
    return stays and given.request.id == NO_ID and bool(renamed(before, outcome.after))


def ends(given: Input) -> int | None:
    """The process whose takeover is replicated or fails."""
    rules = {r.name for r in takeover.MORE_RULES}
    return given.member if isinstance(given, Fires) and given.rule in rules else None


def remembered(seats: Seats, id: int) -> bool:
    """Is it an id that was replaced, and the coordinator still knows it?"""
    return any(seat.takes_from(id) or seat.owed == id for _, seat in seats)
