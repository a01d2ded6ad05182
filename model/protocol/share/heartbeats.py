"""How the coordinator handles a ShareGroupHeartbeat (GroupMetadataManager.shareGroupHeartbeat).

As in a consumer group, a heartbeat is checked and the member's record follows it; if the group is
ahead of its target, a walk over all members makes a new one; then the member is given its target at
once, because nobody has to revoke anything, and is answered. A heartbeat that finds partitions that
nobody has initialized asks the persister for them.

Left out: racks, which decide nothing; topics that are deleted; requests that are malformed (42) or
come to a coordinator that is loading (14) or is none (16).
"""

from __future__ import annotations

from collections.abc import Iterator

from groupcheck.model.engine import evolve, urgent
from groupcheck.model.protocol.codes import (
    COORDINATOR_NOT_AVAILABLE,
    FENCED_MEMBER_EPOCH,
    GROUP_ID_NOT_FOUND,
    GROUP_MAX_SIZE_REACHED,
    UNKNOWN_MEMBER_ID,
)
from groupcheck.model.protocol.consumer.memory import REST, Collect, Previous, Seat, Walk
from groupcheck.model.protocol.consumer.messages import (
    Answer,
    Kind,
    Link,
    Request,
    Tag,
    Undo,
    answered,
    gone,
    retagged,
)
from groupcheck.model.protocol.consumer.scope import MENDED
from groupcheck.model.protocol.share.memory import ShareCore, moved, removed
from groupcheck.model.protocol.share.scope import ShareScope

Handled = tuple[str, ShareCore, Seat | None, Link]
REFUSED = {
    "absent": GROUP_ID_NOT_FOUND,
    "full": GROUP_MAX_SIZE_REACHED,
    "unknown": UNKNOWN_MEMBER_ID,
    "stale": FENCED_MEMBER_EPOCH,
}


def _answered(link: Link, answer: Answer) -> Link:
    return answered(link, answer, explicit=False)


def refused(core: ShareCore, seat: Seat | None, request: Request, scope: ShareScope) -> str:
    """Why a heartbeat with epoch >= 0 is refused; empty: it is accepted."""
    joins = request.kind == Kind.JOIN
    if not core.exists and not joins:
        return "absent"
    if scope.max_size is not None and core.members >= scope.max_size and seat is None:
        return "full"
    if seat is None:
        return "" if joins else "unknown"
    stale = not joins and request.tag in (Tag.OLD, Tag.AHEAD)
    return "stale" if stale else ""


def lacks_partitions(core: ShareCore, scope: ShareScope) -> bool:
    """Has nobody some partition that is initialized, or somebody one that is not any more
    (initializedAssignmentPending)?
    """
    if not core.members:
        return False
    wanted = scope.topics_with(core.readers)
    return core.initialized & wanted != core.planned & wanted


@urgent(
    *REFUSED,
    "added",
    "rejoined",
    "accepted",
    when=lambda link: (
        link.request is not None
        and not link.accepted
        and link.request.kind in (Kind.JOIN, Kind.BEAT)
    ),
)
def share_heartbeat(
    core: ShareCore, seat: Seat | None, link: Link, scope: ShareScope
) -> Iterator[Handled]:
    """The checks, and the member's record."""
    request = link.request
    assert request is not None
    if why := refused(core, seat, request, scope):
        yield why, core, seat, _answered(link, Answer(REFUSED[why]))
        return
    undo = Undo(core, seat) if link.fails else None
    label = "added" if seat is None else "rejoined" if request.kind == Kind.JOIN else "accepted"
    pending = core.pending or core.stale or lacks_partitions(core, scope)
    wrote = core.stale or seat is None or (pending and not core.pending)
    if seat is None:
        seat = Seat()
        core = evolve(core, exists=True, members=core.members + 1)
    changed = request.subscribed is not None and request.subscribed != seat.subscribed
    if changed and request.subscribed is not None:
        core = moved(core, seat.subscribed, request.subscribed, scope.partitions)
        seat = evolve(seat, subscribed=request.subscribed)
    core = evolve(core, pending=pending or changed, stale=False)
    link = evolve(
        link,
        accepted=True,
        changed=core.pending,
        wrote=wrote or changed,
        undo=undo,
    )
    if core.pending and core.due:
        core = evolve(core, errand=Collect(link.fails))
        seat, link = evolve(seat, asks=link.fails), evolve(link, wrote=True)
    yield label, core, seat, link


def to_initialize(core: ShareCore, scope: ShareScope) -> int:
    """The partitions that the persister has to be asked for (subscribedTopicsChangeMap)."""
    known = core.initialized | (0 if core.overdue else core.initializing)
    return scope.topics_with(core.readers) & core.topics & ~known


@urgent("kept", "advanced", "failed", when=lambda link: link.accepted)
def assign_member(
    core: ShareCore, seat: Seat | None, link: Link, walk: Walk, scope: ShareScope
) -> Iterator[tuple[str, ShareCore, Seat | None, Link, Walk]]:
    """The member is given its target (ShareGroupAssignmentBuilder), the persister is asked for what
    is not initialized, and the heartbeat is answered.
    """
    if core.errand is not None or walk != REST:
        return
    request = link.request
    assert request is not None and seat is not None
    seat = evolve(seat, asks=False)
    new = seat
    if not seat.current or link.changed:
        new = evolve(seat, assigned=seat.target & seat.subscribed, current=True)
    if not seat.current:
        first = seat.previous == Previous.NEW
        new = evolve(new, previous=Previous.ZERO if first else Previous.OLDER)
    asks = to_initialize(core, scope)
    if link.undo is not None and (new != seat or link.wrote or asks):
        stored = link.undo.seat
        stored = stored if stored is None else evolve(stored, session=True)
        failed = _answered(link, Answer(COORDINATOR_NOT_AVAILABLE))
        yield "failed", _of(link.undo), stored, failed, walk
        return
    if asks:
        core = evolve(
            core,
            initializing=core.initializing | asks,
            asked=core.asked | asks,
            overdue=False,
        )
    if not seat.current:
        link = gone(link) if seat.previous == Previous.NEW else retagged(link, True)
    told = request.kind == Kind.JOIN or request.full or new.assigned != seat.assigned
    answer = Answer(assigned=new.assigned if told else None)
    label = "kept" if new == seat else "advanced"
    yield label, core, evolve(new, session=True), _answered(link, answer), walk


def _of(undo: Undo) -> ShareCore:
    assert isinstance(undo.core, ShareCore)
    return undo.core


@urgent(
    "absent",
    "unknown",
    "left",
    "failed",
    when=lambda link: link.request is not None and link.request.kind == Kind.LEAVE,
)
def leave_share_group(
    core: ShareCore, seat: Seat | None, link: Link, scope: ShareScope
) -> Iterator[Handled]:
    """A member leaves (epoch -1). Nobody checks its epoch."""
    if not core.exists or seat is None:
        why = "unknown" if core.exists else "absent"
        yield why, core, seat, _answered(link, Answer(REFUSED[why]))
    elif link.fails:
        seat = seat if scope.k14 == MENDED else evolve(seat, session=False)
        yield "failed", core, seat, _answered(link, Answer(COORDINATOR_NOT_AVAILABLE))
    else:
        core = removed(core, seat, scope)
        yield "left", core, None, _answered(gone(link), Answer())


REQUEST_RULES = (assign_member, share_heartbeat, leave_share_group)
