"""Static members in rows (KIP-345): ids that take the place of others, and the appends of their
records.
"""

from __future__ import annotations

from collections.abc import Iterator

from groupcheck.model.protocol.classic.features import takeover
from groupcheck.model.protocol.classic.features.twins import OTHERS, TWINS
from groupcheck.model.protocol.classic.group import Phase, Seat, Seats, unlogged
from groupcheck.model.protocol.messages import NO_ID, JoinGroup
from groupcheck.oracles.conform.row import Asks, Fires, Input, Memory, Outcome

Key = tuple[int, int]  # (process, id)


def instance(seats: Seats, me: int) -> str | None:
    """The instance id of a process; None if it is dynamic."""
    if not seats.static:
        return None
    return f"i{min(TWINS)}" if seats.twin else f"i{me}"


def instances(memory: Memory) -> set[str]:
    """The instance ids of all processes."""
    told = (instance(seats, me) for me, seats in enumerate(memory.seats))
    return {name for name in told if name is not None}


def key(me: int, id: int) -> Key:
    """Whose id it is, and which: at a twin there may be ids of the other one."""
    if id < OTHERS:
        return me, id
    other = next(twin for twin in TWINS if twin != me)
    return other, id - OTHERS


def renamed(before: Memory, now: Memory) -> dict[Key, Key]:
    """New id -> the id whose place it has taken in this step."""
    was, has = _holders(before), _holders(now)
    return {has[name]: was[name] for name in was.keys() & has.keys() if has[name] != was[name]}


def _holders(memory: Memory) -> dict[str, Key]:
    """Instance id -> the id that has it."""
    return {
        name: (me, id)
        for me, seats in enumerate(memory.seats)
        if (name := instance(seats, me)) is not None
        for id, _ in seats
    }


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


def record(memory: Memory) -> dict[Key, Seat]:
    """The members of the last group record."""
    return {
        key(me, id): seat for me, seats in enumerate(memory.seats) for id, seat in seats.durable
    }


def ends(given: Input) -> int | None:
    """The process whose takeover is replicated or fails."""
    rules = {r.name for r in takeover.MORE_RULES}
    return given.member if isinstance(given, Fires) and given.rule in rules else None


def remembered(memory: Memory) -> set[Key]:
    """The ids that were replaced, and that the coordinator still knows."""
    return {
        key(me, id)
        for me, seats in enumerate(memory.seats)
        for _, seat in seats
        for id in (seat.takes and seat.takes[0], seat.owed)
        if id is not None
    }
