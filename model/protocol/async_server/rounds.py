"""Rounds of the coordinator: one begins, all members report, a plan is made, those whose share
changes are marked, and who has given up the rest gets its share.

Each of these is a walk over all members (see `classic.walks` for what a walk is). The source's five
steps: (1) the group is PreparingRebalance, and each heartbeat reports partitions (`prepare`); (2)
when all heartbeats are in, the coordinator makes a sticky plan and marks the members whose share
changes (`attempt`, `look_at_reports`, `deal`); (3) only these are told, (4) only these stop
(`coordinator.heartbeat`); (5) the answer to JoinGroup carries the new share (`answer_joins`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from attrs import frozen

from groupcheck.model.engine import evolve, urgent
from groupcheck.model.engine.rule import Rule
from groupcheck.model.protocol.async_server.failover import (
    Forget,
    Reload,
    forget,
    forgotten,
    reload,
    reloaded,
)
from groupcheck.model.protocol.async_server.group import Core, Seat, Seats
from groupcheck.model.protocol.async_server.plans import Chosen, plans
from groupcheck.model.protocol.async_server.scope import AsyncScope
from groupcheck.model.protocol.classic.group import ENDED, REST, Errand, Phase, Walk
from groupcheck.model.protocol.codes import NONE
from groupcheck.model.protocol.link import Link, deliver
from groupcheck.model.protocol.messages import JoinGroup

# -- Restart: a round begins


@frozen(kw_only=True)
class Restart(Errand):
    """Every member has to report again; marks of a plan that was not carried out are gone."""

    # Members that have not reported yet.
    missing: int = 0


def prepare(core: Core) -> Core:
    """Begin. From Empty the initial delay begins instead, without a walk."""
    if core.phase == Phase.EMPTY:
        return evolve(core, phase=Phase.PREPARING, initial=True)
    return evolve(
        core,
        phase=Phase.PREPARING,
        unsettled=0,
        withheld=0,
        again=False,
        errands=(Restart(),),
    )


@urgent(when=lambda me, walk: walk.at == me and isinstance(walk.errand, Restart))
def ask_again(
    walk: Walk[Restart], seats: Seats, scope: AsyncScope
) -> Iterator[tuple[Walk[Restart], Seats]]:
    """A round begins: the members of this process have to report. A parked JoinGroup is a report:
    whoever has sent it owns nothing.
    """
    ids = [
        (
            id,
            evolve(
                seat,
                heard=seat.join or (scope.collect == "loaded" and seat.loaded is None),
                marked=False,
                later=False,
                share=seat.share if scope.basis == "plan" else 0,
            ),
        )
        for id, seat in seats
    ]
    missing = walk.errand.missing + sum(not seat.heard for _, seat in ids)
    yield walk.passed(evolve(walk.errand, missing=missing), scope), evolve(seats, ids=tuple(ids))


def asked(errand: Restart, core: Core, scope: AsyncScope) -> Iterator[Core]:
    """End: the plan is made at once if all members wait for it."""
    yield attempt(evolve(core, missing=errand.missing), scope)


def attempt(core: Core, scope: AsyncScope) -> Core:
    """Makes the plan if every member has reported. (The scope may have no further one: then the
    group waits.)
    """
    ready = core.phase == Phase.PREPARING and not core.initial and not core.missing
    if ready and core.members and core.generation < scope.last_generation:
        return evolve(core, errands=(Collect(),))
    return core


def after_removal(core: Core, scope: AsyncScope) -> Core:
    """A member is gone: a round begins, or the running one may have its last report."""
    if not core.members:
        return Core(generation=core.generation, durable=core.durable, keeps=core.keeps)
    if core.phase == Phase.PREPARING:
        return attempt(core, scope)
    if core.phase == Phase.COMPLETING and scope.removal == "goes_on":
        return answer(core, scope)
    return prepare(core)


# -- Collect: the coordinator looks at all reports


@frozen(kw_only=True)
class Collect(Errand):
    """The partitions that members own. (Begin: `attempt`.)"""

    # What each member that was visited owns, in ascending order: no order of members shows.
    owned: tuple[int, ...] = ()


@urgent(when=lambda me, walk: walk.at == me and isinstance(walk.errand, Collect))
def look_at_reports(
    walk: Walk[Collect], seats: Seats, scope: AsyncScope
) -> Iterator[tuple[Walk[Collect], Seats]]:
    """The coordinator goes by what the members of this process have reported."""
    seen = sorted([*walk.errand.owned, *(counted(seat, scope) for _, seat in seats)])
    yield walk.passed(evolve(walk.errand, owned=tuple(seen)), scope), seats


def counted(seat: Seat, scope: AsyncScope) -> int:
    """The partitions that a plan takes to be the member's, as a bit mask."""
    if seat.join:
        return 0
    return seat.share if scope.basis == "plan" else seat.owned


def collected(errand: Collect, core: Core, scope: AsyncScope) -> Iterator[Core]:
    """End: the coordinator makes one of the assignor's plans."""
    logs = {"first": [True], "later": [True, False]}[scope.logged] if core.keeps else [False]
    errands = [
        Deal(generation=core.generation + 1, chosen=chosen, logs=logged)
        for chosen in plans(errand.owned, scope)
        for logged in logs
    ]
    yield evolve(core, errands=tuple(errands))


# -- Deal: the plan becomes the group's


@frozen(kw_only=True)
class Deal(Errand):
    """Shares are noted, and members whose share changes are marked."""

    # The number of the plan.
    generation: int
    # The plan, without what was given already.
    chosen: Chosen
    # It is in the log, where a fail-over finds it.
    logs: bool
    # As in `Core`, of the members that were visited.
    unsettled: int = 0
    withheld: int = 0


@urgent(when=lambda me, walk: walk.at == me and isinstance(walk.errand, Deal))
def deal(walk: Walk[Deal], seats: Seats, scope: AsyncScope) -> Iterator[tuple[Walk[Deal], Seats]]:
    """The members of this process have their shares in the plan; those whose share changes are
    marked.
    """
    ways = [(walk.errand, seats)]
    for id, seat in seats:
        ways = [
            after for errand, so_far in ways for after in _give(errand, so_far, id, seat, scope)
        ]
    for errand, dealt in ways:
        if errand.logs:
            dealt = evolve(
                dealt, durable=tuple([(id, seat.epoch, seat.share) for id, seat in dealt])
            )
        yield walk.passed(errand, scope), dealt


def _give(
    errand: Deal, seats: Seats, id: int, seat: Seat, scope: AsyncScope
) -> Iterator[tuple[Deal, Seats]]:
    """One member has its share, in all the ways in which it may."""
    owned = counted(seat, scope)
    for share in sorted({share for whose, share in errand.chosen if whose == owned}):
        at = errand.chosen.index((owned, share))
        changes = owned != share
        planned = evolve(
            seat,
            owned=owned,
            share=share,
            heard=False,
            marked=changes and not seat.join,
        )
        given = evolve(
            errand,
            chosen=errand.chosen[:at] + errand.chosen[at + 1 :],
            unsettled=errand.unsettled + (changes or seat.join),
            withheld=errand.withheld | (owned & ~share),
        )
        yield given, seats.put(id, planned)


def dealt(errand: Deal, core: Core, scope: AsyncScope) -> Iterator[Core]:
    """End: the plan is carried out."""
    core = evolve(
        core,
        phase=Phase.COMPLETING,
        generation=errand.generation,
        unsettled=errand.unsettled,
        withheld=errand.withheld,
        durable=errand.generation if errand.logs else core.durable,
    )
    yield answer(core, scope)


# -- Answer: whose share is free gets it


@frozen(kw_only=True)
class Answer(Errand):
    """Parked JoinGroups are answered, if nobody else owns what they wait for."""

    # The number of the plan.
    generation: int
    # Partitions that nobody gets yet, as a bit mask.
    withheld: int
    # Members that were answered.
    answered: int = 0


def answer(core: Core, scope: AsyncScope) -> Core:
    """Begin."""
    withheld = core.withheld if scope.handover == "revoked" else 0
    return evolve(core, errands=(Answer(generation=core.generation, withheld=withheld),))


@urgent(when=lambda me, walk: walk.at == me and isinstance(walk.errand, Answer))
def answer_joins(
    walk: Walk[Answer], seats: Seats, link: Link, scope: AsyncScope
) -> Iterator[tuple[Walk[Answer], Seats, Link]]:
    """A parked JoinGroup is answered with the member's share, once all of it is free."""
    errand = walk.errand
    for id, seat in seats:
        if seat.join and not seat.later and not seat.share & errand.withheld:
            link = deliver(link, JoinGroup, id, NONE, id, errand.generation, seat.share)
            has = evolve(seat, join=False, owned=seat.share, epoch=errand.generation)
            seats = seats.put(id, has)
            errand = evolve(errand, answered=errand.answered + 1)
    yield walk.passed(errand, scope), seats, link


def answered(errand: Answer, core: Core, scope: AsyncScope) -> Iterator[Core]:
    """End: the plan is carried out once every member has its share."""
    core = evolve(core, unsettled=core.unsettled - errand.answered)
    if core.unsettled:
        yield core
    else:
        yield prepare(core) if core.again else evolve(core, phase=Phase.STABLE)


# Each kind of errand: the rule that visits the seats of one process, and the function that ends the
# walk.
KINDS: dict[type[Errand], tuple[Rule, Callable[[Any, Core, AsyncScope], Iterator[Core]]]] = {
    Restart: (ask_again, asked),
    Collect: (look_at_reports, collected),
    Deal: (deal, dealt),
    Answer: (answer_joins, answered),
    Reload: (reload, reloaded),
    Forget: (forget, forgotten),
}


@urgent(when=lambda core: core.errands != ())
def begin_walk(core: Core, walk: Walk[Errand]) -> Iterator[tuple[Core, Walk[Errand]]]:
    """A walk over all members begins."""
    for errand in core.errands:
        yield evolve(core, errands=()), Walk(0, errand)


@urgent(when=lambda walk: walk.at == ENDED and walk != REST)
def end_walk(
    core: Core, walk: Walk[Errand], scope: AsyncScope
) -> Iterator[tuple[Core, Walk[Errand]]]:
    """All members are visited: the group gets what the walk has found."""
    _, end = next(kind for errand, kind in KINDS.items() if isinstance(walk.errand, errand))
    for after in end(walk.errand, core, scope):
        yield after, REST


WALK_RULES = (begin_walk, *(visit for visit, _ in KINDS.values()), end_walk)
