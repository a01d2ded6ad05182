"""How the coordinator handles a ConsumerGroupHeartbeat (GroupMetadataManager).

The rules read the coordinator's memory and the link, never the client. One heartbeat takes several
urgent steps: it is checked and the member's record follows it; if the group is ahead of its target,
a walk over all members makes a new one (`targets`); then the member is reconciled and answered.

Regular expressions, but for one that means every topic and is resolved at once, are the feature
`regexes`. Left out: racks, which are kept and decide nothing; classic members; requests that are
malformed (42, 128) or come to a coordinator that is loading (14) or is none (16).
"""

from __future__ import annotations

from collections.abc import Iterator

from groupcheck.model.engine import evolve, urgent
from groupcheck.model.protocol.codes import (
    COORDINATOR_NOT_AVAILABLE,
    FENCED_INSTANCE_ID,
    FENCED_MEMBER_EPOCH,
    GROUP_ID_NOT_FOUND,
    GROUP_MAX_SIZE_REACHED,
    UNKNOWN_MEMBER_ID,
    UNRELEASED_INSTANCE_ID,
    UNSUPPORTED_ASSIGNOR,
)
from groupcheck.model.protocol.consumer.memory import (
    REST,
    Collect,
    Core,
    Previous,
    Seat,
    State,
    Timer,
    Walk,
    without,
)
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
from groupcheck.model.protocol.consumer.reconciliation import ALL, reconciled
from groupcheck.model.protocol.consumer.scope import MENDED, ConsumerScope
from groupcheck.model.protocol.consumer.subscriptions import bumps, named, noted, there, wanted
from groupcheck.model.protocol.consumer.votes import NAMES

Handled = tuple[str, Core, Seat | None, Link]
REFUSED = {
    "unsupported": UNSUPPORTED_ASSIGNOR,
    "absent": GROUP_ID_NOT_FOUND,
    "full": GROUP_MAX_SIZE_REACHED,
    "unknown": UNKNOWN_MEMBER_ID,
    "fenced": FENCED_INSTANCE_ID,
    "unreleased": UNRELEASED_INSTANCE_ID,
    "stale": FENCED_MEMBER_EPOCH,
}


def _answered(link: Link, answer: Answer, scope: ConsumerScope) -> Link:
    return answered(link, answer, explicit=scope.wire == "explicit")


def full(core: Core, seat: Seat | None, link: Link, scope: ConsumerScope) -> bool:
    """Is there no room for who asks (throwIfConsumerGroupIsFull)?"""
    assert link.request is not None
    if scope.max_size is None or core.members < scope.max_size:
        return False
    succeeds = link.static and scope.release.admits_successor
    return seat is None or (link.request.other and not succeeds)


def refused(core: Core, seat: Seat | None, link: Link, scope: ConsumerScope) -> str:
    """Why a heartbeat with epoch >= 0 is refused; empty: it is accepted."""
    request = link.request
    assert request is not None
    joins = request.kind == Kind.JOIN
    if request.assignor not in (None, *NAMES):
        return "unsupported"
    if not core.exists and not joins:
        return "absent"
    if full(core, seat, link, scope):
        return "full"
    if not joins and seat is None:
        return "unknown"
    if seat is None:
        return ""
    if not joins and request.other:
        return "fenced"
    if joins and link.static:
        same = scope.k3 == MENDED and not (link.apart or request.other)
        return "" if seat.parked or seat.classic or same else "unreleased"
    return "stale" if _stale(seat, request, scope) else ""


def replaced(seat: Seat, request: Request) -> Seat:
    """The record of a static member that takes the place of another one (replaceMember). Timers of
    the former member id find nothing to do, but the successor may have the same id.
    """
    began = evolve(seat, parked=False, previous=Previous.NEW, session=True, rebalance=Timer.OFF)
    began = evolve(began, current=False) if seat.classic else began
    return evolve(began, join=False, sync=False) if request.other else began


def _stale(seat: Seat, request: Request, scope: ConsumerScope) -> bool:
    """Is the epoch neither that of the record, nor the one before with an owned list that fits
    (throwIfConsumerGroupMemberEpochIsInvalid)?
    """
    if request.kind == Kind.JOIN:
        return not scope.release.rejoins and seat.previous != Previous.ZERO
    if seat.parked or request.tag in (Tag.OLD, Tag.AHEAD):
        return True
    fits = request.owned is not None and not request.owned & ~seat.assigned
    return request.tag == Tag.PREVIOUS and not fits


@urgent(
    *REFUSED,
    "added",
    "replaced",
    "rejoined",
    "accepted",
    when=lambda link: (
        link.request is not None
        and not link.accepted
        and link.request.kind in (Kind.JOIN, Kind.BEAT)
    ),
)
def consumer_heartbeat(
    core: Core, seat: Seat | None, link: Link, scope: ConsumerScope
) -> Iterator[Handled]:
    """The checks, and the member's record."""
    request = link.request
    assert request is not None
    if why := refused(core, seat, link, scope):
        yield why, core, seat, _answered(link, Answer(REFUSED[why]), scope)
        return
    undo = Undo(core, seat) if link.fails else None
    wrote = seat is None or core.stale
    asked = named(seat or Seat(), request, core, scope)
    pending = core.pending or core.stale or bumps(seat or Seat(), request, core, scope)
    if seat is None:
        label, seat = "added", Seat()
        pending = pending or (not core.exists and not scope.release.begins_at_target)
        core = evolve(core, exists=True, members=core.members + 1)
    elif request.kind == Kind.BEAT:
        label = "accepted"
    elif seat.parked or (link.static and seat.classic):
        label, wrote, seat = "replaced", True, replaced(seat, request)
    else:
        label = "rejoined"
    core, after = noted(evolve(core, pending=pending, stale=False), seat, request, scope)
    changed = after.topics != seat.topics or after.unresolved
    link = evolve(
        link,
        accepted=True,
        changed=changed and label not in ("added", "replaced"),
        wrote=wrote or after != seat,
        undo=undo,
    )
    seat = after
    if core.pending and core.due:
        core = evolve(core, errand=Collect(link.fails, asked))
        seat, link = evolve(seat, asks=link.fails), evolve(link, wrote=True)
    yield label, core, seat, link


@urgent("kept", "unrevoked", "advanced", "failed", when=lambda link: link.accepted)
def reconcile_member(
    core: Core, seat: Seat | None, link: Link, walk: Walk, scope: ConsumerScope
) -> Iterator[tuple[str, Core, Seat | None, Link, Walk]]:
    """The member on its way to its target, and the answer (maybeReconcile)."""
    if core.errand is not None or walk != REST:
        return
    request = link.request
    assert request is not None and seat is not None
    resumes = seat.resumes
    seat = evolve(seat, asks=False, resumes=False)
    exist = there(core, scope) if scope.regexes else ALL
    new = reconciled(seat, request.owned, core.held, link.changed, scope.release, exist)
    if not scope.keeps_epochs:
        new = evolve(new, fresh=0)
    wrote = new != seat
    if link.undo is not None and (wrote or link.wrote):
        core, stored = link.undo.core, link.undo.seat
        if stored is not None and not request.other:
            stored = _undone(stored, seat, new, scope)
        seat = stored
        answer = Answer(COORDINATOR_NOT_AVAILABLE)
        yield "failed", core, seat, _answered(link, answer, scope), walk
        return
    label = "kept"
    if wrote:
        label = "unrevoked" if new.state == State.UNREVOKED else "advanced"
        if seat.previous == Previous.NEW:
            link = retagged(link, False) if resumes else gone(link)
        else:
            link = retagged(link, new.previous in (Previous.ZERO, Previous.OLDER))
    armed = Timer.ON if new.state == State.UNREVOKED else Timer.OFF
    told = request.kind == Kind.JOIN or request.full or new.assigned != seat.assigned
    new = evolve(new, session=True, rebalance=armed if wrote else seat.rebalance)
    core = evolve(core, held=core.held & ~seat.owned | new.owned)
    answer = Answer(assigned=new.assigned if told else None)
    if scope.matches:
        link = evolve(link, wants=wanted(link, request, scope))
    if request.kind == Kind.JOIN and not request.unheard and scope.requests == "members":
        link = evolve(link, apart=request.other)
    yield label, core, new, _answered(link, answer, scope), walk


def _undone(stored: Seat, seat: Seat, new: Seat, scope: ConsumerScope) -> Seat:
    """The record as it was; its timers as the handler has left them. (Those of a member id that is
    not stored find nothing to do.)
    """
    rebalance = stored.rebalance
    if new != seat:
        if new.state == State.UNREVOKED:
            rebalance = rebalance if scope.k20 == MENDED else Timer.ON
        else:
            rebalance = rebalance if scope.k19 == MENDED else Timer.OFF
    return evolve(stored, session=True, rebalance=rebalance)


@urgent(
    "absent",
    "unknown",
    "fenced",
    "left",
    "parked",
    "failed",
    when=lambda link: link.request is not None and link.request.kind in (Kind.LEAVE, Kind.PARK),
)
def leave_consumer_group(
    core: Core, seat: Seat | None, link: Link, scope: ConsumerScope
) -> Iterator[Handled]:
    """A member leaves for good (epoch -1) or, with a group.instance.id, for a while (-2)."""
    request = link.request
    assert request is not None
    why = "absent" if not core.exists else "unknown" if seat is None else ""
    if seat is None or why:
        answer = Answer(REFUSED[why])
        yield why, core, seat, _answered(link, answer, scope)
    elif request.other:
        answer = Answer(FENCED_INSTANCE_ID)
        yield "fenced", core, seat, _answered(link, answer, scope)
    elif link.fails:
        kept = request.kind == Kind.PARK or scope.k14 == MENDED
        seat = seat if kept else evolve(seat, session=False, rebalance=Timer.OFF)
        answer = Answer(COORDINATOR_NOT_AVAILABLE)
        yield "failed", core, seat, _answered(link, answer, scope)
    elif request.kind == Kind.LEAVE:
        core = without(core, seat, settles=scope.release.settles_empty)
        yield "left", core, None, _answered(gone(link), Answer(), scope)
    else:
        core = evolve(core, held=core.held & ~seat.revoking)
        stale = Timer.OFF if seat.rebalance == Timer.OFF else Timer.STALE
        parked = evolve(seat, parked=True, revoking=0, fresh=0, current=False, rebalance=stale)
        parked = evolve(parked, resumes=seat.current or seat.resumes)  # it may leave twice
        if scope.kafka_20641 == MENDED and seat.state == State.UNREVOKED:
            parked = evolve(parked, state=State.STABLE)
        yield "parked", core, parked, _answered(link, Answer(), scope)


@urgent(when=lambda seat: seat is not None and seat.unresolved)
def resolve_pattern(
    core: Core, seat: Seat | None, link: Link, scope: ConsumerScope
) -> Iterator[tuple[Core, Seat | None, Link]]:
    """The group's regular expression is resolved once the heartbeat that brought it is answered
    (TopicRegexResolver, handleRegularExpressionsResult). That takes a while, which is left out.
    """
    if seat is not None and link.request is None:
        seat = evolve(seat, unresolved=False, pattern=scope.everything)
        yield evolve(core, pending=True, matching=core.matching + 1), seat, link


REQUEST_RULES = (resolve_pattern, reconcile_member, consumer_heartbeat, leave_consumer_group)
