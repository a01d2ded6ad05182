"""The coordinator's own steps (protocol.md 1.11 to 1.13): timers fire, appends commit or
fail.

There is no time: a timer that runs may fire, whatever else could happen first. A timer that fires
only if something went wrong spends a fault; the initial delay and the commit of an append are free.
"""

from __future__ import annotations

from collections.abc import Iterator

from groupcheck.model.engine import evolve, rule
from groupcheck.model.protocol.classic.assignment import assign
from groupcheck.model.protocol.classic.group import Core, Phase, Seats, remove
from groupcheck.model.protocol.classic.rounds import after_removal, complete, prepare
from groupcheck.model.protocol.classic.scope import Scope
from groupcheck.model.protocol.codes import COORDINATOR_NOT_AVAILABLE, UNKNOWN_MEMBER_ID
from groupcheck.model.protocol.faults import Budget
from groupcheck.model.protocol.link import Link, deliver
from groupcheck.model.protocol.messages import JoinGroup


@rule(when=lambda core: core.appending)
def append_committed(core: Core, scope: Scope) -> Iterator[Core]:
    """The leader's assignment is replicated: all members that wait get their shares."""
    yield assign(core, scope)


@rule(when=lambda core: core.appending)
def append_failed(core: Core, budget: Budget) -> Iterator[tuple[Core, Budget]]:
    """The leader's assignment could not be written: parked SyncGroups are answered 15, and a new
    round starts.
    """
    if budget.allows("append_failure"):
        yield prepare(core, COORDINATOR_NOT_AVAILABLE), budget.spend("append_failure")


@rule("over", "extended", when=lambda core: core.phase == Phase.PREPARING and core.initial)
def initial_delay(core: Core, scope: Scope) -> Iterator[tuple[str, Core]]:
    """The initial delay of a group that was Empty is over (KIP-134). If a member was added
    meanwhile, it may be extended, within the rebalance timeout.
    """
    if core.generation < scope.last_generation:
        yield "over", complete(core, scope)
    if core.extended:
        yield "extended", evolve(core, extended=False)


@rule(
    "missing",
    "nobody",
    "rejected",
    when=lambda core: core.phase == Phase.PREPARING and not core.initial,
)
def rebalance_timeout(
    core: Core, budget: Budget, scope: Scope
) -> Iterator[tuple[str, Core, Budget]]:
    """The round stops waiting for members that have not joined. With no member left the timeout is
    0, and it fires although ids are pending.

    If the last member that was missing is rejected because of the group's size, only this timer
    ends the round for the others.
    """
    if core.generation < scope.last_generation:
        if not core.members:
            yield "nobody", complete(core, scope), budget
        elif core.all_joined:
            yield "rejected", complete(core, scope), budget
        elif budget.allows("rebalance_timeout"):
            yield "missing", complete(core, scope), budget.spend("rebalance_timeout")


@rule(when=lambda core: core.deadline)
def sync_timeout(core: Core, budget: Budget) -> Iterator[tuple[Core, Budget]]:
    """Members that have not sent SyncGroup since the round completed are removed, even if the group
    is Stable; a new round starts.
    """
    if core.due and budget.allows("sync_timeout"):
        yield prepare(core, expel=True), budget.spend("sync_timeout")


@rule("member", "pending", when=lambda budget: budget.allows("session_timeout"))
def session_timeout(
    core: Core, seats: Seats, budget: Budget, scope: Scope
) -> Iterator[tuple[str, Core, Seats, Budget]]:
    """The coordinator has heard nothing from a member, or of an id that was handed out, and removes
    it. A parked request counts as a sign of life.
    """
    for id, seat in seats:
        if seat.armed and not seat.join and not seat.sync:
            label = "member" if seat.member else "pending"
            left, without = remove(core, seats, id, scope)
            if seat.member or core.phase == Phase.PREPARING:
                left = after_removal(left, scope, expiry=True)
            yield label, left, without, budget.spend("session_timeout")


@rule(when=lambda seats: any(seat.new for _, seat in seats))
def new_member_timeout(
    core: Core, seats: Seats, link: Link, budget: Budget, scope: Scope
) -> Iterator[tuple[Core, Seats, Link, Budget]]:
    """A new member has waited for five minutes, or for its session timeout if it was hurried: it is
    removed, and its parked JoinGroup is answered 25.
    """
    for id, seat in seats:
        fault = "session_timeout" if seat.hurried else "new_member_timeout"
        if seat.new and seat.armed and budget.allows(fault):
            left, without = remove(core, seats, id, scope)
            told = deliver(link, JoinGroup, id, UNKNOWN_MEMBER_ID)
            yield (
                after_removal(left, scope, expiry=True),
                without,
                told,
                budget.spend(fault),
            )


@rule(when=lambda link: bool(link.queue) and link.parked is None)
def read_next(link: Link) -> Iterator[Link]:
    """The coordinator has answered what was parked and reads the next request of the connection."""
    yield evolve(link, request=link.queue[0], live=True, queue=link.queue[1:])


@rule(when=lambda link: link.late is not None)
def late_request(link: Link) -> Iterator[Link]:
    """A request of an earlier connection arrives late; nobody reads its answer."""
    yield evolve(link, request=link.late, live=False, late=None)


TIMER_RULES = (
    append_committed,
    append_failed,
    initial_delay,
    rebalance_timeout,
    sync_timeout,
    session_timeout,
    new_member_timeout,
)
QUEUE_RULES = (read_next, late_request)
