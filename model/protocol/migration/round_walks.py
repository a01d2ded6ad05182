"""Another round of a classic group begins, or its JoinGroups are answered, as a walk over its
members (ClassicGroup; GroupMetadataManager.prepareRebalance, completeClassicGroupJoin).
"""

from __future__ import annotations

from collections.abc import Iterator

from attrs import frozen

from groupcheck.model.engine import evolve, urgent
from groupcheck.model.protocol.codes import (
    ILLEGAL_GENERATION,
    REBALANCE_IN_PROGRESS,
    UNKNOWN_MEMBER_ID,
)
from groupcheck.model.protocol.consumer.memory import (
    END,
    GHOSTS,
    NO_ROUND,
    REST,
    Core,
    Errand,
    Phase,
    Round,
    Seat,
    Walk,
    order,
)
from groupcheck.model.protocol.consumer.messages import Answer, Link, Request, Tag, gone
from groupcheck.model.protocol.migration.scope import MigrationScope

ROUNDS = (Phase.PREPARING, Phase.FIRST)
GATHERED = (Phase.COMPLETING, Phase.STABLE)


def is_open(core: Core) -> bool:
    """Is it a classic group that no walk over its members is changing?"""
    return core.phase is not None and core.errand is None


def refused(core: Core, seat: Seat | None, request: Request) -> tuple[str, int] | None:
    """Why a classic group refuses a SyncGroup or a Heartbeat: the outcome, and the error code."""
    if seat is None:
        return "unknown", UNKNOWN_MEMBER_ID
    if request.tag != Tag.CURRENT:
        return "illegal_generation", ILLEGAL_GENERATION
    return ("rebalancing", REBALANCE_IN_PROGRESS) if core.phase in ROUNDS else None


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


def complete(core: Core) -> bool:
    """Have all members joined (hasAllMembersJoined)?"""
    return core.waiting == core.members and not core.round.pending_joins


def gathers(core: Core) -> Core:
    """The join phase ends (completeClassicGroupJoin)."""
    return evolve(core, errand=Gather(elects=core.waiting > 0 and not core.round.led))


def first_round_ends(core: Core) -> tuple[str, Core]:
    """The time of a group's first round is over. It lasts as long again when members came meanwhile
    (GroupMetadataManager.tryCompleteInitialRebalanceElseSchedule).
    """
    if core.round.longer:
        return "longer", evolve(core, round=evolve(core.round, longer=False))
    return "ended", gathers(core)


def still_recorded(core: Core, scope: MigrationScope) -> bool:
    """Is the group still as its last record has it, after its round went on? Where anybody asks, a
    group in a round is not moved (`round_hooks.moves`), so that nothing is known of its record.
    """
    return core.round.recorded and scope.requests == "members"


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
    return none_left(core) if forgets else core


def none_left(core: Core, phase: Phase | None = None) -> Core:
    """A group without members, in which a timer of a former one may run on."""
    return Core(topics=core.topics, phase=phase, round=Round(join_timer=core.round.join_timer))


def without_member(core: Core, seat: Seat) -> Core:
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


@urgent(when=lambda me, walk: walk.at == me and isinstance(walk.errand, Prepare))
def prepare_member(
    walk: Walk, core: Core, seat: Seat | None, link: Link, scope: MigrationScope
) -> Iterator[tuple[Walk, Core, Seat | None, Link]]:
    """A member when another round begins."""
    errand = walk.errand
    assert isinstance(errand, Prepare)
    if seat is not None:
        core, seat, link = prepared(core, seat, link, errand)
    yield walk.passed(errand, scope.members), core, seat, link


def prepared(core: Core, seat: Seat, link: Link, errand: Prepare) -> tuple[Core, Seat | None, Link]:
    """The record of a member when another round begins."""
    if errand.drops and seat.part.owes_sync:
        return without_member(core, seat), None, gone(link)
    if seat.part.syncs:
        link = evolve(link, parked=Answer(REBALANCE_IN_PROGRESS))
    if errand.anew:
        seat = evolve(seat, assigned=0, target=0)
    return core, evolve(seat, part=evolve(seat.part, syncs=False, owes_sync=False)), link


@urgent(when=lambda core: isinstance(core.errand, Gather) and core.errand.elects)
def elect_leader(core: Core) -> Iterator[Core]:
    """The leader has not joined, or is gone: any of those that have joined may be the new one
    (maybeElectNewJoinedLeader).
    """
    for lead in range(core.waiting):
        yield evolve(core, errand=Gather(lead=lead))


@urgent(when=lambda me, walk: walk.at == me and isinstance(walk.errand, Gather))
def gather_member(
    walk: Walk, core: Core, seat: Seat | None, link: Link, scope: MigrationScope
) -> Iterator[tuple[Walk, Core, Seat | None, Link]]:
    """A member when the JoinGroups are answered. A static one stays without one."""
    errand = walk.errand
    assert isinstance(errand, Gather)
    if seat is not None:
        waited = seat.waits
        core, seat, link, errand = gathered(core, seat, link, errand)
        if core.waiting:
            link = _in_next_generation(link, waited, scope)
    yield walk.passed(errand, scope.members), core, seat, link


def _in_next_generation(link: Link, waited: bool, scope: MigrationScope) -> Link:
    """A process knows the new generation once it hears of it. Who missed it is a zombie."""
    if scope.requests == "anybody":
        return evolve(link, tag=Tag.CURRENT) if waited else link
    known = Tag.PREVIOUS if link.tag == Tag.CURRENT else link.tag
    return evolve(link, tag=known if waited else Tag.OLD)


def gathered(
    core: Core, seat: Seat, link: Link, errand: Gather
) -> tuple[Core, Seat | None, Link, Gather]:
    """The record of a member when the JoinGroups are answered."""
    if not seat.waits and not link.static:
        return without_member(core, seat), None, gone(link), errand
    leads = seat.part.leads
    if seat.waits:
        leads = leads if errand.lead is None else errand.lead == 0
        lead = None if errand.lead is None else errand.lead - 1
        errand = evolve(errand, lead=lead, joined=True)
        link = evolve(link, parked=Answer())
    elif errand.lead is not None:
        leads = False
    part = evolve(seat.part, leads=leads)
    if core.waiting:
        part = evolve(part, owes_sync=True, new=False)
    return core, evolve(seat, part=part, waits=False), link, errand


@urgent(when=lambda walk: walk.at == GHOSTS and isinstance(walk.errand, Prepare | Gather))
def round_of_ghosts(
    walk: Walk, core: Core, ghosts: tuple[Seat, ...]
) -> Iterator[tuple[Walk, Core, tuple[Seat, ...]]]:
    """Members whose processes are gone when another round begins, or the JoinGroups are answered.
    One that was parked before its process died counts like any other.
    """
    errand, after = walk.errand, []
    for ghost in ghosts:
        kept: Seat | None
        if isinstance(errand, Gather):
            core, kept, _, errand = gathered(core, ghost, Link(), errand)
        else:
            assert isinstance(errand, Prepare)
            core, kept, _ = prepared(core, ghost, Link(), errand)
        after += [] if kept is None else [kept]
    yield Walk(END, errand), core, order(after)


@urgent(
    "prepared",
    "emptied",
    "waiting",
    "completing",
    when=lambda walk: walk.at == END and isinstance(walk.errand, Prepare | Gather),
)
def round_moved(core: Core, walk: Walk, scope: MigrationScope) -> Iterator[tuple[str, Core, Walk]]:
    """All members are prepared, or their JoinGroups are answered (initNextGeneration)."""
    if isinstance(walk.errand, Prepare):
        recorded = still_recorded(core, scope) and not walk.errand.anew
        changed = evolve(core.round, pending_syncs=0, recorded=recorded, join_timer=True)
        core = evolve(core, phase=Phase.PREPARING, round=changed)
        # Without members the round has no time to wait: their rebalance timeouts make it.
        over = complete(core) or not core.members
        yield "prepared", gathers(core) if over else core, REST
    elif not core.members:
        last = core.round
        changed = evolve(NO_ROUND, pending_joins=last.pending_joins, orphans=last.orphans)
        yield "emptied", emptied(Core(topics=core.topics, phase=Phase.EMPTY, round=changed)), REST
    elif not core.waiting:
        yield "waiting", evolve(core, round=evolve(core.round, longer=False)), REST
    else:
        changed = evolve(
            core.round, pending_syncs=core.members, named=True, led=False, longer=False
        )
        changed = evolve(changed, join_timer=False, recorded=False)
        yield "completing", evolve(core, phase=Phase.COMPLETING, waiting=0, round=changed), REST


WALK = (prepare_member, gather_member, round_of_ghosts, round_moved)
