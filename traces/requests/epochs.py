"""Requests to a KIP-848 group (consumer, share, streams) as the events that its coordinator's log
has, so that both kinds of logs have one timeline.

Classic members of such a group (KIP-848's online upgrade) are members like the others; the
generation of their answers is the epoch. That a member expired shows in no request, but another one
is given partitions that a silent one has not given up.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from attrs import Factory, define

from groupcheck.model.protocol.codes import FENCED_MEMBER_EPOCH, NONE, UNKNOWN_MEMBER_ID
from groupcheck.traces.exchanges.epoch_shares import AWAY, LEAVES, EpochShare
from groupcheck.traces.exchanges.exchange import (
    EpochExchange,
    Exchange,
    HeartbeatExchange,
    JoinExchange,
    LeaveExchange,
    SyncExchange,
)
from groupcheck.traces.story.events import OtherProtocol

MEMBERS_KEPT = 20_000
_FENCED = frozenset({UNKNOWN_MEMBER_ID, FENCED_MEMBER_EPOCH})
SILENT_BEATS = 2


@define
class _Member:
    """What is known of a member."""

    # The epoch that it was told last.
    epoch: int
    share: EpochShare = Factory(EpochShare)
    # Its last heartbeat was answered, in ms since 1970; and the interval that it was told.
    heard: float = 0.0
    interval_ms: int = 0


@define
class EpochTrail:
    """One group's members and epochs, as its requests tell them."""

    # Takes each event.
    tell: Callable[[OtherProtocol], None]
    protocol: str = "consumer"
    _members: dict[str, _Member] = Factory(dict)
    _highest: int = 0

    def observe(self, e: Exchange) -> None:
        modern = isinstance(e, EpochExchange) and e.code == NONE and self.protocol == "consumer"
        if modern and isinstance(e, EpochExchange):
            self._silent(e)
        for what, member, epoch in self._news(e):
            self._event(e, what, member, epoch)
        known = self._members.get(e.member)
        if known is not None and modern and isinstance(e, EpochExchange):
            known.heard, known.interval_ms = e.given, e.interval_ms or known.interval_ms
            if known.share.observe(e):
                mine = known.share
                self._event(e, "assignment", e.member, known.epoch, mine.told, mine.revoking)

    def _silent(self, e: EpochExchange) -> None:
        """Members that lost partitions to this one, did not give them up, and have been silent for
        longer than heartbeats take: the coordinator has removed them.
        """
        for id, m in [*self._members.items()] if e.assigned else ():
            silent = m.interval_ms and e.began - m.heard > SILENT_BEATS * m.interval_ms
            if id != e.member and silent and not m.share.all.isdisjoint(e.assigned or ()):
                del self._members[id]
                begins = (e.to_epoch or 0) > self._highest
                self._event(e, "gone" if begins else "found gone", id, None)

    def _news(self, e: Exchange) -> Iterator[tuple[str, str, int | None]]:
        """The news in an exchange: event, member and epoch."""
        if isinstance(e, LeaveExchange):
            for leaver in e.leavers:
                if leaver.code == NONE and self._members.pop(leaver.member, None) is not None:
                    yield "left", leaver.member, None
            return
        member = e.response_member if isinstance(e, JoinExchange) else e.member
        if e.code in _FENCED and self._members.pop(member, None) is not None:
            yield "fenced", member, None
        if e.code != NONE or not member:
            return
        if isinstance(e, EpochExchange) and e.epoch in (LEAVES, AWAY):
            self._members.pop(member, None)
            yield "left" if e.epoch == LEAVES else "away", member, None
        elif isinstance(e, EpochExchange):
            yield from self._reached(member, e.to_epoch)
        elif isinstance(e, JoinExchange):
            yield from self._reached(member, e.to_generation)
        elif isinstance(e, SyncExchange | HeartbeatExchange) and member in self._members:
            yield from self._reached(member, e.generation)

    def _reached(self, member: str, epoch: int | None) -> Iterator[tuple[str, str, int | None]]:
        if epoch is None or epoch <= 0:
            return
        known = self._members.get(member)
        before = known.epoch if known is not None else None
        if known is None:
            if len(self._members) >= MEMBERS_KEPT:
                return
            self._members[member] = _Member(epoch)
            yield "joined", member, None
        else:
            known.epoch = epoch
        if epoch > self._highest:
            self._highest = epoch
            yield "epoch", "", epoch
        if before != epoch:
            yield "assignment", member, epoch

    def _event(
        self,
        e: Exchange,
        what: str,
        member: str,
        epoch: int | None,
        owns: frozenset[str] | None = None,
        revoking: frozenset[str] = frozenset(),
    ) -> None:
        place: dict[str, Any] = {"line": e.line, "time": e.answered, "group": e.group}
        self.tell(
            OtherProtocol(
                **place,
                protocol=self.protocol,
                what=what,
                member=member or None,
                epoch=epoch,
                detail="STABLE" if what == "assignment" else None,
                owns=owns,
                revoking=revoking,
            )
        )
