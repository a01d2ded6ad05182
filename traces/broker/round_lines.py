"""Lines about rounds: which worlds can print each, and where they are after it.

Kafka: prepareRebalance, completeClassicGroupJoin and classicGroupSync of GroupMetadataManager; the
same in GroupCoordinator.scala.
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from typing import Any

from groupcheck.model.protocol.classic.group import Phase
from groupcheck.traces.broker import phase_steps as steps
from groupcheck.traces.broker.belief import GOING, Misfit
from groupcheck.traces.broker.group_worlds import IN_A_GENERATION, GroupWorlds, starts_in
from groupcheck.traces.story.events import (
    AppendFailed,
    AssignmentReceived,
    EmptyAssignment,
    Event,
    GroupEmptied,
    Reason,
    RebalanceCause,
    RebalanceStarted,
    RoundOpen,
    RoundStuck,
    Stabilized,
)


def rebalance_started(g: GroupWorlds, event: RebalanceStarted) -> Misfit | None:
    """prepareRebalance: the group was in a state in which the reason can arise, and now waits for
    its members to join.
    """
    reason = event.reason or Reason("", RebalanceCause.NOT_TOLD)
    if reason.cause == RebalanceCause.DOWNGRADE:
        g.forget(loaded=True)
    reset = _maybe_recreated(g, event)
    phases = starts_in(event)
    why = (
        (None if reset else g.in_generation(event.generation))
        or g.keep(phases)
        or _caused_by(g, reason)
        or g.step(steps.start_round)
    )
    if why:
        return why
    g.owed, g.debt, g.departed = "", False, {}
    g.belief.new_round()
    if reason.cause in (
        RebalanceCause.JOIN,
        RebalanceCause.LEADER_REJOIN,
        RebalanceCause.METADATA_CHANGE,
        RebalanceCause.STATIC_REPLACED,
        RebalanceCause.PROTOCOL_CHANGE,
    ):
        for id in reason.members:
            g.belief.park(id)
    if not g.printing.ids or (g.belief.strangers and not g.printing.joins):
        g.belief.others_most = inf
    return None


def _maybe_recreated(g: GroupWorlds, event: RebalanceStarted) -> bool:
    """An Empty group can vanish (its offsets expired) and be created again, with generation 0."""
    gone = event.generation == 0 and g.base not in (None, 0) and Phase.EMPTY in g.phases
    if not gone or not g.printing.silent_deletion:
        return False
    g.assume(
        "generation_reset",
        f"generation {g.base} is followed by 0: the empty group was deleted in between, which is"
        " not printed",
    )
    g.base = 0
    g.worlds = frozenset(w for w in g.worlds if steps.PHASE[w] == Phase.EMPTY)
    return True


def _caused_by(g: GroupWorlds, reason: Reason) -> Misfit | None:
    each = (_member_of_reason(g, reason, id) for id in reason.members)
    return next(filter(None, each), None)


def _member_of_reason(g: GroupWorlds, reason: Reason, id: str) -> Misfit | None:
    belief = g.belief
    if reason.cause == RebalanceCause.JOIN:
        if belief.inside.get(id):
            return None
        return belief.join(id, instance=reason.instance, known_ids=g.printing.ids)
    if reason.cause in (
        RebalanceCause.LEAVE,
        RebalanceCause.SESSION_EXPIRED,
        RebalanceCause.SYNC_TIMEOUT,
    ):
        if id in g.departed:  # a line before has said it already
            return None
        if reason.cause == RebalanceCause.LEAVE:
            g.confirm = {id: None}
        return belief.remove(id)
    why = belief.must_be_member(id)
    if why is None and reason.cause == RebalanceCause.LEADER_REJOIN:
        if belief.leader not in (None, id) and belief.leader in belief.dynamic:
            return Misfit(f"{id} is called the leader, but {belief.leader} is", GOING)
        belief.leader = id
    return why


def stabilized(g: GroupWorlds, event: Stabilized) -> Misfit | None:
    """The join phase is over: the next generation begins with so many members."""
    return _can_end(g, event) or _counted_at_end(g, event) or _end(g, event, anybody=True)


def _can_end(g: GroupWorlds, event: Stabilized | GroupEmptied) -> Misfit | None:
    why = g.keep(frozenset({Phase.PREPARING}))
    if why is None and g.base is not None:
        why = g.in_generation(event.generation - 1)
    return why


def _end(g: GroupWorlds, event: Stabilized | GroupEmptied, *, anybody: bool) -> Misfit | None:
    why = g.step(lambda w: steps.end_round(w, anybody))
    if why is None:
        g.base, g.closing, g.departed = event.generation, False, {}
    return why


def _counted_at_end(g: GroupWorlds, event: Stabilized) -> Misfit | None:
    size = event.members
    if size is None:
        g.belief.forget_unparked()
        return None
    if size < 1:
        return Misfit("a generation without members is Empty, not stabilized")
    belief = g.belief
    if g.printing.late_leaves and not g.closing and size == belief.least() - 1:
        g.debt = True  # the next line must show who left
        return None
    least = belief.least()
    if belief.capped(size) and size < least:
        g.assume(
            "size_cap",
            f"generation {event.generation} has {size} members: it fits only if group.max.size is"
            f" {size}",
        )
    return belief.sized(size)


def group_emptied(g: GroupWorlds, event: GroupEmptied) -> Misfit | None:
    """The join phase is over, and nobody is left."""
    why = _can_end(g, event)
    if why is None and g.belief.inside and g.printing.removals:
        left = list(g.belief.inside)
        if len(left) > 1 or not g.printing.late_leaves or g.closing:
            why = Misfit(
                f"the group is said to be empty, but {', '.join(left[:3])} had not gone", GOING
            )
        else:
            g.debt = True
    why = why or _end(g, event, anybody=False)
    if why is None and not g.debt:
        g.belief.emptied()
    return why


def assignment_received(g: GroupWorlds, event: AssignmentReceived) -> Misfit | None:
    """The leader has sent SyncGroup to a group that waits for it; the printed size is that of the
    generation.
    """
    why = g.in_generation(event.generation) or g.step(steps.leader_syncs)
    if why is None and event.members is not None:
        why = g.belief.sized(event.members)
        if why is None and event.static is not None and event.static > event.members:
            why = Misfit(f"{event.static} of {event.members} members are called static")
    if why is None and event.leader is not None:
        why = _leads(g, event.leader)
    return why


def _leads(g: GroupWorlds, id: str) -> Misfit | None:
    belief = g.belief
    if belief.leader not in (None, id) and belief.leader in belief.dynamic:
        return Misfit(f"{id} sends the assignment, but {belief.leader} is the leader", GOING)
    why = belief.must_be_member(id)
    if why is None:
        belief.leader = id
    return why


def empty_assignment(g: GroupWorlds, event: EmptyAssignment) -> Misfit | None:
    """A line about the assignment of a generation."""
    return g.in_generation(event.generation) or g.keep(IN_A_GENERATION)


def round_stuck(g: GroupWorlds, event: RoundStuck) -> Misfit | None:
    """The join timer fired, but only static members are left and none has joined: no end yet."""
    g.closing = False
    return g.keep(frozenset({Phase.PREPARING}))


def round_open(g: GroupWorlds, event: RoundOpen) -> Misfit | None:
    """DEBUG: why the round cannot end yet."""
    if event.phase is not None:
        return g.within(event.phase)
    why = g.keep(frozenset({Phase.PREPARING}))
    if why is None and event.members is not None and not event.initial:
        if event.members < g.belief.least():
            g.belief.capped(event.members)
        why = g.belief.sized(event.members, generation=False)
    return why


def append_failed(g: GroupWorlds, event: AppendFailed) -> Misfit | None:
    """A record was not written. If that undoes the replacement of a static member, who the members
    are is open.
    """
    if event.reverted_to is not None:
        g.forget_members()
    return None


ROUND_LINES: dict[type[Event], Callable[[GroupWorlds, Any], Misfit | None]] = {
    RebalanceStarted: rebalance_started,
    Stabilized: stabilized,
    GroupEmptied: group_emptied,
    AssignmentReceived: assignment_received,
    EmptyAssignment: empty_assignment,
    RoundStuck: round_stuck,
    RoundOpen: round_open,
    AppendFailed: append_failed,
}
