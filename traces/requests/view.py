"""The view of a group that a log gives: perhaps not all of its members are in it, as in a packet
capture that was taken on a client's host, or in the lines of one client that somebody picked out of
a request log. Then the coordinator cannot be followed, and the group's timeline is what members
were told.
"""

from __future__ import annotations

from typing import Any

from attrs import Factory, define, evolve, field

from groupcheck.model.protocol.codes import NONE
from groupcheck.traces.captures.text import CaptureSummary
from groupcheck.traces.exchanges.exchange import Exchange, JoinExchange, LeaveExchange, SyncExchange
from groupcheck.traces.findings.findings import Findings
from groupcheck.traces.story.events import (
    AssignmentReceived,
    MemberLeft,
    Reason,
    RebalanceCause,
    RebalanceStarted,
    Stabilized,
)
from groupcheck.traces.story.moments import NOT_SHOWN
from groupcheck.traces.story.timeline import Timeline

MEMBERS_KEPT = 20_000
SEEN = frozenset({"rebalance_storm", "bouncing_members"})
"""Anomalies that do not depend on what all members do."""
EARLY_MS = 300_000.0
"""For so long after the capture began, requests that were sent before may have an effect."""


@define
class View:
    """One group's, filled by `observe`."""

    # None: the log is the broker's own, which shows every member unless lines were taken out.
    capture: CaptureSummary | None = None
    timeline: Timeline = Factory(Timeline)
    # Members that answers name, and the moment by which each must have sent a request.
    _named: dict[str, float] = field(factory=dict)
    # When members sent their first request.
    _asked: dict[str, float] = field(factory=dict)
    _highest: int = 0

    def observe(self, e: Exchange) -> None:
        if len(self._asked) < MEMBERS_KEPT:
            self._asked.setdefault(e.member, e.began)
            if isinstance(e, JoinExchange):
                self._asked.setdefault(e.response_member, e.began)
        place: dict[str, Any] = {"line": e.line, "time": round(e.given), "group": e.group}
        if isinstance(e, JoinExchange) and e.code == NONE:
            self._joined(e, place)
        elif isinstance(e, SyncExchange) and e.code == NONE:
            leader = e.member if e.assignments else None
            self.timeline.observe(
                AssignmentReceived(**place, generation=e.generation, leader=leader)
            )
        elif isinstance(e, LeaveExchange) and e.code == NONE:
            for leaver in e.leavers:
                if leaver.code in (NONE, None):
                    self.timeline.observe(
                        MemberLeft(**place, member=leaver.member, client_reason=leaver.reason)
                    )

    def _joined(self, e: JoinExchange, place: dict[str, Any]) -> None:
        for id in (e.leader, *(id for id, _ in e.members)):
            if len(self._named) < MEMBERS_KEPT:
                # Who takes part has joined before, and shows within its session that it lives.
                self._named.setdefault(id, e.given + e.session_ms)
        if e.to_generation <= self._highest:
            return
        self._highest = e.to_generation
        began = place | {"time": round(e.began)}
        reason = Reason("", RebalanceCause.NOT_TOLD)
        self.timeline.observe(
            RebalanceStarted(**began, generation=e.to_generation - 1, reason=reason)
        )
        self.timeline.observe(
            Stabilized(**place, generation=e.to_generation, members=len(e.members) or None)
        )
        last = self.timeline.rounds[-1]
        last.held_up_by, last.waited_for = (), NOT_SHOWN

    def member_timeline(self, timeline: Timeline) -> Timeline:
        """The timeline of what members were told, with the times and settings of the whole log."""
        self.timeline.first, self.timeline.last = timeline.first, timeline.last
        self.timeline.asked = timeline.asked
        return self.timeline

    def lacks(self, followed: bool, first_refused: float | None) -> str:
        """Why the group cannot be followed, in words; empty if it can. `followed`: the model
        explains every answer; `first_refused`: when one was given that it does not explain.
        """
        if self.capture is None and followed:
            return ""
        unseen = self._unseen()
        others = "1 other member" if unseen == 1 else f"{unseen:,} other members"
        if self.capture is None:
            whole = "give the whole request log of the group's coordinator"
            return f"the log lacks requests of {others}; {whole}" if unseen else ""
        if unseen:
            return f"the capture does not show the requests of {others}"
        if self.capture.doubt:
            return self.capture.doubt
        begins = self.capture.within
        if begins is not None and first_refused is not None and first_refused < begins + EARLY_MS:
            return "the capture begins within connections: what was sent before is not shown"
        return ""

    def _unseen(self) -> int:
        """How many members take part of which some or all requests are missing."""
        return sum(
            self._asked.get(id, float("inf")) > deadline for id, deadline in self._named.items()
        )


def visible(found: Findings) -> Findings:
    """The findings that hold for the members that the log shows: who was silent or away, and which
    partitions had no owner, is known of all members only.
    """
    standing = tuple(s for s in found.standing if s.why == "parked")
    return evolve(found, empty=(), unowned=(), absences=(), standing=standing, unsettled=None)
