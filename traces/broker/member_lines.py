"""Lines about members and about loading a group: which worlds can print each, and where they are
after it.

Kafka: classicGroupJoin, classicGroupLeave, expireClassicGroupMemberHeartbeat and onLoaded of
GroupMetadataManager; the same in GroupCoordinator.scala.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from groupcheck.model.protocol.classic.group import Phase
from groupcheck.traces.broker import phase_steps as steps
from groupcheck.traces.broker.belief import Misfit
from groupcheck.traces.broker.group_worlds import IN_A_GENERATION, GroupWorlds
from groupcheck.traces.story.events import (
    Event,
    GroupDied,
    GroupLoaded,
    GroupUnloaded,
    IdHandedOut,
    JoinRejected,
    MemberAdded,
    MemberExpired,
    MemberLeft,
    MemberLoaded,
    NotRejoined,
    NotSynced,
    StaticReplaced,
)


def id_handed_out(g: GroupWorlds, event: IdHandedOut) -> Misfit | None:
    """A new member is given an id; it may join with it in any later round."""
    why = g.within(event.phase)
    if why is None:
        g.belief.hand_out(event.member)
    return why


def member_added(g: GroupWorlds, event: MemberAdded) -> Misfit | None:
    """A member joins for the first time and is parked. If no round is running, one must begin in
    the same step.
    """
    if not event.fresh and not g.printing.joins:
        # This coordinator prints such joins, so no earlier one was silent.
        g.belief.joined_least = g.belief.joined_most = 0
    why = g.within(event.phase)
    if why is None:
        known = event.fresh or event.member in g.belief.handed or not g.printing.ids
        if not known and not g.belief.strangers:
            return Misfit(f"no line hands out the id {event.member}")
        why = g.belief.join(event.member, instance=event.instance, known_ids=False)
    if why is None and event.phase is not None and event.phase != Phase.PREPARING:
        g.owed = f"{event.member} joined"
    return why


def static_replaced(g: GroupWorlds, event: StaticReplaced) -> Misfit | None:
    """A static member has another id from now on."""
    why = g.within(event.phase) or g.keep(frozenset(Phase) - {Phase.EMPTY})
    return why or g.belief.replace(event.instance, event.old, event.new)


def member_left(g: GroupWorlds, event: MemberLeft) -> Misfit | None:
    """LeaveGroup. The old coordinator prints it after what it caused (from 3.0 on), the new one
    before.
    """
    if event.member in g.confirm:
        del g.confirm[event.member]
        return None
    if event.pending:
        # The new coordinator starts a round in a Stable group because of it, the old one does not.
        g.departed[event.member] = None
        return g.belief.drop_pending(event.member, known_ids=g.printing.ids)
    if not event.late:
        return _gone(g, event.member, "left")
    if g.just_ended is not None:
        return _left_before(g, event.member)
    return g.keep(frozenset({Phase.PREPARING})) or g.belief.remove(event.member)


def _left_before(g: GroupWorlds, id: str) -> Misfit | None:
    """The line of a leave that ended the round comes after the round's end: the member was gone
    when the members were counted.
    """
    belief, size = g.belief, g.just_ended
    owed, g.debt = g.debt, False
    if g.phases == {Phase.EMPTY}:
        belief.handed.pop(id, None)
        if owed:
            belief.emptied()
        return None
    if id not in belief.inside:
        return belief.remove(id) if owed else None
    why = belief.remove(id)
    if not owed and why is None:
        belief.uncount(joins_shown=g.printing.joins)
        why = belief.sized(size) if size is not None and size > 0 else None
    return why


def _gone(g: GroupWorlds, id: str, how: str) -> Misfit | None:
    why = g.keep(frozenset(Phase) - {Phase.EMPTY}) or g.belief.remove(id)
    if why is None:
        g.departed[id] = None
        _owe(g, f"{id} {how}")
    return why


def _owe(g: GroupWorlds, what: str) -> None:
    """After the loss of a member a round begins, unless one is running in some world."""
    if all(map(steps.must_restart, g.worlds)):
        g.owed = what


def member_expired(g: GroupWorlds, event: MemberExpired) -> Misfit | None:
    """A session timeout. An id with which nobody joined cannot join any more."""
    if event.pending:
        return g.belief.drop_pending(event.member, known_ids=g.printing.ids)
    return _gone(g, event.member, "expired")


def not_rejoined(g: GroupWorlds, event: NotRejoined) -> Misfit | None:
    """The join timer fired: the round ends in this step, without these members."""
    why = g.keep(frozenset({Phase.PREPARING}))
    for id in event.members:
        if g.belief.inside.get(id):
            why = why or Misfit(f"{id} is removed for not joining, but it had joined this round")
        if id in g.belief.static:
            why = why or Misfit(
                f"{id} is static, and static members are not removed for not joining"
            )
        why = why or g.belief.remove(id)
    g.closing = why is None
    return why


def not_synced(g: GroupWorlds, event: NotSynced) -> Misfit | None:
    """The sync timer fired: a round begins in this step, without these members."""
    why = g.keep(IN_A_GENERATION)
    for id in event.members:
        why = why or g.belief.remove(id)
        g.departed[id] = None
    if why is None:
        g.owed = "members that had not sent SyncGroup were removed"
    return why


def join_rejected(g: GroupWorlds, event: JoinRejected) -> Misfit | None:
    """The line tells only the state."""
    return g.within(event.phase)


def group_loaded(g: GroupWorlds, event: GroupLoaded) -> Misfit | None:
    """The last group record is in memory: the group is Empty or Stable, all else is forgotten."""
    g.forget(loaded=True)
    g.base = event.generation
    g.belief.loaded(event.members)
    phases = {Phase.EMPTY, Phase.STABLE}
    if event.members is not None:
        phases = {Phase.STABLE if event.members else Phase.EMPTY}
    return g.keep(frozenset(phases))


def member_loaded(g: GroupWorlds, event: MemberLoaded) -> Misfit | None:
    """The name of a loaded member. The old coordinator prints the members of every record that it
    reads, even of superseded ones.
    """
    if event.generation is None:
        g.belief.name_loaded(event.member, event.instance)
    return None


def group_unloaded(g: GroupWorlds, event: GroupUnloaded) -> Misfit | None:
    """Another coordinator takes the group over."""
    why = g.in_generation(event.generation)
    if why is None:
        g.forget(loaded=True)
    return why


def group_died(g: GroupWorlds, event: GroupDied) -> Misfit | None:
    """The group is removed; one of the same name begins at generation 0."""
    g.forget(loaded=True)
    return None


MEMBER_LINES: dict[type[Event], Callable[[GroupWorlds, Any], Misfit | None]] = {
    IdHandedOut: id_handed_out,
    MemberAdded: member_added,
    StaticReplaced: static_replaced,
    MemberLeft: member_left,
    MemberExpired: member_expired,
    NotRejoined: not_rejoined,
    NotSynced: not_synced,
    JoinRejected: join_rejected,
    GroupLoaded: group_loaded,
    MemberLoaded: member_loaded,
    GroupUnloaded: group_unloaded,
    GroupDied: group_died,
}
