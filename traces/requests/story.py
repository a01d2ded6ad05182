"""What happens to a group in one world, told with the events of the coordinator's own log, so that
both kinds of logs have one timeline.

Worlds share the beginning of their stories; only what all of them tell is passed on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from attrs import frozen

from groupcheck.model.protocol.classic import coordinator, failover, timers
from groupcheck.model.protocol.classic.group import Phase
from groupcheck.traces.events import (
    AssignmentReceived,
    Cause,
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
    RebalanceStarted,
    Stabilized,
)
from groupcheck.traces.exchanges import Exchange, JoinExchange, LeaveExchange
from groupcheck.traces.requests.steps import Memory, Outcome

Names = Callable[[Iterable[int]], tuple[str, ...]]


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

    before: Memory
    outcome: Outcome
    # The generation after it.
    base: int | None
    # ms since 1970.
    now: float
    # The exchange to which it belongs, or that made it visible.
    e: Exchange | None
    # The member that it concerns, and the leader before it; empty if there is none.
    who: str
    leader: str

    @property
    def rule(self) -> str:
        return self.outcome.rules[0].partition(":")[0]

    @property
    def label(self) -> str:
        return self.outcome.rules[0].partition(":")[2]

    @property
    def cause(self) -> Cause:
        """Why a round begins with this step, if one does."""
        if self.rule == coordinator.join_group.name and self.label == "restarted":
            return (
                Cause.LEADER_REJOIN
                if self.who == self.leader and self.before.phase == Phase.STABLE
                else Cause.METADATA_CHANGE
            )
        return _CAUSES.get(self.rule, Cause.NOT_TOLD)

    @property
    def client_reason(self) -> str | None:
        """The reason that the client gave."""
        if self.rule == coordinator.join_group.name and isinstance(self.e, JoinExchange):
            return self.e.reason or None
        if self.rule == coordinator.leave_group.name and isinstance(self.e, LeaveExchange):
            return next((x.reason for x in self.e.leavers if x.member == self.who), None)
        return None


_CAUSES = {
    coordinator.join_group.name: Cause.JOIN,
    coordinator.leave_group.name: Cause.LEAVE,
    timers.session_timeout.name: Cause.SESSION_EXPIRED,
    timers.new_member_timeout.name: Cause.SESSION_EXPIRED,
    timers.sync_timeout.name: Cause.SYNC_TIMEOUT,
    timers.append_failed.name: Cause.APPEND_FAILED,
}
_WORDS = {
    Cause.JOIN: "a new member joined",
    Cause.LEAVE: "a member left",
    Cause.SESSION_EXPIRED: "a member's session ended",
    Cause.SYNC_TIMEOUT: "members had not sent SyncGroup in time",
    Cause.LEADER_REJOIN: "the leader joined again",
    Cause.METADATA_CHANGE: "a member joined again with another subscription",
    Cause.APPEND_FAILED: "the assignment could not be written",
    Cause.NOT_TOLD: "",
}


def told_of(story: Story | None, step: Step, names: Names) -> Story | None:
    """The story with what one step adds; the same story if it adds nothing."""
    entries = tuple(_entries(step, names))
    return Story(story, entries, 1 + (story.length if story else 0)) if entries else story


def _entries(step: Step, names: Names) -> Iterator[Entry]:
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
    gone = names((before.members | before.pending) - (after.members | after.pending))
    yield from map(Entry, _of_members(step, gone, place))
    began = before.phase != Phase.PREPARING and (after.phase == Phase.PREPARING or on > 0)
    if began:
        by = gone if step.rule == timers.sync_timeout.name else (step.who,) if step.who else ()
        reason = Reason(_WORDS[step.cause], step.cause, by, client=step.client_reason)
        yield Entry(RebalanceStarted(**place, generation=generation - on, reason=reason))
    if on > 0:
        if step.rule == timers.rebalance_timeout.name and gone:
            yield Entry(NotRejoined(**place, members=gone))
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
                static=0,
            )
        )


def _of_members(step: Step, gone: tuple[str, ...], place: Mapping[str, Any]) -> Iterator[Event]:
    phase, who, pending = step.before.phase, step.who, step.label == "pending"
    if (step.rule, step.label) == (coordinator.join_group.name, "id_required"):
        yield IdHandedOut(**place, member=who, phase=phase)
    elif (step.rule, step.label) == (coordinator.join_group.name, "added"):
        fresh = isinstance(step.e, JoinExchange) and not step.e.member
        yield MemberAdded(**place, member=who, phase=phase, fresh=fresh)
    elif step.rule == coordinator.leave_group.name and gone:
        yield MemberLeft(
            **place,
            member=who,
            pending=pending,
            client_reason=step.client_reason,
        )
    elif step.rule in (timers.session_timeout.name, timers.new_member_timeout.name):
        yield MemberExpired(**place, member=who, pending=pending)
    elif step.rule == timers.sync_timeout.name:
        yield NotSynced(**place, members=gone)
