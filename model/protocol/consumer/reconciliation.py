"""One member on the way to its target: CurrentAssignmentBuilder."""

from __future__ import annotations

from typing import TypeVar

from groupcheck.model.engine import evolve
from groupcheck.model.protocol.consumer.memory import Previous, Seat, State
from groupcheck.model.protocol.consumer.releases import Release

S = TypeVar("S", bound=Seat)
ALL = -1  # as a mask


def reconciled(
    seat: Seat,
    owned: int | None,
    held: int,
    changed: bool,
    release: Release,
    exist: int = ALL,
) -> Seat:
    """The member's record after a heartbeat (CurrentAssignmentBuilder.build). `owned`: what it says
    that it owns; `held`: what any member has; `changed`: its subscription did; `exist`: the topics
    that do.
    """
    topics = seat.topics & exist
    if seat.state == State.STABLE and seat.current:
        return _narrowed(seat, owned, topics, release) if changed and release.drops_topics else seat
    if seat.state == State.UNREVOKED and still_owns(owned, seat.revoking):
        return _narrowed(seat, None, topics, release) if changed and release.drops_topics else seat
    return _next(seat, owned, held, release, topics)


def still_owns(owned: int | None, some: int) -> bool:
    """May the member still have some of these?"""
    return bool(some) and (owned is None or bool(owned & some))


def _narrowed(seat: Seat, owned: int | None, topics: int, release: Release) -> Seat:
    """Topics that the member does not subscribe to any more are taken from it
    (updateCurrentAssignment).
    """
    dropped = seat.assigned & ~topics
    anew = release.writes_idle and not topics and not seat.revoking
    if not dropped and not anew:
        return seat
    kept = seat.assigned & ~dropped
    if still_owns(owned, dropped):
        written = evolve(
            seat, state=State.UNREVOKED, assigned=kept, revoking=seat.revoking | dropped
        )
    else:
        written = evolve(seat, assigned=kept)
    return stamped(written, seat, moved=False)


def _next(seat: Seat, owned: int | None, held: int, release: Release, topics: int) -> Seat:
    """What the member has to give up, or what it may take (computeNextAssignment)."""
    target = seat.target & topics if release.drops_topics else seat.target
    kept = seat.assigned & target
    gone = seat.assigned & ~kept
    wanted = target & ~kept
    taken = held & ~(seat.owned if release.keeps_own else seat.assigned)
    left_behind = seat.state == State.UNREVOKED and not release.keeps_epoch
    if still_owns(owned, gone):
        written = evolve(seat, state=State.UNREVOKED, assigned=kept, revoking=gone)
        return stamped(written, seat, moved=left_behind)
    blocked = wanted & taken
    assigned = kept | wanted & ~taken
    # Before KIP-1251, all that a member had counted as given with its epoch.
    fresh = assigned & ~kept if release.keeps_given else assigned
    written = evolve(
        seat,
        state=State.UNRELEASED if blocked else State.STABLE,
        current=True,
        assigned=assigned,
        revoking=0,
        fresh=fresh if not seat.current else fresh | seat.fresh & kept,
    )
    return stamped(written, seat, moved=not seat.current)


def stamped(written: S, before: Seat, *, moved: bool) -> S:
    """The previous epoch of a record that is written (updateMemberEpoch)."""
    if before.parked:
        previous = Previous.AWAY
    elif not moved:
        previous = Previous.NEW if before.previous == Previous.NEW else Previous.SAME
    elif before.previous == Previous.NEW:
        previous = Previous.ZERO
    else:
        previous = Previous.OLDER
    return evolve(written, previous=previous, fresh=written.fresh & written.owned)
