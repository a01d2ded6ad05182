"""The rounds of a classic group, step by step, where anybody asks (ClassicGroup and
GroupMetadataManager, methods `classicGroup...ToClassicGroup`): JoinGroups and SyncGroups are
parked, ids are handed out before they may join, the leader plans, and who is late is removed.

Who leads after the leader has gone is a matter of a hash order: nobody is marked then, until the
next JoinGroups are answered, and any of those that have joined may lead.
"""

from __future__ import annotations

from collections.abc import Iterator

from attrs import frozen

from groupcheck.model.engine import evolve, rule, urgent
from groupcheck.model.protocol.codes import (
    FENCED_INSTANCE_ID,
    MEMBER_ID_REQUIRED,
    REBALANCE_IN_PROGRESS,
    UNKNOWN_MEMBER_ID,
)
from groupcheck.model.protocol.consumer.memory import (
    GHOSTS,
    NO_ROUND,
    REST,
    Collect,
    Convert,
    Core,
    Errand,
    Phase,
    Round,
    RoundMember,
    Seat,
    Walk,
)
from groupcheck.model.protocol.consumer.messages import (
    Answer,
    HandedOutId,
    Kind,
    Link,
    Request,
    Tag,
    gone,
)
from groupcheck.model.protocol.faults import Budget
from groupcheck.model.protocol.migration.classic_group import ROUNDS, is_open, refused
from groupcheck.model.protocol.migration.classic_requests import Handled, done
from groupcheck.model.protocol.migration.scope import MigrationScope

GATHERED = (Phase.COMPLETING, Phase.STABLE)


@frozen
class Prepare(Errand):
    """Another round begins. SyncGroups that are parked are answered; `drops`: who has to send one
    is removed; `anew`: the last plan is gone.
    """

    anew: bool
    drops: bool = False


@frozen
class Gather(Errand):
    """JoinGroups are answered, and dynamic members that have sent none are removed. `elects`: a new
    leader has to be found; `lead`: which of those that have joined it is; None: the leader stays.
    """

    elects: bool = False
    lead: int | None = None
    joined: bool = False


def is_asked(link: Link, *kinds: Kind) -> bool:
    """Is a request of these kinds to be handled?"""
    return link.request is not None and link.request.kind in kinds


def complete(core: Core) -> bool:
    """Have all members joined (hasAllMembersJoined)?"""
    return core.waiting == core.members and not core.round.pending_joins


def gathers(core: Core) -> Core:
    """The join phase ends (completeClassicGroupJoin)."""
    return evolve(core, errand=Gather(elects=core.waiting > 0 and not core.round.led))


def onward(core: Core, *, expired: bool = False) -> Core:
    """After a member was parked or removed: another round begins, or the join phase ends, if it may
    (maybePrepareRebalanceOrCompleteJoin). `expired`: a first round ends with its last member.
    """
    if core.phase in GATHERED:
        return evolve(core, errand=Prepare(core.phase == Phase.COMPLETING))
    if complete(core) and core.phase in (ROUNDS if expired else (Phase.PREPARING,)):
        return gathers(core)
    return emptied(core)


def emptied(core: Core) -> Core:
    """An empty classic group is like none once it remembers no ids."""
    forgets = core.phase == Phase.EMPTY and not core.round.pending_joins
    return _none(core) if forgets else core


def _none(core: Core, phase: Phase | None = None) -> Core:
    """A group without members, in which a timer of a former one may run on."""
    return Core(topics=core.topics, phase=phase, round=Round(join_timer=core.round.join_timer))


def _with_pending_joins(core: Core, more: int) -> Core:
    return evolve(core, round=evolve(core.round, pending_joins=core.round.pending_joins + more))


def _parked(core: Core, seat: Seat, request: Request) -> tuple[Core, Seat]:
    """The JoinGroup of a member is parked, with what it subscribes to and says that it owns."""
    part = evolve(seat.part, claimed=request.owned or 0)
    led = core.round.led or part.leads
    core = evolve(core, waiting=core.waiting + (not seat.waits))
    core = evolve(core, round=evolve(core.round, led=led, recorded=False))
    return core, evolve(seat, waits=True, subscribed=request.subscribed or 0, part=part)


def _added(core: Core, request: Request) -> tuple[Core, Seat]:
    """A new member, which begins the group's first round if it is the first one."""
    first = core.phase in (None, Phase.EMPTY)
    if first:
        changed = evolve(core.round, join_timer=True, longer=False)
        core = evolve(Core(topics=core.topics, round=changed), phase=Phase.FIRST)
    longer = core.round.longer or (core.phase == Phase.FIRST and not first)
    leads = not core.members
    changed = evolve(core.round, longer=longer, named=core.round.named or leads)
    core = evolve(core, members=core.members + 1, classics=core.classics + 1, round=changed)
    seat = Seat(current=True, classic=True, short=True, part=RoundMember(leads=leads, new=True))
    return _parked(core, seat, request)


@urgent(
    "asked",
    "unknown",
    "added",
    "replaced",
    "returned",
    "parked",
    when=lambda link: is_asked(link, Kind.JOIN_GROUP),
)
def join_round(core: Core, seat: Seat | None, link: Link) -> Iterator[Handled]:
    """A JoinGroup to a classic group, or to none."""
    request = link.request
    if (core.phase is None and core.members) or core.errand is not None or request is None:
        return
    parks = evolve(link, request=None)
    if request.other and not link.static:
        if core.phase is None:
            core = _none(core, Phase.EMPTY)
        told = evolve(done(link, MEMBER_ID_REQUIRED), handed_out=HandedOutId.REMEMBERED)
        yield "asked", _with_pending_joins(core, 1), seat, told
    elif seat is not None:
        if request.other:
            yield from _replaced(core, seat, link)
            return
        same = (seat.part.claimed, seat.subscribed) == (request.owned or 0, request.subscribed)
        leads = seat.part.leads
        if core.phase in GATHERED and same and not (leads and core.phase == Phase.STABLE):
            yield "returned", core, seat, done(link)
            if core.round.named or core.phase == Phase.COMPLETING:
                return
            leads = True
        part = evolve(seat.part, leads=leads)
        core, seat = _parked(core, evolve(seat, part=part), request)
        yield "parked", onward(core), seat, parks
    elif (link.static and request.other) or link.handed_out == HandedOutId.REMEMBERED:
        core = _with_pending_joins(core, -(link.handed_out == HandedOutId.REMEMBERED))
        core, seat = _added(core, request)
        yield "added", onward(core), seat, evolve(parks, handed_out=HandedOutId.NONE)
    else:
        yield "unknown", core, seat, done(link, UNKNOWN_MEMBER_ID)


def _replaced(core: Core, seat: Seat, link: Link) -> Iterator[Handled]:
    """A static member comes back without its id, and gets another one; what it has parked before is
    fenced. In a stable group it has what it had, and the id that it had may still be awaited to
    send a SyncGroup (replaceStaticMember).
    """
    request = link.request
    assert request is not None
    fenced = Answer(FENCED_INSTANCE_ID) if seat.waits or seat.part.syncs else None
    part = evolve(seat.part, claimed=request.owned or 0, new=False, syncs=False, owes_sync=False)
    after = evolve(seat, subscribed=request.subscribed or 0, part=part)
    if core.phase == Phase.STABLE:
        yield "returned", core, after, done(link)
        return
    core, after = _parked(core, after, request)
    yield "replaced", onward(core), after, evolve(link, request=None, parked=fenced)


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
        seat = evolve(seat, part=evolve(seat.part, owes_sync=False, syncs=completes))
        if not completes:
            yield "assigned", core, seat, done(link, assigned=seat.assigned)
        elif seat.part.leads:
            yield "planned", evolve(core, errand=Collect()), seat, evolve(link, request=None)
        else:
            yield "parked", core, seat, evolve(link, request=None)


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


def _without(core: Core, seat: Seat) -> Core:
    """A classic group after a member was removed."""
    changed = evolve(
        core.round,
        named=core.round.named and not seat.part.leads,
        led=core.round.led and not seat.part.leads,
        pending_syncs=core.round.pending_syncs - seat.part.owes_sync,
        recorded=False,
    )
    return evolve(
        core,
        members=core.members - 1,
        classics=core.classics - 1,
        waiting=core.waiting - seat.waits,
        held=core.held & ~seat.claims,
        round=changed,
    )


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
        yield "left", onward(_without(core, seat)), None, _told_unknown(done(link), seat)
    elif link.handed_out == HandedOutId.REMEMBERED:
        after = onward(_with_pending_joins(core, -1))
        yield "withdrawn", after, None, evolve(done(link), handed_out=HandedOutId.NONE)
    else:
        yield "unknown", core, seat, done(link, UNKNOWN_MEMBER_ID)


@urgent(when=lambda link: is_asked(link, Kind.JOIN))
def begin_consumer_group(core: Core, link: Link) -> Iterator[tuple[Core, Link]]:
    """A first heartbeat to a classic group without members makes a new consumer group."""
    if core.phase == Phase.EMPTY and core.errand is None and not link.accepted:
        yield evolve(_none(core), errand=Convert(anew=True)), link


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
        after = onward(_without(core, seat), expired=True)
        yield "removed", after, None, _told_unknown(link, seat), left
    elif seat is None and link.handed_out == HandedOutId.REMEMBERED:
        core = _with_pending_joins(core, -1)
        ends = core.phase in ROUNDS and complete(core)
        after = gathers(core) if ends else emptied(core)
        yield "forgotten", after, None, evolve(link, handed_out=HandedOutId.NONE), left


@rule("longer", "ended", when=lambda budget: budget.allows("rebalance_timeout"))
def join_phase_over(core: Core, budget: Budget) -> Iterator[tuple[str, Core, Budget]]:
    """A round waits no longer for JoinGroups. The first one is made longer when members came. The
    timer of a round that a conversion has ended runs on. If the group is a classic one again, and
    stable, it removes all dynamic members (K37).
    """
    if core.phase not in (*ROUNDS, Phase.STABLE) or not core.round.join_timer:
        return
    left = budget.spend("rebalance_timeout")
    if core.phase == Phase.FIRST and core.round.longer:
        yield "longer", evolve(core, round=evolve(core.round, longer=False)), left
    else:
        yield "ended", gathers(core), left


@rule(when=lambda budget: budget.allows("sync_timeout"))
def sync_phase_over(core: Core, budget: Budget) -> Iterator[tuple[Core, Budget]]:
    """A classic group waits no longer for SyncGroups, and removes who has sent none."""
    if core.phase in GATHERED and core.round.pending_syncs:
        errand = Prepare(core.phase == Phase.COMPLETING, drops=True)
        yield evolve(core, errand=errand), budget.spend("sync_timeout")


@urgent(when=lambda me, walk: walk.at == me and isinstance(walk.errand, Prepare))
def prepare_member(
    walk: Walk, core: Core, seat: Seat | None, link: Link, scope: MigrationScope
) -> Iterator[tuple[Walk, Core, Seat | None, Link]]:
    """A member when another round begins."""
    errand = walk.errand
    assert isinstance(errand, Prepare)
    if seat is not None and errand.drops and seat.part.owes_sync:
        core, seat, link = _without(core, seat), None, gone(link)
    elif seat is not None:
        if seat.part.syncs:
            link = evolve(link, parked=Answer(REBALANCE_IN_PROGRESS))
        if errand.anew:
            seat = evolve(seat, assigned=0, target=0)
        seat = evolve(seat, part=evolve(seat.part, syncs=False, owes_sync=False))
    yield walk.passed(errand, scope.members), core, seat, link


@urgent(when=lambda walk: isinstance(walk.errand, Gather) and walk.errand.elects)
def elect_leader(core: Core, walk: Walk) -> Iterator[tuple[Core, Walk]]:
    """The leader has not joined, or is gone: any of those that have joined may be the new one
    (maybeElectNewJoinedLeader).
    """
    for lead in range(core.waiting):
        yield core, Walk(walk.at, Gather(lead=lead))


@urgent(when=lambda me, walk: walk.at == me and isinstance(walk.errand, Gather))
def gather_member(
    walk: Walk, core: Core, seat: Seat | None, link: Link, scope: MigrationScope
) -> Iterator[tuple[Walk, Core, Seat | None, Link]]:
    """A member when the JoinGroups are answered. A static one stays without one."""
    errand = walk.errand
    assert isinstance(errand, Gather)
    if seat is not None and not seat.waits and not link.static:
        core, seat, link = _without(core, seat), None, gone(link)
    elif seat is not None:
        leads = seat.part.leads
        if seat.waits:
            leads = leads if errand.lead is None else errand.lead == 0
            lead = None if errand.lead is None else errand.lead - 1
            errand = evolve(errand, lead=lead, joined=True)
            link = evolve(link, parked=Answer(), tag=Tag.CURRENT)
        elif errand.lead is not None:
            leads = False
        part = evolve(seat.part, leads=leads)
        if core.waiting:
            part = evolve(part, owes_sync=True, new=False)
        seat = evolve(seat, part=part, waits=False)
    yield walk.passed(errand, scope.members), core, seat, link


@urgent(
    "prepared",
    "emptied",
    "waiting",
    "completing",
    when=lambda walk: walk.at == GHOSTS and isinstance(walk.errand, Prepare | Gather),
)
def round_moved(core: Core, walk: Walk) -> Iterator[tuple[str, Core, Walk]]:
    """All members are prepared, or their JoinGroups are answered (initNextGeneration)."""
    if isinstance(walk.errand, Prepare):
        changed = evolve(core.round, pending_syncs=0, recorded=False, join_timer=True)
        core = evolve(core, phase=Phase.PREPARING, round=changed)
        # Without members the round has no time to wait: their rebalance timeouts make it.
        over = complete(core) or not core.members
        yield "prepared", gathers(core) if over else core, REST
    elif not core.members:
        changed = evolve(NO_ROUND, pending_joins=core.round.pending_joins)
        yield "emptied", emptied(Core(topics=core.topics, phase=Phase.EMPTY, round=changed)), REST
    elif not core.waiting:
        yield "waiting", evolve(core, round=evolve(core.round, longer=False)), REST
    else:
        changed = evolve(
            core.round, pending_syncs=core.members, named=True, led=False, longer=False
        )
        changed = evolve(changed, join_timer=False, recorded=False)
        yield "completing", evolve(core, phase=Phase.COMPLETING, waiting=0, round=changed), REST


@urgent(when=lambda link: link.parked is not None)
def nobody_hears_of_rounds(link: Link) -> Iterator[Link]:
    """Nobody waits for an answer to what was parked."""
    yield evolve(link, parked=None)


HANDLERS = (join_round, sync_round, beat_round, leave_round, begin_consumer_group)
WALK = (elect_leader, prepare_member, gather_member, round_moved)
TIMERS = (round_session_timeout, join_phase_over, sync_phase_over)
RULES = (*HANDLERS, *WALK, *TIMERS)
