"""How the coordinator handles a StreamsGroupHeartbeat (GroupMetadataManager.streamsGroupHeartbeat).

As in a consumer group, a heartbeat is checked and the member's record follows it; if the group is
ahead of its target, a walk over all members makes a new one; then the member is reconciled and
answered. What is wrong with the topology or its topics is no error: the answer has a status.

Left out: static members (from Kafka 4.4 on), warm-ups, which no released coordinator gives to
anybody, racks, tags and endpoints; requests that are malformed or come to a coordinator that is
loading (14) or is none (16).
"""

from __future__ import annotations

from collections.abc import Iterator

from groupcheck.model.engine import evolve, urgent
from groupcheck.model.protocol.codes import (
    COORDINATOR_NOT_AVAILABLE,
    FENCED_MEMBER_EPOCH,
    GROUP_ID_NOT_FOUND,
    GROUP_MAX_SIZE_REACHED,
    INVALID_REQUEST,
    UNKNOWN_MEMBER_ID,
)
from groupcheck.model.protocol.consumer.memory import (
    REST,
    Collect,
    Previous,
    State,
    Timer,
    Walk,
)
from groupcheck.model.protocol.consumer.messages import (
    Kind,
    Link,
    Tag,
    Undo,
    answered,
    gone,
    retagged,
)
from groupcheck.model.protocol.consumer.scope import MENDED
from groupcheck.model.protocol.streams.memory import (
    Configured,
    StreamsCore,
    StreamsSeat,
    Topics,
    forgotten,
    kept,
    placed,
    removed,
    unplaced,
)
from groupcheck.model.protocol.streams.messages import (
    Status,
    StreamsAnswer,
    StreamsLink,
    StreamsRequest,
    asks_to_stop,
)
from groupcheck.model.protocol.streams.reconciliation import reconciled
from groupcheck.model.protocol.streams.scope import StreamsScope

Handled = tuple[str, StreamsCore, StreamsSeat | None, StreamsLink]
REFUSED = {
    "absent": GROUP_ID_NOT_FOUND,
    "full": GROUP_MAX_SIZE_REACHED,
    "unknown": UNKNOWN_MEMBER_ID,
    "stale": FENCED_MEMBER_EPOCH,
    "invalid": INVALID_REQUEST,
}
OF_TOPICS = {
    Topics.READY: Status.NONE,
    Topics.NO_SOURCE: Status.MISSING_SOURCE_TOPICS,
    Topics.NO_CHANGELOG: Status.MISSING_INTERNAL_TOPICS,
    Topics.UNEQUAL: Status.INCORRECTLY_PARTITIONED_TOPICS,
}


def _answered(link: StreamsLink, answer: StreamsAnswer) -> StreamsLink:
    done = answered(link, answer, explicit=False)
    assert isinstance(done, StreamsLink)
    return evolve(done, creates=False)


def refused(
    core: StreamsCore, seat: StreamsSeat | None, request: StreamsRequest, scope: StreamsScope
) -> str:
    """Why a heartbeat with epoch >= 0 is refused; empty: it is accepted."""
    if request.kind == Kind.JOIN:
        takes_it = seat is not None and scope.release.admits_stored
        if scope.max_size is not None and core.members >= scope.max_size and not takes_it:
            return "full"
        # A topology is never replaced by the next one.
        return "invalid" if core.topology is not None and request.topology > core.topology else ""
    if not core.exists:
        return "absent"
    if seat is None:
        return "unknown"
    if request.tag == Tag.PREVIOUS:
        fits = request.owned is not None and not request.owned & ~seat.assigned
        return "" if fits else "stale"
    return "" if request.tag == Tag.CURRENT else "stale"


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
def streams_heartbeat(
    core: StreamsCore, seat: StreamsSeat | None, link: StreamsLink, scope: StreamsScope
) -> Iterator[Handled]:
    """The checks, and the member's record."""
    request = link.request
    assert isinstance(request, StreamsRequest)
    if why := refused(core, seat, request, scope):
        yield why, core, seat, _answered(link, StreamsAnswer(REFUSED[why]))
        return
    undo = Undo(core, seat) if link.fails else None
    joins = request.kind == Kind.JOIN
    label = "added" if seat is None else "rejoined" if joins else "accepted"
    delayed = core.delayed or (scope.delay and not core.members)
    changed = seat is None
    if seat is None:
        seat = StreamsSeat(process=link.process)
        core = evolve(core, members=core.members + 1)
    if joins:
        topology = request.topology if core.topology is None else core.topology
        behind = request.topology < topology
        changed = changed or behind != seat.behind
        core, seat = evolve(core, topology=topology), evolve(seat, behind=behind)
    creates = not core.exists
    seen = not creates and core.known == core.there
    core = evolve(
        core,
        exists=True,
        pending=core.pending or changed or not seen,
        known=core.there,
        delayed=delayed,
        configured=_configured(core, seen=seen, scope=scope),
    )
    link = evolve(link, accepted=True, creates=creates, wrote=changed or not seen, undo=undo)
    if core.pending and core.due and not core.delayed:
        core = evolve(core, errand=Collect(link.fails))
        seat, link = evolve(seat, asks=link.fails), evolve(link, wrote=True)
    yield label, core, seat, link


def _configured(core: StreamsCore, *, seen: bool, scope: StreamsScope) -> Configured:
    """The heartbeat that creates a group configures an object that is thrown away."""
    if not (scope.delay or scope.recalls) or not core.exists:
        return Configured.NO
    fits = seen and core.configured != Configured.NO
    return core.configured if fits else Configured.LATELY


@urgent("kept", "unrevoked", "advanced", "failed", when=lambda link: link.accepted)
def reconcile_streams_member(
    core: StreamsCore,
    seat: StreamsSeat | None,
    link: StreamsLink,
    walk: Walk,
    scope: StreamsScope,
) -> Iterator[tuple[str, StreamsCore, StreamsSeat | None, StreamsLink, Walk]]:
    """The member on its way to its target, and the answer (maybeReconcile)."""
    if core.errand is not None or walk != REST:
        return
    request = link.request
    assert request is not None and seat is not None
    seat = evolve(seat, asks=False)
    waits = core.pending and not core.delayed
    new = reconciled(seat, request.owned, core, scope, recalled=link.recalled if waits else 0)
    wrote = new != seat
    after = placed(core, seat, new) if wrote or link.wrote else core
    stops = asks_to_stop(link)
    if link.undo is not None and (wrote or link.wrote):
        core, stored = _undone(after, link.undo, stops=stops), link.undo.seat
        if stored is not None:
            assert isinstance(stored, StreamsSeat)
            stored = _with_timers(stored, seat, new, scope)
        failed = _answered(link, StreamsAnswer(COORDINATOR_NOT_AVAILABLE))
        yield "failed", core, stored, failed, walk
        return
    label = "kept"
    if wrote:
        label = "unrevoked" if new.state == State.UNREVOKED else "advanced"
        moved = new.previous in (Previous.ZERO, Previous.OLDER)
        first = seat.previous == Previous.NEW
        link = _known(gone(link) if first else retagged(link, moved))
    armed = Timer.ON if new.state == State.UNREVOKED else Timer.OFF
    told = request.kind == Kind.JOIN or new.assigned != seat.assigned
    if scope.repeats == MENDED and request.owned is not None:
        told = told or request.owned != new.assigned
    status = _status(after, new, stops=stops)
    answer = StreamsAnswer(assigned=new.assigned if told else None, status=status)
    # What the first heartbeat of a group asks is lost with the object in which it is noted.
    after = evolve(after, shutdown=after.shutdown or (stops and not link.creates))
    new = evolve(new, session=True, rebalance=armed if wrote else seat.rebalance)
    yield label, after, new, _answered(link, answer), walk


def _known(link: Link) -> StreamsLink:
    assert isinstance(link, StreamsLink)
    return link


def _status(core: StreamsCore, seat: StreamsSeat, *, stops: bool) -> Status:
    status = OF_TOPICS[core.known]
    if seat.behind:
        status |= Status.STALE_TOPOLOGY
    if core.pending:
        status |= Status.ASSIGNMENT_DELAYED
    if core.shutdown or stops:
        status |= Status.SHUTDOWN_APPLICATION
    return status


def _undone(tried: StreamsCore, undo: Undo, *, stops: bool) -> StreamsCore:
    """The group as it was; what is not in the log as the handler has left it."""
    core = undo.core
    assert isinstance(core, StreamsCore)
    shutdown = core.shutdown or (stops and core.exists)
    return evolve(unplaced(core, tried), delayed=tried.delayed, shutdown=shutdown)


def _with_timers(
    stored: StreamsSeat, seat: StreamsSeat, new: StreamsSeat, scope: StreamsScope
) -> StreamsSeat:
    """The record as it was; its timers as the handler has left them."""
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
    "left",
    "failed",
    when=lambda link: link.request is not None and link.request.kind == Kind.LEAVE,
)
def leave_streams_group(
    core: StreamsCore, seat: StreamsSeat | None, link: StreamsLink, scope: StreamsScope
) -> Iterator[Handled]:
    """A member leaves (epoch -1). Nobody checks its epoch. What it asks of the application counts
    even if it is no member.
    """
    if asks_to_stop(link) and core.exists:
        core = evolve(core, shutdown=True)
    if not core.exists or seat is None:
        why = "unknown" if core.exists else "absent"
        yield why, core, seat, _answered(link, StreamsAnswer(REFUSED[why]))
    elif link.fails:
        if scope.k14 != MENDED:
            seat = evolve(seat, session=False, rebalance=Timer.OFF)
        failed = _answered(link, StreamsAnswer(COORDINATOR_NOT_AVAILABLE))
        yield "failed", kept(core, seat, scope), seat, failed
    else:
        # A member that closes is followed by one with another id.
        left = forgotten(link, core, seat, scope) if scope.requests == "anybody" else gone(link)
        yield "left", removed(core, seat, scope), None, _answered(_known(left), StreamsAnswer())


REQUEST_RULES = (reconcile_streams_member, streams_heartbeat, leave_streams_group)
