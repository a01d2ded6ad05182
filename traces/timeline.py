"""A group's story in the log: its rounds with cause, length and who held them up, and its members
with how they came and went.

Written from the events alone, so it exists for every group, also where the model cannot follow.
Memory is bounded: what exceeds the limits is counted, not kept.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable
from typing import Any, TypeVar

from attrs import Factory, define, field

from groupcheck.model.protocol.classic.group import Phase
from groupcheck.traces.epochs import EpochStory
from groupcheck.traces.events import (
    AssignmentReceived,
    Cause,
    Event,
    GroupEmptied,
    GroupLoaded,
    GroupUnloaded,
    IdHandedOut,
    MemberAdded,
    MemberExpired,
    MemberLeft,
    MemberLoaded,
    NotRejoined,
    NotSynced,
    OtherProtocol,
    RebalanceStarted,
    Stabilized,
    StaticReplaced,
)
from groupcheck.traces.hold_up import Burst, hold_up
from groupcheck.traces.moments import Moment, Round, elapsed, moment

ROUNDS_KEPT = 20_000
MEMBERS_KEPT = 50_000
NAMES_KEPT = 1000
_UUID = re.compile(r"-[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\Z")


def client_of(member: str) -> str:
    """The client id (or instance id) inside a member id `client-UUID`; the id itself if it has
    another form.
    """
    return _UUID.sub("", member[-400:])


@define
class Member:
    """One member id. `came`: how the log first shows it; `gone`: how it went (empty: it is still
    there, as far as the log goes).
    """

    id: str
    instance: str | None = None
    handed_out: Moment | None = None
    joined: Moment | None = None
    first_seen: Moment | None = None
    ended: Moment | None = None
    gone: str = ""
    used: bool = False
    led: int = 0
    caused: int = 0
    client_reason: str | None = None


_HANDLERS: dict[type[Event], Callable[[Any, Any], None]] = {}
_Handler = TypeVar("_Handler", bound=Callable[[Any, Any], None])


def _on(kind: type[Event]) -> Callable[[_Handler], _Handler]:
    """Registers a method as the one that takes events of this kind."""

    def register(method: _Handler) -> _Handler:
        _HANDLERS[kind] = method
        return method

    return register


@define
class Timeline:
    """The story of one group on one coordinator, filled by `observe`.

    `still_awaited`: the members that had not visibly joined the round, set before the line that
    ends it. `preparing_ms`: time in join phases; `unstable_ms`: time from the beginning of a
    rebalance to the assignment that ends it (or to Empty).
    """

    rounds: list[Round] = Factory(list)
    rounds_dropped: int = 0
    members: dict[str, Member] = Factory(dict)
    members_dropped: int = 0
    bursts: list[Burst] = Factory(list)
    causes: dict[str, int] = Factory(dict)
    counts: dict[str, int] = Factory(dict)
    starts: deque[int] = field(factory=lambda: deque(maxlen=ROUNDS_KEPT))
    first: Moment | None = None
    last: Moment | None = None
    unstable_ms: int = 0
    preparing_ms: int = 0
    largest: int = 0
    generations: int = 0
    lowest: int | None = None
    highest: int | None = None
    epochs: list[tuple[int, Moment, str]] = Factory(list)
    _unstable_since: Moment | None = None
    _preparing_since: Moment | None = None
    still_awaited: tuple[str, ...] = ()
    _burst: Burst | None = None
    _empty: bool = False
    _story: EpochStory = Factory(EpochStory)

    @property
    def open(self) -> Round | None:
        """The round under way, or stabilized and not yet assigned."""
        return (
            self.rounds[-1]
            if self.rounds and self.rounds[-1].outcome in ("open", "stabilized")
            else None
        )

    def observe(self, event: Event) -> None:
        if self.first is None:
            self.first = moment(event)
        self.last = moment(event)
        if not (isinstance(event, MemberExpired) and not event.pending):
            self._burst = None
        if isinstance(event, IdHandedOut | MemberAdded) and event.phase is not None:
            self._empty = event.phase == Phase.EMPTY
        self._take(event)
        running = self.open
        if running is not None and running.outcome == "open":
            running.last = event

    def member(self, id: str, event: Event) -> Member:
        known = self.members.get(id)
        if known is None:
            if len(self.members) >= MEMBERS_KEPT:
                self.shrink(MEMBERS_KEPT // 2)
            known = self.members[id] = Member(id, first_seen=moment(event))
        return known

    def shrink(self, limit: int) -> None:
        """Keeps so many members (those still there before those gone, the latest first) and so many
        rounds; what goes is counted.
        """
        if len(self.members) > limit:
            gone_first = sorted(self.members, key=lambda id: not self.members[id].gone)
            kept = set(gone_first[-limit:])
            self.members_dropped += len(self.members) - len(kept)
            self.members = {id: m for id, m in self.members.items() if id in kept}
        spare = len(self.rounds) - limit
        if spare > 0:
            del self.rounds[:spare]
            self.rounds_dropped += spare
        del self.bursts[:-limit], self.epochs[:-limit]

    def _count(self, what: str, by: int = 1) -> None:
        self.counts[what] = self.counts.get(what, 0) + by

    def _note_generation(self, generation: int) -> None:
        self.lowest = generation if self.lowest is None else min(self.lowest, generation)
        self.highest = generation if self.highest is None else max(self.highest, generation)

    def _begin(self, round: Round) -> Round:
        if len(self.rounds) >= ROUNDS_KEPT:
            del self.rounds[0]
            self.rounds_dropped += 1
        self.rounds.append(round)
        return round

    def _gone(self, id: str, event: Event, how: str) -> Member:
        member = self.member(id, event)
        member.ended, member.gone = moment(event), how
        return member

    # --- events

    def _take(self, event: Event) -> None:
        handler = _HANDLERS.get(type(event))
        if handler is not None:
            handler(self, event)

    @_on(RebalanceStarted)
    def _(self, event: RebalanceStarted) -> None:
        running = self.open
        if running is not None:
            running.outcome = "interrupted" if running.outcome == "stabilized" else "lost"
        reason = event.reason
        cause = reason.cause if reason else Cause.NOT_TOLD
        causers = reason.members if reason else ()
        self._begin(
            Round(
                moment(event),
                event.generation,
                cause=cause,
                causers=causers,
                reason=reason.text if reason else "",
                client_reason=reason.client if reason else None,
                initial=self._empty,
            )
        )
        self.causes[cause.value] = self.causes.get(cause.value, 0) + 1
        self._count("rebalances")
        self._empty = False
        if event.time is not None:
            self.starts.append(event.time)
        if self._unstable_since is None:
            self._unstable_since = moment(event)
        if self._preparing_since is None:
            self._preparing_since = moment(event)
        for id in causers[:NAMES_KEPT]:
            self._cause(id, cause, event)
        self._note_generation(event.generation)

    def _cause(self, id: str, cause: Cause, event: RebalanceStarted) -> None:
        member = self.member(id, event)
        member.caused += 1
        round = self.rounds[-1]
        if cause == Cause.JOIN:
            if member.joined is None:
                member.joined = moment(event)
                member.instance = member.instance or (
                    event.reason.instance if event.reason else None
                )
                self._count("joined")
            round.joined.append(id)
        elif cause == Cause.LEAVE:
            if not member.gone:
                self._gone(id, event, "left")
                self._count("left")
            round.left.append(id)
        elif cause == Cause.SESSION_EXPIRED:
            if not member.gone:
                self._gone(id, event, "expired")
                self._count("expired")
            round.expired.append(id)
        elif cause == Cause.SYNC_TIMEOUT:
            if not member.gone:
                self._gone(id, event, "not_synced")
                self._count("not_synced")
            round.expired.append(id)
        elif cause in (Cause.LEADER_REJOIN, Cause.METADATA_CHANGE):
            member.used = True

    @_on(Stabilized)
    def _(self, event: Stabilized) -> None:
        running = self.rounds[-1] if self.rounds and self.rounds[-1].outcome == "open" else None
        round = running or self._begin(Round(None, event.generation - 1))
        round.to_generation, round.size, round.joined_at, round.outcome = (
            event.generation,
            event.members,
            moment(event),
            "stabilized",
        )
        hold_up(round, self.bursts[-1] if self.bursts else None, self.still_awaited)
        self.largest = max(self.largest, event.members or 0)
        self._count("stabilized")
        self._joined_up(event)
        self._note_generation(event.generation)

    @_on(GroupEmptied)
    def _(self, event: GroupEmptied) -> None:
        running = self.rounds[-1] if self.rounds and self.rounds[-1].outcome == "open" else None
        round = running or self._begin(Round(None, event.generation - 1))
        round.to_generation, round.size, round.joined_at, round.outcome = (
            event.generation,
            0,
            moment(event),
            "emptied",
        )
        hold_up(round, self.bursts[-1] if self.bursts else None, ())
        self._count("emptied")
        self._empty = True
        self._note_generation(event.generation)
        self._joined_up(event)
        self._settled(event)

    @_on(AssignmentReceived)
    def _(self, event: AssignmentReceived) -> None:
        self._note_generation(event.generation)
        if event.leader is not None:
            leader = self.member(event.leader, event)
            leader.led, leader.used = leader.led + 1, True
        round = self.rounds[-1] if self.rounds else None
        if (
            round is None
            or round.outcome != "stabilized"
            or round.to_generation != event.generation
        ):
            return
        round.assigned, round.outcome, round.leader = moment(event), "assigned", event.leader
        round.size = round.size if round.size is not None else event.members
        self._count("assigned")
        self._settled(event)

    def _joined_up(self, event: Event) -> None:
        if self._preparing_since is not None:
            self.preparing_ms += elapsed(self._preparing_since, moment(event)) or 0
            self._preparing_since = None

    def _settled(self, event: Event) -> None:
        if self._unstable_since is not None:
            self.unstable_ms += elapsed(self._unstable_since, moment(event)) or 0
            self._unstable_since = None

    @_on(IdHandedOut)
    def _(self, event: IdHandedOut) -> None:
        member = self.member(event.member, event)
        member.handed_out = moment(event)
        self._count("ids_handed_out")

    @_on(MemberAdded)
    def _(self, event: MemberAdded) -> None:
        member = self.member(event.member, event)
        member.joined, member.instance = moment(event), event.instance
        self._count("joined")
        if event.fresh and event.instance is None:
            self._count("joined_without_id")
        running = self.rounds[-1] if self.rounds else None
        if running is not None and running.outcome == "open" and len(running.joined) < NAMES_KEPT:
            running.joined.append(event.member)

    @_on(StaticReplaced)
    def _(self, event: StaticReplaced) -> None:
        self._gone(event.old, event, "replaced").instance = event.instance
        self._count("static_returns")
        if event.new is not None:
            new = self.member(event.new, event)
            new.joined, new.instance = moment(event), event.instance

    @_on(MemberLeft)
    def _(self, event: MemberLeft) -> None:
        member = self.members.get(event.member)
        if not (member is not None and member.gone == "left"):
            self._gone(event.member, event, "never_joined" if event.pending else "left")
            self._count("pending_left" if event.pending else "left")
        member = self.members[event.member]
        member.client_reason = event.client_reason
        member.instance = member.instance or event.instance
        running = self.open
        if (
            running is not None
            and event.member not in running.left
            and len(running.left) < NAMES_KEPT
        ):
            running.left.append(event.member)

    @_on(MemberExpired)
    def _(self, event: MemberExpired) -> None:
        self._gone(event.member, event, "never_joined" if event.pending else "expired")
        self._count("pending_expired" if event.pending else "expired")
        running = self.open
        if running is not None and len(running.expired) < NAMES_KEPT:
            running.expired.append(event.member)
        if event.pending:
            return
        if self._burst is None or (elapsed(self._burst.last, moment(event)) or 0) > 1000:
            self._burst = Burst(moment(event), moment(event), [])
            if len(self.bursts) < ROUNDS_KEPT:
                self.bursts.append(self._burst)
        self._burst.last, self._burst.count = moment(event), self._burst.count + 1
        if len(self._burst.members) < NAMES_KEPT:
            self._burst.members.append(event.member)

    @_on(NotRejoined)
    def _(self, event: NotRejoined) -> None:
        running = self.open
        for id in event.members:
            self._gone(id, event, "not_rejoined")
        self._count("not_rejoined", len(event.members))
        self._count("rounds_ended_by_timeout")
        if running is not None:
            running.not_rejoined = list(event.members[:NAMES_KEPT])

    @_on(NotSynced)
    def _(self, event: NotSynced) -> None:
        for id in event.members:
            self._gone(id, event, "not_synced")
        self._count("not_synced", len(event.members))

    @_on(MemberLoaded)
    def _(self, event: MemberLoaded) -> None:
        if event.generation is None:
            self.member(event.member, event).instance = event.instance

    @_on(GroupLoaded)
    def _(self, event: GroupLoaded) -> None:
        self._count("loaded")
        self._forget_open(event)

    @_on(GroupUnloaded)
    def _(self, event: GroupUnloaded) -> None:
        self._count("unloaded")
        self._forget_open(event)

    def interrupted(self, event: Event) -> None:
        """The coordinator stopped or started: what was under way is not finished here."""
        self._forget_open(event)

    def _forget_open(self, event: Event) -> None:
        running = self.open
        if running is not None:
            running.outcome = "lost"
        self._joined_up(event)
        self._settled(event)

    @_on(OtherProtocol)
    def _(self, event: OtherProtocol) -> None:
        if event.member is not None:
            member = self.member(event.member, event)
            if event.what == "joined" or event.what == "rejoined":
                member.joined = moment(event)
                member.gone, member.ended = "", None
                self._count("joined")
                if event.what == "rejoined" and event.detail:
                    self._gone(event.detail, event, "replaced")
            elif event.what in ("left", "fenced", "away"):
                self._gone(event.member, event, "expired" if event.what == "fenced" else event.what)
                self._count("expired" if event.what == "fenced" else event.what)
        if (
            event.epoch is not None
            and event.what in ("epoch", "target")
            and len(self.epochs) < ROUNDS_KEPT
        ):
            self.epochs.append((event.epoch, moment(event), event.what))
        began = self._story.observe(event, self.rounds[-1] if self.rounds else None)
        if began is not None:
            self._begin(began)
            self.causes[began.cause.value] = self.causes.get(began.cause.value, 0) + 1
            self._count("rebalances")
            if event.time is not None:
                self.starts.append(event.time)
            for id in began.causers:
                self.member(id, event).caused += 1
