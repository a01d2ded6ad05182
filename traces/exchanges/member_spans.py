"""Spans of time in which a member joined, synced or owned partitions, as far as its requests tell:
for a picture of the group.
"""

from __future__ import annotations

from typing import Literal

from attrs import Factory, define

from groupcheck.model.protocol.codes import FENCED_MEMBER_EPOCH, NONE
from groupcheck.traces.exchanges.epoch_shares import AWAY, LEAVES, EpochShare
from groupcheck.traces.exchanges.exchange import (
    CommitExchange,
    EpochExchange,
    Exchange,
    HeartbeatExchange,
    JoinExchange,
    LeaveExchange,
    SyncExchange,
)
from groupcheck.traces.exchanges.owners import MEMBERS_KEPT, REFUSALS
from groupcheck.traces.messages.consumer_protocol import assignment, subscription
from groupcheck.traces.messages.message_bytes import Malformed

SPANS_KEPT = 20_000
PARTITIONS_KEPT = 50

SpanKind = Literal["joining", "syncing", "owns", "refused"]


@define
class MemberSpan:
    """A stretch of time of one member."""

    member: str
    client: str
    # joining and syncing: until the answer; owns: from the answer to SyncGroup until the member
    # joins again, leaves or is refused (in a consumer group, as its heartbeats tell); refused: a
    # heartbeat or commit that was answered with an error.
    kind: SpanKind
    # ms since 1970.
    since: int
    # None while it lasts.
    until: int | None
    line: int
    generation: int | None = None
    # How many partitions it owns, and the first `PARTITIONS_KEPT` of them, such as `orders-3`.
    count: int = 0
    partitions: tuple[str, ...] = ()


@define
class MemberSpans:
    """Those of one group's members, filled by `observe`."""

    kept: list[MemberSpan] = Factory(list)
    # Stays beyond the limit.
    dropped: int = 0
    # Member -> what it owns now; of a consumer group, what its heartbeats tell.
    _owns: dict[str, MemberSpan] = Factory(dict)
    _shares: dict[str, EpochShare] = Factory(dict)

    def observe(self, e: Exchange) -> None:
        at = round(e.arrived)
        if isinstance(e, JoinExchange):
            member = e.response_member or e.member
            self._keep(
                MemberSpan(member, e.client, "joining", at, e.answered, e.line, e.to_generation)
            )
            if not _keeps(e):
                self._end(e.member, at)
        elif isinstance(e, SyncExchange):
            self._keep(
                MemberSpan(e.member, e.client, "syncing", at, e.answered, e.line, e.generation)
            )
            if e.code == NONE:
                self._begin(e)
        elif isinstance(e, LeaveExchange):
            for leaver in e.leavers:
                self._end(leaver.member, at)
        elif isinstance(e, EpochExchange):
            if e.protocol == "consumer":
                self._beat(e, at)
        elif isinstance(e, HeartbeatExchange | CommitExchange) and e.code in REFUSALS:
            self._keep(MemberSpan(e.member, e.client, "refused", at, at, e.line, e.generation))
            self._end(e.member, at)

    def _beat(self, e: EpochExchange, at: int) -> None:
        """A heartbeat of a consumer group (KIP-848)."""
        refused = e.code in REFUSALS or e.code == FENCED_MEMBER_EPOCH
        if refused:
            self._keep(MemberSpan(e.member, e.client, "refused", at, at, e.line, e.epoch))
        if refused or e.epoch in (LEAVES, AWAY):
            self._shares.pop(e.member, None)
            self._end(e.member, at)
        elif e.code == NONE and (e.member in self._shares or len(self._shares) < MEMBERS_KEPT):
            mine = self._shares.setdefault(e.member, EpochShare())
            before = mine.all
            if mine.observe(e) and mine.all != before:
                self._own(e, tuple(sorted(mine.all)), e.to_epoch)

    def _begin(self, e: SyncExchange) -> None:
        try:
            given = tuple(f"{topic}-{n}" for topic, n in sorted(assignment(e.share)))
        except Malformed:
            return
        self._own(e, given, e.generation)

    def _own(self, e: Exchange, given: tuple[str, ...], generation: int | None) -> None:
        self._end(e.member, e.answered)
        if not given or len(self._owns) >= MEMBERS_KEPT:
            return
        owns = MemberSpan(e.member, e.client, "owns", e.answered, None, e.line, generation)
        owns.count, owns.partitions = len(given), given[:PARTITIONS_KEPT]
        self._owns[e.member] = owns
        self._keep(owns)

    def _end(self, member: str, at: int) -> None:
        owns = self._owns.pop(member, None)
        if owns is not None:
            owns.until = max(at, owns.since)

    def _keep(self, stay: MemberSpan) -> None:
        if len(self.kept) < SPANS_KEPT:
            self.kept.append(stay)
        else:
            self.dropped += 1


def _keeps(e: JoinExchange) -> bool:
    """Does the member keep partitions while it joins (KIP-429)?"""
    try:
        return any(subscription(data).owned for _, data in e.protocols)
    except Malformed:
        return False
