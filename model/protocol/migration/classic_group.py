"""The coordinator of a classic group whose members are there (ClassicGroup, GroupMetadataManager):
they join, the leader's plan is assigned, and who is late is removed. What a member owns according
to its JoinGroup nobody else gets in the same round, as a cooperative leader sees to.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from groupcheck.model.engine import evolve, rule, urgent
from groupcheck.model.protocol.codes import (
    ILLEGAL_GENERATION,
    REBALANCE_IN_PROGRESS,
    UNKNOWN_MEMBER_ID,
)
from groupcheck.model.protocol.consumer.memory import Collect, Core, Phase, Seat, order
from groupcheck.model.protocol.consumer.messages import Kind, Link, Request, Tag, gone
from groupcheck.model.protocol.faults import Budget
from groupcheck.model.protocol.migration.classic_member import ClassicMember
from groupcheck.model.protocol.migration.classic_requests import Handled, done, left
from groupcheck.model.protocol.migration.conversions import Expired
from groupcheck.model.protocol.migration.scope import MigrationScope

ROUNDS = (Phase.PREPARING, Phase.FIRST)


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


def without(core: Core, seat: Seat) -> Core:
    """A classic group after a member was removed: it prepares another round, or it is empty, and
    whoever comes next makes a group of its kind.
    """
    if core.members == 1:
        return Core(topics=core.topics)
    return evolve(
        core,
        members=core.members - 1,
        classics=core.classics - 1,
        waiting=core.waiting - seat.waits,
        held=core.held & ~seat.claims,
        phase=Phase.FIRST if core.phase == Phase.FIRST else Phase.PREPARING,
    )


def group_without(core: Core, seat: Seat, scope: MigrationScope) -> Core:
    """A group of either kind after a member was removed."""
    return without(core, seat) if core.phase is not None else left(core, seat, scope)


@urgent(
    "unknown",
    "returned",
    "parked",
    when=lambda link: link.request is not None and link.request.kind == Kind.JOIN_GROUP,
)
def join_classic_group(
    core: Core, seat: Seat | None, link: Link, client: Any
) -> Iterator[tuple[str, Core, Seat | None, Link, Any]]:
    """A member joins a classic group, or begins one."""
    request = link.request
    if (core.phase is None and core.members) or core.errand is not None or link.accepted:
        return
    assert request is not None and isinstance(client, ClassicMember)
    if seat is None and client.known:
        yield "unknown", core, seat, done(link, UNKNOWN_MEMBER_ID), client
        return
    if core.phase == Phase.STABLE and seat is not None and request.other:
        # A static member that comes back with its subscription gets what it had, without a round.
        yield "returned", core, seat, done(link), client
        return
    if core.phase is None:
        core = evolve(Core(topics=core.topics), phase=Phase.FIRST)
    if seat is None:
        seat = Seat(current=True, classic=True, short=True, subscribed=request.subscribed or 0)
        core = evolve(core, members=core.members + 1, classics=core.classics + 1)
    claims = request.owned or 0
    core = evolve(
        core,
        phase=Phase.PREPARING if core.phase == Phase.STABLE else core.phase,
        waiting=core.waiting + (not seat.waits),
        held=core.held & ~seat.claims | claims,
    )
    waits = not link.lost
    link = evolve(link, request=None, lost=False)
    yield "parked", core, evolve(seat, waits=True, claims=claims), link, evolve(client, waits=waits)


@rule(when=lambda core: core.phase in ROUNDS)
def finish_round(core: Core) -> Iterator[Core]:
    """All members of a classic group have joined, and its leader makes a plan."""
    if core.members and core.waiting == core.members:
        yield evolve(core, errand=Collect())


@urgent(
    "unknown",
    "illegal_generation",
    "rebalancing",
    "well",
    when=lambda link: (
        link.request is not None and link.request.kind in (Kind.SYNC_GROUP, Kind.CLASSIC_BEAT)
    ),
)
def ask_classic_group(core: Core, seat: Seat | None, link: Link) -> Iterator[Handled]:
    """A SyncGroup or a Heartbeat of a classic group's member."""
    request = link.request
    if request is None or not is_open(core):
        return
    if refusal := refused(core, seat, request):
        label, code = refusal
        yield label, core, seat, done(link, code)
    else:
        assert seat is not None
        share = seat.assigned if request.kind == Kind.SYNC_GROUP else None
        yield "well", core, seat, done(link, assigned=share)


@urgent(
    "unknown",
    "left",
    when=lambda link: link.request is not None and link.request.kind == Kind.LEAVE_GROUP,
)
def leave_classic_group(core: Core, seat: Seat | None, link: Link) -> Iterator[Handled]:
    """A member leaves a classic group."""
    if not is_open(core):
        return
    if seat is None:
        yield "unknown", core, seat, done(link, UNKNOWN_MEMBER_ID)
    else:
        yield "left", without(core, seat), None, gone(done(link))


@rule(when=lambda budget: budget.allows("session_timeout"))
def classic_session_timeout(
    core: Core, seat: Seat | None, link: Link, budget: Budget
) -> Iterator[Expired]:
    """The coordinator of a classic group hears nothing from a member."""
    if core.phase is not None and seat is not None and not seat.waits:
        yield without(core, seat), None, gone(link), budget.spend("session_timeout")


@rule(when=lambda budget: budget.allows("rebalance_timeout"))
def classic_rebalance_timeout(
    core: Core, seat: Seat | None, link: Link, budget: Budget
) -> Iterator[Expired]:
    """A round of a classic group waits no longer for a member."""
    if core.phase in ROUNDS and seat is not None and not seat.waits:
        yield without(core, seat), None, gone(link), budget.spend("rebalance_timeout")


@rule(when=lambda ghosts: ghosts != ())
def ghost_leaves(
    core: Core, ghosts: tuple[Seat, ...], scope: MigrationScope
) -> Iterator[tuple[Core, tuple[Seat, ...]]]:
    """The session of a process that is gone ends, sooner or later, in a group of either kind."""
    for ghost in sorted(set(ghosts), key=repr):
        rest = list(ghosts)
        rest.remove(ghost)
        yield group_without(core, ghost, scope), order(rest)


HANDLERS = (join_classic_group, ask_classic_group, leave_classic_group)
TIMERS = (classic_session_timeout, classic_rebalance_timeout, ghost_leaves, finish_round)
