"""The coordinator's timers, and its move to another broker."""

from __future__ import annotations

from collections.abc import Iterator

from groupcheck.model.engine import evolve, rule
from groupcheck.model.protocol.consumer.memory import Reload, Seat
from groupcheck.model.protocol.consumer.messages import Link, gone
from groupcheck.model.protocol.consumer.timers import LOAD_RULES, add_partition, interval_passes
from groupcheck.model.protocol.faults import Budget
from groupcheck.model.protocol.share.memory import ShareCore, removed
from groupcheck.model.protocol.share.scope import ShareScope


@rule("removed", "failed", when=lambda budget: budget.allows("session_timeout"))
def share_session_timeout(
    core: ShareCore, seat: Seat | None, link: Link, budget: Budget, scope: ShareScope
) -> Iterator[tuple[str, ShareCore, Seat | None, Link, Budget]]:
    """The coordinator hears nothing from a member for group.share.session.timeout.ms. If the append
    fails, the timer runs again.
    """
    if seat is not None and seat.session:
        left = budget.spend("session_timeout")
        yield "removed", removed(core, seat, scope), None, gone(link), left
        if left.allows("append_failure"):
            yield "failed", core, seat, link, left.spend("append_failure")


@rule(when=lambda ghosts: ghosts != ())
def share_ghost_expires(
    core: ShareCore, ghosts: tuple[Seat, ...], scope: ShareScope
) -> Iterator[tuple[ShareCore, tuple[Seat, ...]]]:
    """The session of a process that is gone ends, sooner or later."""
    for ghost in sorted({ghost for ghost in ghosts if ghost.session}, key=repr):
        rest = list(ghosts)
        rest.remove(ghost)
        yield removed(core, ghost, scope), tuple(rest)


@rule(when=lambda budget: budget.allows("fail_over"))
def move_share_coordinator(core: ShareCore, budget: Budget) -> Iterator[tuple[ShareCore, Budget]]:
    """Another broker loads the group. All records are there; timers begin anew, and nobody waits
    for the persister any more until the time to ask again has come.
    """
    moved = evolve(core, errand=Reload(), asked=0, overdue=False)
    yield moved, budget.spend("fail_over")


TIMER_RULES = (share_session_timeout, share_ghost_expires, interval_passes)
OTHER_RULES = (move_share_coordinator, add_partition)

__all__ = ["LOAD_RULES", "OTHER_RULES", "TIMER_RULES"]
