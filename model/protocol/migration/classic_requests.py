"""Requests of the classic protocol to a consumer group (GroupMetadataManager, methods
`classicGroup...ToConsumerGroup`): epochs are generations, and the target comes from the
coordinator.

A JoinGroup is a heartbeat that is accepted: after its own checks it takes the rules of heartbeats.
Left out: subscriptions that cannot be read, protocols that not all members have (23), a LeaveGroup
of several members.
"""

from __future__ import annotations

from collections.abc import Iterator

from groupcheck.model.engine import evolve, urgent
from groupcheck.model.protocol.codes import (
    GROUP_MAX_SIZE_REACHED,
    ILLEGAL_GENERATION,
    INCONSISTENT_GROUP_PROTOCOL,
    MEMBER_ID_REQUIRED,
    REBALANCE_IN_PROGRESS,
    UNKNOWN_MEMBER_ID,
)
from groupcheck.model.protocol.consumer.heartbeats import full, replaced
from groupcheck.model.protocol.consumer.memory import (
    Collect,
    Convert,
    Core,
    Phase,
    Seat,
    State,
    without,
)
from groupcheck.model.protocol.consumer.messages import (
    Answer,
    HandedOutId,
    Kind,
    Link,
    Tag,
    answered,
    gone,
)
from groupcheck.model.protocol.consumer.reconciliation import reconciled
from groupcheck.model.protocol.consumer.scope import AS_KAFKA, MENDED
from groupcheck.model.protocol.consumer.subscriptions import bumps, noted
from groupcheck.model.protocol.migration.scope import MigrationScope

Handled = tuple[str, Core, Seat | None, Link]
CLASSIC = (Kind.JOIN_GROUP, Kind.SYNC_GROUP, Kind.CLASSIC_BEAT, Kind.LEAVE_GROUP)


def done(link: Link, code: int = 0, assigned: int | None = None) -> Link:
    """The request is answered."""
    return answered(link, Answer(code, assigned=assigned), explicit=False)


def downgraded(core: Core, phase: Phase, scope: MigrationScope) -> Core:
    """The group, which becomes a classic one if only classic members are left, and it may."""
    alone = core.exists and 0 < core.members == core.classics
    if not alone or not scope.downgrades:
        return core
    return evolve(core, errand=Convert(phase))


def left(core: Core, seat: Seat, scope: MigrationScope) -> Core:
    """A consumer group after a member was removed, which may make a classic group of it."""
    after = without(core, seat, settles=scope.release.settles_empty)
    return downgraded(after, Phase.PREPARING, scope)


def behind(core: Core, seat: Seat, scope: MigrationScope) -> bool:
    """Is there another target than the member has, or will there be one?"""
    by_target = scope.release.tells_of_targets and scope.k15 == AS_KAFKA
    return not seat.current or (core.pending and not by_target)


@urgent(
    "disabled",
    "full",
    "asked",
    "unknown",
    "added",
    "replaced",
    "joined",
    "converts",
    when=lambda link: (
        link.request is not None and not link.accepted and link.request.kind == Kind.JOIN_GROUP
    ),
)
def join_group(
    core: Core, seat: Seat | None, link: Link, scope: MigrationScope
) -> Iterator[Handled]:
    """A member joins with the classic protocol."""
    request = link.request
    assert request is not None
    if scope.release.keeps_classic_out and scope.policy == "disabled":
        yield "disabled", core, seat, done(link, INCONSISTENT_GROUP_PROTOCOL)
        return
    if not link.static and request.other and not full(core, seat, link, scope):
        told = evolve(done(link, MEMBER_ID_REQUIRED), handed_out=HandedOutId.FORGOTTEN)
        yield "asked", core, seat, told
        return
    if seat is None and not link.static and request.owned and scope.k31 == MENDED:
        yield "unknown", core, seat, done(link, UNKNOWN_MEMBER_ID)
        return
    if full(core, seat, link, scope):
        yield "full", core, seat, done(link, GROUP_MAX_SIZE_REACHED)
        return
    if link.static and not request.other and seat is None:
        yield "unknown", core, seat, done(link, UNKNOWN_MEMBER_ID)
        return
    before = seat or Seat()
    changes = bumps(before, request, core, scope)
    last = core.classics == core.members - 1 and not before.classic
    converts = link.static and seat is not None and last and scope.downgrades
    core = evolve(core, pending=core.pending or changes)
    if seat is None:
        label, core = "added", evolve(core, members=core.members + 1)
    elif request.other or (before.parked and scope.k38 == MENDED):
        label, before = "replaced", replaced(evolve(before, classic=True), request)
    else:
        label = "joined"
    core, after = noted(core, before, request, scope)
    core = evolve(core, classics=core.classics + (seat is None or not seat.classic))
    after = evolve(after, classic=True)
    after = evolve(after, part=evolve(after.part, claimed=request.owned or 0))
    link = evolve(link, handed_out=HandedOutId.NONE)
    if converts:
        release = scope.release
        stale = core.pending if release.notices_old_targets else changes
        rebalances = stale and release.rebalances_successor
        if not rebalances:
            after = reconciled(after, request.owned, core.held, bool(changes), release)
            rebalances = scope.k29 == MENDED
        core = downgraded(core, Phase.PREPARING if rebalances else Phase.STABLE, scope)
        yield "converts", core, after, done(link)
        return
    changed = after.topics != before.topics and label != "added"
    link = evolve(link, accepted=True, changed=changed, wrote=True)
    if core.pending and core.due:
        core = evolve(core, errand=Collect())
    yield label, core, after, link


@urgent(
    "unknown",
    "illegal_generation",
    "rebalancing",
    "assigned",
    when=lambda link: link.request is not None and link.request.kind == Kind.SYNC_GROUP,
)
def sync_group(
    core: Core, seat: Seat | None, link: Link, scope: MigrationScope
) -> Iterator[Handled]:
    """A classic member asks for what is assigned to it."""
    request = link.request
    assert request is not None
    if seat is None or not seat.classic:
        yield "unknown", core, seat, done(link, UNKNOWN_MEMBER_ID)
    elif seat.parked or request.tag != Tag.CURRENT:
        yield "illegal_generation", core, seat, done(link, ILLEGAL_GENERATION)
    elif behind(core, seat, scope) and seat.state != State.UNREVOKED:
        yield "rebalancing", core, evolve(seat, join=True), done(link, REBALANCE_IN_PROGRESS)
    else:
        after = evolve(seat, sync=False, session=True, short=True)
        yield "assigned", core, after, done(link, assigned=seat.assigned)


@urgent(
    "unknown",
    "illegal_generation",
    "rebalancing",
    "well",
    when=lambda link: link.request is not None and link.request.kind == Kind.CLASSIC_BEAT,
)
def classic_heartbeat(
    core: Core, seat: Seat | None, link: Link, scope: MigrationScope
) -> Iterator[Handled]:
    """A classic member says that it lives, and hears whether it has to join again."""
    request = link.request
    assert request is not None
    if seat is None or not seat.classic:
        yield "unknown", core, seat, done(link, UNKNOWN_MEMBER_ID)
    elif seat.parked or request.tag != Tag.CURRENT:
        yield "illegal_generation", core, seat, done(link, ILLEGAL_GENERATION)
    else:
        seat = evolve(seat, session=True, short=True)
        free = not seat.target & ~seat.assigned & core.held
        released = seat.state == State.UNRELEASED and free
        if behind(core, seat, scope) or seat.state == State.UNREVOKED or released:
            yield "rebalancing", core, evolve(seat, join=True), done(link, REBALANCE_IN_PROGRESS)
        else:
            yield "well", core, seat, done(link)


@urgent(
    "unknown",
    "left",
    when=lambda link: link.request is not None and link.request.kind == Kind.LEAVE_GROUP,
)
def leave_group(
    core: Core, seat: Seat | None, link: Link, scope: MigrationScope
) -> Iterator[Handled]:
    """A member leaves with a LeaveGroup, whichever protocol it uses."""
    if seat is None:
        yield "unknown", core, seat, done(link, UNKNOWN_MEMBER_ID)
    else:
        yield "left", left(core, seat, scope), None, gone(done(link))


CLASSIC_RULES = (join_group, sync_group, classic_heartbeat, leave_group)
