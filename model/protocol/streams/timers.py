"""The coordinator's timers, its move to another broker, and the topics."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from groupcheck.model.engine import evolve, rule
from groupcheck.model.protocol.consumer.memory import Collect, Reload, Seat, Timer
from groupcheck.model.protocol.consumer.scope import MENDED
from groupcheck.model.protocol.consumer.timers import LOAD_RULES, interval_passes
from groupcheck.model.protocol.faults import Budget
from groupcheck.model.protocol.streams.memory import (
    Configured,
    StreamsCore,
    StreamsSeat,
    Topics,
    forgotten,
    kept,
    removed,
)
from groupcheck.model.protocol.streams.messages import StreamsLink
from groupcheck.model.protocol.streams.scope import StreamsScope

Expired = tuple[str, StreamsCore, StreamsSeat | None, StreamsLink, Budget]


@rule("removed", "failed", when=lambda budget: budget.allows("session_timeout"))
def streams_session_timeout(
    core: StreamsCore,
    seat: StreamsSeat | None,
    link: StreamsLink,
    budget: Budget,
    scope: StreamsScope,
) -> Iterator[Expired]:
    """The coordinator hears nothing from a member for too long. If the append fails, the timer runs
    again, and the other one does not.
    """
    if seat is not None and seat.session:
        left = budget.spend("session_timeout")
        yield "removed", removed(core, seat, scope), None, forgotten(link, core, seat, scope), left
        if left.allows("append_failure"):
            stays = seat if scope.k14 == MENDED else evolve(seat, rebalance=Timer.OFF)
            left = left.spend("append_failure")
            yield "failed", kept(core, seat, scope), stays, link, left


@rule("removed", "failed", when=lambda budget: budget.allows("rebalance_timeout"))
def streams_rebalance_timeout(
    core: StreamsCore,
    seat: StreamsSeat | None,
    link: StreamsLink,
    budget: Budget,
    scope: StreamsScope,
) -> Iterator[Expired]:
    """A member has not given up in time what it should."""
    if seat is not None and seat.rebalance == Timer.ON:
        left = budget.spend("rebalance_timeout")
        yield "removed", removed(core, seat, scope), None, forgotten(link, core, seat, scope), left
        if left.allows("append_failure"):
            stays = seat if scope.k14 == MENDED else evolve(seat, session=False)
            left = left.spend("append_failure")
            yield "failed", kept(core, seat, scope), stays, link, left


@rule(when=lambda ghosts: ghosts != ())
def streams_ghost_expires(
    core: StreamsCore, ghosts: tuple[Seat, ...], scope: StreamsScope
) -> Iterator[tuple[StreamsCore, tuple[Seat, ...]]]:
    """The session of a member that is gone ends, sooner or later."""
    for ghost in sorted({ghost for ghost in ghosts if ghost.session}, key=repr):
        rest = list(ghosts)
        rest.remove(ghost)
        yield removed(core, ghost, scope), tuple(rest)


@rule("computed", "idle", "failed", when=lambda core: core.delayed)
def initial_delay_ends(
    core: StreamsCore, budget: Budget
) -> Iterator[tuple[str, StreamsCore, Budget]]:
    """The initial rebalance delay is over (computeDelayedTargetAssignment): the target is computed,
    if the group has members and its topology configured, and if the assignment interval is over. If
    the append fails, nobody tries again before the next heartbeat.
    """
    over = evolve(core, delayed=False)
    configured = core.configured != Configured.NO
    if not (core.members and configured and core.pending and core.due):
        yield "idle", over, budget
        return
    yield "computed", evolve(over, configured=Configured.YES, errand=Collect()), budget
    if budget.allows("append_failure"):
        lately = core.configured == Configured.LATELY
        left = evolve(over, configured=Configured.NO if lately else core.configured)
        yield "failed", left, budget.spend("append_failure")


@rule(when=lambda budget: budget.allows("fail_over"))
def move_streams_coordinator(
    core: StreamsCore, budget: Budget
) -> Iterator[tuple[StreamsCore, Budget]]:
    """Another broker loads the group. All records are there; what is not in the log is forgotten,
    and timers begin anew but for the initial delay.
    """
    noted = core.standbys if core.noted else ()
    moved = evolve(
        core,
        errand=Reload(),
        noted=noted,
        delayed=False,
        configured=Configured.NO,
        shutdown=False,
    )
    yield moved, budget.spend("fail_over")


# What topics may become.
NEXT: Mapping[Topics, tuple[Topics, ...]] = {
    Topics.READY: (Topics.NO_SOURCE, Topics.UNEQUAL),
    Topics.NO_SOURCE: (Topics.NO_CHANGELOG, Topics.READY),
    Topics.NO_CHANGELOG: (Topics.NO_SOURCE, Topics.READY),
    Topics.UNEQUAL: (Topics.NO_SOURCE,),
}
OF_STORES = (Topics.NO_CHANGELOG, Topics.UNEQUAL)


@rule(when=lambda budget: budget.allows("metadata"))
def topics_change(
    core: StreamsCore, budget: Budget, scope: StreamsScope
) -> Iterator[tuple[StreamsCore, Budget]]:
    """A topic is created, deleted, or grows. The group sees it at its next heartbeat."""
    for there in NEXT[core.there]:
        if scope.has_changelog or there not in OF_STORES:
            yield evolve(core, there=there), budget.spend("metadata")


TIMER_RULES = (
    streams_session_timeout,
    streams_rebalance_timeout,
    streams_ghost_expires,
    interval_passes,
    initial_delay_ends,
)
OTHER_RULES = (move_streams_coordinator, topics_change)

__all__ = ["LOAD_RULES", "OTHER_RULES", "TIMER_RULES"]
