"""A new target for all members (maybeUpdateTargetAssignment), as a walk over their seats: they are
read, the assignor makes a plan, and each member is given its share.
"""

from __future__ import annotations

from collections.abc import Iterator

from groupcheck.model.engine import evolve, urgent
from groupcheck.model.protocol.consumer.memory import (
    END,
    GHOSTS,
    REST,
    Collect,
    Core,
    Deal,
    Seat,
    Walk,
    order,
)
from groupcheck.model.protocol.consumer.plans import Key, Plan, key_of, plans
from groupcheck.model.protocol.consumer.scope import ConsumerScope


@urgent(when=lambda core: core.errand is not None)
def begin_errand(core: Core, walk: Walk) -> Iterator[tuple[Core, Walk]]:
    """A walk begins."""
    yield evolve(core, errand=None), Walk(0, core.errand)


@urgent(when=lambda me, walk: walk.at == me and isinstance(walk.errand, Collect))
def read_member(
    walk: Walk, seat: Seat | None, scope: ConsumerScope
) -> Iterator[tuple[Walk, Seat | None]]:
    """The assignor has to know a member."""
    errand = walk.errand
    assert isinstance(errand, Collect)
    seen = errand.seen
    if seat is not None:
        seen = tuple(sorted((*seen, key_of(seat, walk.at, scope))))
    yield walk.passed(evolve(errand, seen=seen), scope.members), seat


@urgent(when=lambda walk: walk.at == GHOSTS and isinstance(walk.errand, Collect))
def read_ghosts(
    walk: Walk, ghosts: tuple[Seat, ...], scope: ConsumerScope
) -> Iterator[tuple[Walk, tuple[Seat, ...]]]:
    """The assignor has to know the members whose processes are gone."""
    errand = walk.errand
    assert isinstance(errand, Collect)
    keys = [key_of(ghost, scope.members + k, scope) for k, ghost in enumerate(ghosts)]
    yield Walk(END, evolve(errand, seen=tuple(sorted((*errand.seen, *keys))))), ghosts


@urgent(when=lambda walk: walk.at == END and isinstance(walk.errand, Collect))
def compute_target(walk: Walk, core: Core, scope: ConsumerScope) -> Iterator[tuple[Walk, Core]]:
    """The assignor makes a plan."""
    errand = walk.errand
    assert isinstance(errand, Collect)
    for plan in plans(errand.seen, core.topics, scope, errand.named, alike=errand.alike):
        yield Walk(0, Deal(errand.fails, plan)), core


def _shares(key: Key, plan: Plan) -> Iterator[tuple[int, Plan]]:
    """Each share that a plan has for such a member, with the rest of the plan."""
    for share in sorted({share for known, share in plan if known == key}):
        rest = list(plan)
        rest.remove((key, share))
        yield share, tuple(rest)


@urgent(when=lambda me, walk: walk.at == me and isinstance(walk.errand, Deal))
def give_target(
    walk: Walk, seat: Seat | None, scope: ConsumerScope
) -> Iterator[tuple[Walk, Seat | None]]:
    """A member is given its share of the plan. Members that are alike may be given either's."""
    errand = walk.errand
    assert isinstance(errand, Deal)
    if seat is None:
        yield walk.passed(errand, scope.members), seat
        return
    key = key_of(seat, walk.at, scope)
    for share, rest in _shares(key, errand.shares):
        keeps = errand.fails and not seat.asks
        given = seat if keeps else evolve(seat, target=share, current=False, resumes=False)
        yield walk.passed(evolve(errand, shares=rest), scope.members), given


@urgent(when=lambda walk: walk.at == GHOSTS and isinstance(walk.errand, Deal))
def give_ghosts(
    walk: Walk, ghosts: tuple[Seat, ...], scope: ConsumerScope
) -> Iterator[tuple[Walk, tuple[Seat, ...]]]:
    """Members whose processes are gone are given theirs."""
    errand = walk.errand
    assert isinstance(errand, Deal)
    if errand.fails:
        yield Walk(END, errand), ghosts
        return
    for new in sorted(set(_dealt(ghosts, errand.shares, scope)), key=repr):
        yield Walk(END, evolve(errand, shares=())), new


def _dealt(
    ghosts: tuple[Seat, ...], shares: Plan, scope: ConsumerScope
) -> Iterator[tuple[Seat, ...]]:
    """Every way to give ghosts their shares."""
    if not ghosts:
        yield ()
        return
    *others, last = ghosts
    key = key_of(last, scope.members + len(others), scope)
    for share, rest in _shares(key, shares):
        given = evolve(last, target=share, current=False)
        for done in _dealt(tuple(others), rest, scope):
            yield order([*done, given])


@urgent(when=lambda walk: walk.at == END and isinstance(walk.errand, Deal))
def target_written(core: Core, walk: Walk, scope: ConsumerScope) -> Iterator[tuple[Core, Walk]]:
    """The group is at its target."""
    yield evolve(core, pending=False, due=not scope.interval), REST


WALK_RULES = (
    begin_errand,
    read_member,
    read_ghosts,
    compute_target,
    give_target,
    give_ghosts,
    target_written,
)
