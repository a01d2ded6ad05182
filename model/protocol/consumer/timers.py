"""The coordinator's timers, and its move to another broker."""

from __future__ import annotations

from collections.abc import Iterator

from groupcheck.model.engine import evolve, rule, urgent
from groupcheck.model.protocol.consumer.memory import (
    END,
    GHOSTS,
    REST,
    Core,
    Reload,
    Seat,
    State,
    Timer,
    Walk,
    order,
    without,
)
from groupcheck.model.protocol.consumer.messages import Link, gone
from groupcheck.model.protocol.consumer.scope import MENDED, ConsumerScope
from groupcheck.model.protocol.faults import Budget

Expired = tuple[str, Core, Seat | None, Link, Budget]


@rule("removed", "failed", when=lambda budget: budget.allows("session_timeout"))
def session_timeout(
    core: Core, seat: Seat | None, link: Link, budget: Budget, scope: ConsumerScope
) -> Iterator[Expired]:
    """The coordinator hears nothing from a member for too long. If the append fails, the timer runs
    again, and the other one does not.
    """
    if seat is not None and seat.session:
        left = budget.spend("session_timeout")
        removed = without(core, seat, settles=scope.release.settles_empty)
        yield "removed", removed, None, gone(link), left
        if left.allows("append_failure"):
            kept = seat if scope.k14 == MENDED else evolve(seat, rebalance=Timer.OFF)
            yield "failed", core, kept, link, left.spend("append_failure")


@rule("removed", "failed", when=lambda budget: budget.allows("rebalance_timeout"))
def rebalance_timeout(
    core: Core, seat: Seat | None, link: Link, budget: Budget, scope: ConsumerScope
) -> Iterator[Expired]:
    """A member has not given up in time what it should."""
    if seat is not None and seat.rebalance == Timer.ON:
        left = budget.spend("rebalance_timeout")
        removed = without(core, seat, settles=scope.release.settles_empty)
        yield "removed", removed, None, gone(link), left
        if left.allows("append_failure"):
            kept = seat if scope.k14 == MENDED else evolve(seat, session=False)
            yield "failed", core, kept, link, left.spend("append_failure")


@rule(when=lambda ghosts: ghosts != ())
def ghost_expires(
    core: Core, ghosts: tuple[Seat, ...], scope: ConsumerScope
) -> Iterator[tuple[Core, tuple[Seat, ...]]]:
    """The session of a process that is gone ends, sooner or later."""
    for ghost in sorted({ghost for ghost in ghosts if ghost.session}, key=repr):
        rest = list(ghosts)
        rest.remove(ghost)
        yield without(core, ghost, settles=scope.release.settles_empty), tuple(rest)


@rule(when=lambda core: not core.due)
def interval_passes(core: Core) -> Iterator[Core]:
    """The assignment interval is over."""
    yield evolve(core, due=True)


@rule(when=lambda budget: budget.allows("fail_over"))
def move_coordinator(core: Core, budget: Budget) -> Iterator[tuple[Core, Budget]]:
    """Another broker loads the group. All records are there; timers begin anew."""
    yield evolve(core, errand=Reload()), budget.spend("fail_over")


def _loaded(seat: Seat) -> Seat:
    """The timers of a member after a load (GroupMetadataManager.onLoaded)."""
    revokes = seat.state == State.UNREVOKED
    return evolve(seat, session=True, rebalance=Timer.ON if revokes else Timer.OFF)


@urgent(when=lambda me, walk: walk.at == me and isinstance(walk.errand, Reload))
def load_member(
    walk: Walk, seat: Seat | None, scope: ConsumerScope
) -> Iterator[tuple[Walk, Seat | None]]:
    """A member is loaded."""
    yield walk.passed(walk.errand, scope.members), seat if seat is None else _loaded(seat)


@urgent(when=lambda walk: walk.at == GHOSTS and isinstance(walk.errand, Reload))
def load_ghosts(walk: Walk, ghosts: tuple[Seat, ...]) -> Iterator[tuple[Walk, tuple[Seat, ...]]]:
    """Members whose processes are gone are loaded."""
    yield Walk(END, walk.errand), order([_loaded(ghost) for ghost in ghosts])


@urgent(when=lambda walk: walk.at == END and isinstance(walk.errand, Reload))
def timers_restarted(walk: Walk) -> Iterator[Walk]:
    """The group is loaded."""
    yield REST


@rule(when=lambda budget: budget.allows("metadata"))
def add_partition(
    core: Core, budget: Budget, scope: ConsumerScope
) -> Iterator[tuple[Core, Budget]]:
    """The last topic gets its last partition. The group sees it at its next heartbeat; one that
    does not subscribe to the topic would not, which is left out.
    """
    if core.topics != scope.everything:
        stale = core.members > 0
        yield evolve(core, topics=scope.everything, stale=stale), budget.spend("metadata")


TIMER_RULES = (session_timeout, rebalance_timeout, ghost_expires, interval_passes)
OTHER_RULES = (move_coordinator, add_partition)
LOAD_RULES = (load_member, load_ghosts, timers_restarted)
