"""The story of a group in one world, told with the events of the coordinator's own log, so that
both kinds of logs have one timeline.

Worlds share the beginning of their stories; only what all of them tell is passed on.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from attrs import frozen

from groupcheck.model.protocol.classic import coordinator, failover, timers
from groupcheck.model.protocol.classic.features import takeover
from groupcheck.model.protocol.classic.group import Phase
from groupcheck.traces.exchanges.exchange import Exchange, JoinExchange, LeaveExchange
from groupcheck.traces.requests.coordinator_steps import Memory, Outcome
from groupcheck.traces.requests.member_indexes import Ids, Instance, MemberIndexes, id_at
from groupcheck.traces.story.events import (
    AppendFailed,
    AssignmentReceived,
    Event,
    GroupEmptied,
    GroupLoaded,
    IdHandedOut,
    MemberAdded,
    MemberExpired,
    MemberLeft,
    NotRejoined,
    NotSynced,
    Reason,
    RebalanceCause,
    RebalanceStarted,
    Stabilized,
    StaticReplaced,
)


@frozen
class Entry:
    """An event of a story."""

    event: Event
    # Who held up the round that it ends; empty if that is not known.
    held_up_by: str = ""


@frozen(eq=False)
class Story:
    """The last entries and the story before them."""

    before: Story | None
    entries: tuple[Entry, ...]
    length: int

    def since(self, known: Story | None) -> list[Entry]:
        """The entries after `known`, in order."""
        parts: list[tuple[Entry, ...]] = []
        at: Story | None = self
        while at is not None and at is not known:
            parts.append(at.entries)
            at = at.before
        return [entry for part in reversed(parts) for entry in part]


@frozen
class Step:
    """One outcome of the coordinator, with what is known about it."""

    # The memory and the ids before it.
    before: Memory
    ids: Ids
    outcome: Outcome
    # The generation after it.
    base: int | None
    # ms since 1970.
    now: float
    # The exchange to which it belongs, or that made it visible.
    e: Exchange | None
    # The member that it concerns; empty if there is none.
    who: str
    indexes: MemberIndexes

    def was(self, index: int) -> str:
        """The member that had that index before it; the instance if its id is not known."""
        id = id_at(self.before, self.ids, index, self.indexes)
        key = self.indexes.at(index)
        return id or (key.name if isinstance(key, Instance) else "")

    def were(self, indexes: Iterable[int]) -> tuple[str, ...]:
        return tuple(self.was(i) for i in sorted(indexes))

    @property
    def leader(self) -> str:
        """The leader before it; empty if there was none."""
        return "" if self.before.leader is None else self.was(self.before.leader)

    @property
    def taker(self) -> int | None:
        """The index of a static member that takes the place of another id in it."""
        joins = self.rule == coordinator.join_group.name
        if self.e is None or not joins or self.label not in _TAKEN:
            return None
        return self.indexes.index(self.indexes.key("", self.e.instance))

    @property
    def rule(self) -> str:
        return self.outcome.rules[0].partition(":")[0]

    @property
    def label(self) -> str:
        return self.outcome.rules[0].partition(":")[2]

    @property
    def cause(self) -> RebalanceCause:
        """Why a round begins with this step, if one does."""
        if self.label == "replaced_and_restarted":
            stable = self.before.phase == Phase.STABLE
            return RebalanceCause.PROTOCOL_CHANGE if stable else RebalanceCause.STATIC_REPLACED
        if self.rule == coordinator.join_group.name and self.label == "restarted":
            return (
                RebalanceCause.LEADER_REJOIN
                if self.who == self.leader and self.before.phase == Phase.STABLE
                else RebalanceCause.METADATA_CHANGE
            )
        return _CAUSES.get(self.rule, RebalanceCause.NOT_TOLD)

    @property
    def client_reason(self) -> str | None:
        """The reason that the client gave."""
        if self.rule == coordinator.join_group.name and isinstance(self.e, JoinExchange):
            return self.e.reason or None
        if self.rule == coordinator.leave_group.name and isinstance(self.e, LeaveExchange):
            key = self.indexes.key
            mine = (x for x in self.e.leavers if key(x.member, x.instance) == key(self.who, None))
            return next((x.reason for x in mine), None)
        return None

    @property
    def instance(self) -> str | None:
        """The instance id of the member that it concerns."""
        key = self.indexes.key(self.who, None)
        return key.name if isinstance(key, Instance) else None

    @property
    def reverted_to(self) -> str:
        """The id that a static member has again, because its takeover could not be written."""
        after = self.outcome.after
        index = next(i for i in self.before.taking if after.id(i) != self.before.id(i))
        return id_at(after, self.ids, index, self.indexes)

    @property
    def words(self) -> str:
        """Why a round begins with it, in words."""
        if (
            self.cause == RebalanceCause.SYNC_TIMEOUT
            and self.before.members <= self.outcome.after.members
        ):
            return "the old id of a static member had not sent SyncGroup in time"
        return _WORDS[self.cause]


_TAKEN = ("replaced", "replaced_and_parked", "replaced_and_restarted")
_CAUSES = {
    coordinator.join_group.name: RebalanceCause.JOIN,
    coordinator.leave_group.name: RebalanceCause.LEAVE,
    timers.session_timeout.name: RebalanceCause.SESSION_EXPIRED,
    timers.new_member_timeout.name: RebalanceCause.SESSION_EXPIRED,
    timers.sync_timeout.name: RebalanceCause.SYNC_TIMEOUT,
    timers.append_failed.name: RebalanceCause.APPEND_FAILED,
}
_WORDS = {
    RebalanceCause.JOIN: "a new member joined",
    RebalanceCause.LEAVE: "a member left",
    RebalanceCause.SESSION_EXPIRED: "a member's session ended",
    RebalanceCause.SYNC_TIMEOUT: "members had not sent SyncGroup in time",
    RebalanceCause.LEADER_REJOIN: "the leader joined again",
    RebalanceCause.METADATA_CHANGE: "a member joined again with another subscription",
    RebalanceCause.APPEND_FAILED: "the assignment could not be written",
    RebalanceCause.STATIC_REPLACED: "a static member came back before the assignment was there",
    RebalanceCause.PROTOCOL_CHANGE: "a static member came back with other assignors",
    RebalanceCause.NOT_TOLD: "",
}


def story_after(story: Story | None, step: Step) -> Story | None:
    """The story with what one step adds; the same story if it adds nothing."""
    entries = tuple(_entries(step))
    return Story(story, entries, 1 + (story.length if story else 0)) if entries else story


def _entries(step: Step) -> Iterator[Entry]:
    before, after, on = step.before, step.outcome.after, step.outcome.on
    place: dict[str, Any] = {
        "line": step.e.line if step.e else 0,
        "time": round(step.now),
        "group": step.e.group if step.e else None,
    }
    generation = step.base or 0
    if step.rule == failover.fail_over.name:
        yield Entry(GroupLoaded(**place, generation=generation, members=len(after.members)))
        return
    gone = step.were((before.members | before.pending) - (after.members | after.pending))
    yield from map(Entry, _of_members(step, gone, place))
    began = before.phase != Phase.PREPARING and (after.phase == Phase.PREPARING or on > 0)
    if began:
        by = gone if step.rule == timers.sync_timeout.name else (step.who,) if step.who else ()
        reason = Reason(step.words, step.cause, by, client=step.client_reason)
        yield Entry(RebalanceStarted(**place, generation=generation - on, reason=reason))
    if step.rule == timers.rebalance_timeout.name and gone:
        yield Entry(NotRejoined(**place, members=gone))
    if on > 0:
        if after.members:
            held = step.who if step.rule == coordinator.join_group.name and not began else ""
            yield Entry(
                Stabilized(
                    **place,
                    generation=generation,
                    members=len(after.members),
                ),
                held,
            )
        else:
            yield Entry(GroupEmptied(**place, generation=generation))
    if (step.rule, step.label) == (coordinator.sync_group.name, "led"):
        size = len(before.members)
        yield Entry(
            AssignmentReceived(
                **place,
                generation=generation,
                leader=step.who,
                members=size,
                static=sum(before.seats[i].static for i in before.members),
            )
        )


def _of_members(step: Step, gone: tuple[str, ...], place: Mapping[str, Any]) -> Iterator[Event]:
    phase, who, pending = step.before.phase, step.who, step.label == "pending"
    taker = step.taker
    if taker is not None:
        old, new = (
            step.was(taker),
            step.e.response_member if isinstance(step.e, JoinExchange) else "",
        )
        instance = step.instance or ""
        yield StaticReplaced(**place, instance=instance, old=old, new=new or None, phase=phase)
    elif step.rule == takeover.takeover_failed.name:
        yield AppendFailed(**place, reverted_to=step.reverted_to)
    elif (step.rule, step.label) == (coordinator.join_group.name, "id_required"):
        yield IdHandedOut(**place, member=who, phase=phase)
    elif (step.rule, step.label) == (coordinator.join_group.name, "added"):
        fresh = isinstance(step.e, JoinExchange) and not step.e.member
        yield MemberAdded(**place, member=who, instance=step.instance, phase=phase, fresh=fresh)
    elif step.rule == coordinator.leave_group.name and gone:
        yield MemberLeft(
            **place,
            member=who,
            instance=step.instance,
            pending=pending,
            client_reason=step.client_reason,
        )
    elif step.rule in (timers.session_timeout.name, timers.new_member_timeout.name):
        yield MemberExpired(**place, member=who, pending=pending)
    elif step.rule == timers.sync_timeout.name:
        yield NotSynced(**place, members=gone)
