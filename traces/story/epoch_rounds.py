"""The timeline of a KIP-848 group (consumer, share, streams), in which each new group epoch is a
rebalance.

No model is involved. A rebalance ends when every member has its assignment of that epoch and no
partition is on its way any more (DEBUG lines from 4.0 on). The end is reported only for groups
whose beginning the log shows, because other groups may have members that no line names.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from attrs import Factory, define

from groupcheck.traces.story.events import OtherProtocol, RebalanceCause
from groupcheck.traces.story.handovers import Handovers
from groupcheck.traces.story.moments import (
    ACKNOWLEDGED,
    ONE_STEP_MS,
    Moment,
    Round,
    elapsed,
    moment,
)

Why = tuple[RebalanceCause, tuple[str, ...], str]
"""Why an epoch begins: cause, members and text."""
_FENCED = (
    (re.compile(r"session\b.{0,20}\bexpired"), RebalanceCause.SESSION_EXPIRED, "expired"),
    (re.compile(r"failed to (?:transition|revoke)"), RebalanceCause.REBALANCE_TIMEOUT, "fenced"),
    (re.compile(r"failed to sync"), RebalanceCause.SYNC_TIMEOUT, "not_synced"),
)
"""Why a member was fenced, in the words of GroupMetadataManager -> the cause of the next epoch, and
how the member went.
"""
_CAUSES = {
    "joined": RebalanceCause.JOIN,
    "rejoined": RebalanceCause.STATIC_REPLACED,
    "left": RebalanceCause.LEAVE,
    "gone": RebalanceCause.GONE,
    "subscription": RebalanceCause.METADATA_CHANGE,
    "configuration": RebalanceCause.METADATA_CHANGE,
    "topology": RebalanceCause.METADATA_CHANGE,
    "metadata": RebalanceCause.METADATA_CHANGE,
}
_WITH_OTHERS = ("subscription", "metadata", "topology", "configuration")
"""What a member that joins or leaves brings about as well."""
_WENT = {"left": "left", "gone": "gone", "found gone": "gone"}
_NOT_TOLD: Why = (RebalanceCause.NOT_TOLD, (), "")
FIRST_EPOCH = 2
"""The first epoch of a new group is 2 (1 in some versions)."""


def is_lost(last: Round | None, epoch: int | None) -> bool:
    """Were the records of the last rebalance never appended, if `epoch` begins now? Epochs rise, so
    one that begins again had not begun.
    """
    return last is not None and last.to_generation is not None and last.to_generation == epoch


def why_fenced(event: OtherProtocol) -> tuple[RebalanceCause, str]:
    """Why the next epoch begins after a member was fenced, and how the member went, by the reason
    that the line names; `gone` and `fenced` if it is none that is known.
    """
    said = event.detail or ""
    known = ((cause, how) for reason, cause, how in _FENCED if reason.search(said))
    return next(known, (RebalanceCause.GONE, "fenced"))


def how_it_went(event: OtherProtocol) -> str | None:
    """How the member is no member any more by this event; None if it still is one."""
    return why_fenced(event)[1] if event.what == "fenced" else _WENT.get(event.what)


@define
class EpochStory:
    """A group's members and its current epoch."""

    members: dict[str, None] = Factory(dict)
    # The log shows the group from its beginning.
    whole: bool = False
    # The members that have their assignment of the current epoch.
    reached: set[str] = Factory(set)
    # Why the next epoch begins, and when a static member came back, if it is that.
    why: Why = _NOT_TOLD
    _came_back: Moment | None = None
    handovers: Handovers = Factory(Handovers)
    # Lines tell which member has reached which epoch.
    _detailed: bool = False
    # The last rebalance that an epoch began, and who was a member before it and since.
    _latest: Round | None = None
    _were: tuple[str, ...] = ()
    _are: tuple[str, ...] = ()

    def observe(self, event: OtherProtocol, current: Round | None) -> Round | None:
        """Takes one event; `current`: the last rebalance. Returns a new one if it begins here."""
        if current is not None and current is self._latest and current.outcome == "lost":
            current.outcome = "open"  # the records outlive their coordinator, and the next goes on
        member = event.member
        who = () if member is None else (member,)
        self._forget_return(event)
        if event.what == "fenced":
            self.why = (why_fenced(event)[0], who, event.detail or "")
        elif event.what in _CAUSES and not self._brings_nothing(event):
            self.why = (_CAUSES[event.what], who, "")
        if member is not None:
            self._members(event, member)
        self._moves(event, current)
        if event.epoch is None:
            return None
        if event.what == "epoch":
            return self._bumped(event, current)
        if current is None or current.to_generation != event.epoch:
            return None
        if event.what == "target":
            current.joined_at = moment(event)
        elif event.what == "assignment" and member is not None and event.detail == "STABLE":
            self._given(member, moment(event), current)
        return None

    def converted(self, members: Iterable[str] | None, running: Round | None) -> None:
        """The group has another protocol. `members`: all that a consumer group begins with; None if
        they are not known. `running`: the rebalance of a classic group that ends with it.
        """
        if running is not None and running.to_generation is None and members is not None:
            running.outcome = "interrupted"
        self.members, self.whole = dict.fromkeys(members or ()), members is not None
        self.handovers.forget()
        self.why = _NOT_TOLD

    def _brings_nothing(self, event: OtherProtocol) -> bool:
        """Is it not why the next epoch begins, although others of its kind are?"""
        if event.what in _WITH_OTHERS:
            return self.why[0] != RebalanceCause.NOT_TOLD
        return event.joins_classic and event.member in self.members

    def _forget_return(self, event: OtherProtocol) -> None:
        """Forgets that a static member came back, once that was too long ago to be why an epoch
        begins: it begins one at once or not at all.
        """
        late = (elapsed(self._came_back, moment(event)) or 0) > ONE_STEP_MS
        if late and self.why[0] == RebalanceCause.STATIC_REPLACED:
            self.why = _NOT_TOLD
        if event.what == "rejoined":
            self._came_back = moment(event)

    def _moves(self, event: OtherProtocol, current: Round | None) -> None:
        """The partitions that the event moves."""
        at, member = moment(event), event.member
        self._detailed = self._detailed or event.what == "assignment"
        if event.shares is not None:
            begun = [*self.handovers.planned(at, event.shares)]
        elif member is not None and event.owns is not None:
            begun = [*self.handovers.assigned(at, member, event.owns, event.revoking)]
        else:
            begun = []
            how = how_it_went(event)
            if member is not None and how is not None:
                self.handovers.gone(at, member, how)
            elif member is not None and event.what == "away":
                self.handovers.parked(at, member)
            elif member is not None and event.what == "rejoined" and event.detail:
                self.handovers.renamed(event.detail, member)
        if current is not None:
            current.handovers += begun

    def _members(self, event: OtherProtocol, member: str) -> None:
        if event.what in ("joined", "rejoined", "assignment"):
            self.members[member] = None
            if event.what == "rejoined" and event.detail and event.detail != member:
                self.members.pop(event.detail, None)
        elif how_it_went(event) is not None:
            self.members.pop(member, None)

    def _bumped(self, event: OtherProtocol, current: Round | None) -> Round:
        assert event.epoch is not None
        self.whole = self.whole or (current is None and event.epoch <= FIRST_EPOCH)
        if current is not None and current.outcome == "open":
            current.outcome = "interrupted" if self._detailed else "unseen"
        cause, causers, reason = self.why
        if is_lost(current, event.epoch):
            self.members = dict.fromkeys(self._were)
            for member in causers:
                self.members.pop(member, None)
                if cause in (RebalanceCause.JOIN, RebalanceCause.STATIC_REPLACED):
                    self.members[member] = None
        else:
            self._were = self._are
        self._are = tuple(self.members)
        self.why, self.reached = _NOT_TOLD, set()
        began = Round(
            moment(event), event.epoch - 1, event.epoch, cause=cause, causers=causers, reason=reason
        )
        if self.whole:
            began.size = len(self.members)
            if not self.members:
                began.outcome, began.waited_for = "emptied", "nobody"
                began.joined_at = moment(event)
        self._latest = began
        return began

    def _given(self, member: str, when: Moment, current: Round) -> None:
        self.reached.add(member)
        done = self.whole and current.outcome == "open" and self.reached >= set(self.members)
        if not done or any(h.waits for h in current.handovers):
            return
        current.assigned, current.outcome = when, "assigned"
        current.held_up_by, current.waited_for = (member,), "was given its part last"
        late = [h for h in current.handovers if h.how == ACKNOWLEDGED and h.released is not None]
        if late:
            last = max(late, key=lambda h: h.released.line if h.released else 0)
            current.held_up_by, current.waited_for = (last.source,), "gave its partitions up last"
