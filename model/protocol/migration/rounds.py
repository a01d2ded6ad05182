"""The rounds of a classic group, step by step (ClassicGroup and GroupMetadataManager, methods
`classicGroup...ToClassicGroup`): JoinGroups and SyncGroups are parked, ids are handed out before
they may join, the leader plans, and who is late is removed.

Who leads after the leader has gone is a matter of a hash order: nobody is marked then, until the
next JoinGroups are answered, and any of those that have joined may lead.
"""

from __future__ import annotations

from collections.abc import Iterator

from groupcheck.model.engine import evolve, rule, urgent
from groupcheck.model.protocol.codes import (
    FENCED_INSTANCE_ID,
    MEMBER_ID_REQUIRED,
    UNKNOWN_MEMBER_ID,
)
from groupcheck.model.protocol.consumer.memory import (
    Collect,
    Convert,
    Core,
    Phase,
    RoundMember,
    Seat,
)
from groupcheck.model.protocol.consumer.messages import (
    Answer,
    HandedOutId,
    Kind,
    Link,
    Request,
    gone,
)
from groupcheck.model.protocol.faults import Budget
from groupcheck.model.protocol.migration.classic_requests import Handled, done
from groupcheck.model.protocol.migration.round_walks import (
    GATHERED,
    ROUNDS,
    WALK,
    Prepare,
    complete,
    elect_leader,
    emptied,
    first_round_ends,
    gathers,
    is_open,
    none_left,
    onward,
    refused,
    still_recorded,
    without_member,
)
from groupcheck.model.protocol.migration.scope import MigrationScope


def is_asked(link: Link, *kinds: Kind) -> bool:
    """Is a request of these kinds to be handled?"""
    return link.request is not None and link.request.kind in kinds


def forgotten(core: Core) -> Core:
    """A classic group after the session of an id ended that it has handed out."""
    core = with_pending_joins(core, -1)
    ends = core.phase in ROUNDS and complete(core)
    return gathers(core) if ends else emptied(core)


def with_pending_joins(core: Core, more: int) -> Core:
    """With more ids that are handed out."""
    return evolve(core, round=evolve(core.round, pending_joins=core.round.pending_joins + more))


def _claiming(core: Core, seat: Seat, request: Request, scope: MigrationScope) -> tuple[Core, Seat]:
    """A member says what it subscribes to and what it owns. The leader gives that to nobody else.
    Where anybody asks, the plan is free.
    """
    claims = request.owned or 0
    seat = evolve(seat, subscribed=request.subscribed or 0, part=evolve(seat.part, claimed=claims))
    if scope.requests == "anybody":
        return core, seat
    return evolve(core, held=core.held & ~seat.claims | claims), evolve(seat, claims=claims)


def _parked(core: Core, seat: Seat, request: Request, scope: MigrationScope) -> tuple[Core, Seat]:
    """The JoinGroup of a member is parked, with what it subscribes to and says that it owns."""
    part = seat.part
    led = core.round.led or part.leads
    core = evolve(core, waiting=core.waiting + (not seat.waits))
    changed = evolve(core.round, led=led, recorded=still_recorded(core, scope))
    core = evolve(core, round=changed)
    return _claiming(core, evolve(seat, waits=True), request, scope)


def _added(core: Core, request: Request, scope: MigrationScope) -> tuple[Core, Seat]:
    """A new member, which begins the group's first round if it is the first one."""
    first = core.phase in (None, Phase.EMPTY)
    if first:
        changed = evolve(core.round, join_timer=True, longer=False)
        core = evolve(Core(topics=core.topics, round=changed), phase=Phase.FIRST)
    longer = core.round.longer or (core.phase == Phase.FIRST and not first)
    leads = not core.members
    named = core.round.named or leads
    changed = evolve(core.round, longer=longer, named=named, recorded=False)
    core = evolve(core, members=core.members + 1, classics=core.classics + 1, round=changed)
    seat = Seat(current=True, classic=True, short=True, part=RoundMember(leads=leads, new=True))
    return _parked(core, seat, request, scope)


def _asked(core: Core, link: Link) -> tuple[Core, Link]:
    """A dynamic member without an id is handed out one. If it was given an id before and has not
    heard of it, no process has that id any more.
    """
    orphans = core.round.orphans + (link.handed_out == HandedOutId.REMEMBERED)
    if core.phase is None:
        core = none_left(core, Phase.EMPTY)
    told = evolve(done(link, MEMBER_ID_REQUIRED), handed_out=HandedOutId.REMEMBERED)
    core = with_pending_joins(core, 1)
    return evolve(core, round=evolve(core.round, orphans=orphans)), told


@urgent(
    "asked",
    "unknown",
    "added",
    "replaced",
    "returned",
    "parked",
    when=lambda link: is_asked(link, Kind.JOIN_GROUP),
)
def join_round(
    core: Core, seat: Seat | None, link: Link, scope: MigrationScope
) -> Iterator[Handled]:
    """A JoinGroup to a classic group, or to none."""
    request = link.request
    if (core.phase is None and core.members) or core.errand is not None or request is None:
        return
    parks = evolve(link, request=None, lost=False)
    if request.other and not link.static:
        core, told = _asked(core, link)
        yield "asked", core, seat, told
    elif seat is not None:
        if request.other:
            yield from _replaced(core, seat, link, scope)
            return
        same = (seat.part.claimed, seat.subscribed) == (request.owned or 0, request.subscribed)
        leads = seat.part.leads
        if core.phase in GATHERED and same and not (leads and core.phase == Phase.STABLE):
            yield "returned", core, seat, done(link)
            if core.round.named or core.phase == Phase.COMPLETING:
                return
            leads = True
        part = evolve(seat.part, leads=leads)
        core, seat = _parked(core, evolve(seat, part=part), request, scope)
        yield "parked", onward(core), seat, parks
    elif (link.static and request.other) or link.handed_out == HandedOutId.REMEMBERED:
        core = with_pending_joins(core, -(link.handed_out == HandedOutId.REMEMBERED))
        core, seat = _added(core, request, scope)
        yield "added", onward(core), seat, evolve(parks, handed_out=HandedOutId.NONE)
    else:
        yield "unknown", core, seat, done(link, UNKNOWN_MEMBER_ID)


def _replaced(core: Core, seat: Seat, link: Link, scope: MigrationScope) -> Iterator[Handled]:
    """A static member comes back without its id, and gets another one; what it has parked before is
    fenced, which only anybody hears: the process that parked it is gone. In a stable group it has
    what it had, and the id that it had may still be awaited to send a SyncGroup
    (replaceStaticMember).
    """
    request = link.request
    assert request is not None
    waited = (seat.waits or seat.part.syncs) and scope.requests == "anybody"
    fenced = Answer(FENCED_INSTANCE_ID) if waited else None
    part = evolve(seat.part, new=False, syncs=False, owes_sync=False)
    core, after = _claiming(core, evolve(seat, part=part), request, scope)
    if core.phase == Phase.STABLE:
        yield "returned", core, after, done(link)
        return
    core = evolve(core, round=evolve(core.round, recorded=False))
    core, after = _parked(core, after, request, scope)
    parks = evolve(link, request=None, lost=False, parked=fenced)
    yield "replaced", onward(core), after, parks


@urgent(
    "unknown",
    "illegal_generation",
    "rebalancing",
    "parked",
    "planned",
    "assigned",
    when=lambda link: is_asked(link, Kind.SYNC_GROUP),
)
def sync_round(core: Core, seat: Seat | None, link: Link) -> Iterator[Handled]:
    """A SyncGroup to a classic group. The leader's has the plan."""
    request = link.request
    if request is None or not is_open(core):
        return
    if refusal := refused(core, seat, request):
        label, code = refusal
        yield label, core, seat, done(link, code)
    else:
        assert seat is not None
        pending = core.round.pending_syncs - seat.part.owes_sync
        core = evolve(core, round=evolve(core.round, pending_syncs=pending))
        completes = core.phase == Phase.COMPLETING
        parks = evolve(link, request=None, lost=False)
        seat = evolve(seat, part=evolve(seat.part, owes_sync=False, syncs=completes))
        if not completes:
            yield "assigned", core, seat, done(link, assigned=seat.assigned)
        elif seat.part.leads:
            yield "planned", evolve(core, errand=Collect()), seat, parks
        else:
            yield "parked", core, seat, parks


@urgent(
    "unknown",
    "illegal_generation",
    "rebalancing",
    "well",
    when=lambda link: is_asked(link, Kind.CLASSIC_BEAT),
)
def beat_round(core: Core, seat: Seat | None, link: Link) -> Iterator[Handled]:
    """A Heartbeat to a classic group."""
    request = link.request
    if request is None or not is_open(core):
        return
    if refusal := refused(core, seat, request):
        label, code = refusal
        yield label, core, seat, done(link, code)
    else:
        yield "well", core, seat, done(link)


def _told_unknown(link: Link, seat: Seat) -> Link:
    """The member is removed; a JoinGroup of it that is parked is answered."""
    return evolve(gone(link), parked=Answer(UNKNOWN_MEMBER_ID) if seat.waits else None)


@urgent("unknown", "withdrawn", "left", when=lambda link: is_asked(link, Kind.LEAVE_GROUP))
def leave_round(core: Core, seat: Seat | None, link: Link) -> Iterator[Handled]:
    """A LeaveGroup to a classic group, of a member, or of an id that was handed out. A group that
    is stable begins another round even for the latter.
    """
    if not is_open(core):
        return
    if seat is not None:
        yield "left", onward(without_member(core, seat)), None, _told_unknown(done(link), seat)
    elif link.handed_out == HandedOutId.REMEMBERED:
        after = onward(with_pending_joins(core, -1))
        yield "withdrawn", after, None, evolve(done(link), handed_out=HandedOutId.NONE)
    else:
        yield "unknown", core, seat, done(link, UNKNOWN_MEMBER_ID)


@urgent(when=lambda link: is_asked(link, Kind.JOIN))
def begin_consumer_group(core: Core, link: Link) -> Iterator[tuple[Core, Link]]:
    """A first heartbeat to a classic group without members makes a new consumer group."""
    if core.phase == Phase.EMPTY and core.errand is None and not link.accepted:
        yield evolve(none_left(core), errand=Convert(anew=True)), link


Expired = tuple[str, Core, Seat | None, Link, Budget]


@rule("removed", "forgotten", when=lambda budget: budget.allows("session_timeout"))
def round_session_timeout(
    core: Core, seat: Seat | None, link: Link, budget: Budget
) -> Iterator[Expired]:
    """A classic group hears nothing from a member, or from an id that it has handed out
    (expireClassicGroupMemberHeartbeat). One whose first JoinGroup is parked is removed as well.
    """
    if core.phase is None:
        return
    left = budget.spend("session_timeout")
    if seat is not None and (seat.part.new or not (seat.waits or seat.part.syncs)):
        after = onward(without_member(core, seat), expired=True)
        yield "removed", after, None, _told_unknown(link, seat), left
    elif seat is None and link.handed_out == HandedOutId.REMEMBERED:
        yield "forgotten", forgotten(core), None, evolve(link, handed_out=HandedOutId.NONE), left


@rule("longer", "ended", when=lambda budget: budget.allows("rebalance_timeout"))
def join_phase_over(
    core: Core, budget: Budget, scope: MigrationScope
) -> Iterator[tuple[str, Core, Budget]]:
    """A round waits no longer for JoinGroups. Among members the first round ends without a fault
    (`round_members.first_round_over`). The timer of a round that a conversion has ended runs on. If
    the group is a classic one again, and stable, it removes all dynamic members (K37).
    """
    if core.phase not in (*ROUNDS, Phase.STABLE) or not core.round.join_timer:
        return
    left = budget.spend("rebalance_timeout")
    if core.phase != Phase.FIRST:
        yield "ended", gathers(core), left
    elif scope.requests == "anybody":
        yield *first_round_ends(core), left


@rule(when=lambda budget: budget.allows("sync_timeout"))
def sync_phase_over(core: Core, budget: Budget) -> Iterator[tuple[Core, Budget]]:
    """A classic group waits no longer for SyncGroups, and removes who has sent none."""
    if core.phase in GATHERED and core.round.pending_syncs:
        errand = Prepare(core.phase == Phase.COMPLETING, drops=True)
        yield evolve(core, errand=errand), budget.spend("sync_timeout")


@urgent(when=lambda link: link.parked is not None)
def nobody_hears_of_rounds(link: Link) -> Iterator[Link]:
    """Nobody waits for an answer to what was parked."""
    yield evolve(link, parked=None)


HANDLERS = (join_round, sync_round, beat_round, leave_round, begin_consumer_group)
TIMERS = (round_session_timeout, join_phase_over, sync_phase_over)
RULES = (*HANDLERS, elect_leader, *WALK, *TIMERS)
