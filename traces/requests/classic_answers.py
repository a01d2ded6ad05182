"""The answers to classic members of a consumer group (KIP-848), each judged by the rules of the
model `migration`: which codes a SyncGroup, a Heartbeat or a LeaveGroup may get, which generation a
JoinGroup, and which assignment a SyncGroup (GroupMetadataManager, classicGroup...ToConsumerGroup).

A JoinGroup is a heartbeat whose answer comes with the SyncGroup behind it, so both together are
judged as one, by the rules of heartbeats. Nobody leads: targets are the coordinator's, and no
request tells them, so any that fit will do.

Not judged: static members, commits, and whether a classic member and another one have a partition
at once: a request log names topics for classic members, and ids of topics for others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from attrs import Factory, define, evolve

from groupcheck.model.protocol.codes import (
    MEMBER_ID_REQUIRED,
    NONE,
    REBALANCE_IN_PROGRESS,
    UNKNOWN_MEMBER_ID,
    name_of,
)
from groupcheck.model.protocol.consumer.memory import Core, Seat, State
from groupcheck.model.protocol.consumer.messages import Kind, Link, Request, Tag
from groupcheck.model.protocol.consumer.releases import RELEASES
from groupcheck.model.protocol.migration.classic_requests import classic_heartbeat, sync_group
from groupcheck.model.protocol.migration.scope import MigrationScope
from groupcheck.traces.exchanges.exchange import (
    EpochExchange,
    Exchange,
    HeartbeatExchange,
    JoinExchange,
    LeaveExchange,
    SyncExchange,
)
from groupcheck.traces.messages.consumer_protocol import assignment, subscription
from groupcheck.traces.messages.message_bytes import Malformed
from groupcheck.traces.requests.consumer_answers import ConsumerAnswers, KnownRecord
from groupcheck.traces.requests.group_rules import AWAY, SLACK_MS
from groupcheck.traces.requests.words import RefusedAnswer

MEMBERS_KEPT = 20_000
_FREE = 1
"""The bit of a partition that a member wants and does not have."""
_SCOPES = [MigrationScope(kafka=version) for version in RELEASES]
_CURRENT_AND_PENDING = ((True, False), (True, True), (False, False), (False, True))
"""Whether the member is at the target's epoch (`Seat.current`), and whether the group is ahead of
its target (`Core.pending`).
"""


@define
class _Member:
    """A classic member."""

    generation: int
    session_ms: int
    rebalance_ms: int
    # When its last answer was given, and since when it has had to join or to sync.
    heard: float
    # Its connection then, and how many requests had been skipped on it.
    place: tuple[str, int]
    asked: float | None = None
    # The partitions that its last SyncGroup told.
    share: frozenset[str] | None = None
    # Its JoinGroup, whose SyncGroup is still to come, with the record before it.
    joined: JoinExchange | None = None
    before: KnownRecord | None = None
    # Its generation before that JoinGroup; 0: it was new.
    former: int = 0

    def may_be_gone(self, at: float) -> bool:
        """May one of its timers have removed it?"""
        late = self.asked is not None and at - self.asked > self.rebalance_ms
        return late or at - self.heard > self.session_ms


@define
class ClassicAnswers:
    """One group's, filled by `observe`; exchanges come in the order in which they began."""

    # Takes each answer that no release gives.
    refuse: Callable[[RefusedAnswer], None]
    # The latest epoch that the group was told before a moment.
    latest: Callable[[float], int]
    # How many answers were judged, and how many could not be.
    judged: int = 0
    unjudged: int = 0
    _members: dict[str, _Member] = Factory(dict)
    # Since when the group has been a consumer group; None: it is none.
    _since: float | None = None
    # What the members have.
    _shares: ConsumerAnswers = Factory(lambda self: ConsumerAnswers(self.refuse), takes_self=True)

    def observe(self, e: Exchange, *, modern: bool) -> None:
        """Takes an exchange; `modern`: the group is a consumer group, perhaps since this one."""
        self._shares.numbered(e)
        if e.code in AWAY:
            self._members.clear()
            self._shares.forget()
            return
        if modern != (self._since is not None):
            self._since = e.given if modern else None
            self._converted(e)
        judges = self._since is not None and e.began > self._since + SLACK_MS
        if e.instance is not None or (isinstance(e, JoinExchange) and e.static):
            self.unjudged += judges
            self._members.pop(e.member, None)
        elif isinstance(e, JoinExchange):
            self._join(e, judges)
        elif isinstance(e, SyncExchange):
            self._sync(e, judges)
        elif isinstance(e, HeartbeatExchange) and judges:
            self._asks(e, e.generation)
        elif isinstance(e, LeaveExchange):
            self._leave(e, judges)
        elif isinstance(e, EpochExchange):
            self._members.pop(e.member, None)  # it uses heartbeats from here on

    def _converted(self, e: Exchange) -> None:
        """The group has another protocol from here on."""
        self._shares.forget()
        if self._since is None:
            self._members.clear()
            return
        last = max((m.generation for m in self._members.values()), default=0)
        for id, m in [*self._members.items()]:
            if m.generation == last and m.share is not None:
                told = _told(
                    e,
                    id,
                    m.share,
                    epoch=0,
                    to_epoch=last,
                    owned=frozenset(),
                    interval_ms=m.session_ms,
                    began=e.began,
                    given=e.given,
                )
                self._shares.observe(told)
            else:
                del self._members[id]
        self._shares.judged = 0

    # -- what members ask

    def _join(self, e: JoinExchange, judges: bool) -> None:
        id = e.response_member or e.member
        if e.code != NONE:
            self.unjudged += judges and e.code != MEMBER_ID_REQUIRED
            return
        known = self._members.get(id)
        if known is None and len(self._members) >= MEMBERS_KEPT:
            return
        member = _Member(
            e.to_generation, e.session_ms, e.rebalance_ms, e.given, self._shares.place(e), e.given
        )
        if judges:
            gone = known is None or known.may_be_gone(e.began)
            least = self.latest(e.began) if known is None else 0 if gone else known.generation
            self.judged += 1
            if e.to_generation < least:
                why = f"has generation {e.to_generation}, and"
                whose = "the group" if known is None else id
                self._refuse(e, f"{why} {whose} had {least} before", member=known)
            member.former = 0 if known is None or gone else known.generation
            member.before = None if gone else self._shares.take(id)
            member.joined = e
        self._members[id] = member

    def _sync(self, e: SyncExchange, judges: bool) -> None:
        member = self._members.get(e.member)
        if member is None or not judges:
            self.unjudged += judges
        else:
            self._asks(e, e.generation)
        if member is None or e.code != NONE:
            return
        share = _share(e.share)
        member.heard, member.asked = e.given, None
        if judges and member.joined is not None and share is not None:
            self._reconciled(e, member, member.joined, share)
        elif judges and share is not None and member.share not in (None, share):
            self._refuse(e, "gives it another assignment, and it has not joined again", "", member)
        member.share, member.joined, member.before = share, None, None

    def _reconciled(
        self, e: SyncExchange, member: _Member, join: JoinExchange, share: frozenset[str]
    ) -> None:
        """A JoinGroup with its SyncGroup: what a heartbeat and its answer would be."""
        owned = _owned(join)
        if owned is None or (member.before is None and member.former):
            self.unjudged += 1
        if member.before is not None:
            # A connection is served one request after the other, however close they are.
            heard = min(member.before.heard, join.began - 1)
            self._shares.put(e.member, evolve(member.before, heard=heard))
        before = self._shares.judged
        told = _told(
            e,
            e.member,
            share,
            epoch=member.former,
            to_epoch=member.generation,
            owned=owned,
            interval_ms=member.session_ms,
            began=join.began,
            given=join.given,
        )
        self._shares.observe(told)
        self.judged += self._shares.judged - before

    def _asks(self, e: HeartbeatExchange | SyncExchange, generation: int) -> None:
        """A Heartbeat or a SyncGroup: its code."""
        member = self._members.get(e.member)
        if member is None:
            self.unjudged += isinstance(e, HeartbeatExchange)
            return
        gone = member.may_be_gone(e.began)
        allowed = {*self._codes(e, generation, member)} | ({UNKNOWN_MEMBER_ID} if gone else set())
        self.judged += 1
        if e.code not in allowed:
            could = " or ".join(name_of(code) for code in sorted(allowed))
            told = f"has the code {name_of(e.code or NONE)}, but could only have {could}"
            self._refuse(e, told, could, member)
        if e.code == UNKNOWN_MEMBER_ID:
            del self._members[e.member]
            self._shares.take(e.member)
        elif e.code != NONE:  # it has to join again
            member.asked = e.given if member.asked is None else member.asked
        if e.code in (NONE, REBALANCE_IN_PROGRESS):
            member.heard, member.place = e.given, self._shares.place(e)
            if member.joined is None:
                self._shares.heard(e.member, e.given)
            self._shares.decide(e, alive=True)

    def _codes(
        self, e: HeartbeatExchange | SyncExchange, generation: int, member: _Member
    ) -> Iterator[int]:
        syncs = isinstance(e, SyncExchange)
        rule = sync_group if syncs else classic_heartbeat
        tag = Tag.CURRENT if generation == member.generation else Tag.OLD
        link = Link(request=Request(Kind.SYNC_GROUP if syncs else Kind.CLASSIC_BEAT, tag))
        record = self._shares.of(e.member) if member.joined is None else None
        seats = (record.seats if record is not None else None) or [Seat(state=s) for s in State]
        for scope in _SCOPES:
            for seat in seats:
                for wants in (0, _FREE):
                    for current, pending in _CURRENT_AND_PENDING:
                        asks = evolve(
                            seat, classic=True, current=current, target=seat.assigned | wants
                        )
                        core = Core(exists=True, members=2, classics=1, pending=pending)
                        for _, _, _, after in rule.call(core, asks, link, scope):
                            yield after.answer.code

    def _leave(self, e: LeaveExchange, judges: bool) -> None:
        for one in e.leavers:
            member = self._members.pop(one.member, None)
            self._shares.take(one.member)
            if not judges or one.instance is not None:
                continue
            if member is None:
                self.unjudged += 1
                continue
            self.judged += 1
            if one.code != NONE and not member.may_be_gone(e.began):
                told = f"has the code {name_of(one.code or NONE)} for {one.member}, a member"
                self._refuse(e, told, name_of(NONE), member)

    def _refuse(
        self, e: Exchange, why: str, possible: str = "", member: _Member | None = None
    ) -> None:
        hole = self._shares.hole(e, member.place if member is not None else None)
        self.refuse(RefusedAnswer(e, possible, False, why=why, hole=hole))


def _told(
    e: Exchange,
    member: str,
    share: frozenset[str],
    *,
    epoch: int,
    to_epoch: int,
    owned: frozenset[str] | None,
    interval_ms: int,
    began: float,
    given: float,
) -> EpochExchange:
    """What a member is told, as a heartbeat would tell it. `interval_ms`: that of heartbeats.
    `began` and `given`: when the coordinator took the request and gave the answer, in ms.
    """
    return EpochExchange(
        line=e.line,
        api=e.api,
        version=e.version,
        client=e.client,
        connection=e.connection,
        correlation=e.correlation,
        arrived=e.arrived,
        began=began,
        given=given,
        answered=e.answered,
        group=e.group,
        code=NONE,
        member=member,
        protocol="consumer",
        epoch=epoch,
        to_epoch=to_epoch,
        interval_ms=interval_ms,
        owned=owned,
        assigned=share,
    )


def _share(data: bytes) -> frozenset[str] | None:
    """The partitions of an assignment; None if it cannot be read."""
    try:
        return frozenset(f"{topic}-{number}" for topic, number in assignment(data))
    except Malformed:
        return None


def _owned(e: JoinExchange) -> frozenset[str] | None:
    """What a JoinGroup says that its member owns; None if that cannot be read."""
    try:
        said = subscription(e.protocols[0][1])
    except (Malformed, IndexError):
        return None
    return frozenset(f"{topic}-{number}" for topic, number in said.owned)
