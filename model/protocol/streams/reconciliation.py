"""One member on the way to its target: CurrentAssignmentBuilder of streams groups."""

from __future__ import annotations

from attrs import frozen

from groupcheck.model.engine import evolve
from groupcheck.model.protocol.consumer.memory import State
from groupcheck.model.protocol.consumer.reconciliation import stamped, still_owns
from groupcheck.model.protocol.streams.memory import StreamsCore, StreamsSeat
from groupcheck.model.protocol.streams.scope import StreamsScope
from groupcheck.model.protocol.streams.tasks import active, both, standby


@frozen
class Taken:
    """Who has which tasks, seen from one process, as the coordinator has it before a heartbeat."""

    # The active tasks of any process, those of this one, and its standbys.
    active: int
    active_here: int
    standby_here: int


def taken(core: StreamsCore, process: int) -> Taken:
    """What counts as taken for a member in this process."""
    anywhere = 0
    for run in core.actives:
        anywhere |= run
    standbys = core.noted or core.standbys
    return Taken(anywhere, core.actives[process], standbys[process])


def reconciled(
    seat: StreamsSeat,
    owned: int | None,
    core: StreamsCore,
    scope: StreamsScope,
    recalled: int = 0,
) -> StreamsSeat:
    """The member's record after a heartbeat. `owned`: the tasks that it says it has; `recalled`:
    those that it is to have, although its target does not know of it yet.
    """
    if seat.state == State.STABLE and seat.current:
        return seat
    if seat.state == State.UNREVOKED and still_owns(owned, seat.revoking):
        return seat
    here = taken(core, seat.process)
    target = seat.target | recalled
    if scope.release.changes_roles:
        steps = _with_changed_roles(seat, target, owned, here)
    else:
        kept = seat.assigned & target
        wanted = target & ~kept
        # No task of a process has two roles, or two members.
        blocked = wanted & both(
            here.active | here.standby_here, here.active_here | here.standby_here
        )
        steps = Steps(kept, seat.assigned & ~kept, wanted & ~blocked, blocked)
    return _written(seat, owned, steps, scope)


@frozen
class Steps:
    """What becomes of the tasks of a member and of its target."""

    kept: int
    gone: int
    given: int
    blocked: int


def _with_changed_roles(seat: StreamsSeat, target: int, owned: int | None, here: Taken) -> Steps:
    """From Kafka 4.4 on, a task that stays with the member changes its role there."""
    runs, copies = active(seat.assigned), standby(seat.assigned)
    to_run, to_copy = active(target), standby(target)
    new_runs, new_copies = to_run & ~runs, to_copy & ~copies
    blocked_runs = new_runs & (here.active | here.standby_here & ~copies)
    blocked_copies = new_copies & (here.active_here & ~runs | here.standby_here)
    new_runs, new_copies = new_runs & ~blocked_runs, new_copies & ~blocked_copies
    # What the member runs becomes a copy at once; a copy that it is to run is not given up.
    demoted, promoted = runs & new_copies, copies & to_run
    gone = both(runs & ~to_run, copies & ~to_copy & ~promoted)
    waits = promoted if still_owns(owned, gone) else promoted & ~new_runs
    return Steps(
        both(runs & to_run, copies & to_copy | demoted | waits),
        gone,
        both(new_runs, new_copies & ~demoted),
        both(blocked_runs, blocked_copies),
    )


def _written(
    seat: StreamsSeat, owned: int | None, steps: Steps, scope: StreamsScope
) -> StreamsSeat:
    """The record (buildNewMember). A member that has revoked goes on from the next epoch, which may
    be none that the group has given (KAFKA-19974 changed that for consumer groups alone). With
    offsets, the record says what was given at the epoch of the member.
    """
    moved = seat.state == State.UNREVOKED
    if still_owns(owned, steps.gone):
        written = evolve(
            seat,
            state=State.UNREVOKED,
            assigned=steps.kept,
            revoking=steps.gone,
            fresh=0 if moved else seat.fresh,
        )
        return stamped(written, seat, moved=moved)
    fresh = steps.given if not seat.current else steps.given | seat.fresh & steps.kept
    written = evolve(
        seat,
        state=State.UNRELEASED if steps.blocked else State.STABLE,
        current=True,
        assigned=steps.kept | steps.given,
        revoking=0,
        fresh=fresh if scope.offsets else 0,
    )
    return stamped(written, seat, moved=not seat.current)
