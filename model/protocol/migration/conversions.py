"""A consumer group becomes a classic one, and a classic one a consumer group
(GroupMetadataManager.convertToClassicGroup, convertToConsumerGroup), as a walk over the members.
A record of a member stays what it is: in a classic group it says what was assigned last.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from groupcheck.model.engine import evolve, rule, urgent
from groupcheck.model.protocol.codes import GROUP_ID_NOT_FOUND, UNKNOWN_SERVER_ERROR
from groupcheck.model.protocol.consumer.heartbeats import REFUSED, refused
from groupcheck.model.protocol.consumer.memory import (
    END,
    GHOSTS,
    REST,
    Convert,
    Core,
    Phase,
    Previous,
    Seat,
    State,
    Timer,
    Walk,
    order,
)
from groupcheck.model.protocol.consumer.messages import Kind, Link, Tag, gone
from groupcheck.model.protocol.consumer.scope import AS_KAFKA, MENDED
from groupcheck.model.protocol.faults import Budget
from groupcheck.model.protocol.migration.classic_requests import Handled, done, downgraded, left
from groupcheck.model.protocol.migration.scope import MigrationScope

Values = dict[str, Any]


@urgent(
    "disabled",
    "full",
    "broken",
    "refused",
    "upgraded",
    when=lambda link: (
        link.request is not None and not link.accepted and link.request.kind == Kind.JOIN
    ),
)
def upgrade_group(
    core: Core, seat: Seat | None, link: Link, scope: MigrationScope
) -> Iterator[Handled]:
    """A first heartbeat to a classic group (validateOnlineUpgrade). Where the heartbeat is refused
    afterwards, the group stays a classic one, whose JoinGroups have been answered.
    """
    if core.phase is None or core.errand is not None:
        return
    if not scope.upgrades:
        yield "disabled", core, seat, done(link, GROUP_ID_NOT_FOUND)
    elif scope.max_size is not None and core.members > scope.max_size:
        yield "full", core, seat, done(link, GROUP_ID_NOT_FOUND)
    elif core.phase == Phase.FIRST and core.members and scope.k13 == AS_KAFKA:
        stays = evolve(core, errand=Convert(core.phase))
        yield "broken", stays, seat, done(link, UNKNOWN_SERVER_ERROR)
    elif why := refused(core, seat, link, scope):
        yield "refused", evolve(core, errand=Convert(core.phase)), seat, done(link, REFUSED[why])
    else:
        yield "upgraded", evolve(core, phase=None, exists=True, errand=Convert()), seat, link


def converted(seat: Seat, errand: Convert, claimed: int, scope: MigrationScope) -> Seat:
    """A member in the group of the other kind, or of the next generation. Its former timers run on:
    that of a SyncGroup that a downgrade has overtaken still removes the member once the group has
    been upgraded again.

    `claimed`: what any member of a classic group says that it owns. A leader gives nobody what
    another member owns; to revoke that is left to its owner.
    """
    with_members = scope.requests == "members"
    assigned = target = seat.assigned if errand.phase is None else seat.target
    of_others = claimed & ~seat.claims
    state, claims, revoking = State.STABLE, 0, 0
    if errand.round and with_members:
        assigned = target = target & ~of_others
        claims = seat.claims
    elif errand.phase is None and scope.k30 == MENDED:
        assigned &= ~of_others
        revoking = seat.claims & ~assigned
        state = State.STABLE if assigned == target else State.UNRELEASED
        state = State.UNREVOKED if revoking else state
    elif scope.k30 == MENDED:
        claims = seat.owned
    return evolve(
        seat,
        parked=False,
        resumes=False,
        current=True,
        state=state,
        previous=Previous.SAME,
        assigned=assigned,
        target=target,
        revoking=revoking,
        fresh=0,
        session=True,
        rebalance=Timer.OFF if seat.rebalance == Timer.OFF else Timer.STALE,
        classic=True,
        short=True,
        waits=seat.waits and errand.round and with_members,
        claims=claims,
    )


def _held(seat: Seat, errand: Convert) -> int:
    """What counts as held: in a consumer group what it has, in a classic one what it claims."""
    return errand.held | (seat.owned if errand.phase is None else seat.claims)


@urgent(when=lambda me, walk: walk.at == me and isinstance(walk.errand, Convert))
def convert_member(
    walk: Walk, core: Core, seat: Seat | None, link: Link, scope: MigrationScope
) -> Iterator[tuple[Walk, Core, Seat | None, Link]]:
    """A member is converted. The generation of a classic group is the epoch of the group, which
    members that are behind do not have.
    """
    errand = walk.errand
    assert isinstance(errand, Convert)
    if seat is not None:
        behind = core.pending or not seat.current
        # A plan is that of the generation that began when the JoinGroups were answered.
        if errand.phase is not None and not errand.round and behind and link.tag == Tag.CURRENT:
            link = evolve(link, tag=Tag.PREVIOUS)
        seat = converted(seat, errand, core.held, scope)
        errand = evolve(errand, held=_held(seat, errand))
    yield walk.passed(errand, scope.members), core, seat, link


@urgent(when=lambda walk: walk.at == GHOSTS and isinstance(walk.errand, Convert))
def convert_end(
    walk: Walk, core: Core, ghosts: tuple[Seat, ...], scope: MigrationScope
) -> Iterator[tuple[Walk, Core, tuple[Seat, ...]]]:
    """All members are converted, those last whose processes are gone."""
    errand = walk.errand
    assert isinstance(errand, Convert)
    after = [evolve(converted(g, errand, core.held, scope), waits=False) for g in ghosts]
    for ghost in after:
        errand = evolve(errand, held=_held(ghost, errand))
    yield Walk(END, errand), core, order(after)


@urgent(
    "upgraded",
    "downgraded",
    "assigned",
    "kept",
    when=lambda walk: walk.at == END and isinstance(walk.errand, Convert),
)
def group_converted(core: Core, walk: Walk) -> Iterator[tuple[str, Core, Walk]]:
    """The group has the other kind; or a classic group has a plan, or goes on as it was."""
    errand = walk.errand
    assert isinstance(errand, Convert)
    label = "downgraded" if core.phase is None else "kept"
    if errand.phase is None:
        label = "upgraded"
    elif errand.round:
        label = "assigned"
    core = evolve(core, phase=errand.phase, exists=errand.phase is None, held=errand.held)
    yield label, evolve(core, pending=False, waiting=0, due=True, stale=False), REST


def round_ends(before: Values, label: str, after: Values, scope: Any) -> Values:
    """`target_written` of a classic group: what the leader has planned is assigned."""
    core = after["core"]
    if core.phase is None:
        return after
    return {**after, "core": evolve(core, errand=Convert(Phase.STABLE, round=True))}


def removed(before: Values, label: str, after: Values, scope: Any) -> Values:
    """A member was removed."""
    if after["seat"] is not None or before["seat"] is None:
        return after
    return {**after, "core": downgraded(after["core"], Phase.PREPARING, scope)}


def uses_heartbeats(before: Values, label: str, after: Values, scope: Any) -> Values:
    """A classic member whose heartbeat of KIP-848 is accepted is none any more. What it has to
    revoke it is watched for from then on, which Kafka forgets (K36).
    """
    seat, link = after["seat"], after["link"]
    if not link.accepted or seat is None or not seat.classic:
        return after
    core = evolve(after["core"], classics=after["core"].classics - 1)
    seat, link = evolve(seat, classic=False), evolve(link, wrote=True)
    if scope.k36 == MENDED and seat.state == State.UNREVOKED:
        seat = evolve(seat, rebalance=Timer.ON)
    return {**after, "core": core, "seat": seat, "link": link}


def told(before: Values, label: str, after: Values, scope: Any) -> Values:
    """`reconcile_member` of a JoinGroup: its assignment is for the SyncGroup, and its timers are
    those of a classic member.
    """
    request, seat = before["link"].request, after["seat"]
    if request.kind != Kind.JOIN_GROUP:
        return {**after, "seat": evolve(seat, short=False)}
    link = after["link"]
    if link.answer is not None:
        link = evolve(link, answer=evolve(link.answer, assigned=None))
    kept = before["seat"].rebalance
    # A static member that is away comes back with an epoch; while it has to revoke, it keeps -2.
    away = seat.parked and seat.state == State.UNREVOKED
    # It has no timer for what it has to revoke; one of before means the epoch that it had.
    if kept == Timer.ON and label == "advanced":
        kept = Timer.STALE
    seat = evolve(
        seat, parked=away, rebalance=kept, join=False, sync=True, session=True, short=True
    )
    return {**after, "seat": seat, "link": link}


def loaded(before: Values, label: str, after: Values, scope: Any) -> Values:
    """The timers of a member after a load (K21)."""
    seat = after["seat"]
    if seat is None:
        return after
    short = seat.classic and scope.k21 != AS_KAFKA
    return {**after, "seat": evolve(seat, join=False, sync=False, short=short, waits=False)}


def moved(before: Values, label: str, after: Values, scope: Any) -> Values:
    """A classic group that is loaded is stable: its rounds are in no record."""
    core = after["core"]
    if core.phase is None:
        return after
    return {**after, "core": evolve(core, phase=Phase.STABLE, waiting=0)}


def of_consumer_group(before: Values, label: str, after: Values) -> Values | None:
    """Timers of a consumer group do nothing to a classic one."""
    return after if before["core"].phase is None else None


Expired = tuple[Core, Seat | None, Link, Budget]


@rule(when=lambda budget: budget.allows("join_timeout"))
def join_timeout(
    core: Core, seat: Seat | None, link: Link, budget: Budget, scope: MigrationScope
) -> Iterator[Expired]:
    """A classic member has been told to join again, and does not."""
    if core.phase is None and seat is not None and seat.join:
        yield left(core, seat, scope), None, gone(link), budget.spend("join_timeout")


@rule(when=lambda budget: budget.allows("sync_timeout"))
def sync_timeout(
    core: Core, seat: Seat | None, link: Link, budget: Budget, scope: MigrationScope
) -> Iterator[Expired]:
    """A classic member has joined, and sends no SyncGroup."""
    if core.phase is None and seat is not None and seat.sync:
        yield left(core, seat, scope), None, gone(link), budget.spend("sync_timeout")
