"""A group's story in the log: its rounds with their cause, their length and who held them up, and
its members with how they came and went.

It is made from the events alone, so every group has one, even where the model cannot follow. Memory
is bounded: what exceeds the limits is counted, not kept.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Sequence
from typing import Any

from attrs import Factory, define, field

from groupcheck.model.protocol.classic.group import Phase
from groupcheck.traces.story.epoch_rounds import EpochStory, how_it_went, is_lost
from groupcheck.traces.story.events import (
    AppendFailed,
    AssignmentReceived,
    Event,
    GroupDied,
    GroupEmptied,
    GroupLoaded,
    GroupUnloaded,
    IdHandedOut,
    MemberAdded,
    MemberExpired,
    MemberGone,
    MemberLeft,
    MemberLoaded,
    NotRejoined,
    NotSynced,
    OtherProtocol,
    Reason,
    RebalanceCause,
    RebalanceStarted,
    Stabilized,
    StaticReplaced,
    Timeouts,
)
from groupcheck.traces.story.member import Member, client_of
from groupcheck.traces.story.moments import (
    NAMES_KEPT,
    NOT_SHOWN,
    ONE_STEP_MS,
    TOGETHER_MS,
    Burst,
    Moment,
    Round,
    elapsed,
    hold_up,
    moment,
    note,
)

ROUNDS_KEPT = 20_000
MEMBERS_KEPT = 50_000


@define
class Timeline:
    """The story of one group on one coordinator, filled by `observe`."""

    rounds: list[Round] = Factory(list)
    rounds_dropped: int = 0
    members: dict[str, Member] = Factory(dict)
    members_dropped: int = 0
    bursts: list[Burst] = Factory(list)
    # Rebalances by cause, and events by kind.
    causes: Counter[str] = Factory(Counter)
    counts: Counter[str] = Factory(Counter)
    # When the rebalances began, in ms since 1970.
    starts: deque[int] = field(factory=lambda: deque(maxlen=ROUNDS_KEPT))
    # The first and the last line of the group.
    first: Moment | None = None
    last: Moment | None = None
    # Time from the beginning of a rebalance to the assignment that ends it, or to Empty.
    unstable_ms: int = 0
    # Time in join phases, and time in which there was no group: it had been removed.
    preparing_ms: int = 0
    absent_ms: int = 0
    # The size of the largest generation, and the one in which the group was removed last.
    largest: int = 0
    died_in: int | None = None
    # The lowest and the highest generation that a line names.
    lowest: int | None = None
    highest: int | None = None
    # (epoch, when, `epoch` or `target`) of a KIP-848 group.
    epochs: list[tuple[int, Moment, str]] = Factory(list)
    # The highest epoch that a line gives a member: its group has reached it, whatever is not shown.
    reached: int | None = None
    # The members that have not visibly joined the round; set before the line that ends it.
    still_awaited: tuple[str, ...] = ()
    # The timeouts of clients, as far as lines tell.
    asked: dict[str, Timeouts] = Factory(dict)
    # The assignors that members support, as far as lines tell: the lists of their names.
    assignors: set[tuple[str, ...]] = Factory(set)
    # The last sign of life of a member, in ms since 1970 (request logs only).
    signs: dict[str, int] = Factory(dict)
    # Members that sent a request with their id after their session had ended (request logs only).
    came_back: set[str] = Factory(set)
    _unstable_since: Moment | None = None
    _preparing_since: Moment | None = None
    _burst: Burst | None = None
    _begun: int = 0
    _last_begun: Moment | None = None
    _empty: bool = False
    _died: Moment | None = None
    _story: EpochStory = Factory(EpochStory)

    @property
    def open(self) -> Round | None:
        """The round that has begun and has no assignment yet."""
        return self._last_round("open", "stabilized")

    def _last_round(self, *outcomes: str) -> Round | None:
        return self.rounds[-1] if self.rounds and self.rounds[-1].outcome in outcomes else None

    def observe(self, event: Event) -> None:
        self.last = now = moment(event)
        self.absent_ms += elapsed(self._died, now) or 0
        self._died = None
        self.first = self.first or now
        if event.time is None and not isinstance(event, MemberExpired):
            self._burst = None
        if isinstance(event, IdHandedOut | MemberAdded) and event.phase is not None:
            self._empty = event.phase == Phase.EMPTY
            open = self.open if event.phase == Phase.STABLE else None
            if open is not None and (elapsed(open.started, now) or 0) > ONE_STEP_MS:
                open.outcome = "lost"  # it has ended in lines that are missing
        handler = _HANDLERS.get(type(event))
        if handler is not None:
            handler(self, event)
        running = self._last_round("open")
        if running is not None:
            running.last = event

    def member(self, id: str, event: Event) -> Member:
        known = self.members.get(id)
        if known is None:
            if len(self.members) >= MEMBERS_KEPT:
                self.shrink(MEMBERS_KEPT // 2)
            known = self.members[id] = Member(id, first_seen=moment(event), since=self._begun)
        return known

    def timeouts(self, id: str, timeouts: Timeouts) -> None:
        """Notes what a member asked for; all members of a client ask for the same."""
        client = client_of(id)
        if client in self.asked or len(self.asked) < NAMES_KEPT:
            self.asked[client] = timeouts

    def supports(self, protocols: tuple[str, ...]) -> None:
        """Notes the assignors of a member."""
        if protocols and len(self.assignors) < NAMES_KEPT:
            self.assignors.add(protocols)

    def sign(self, id: str, time: int) -> None:
        """Notes a sign of life."""
        if id in self.signs or len(self.signs) < MEMBERS_KEPT:
            self.signs[id] = time

    def shrink(self, limit: int) -> None:
        """Keeps at most `limit` rounds and members: members that are gone are dropped first, and
        the oldest before the latest. What is dropped is counted.
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

    def _note_generation(self, generation: int) -> None:
        self.lowest = generation if self.lowest is None else min(self.lowest, generation)
        self.highest = generation if self.highest is None else max(self.highest, generation)

    def _begin(self, round: Round) -> Round:
        if len(self.rounds) >= ROUNDS_KEPT:
            del self.rounds[0]
            self.rounds_dropped += 1
        self.rounds.append(round)
        return round

    def _begin_rebalance(self, round: Round, event: Event) -> None:
        self._begin(round)
        self.causes[round.cause.value] += 1
        self.counts["rebalances"] += 1
        if event.time is not None:
            self.starts.append(event.time)

    def _gone(self, id: str, event: Event, how: str) -> Member:
        member = self.member(id, event)
        member.ended, member.gone = moment(event), how
        member.generations = self._begun - member.since
        counts_from = member.armed or member.joined
        member.armed = self._last_begun if member.generations else counts_from
        if member.generations + (member.joined is None) > 1:
            member.used = True
        return member

    def interrupted(self, event: Event) -> None:
        """The coordinator stopped or started: the round that it was in will not end here."""
        if self.open is not None:
            self.open.outcome = "lost"
        self.forget_partitions()
        self._joined_up(event)
        self._settled(event)

    def converted(self, members: Sequence[str] | None) -> None:
        """The group has another protocol (see EpochStory)."""
        self._story.converted(members, self._last_round("open"))

    def forget_partitions(self) -> None:
        """Lines may be missing: who has which partitions of a consumer group is not known."""
        self._story.handovers.forget()

    def _joined_up(self, event: Event) -> None:
        if self._preparing_since is not None:
            self.preparing_ms += elapsed(self._preparing_since, moment(event)) or 0
            self._preparing_since = None

    def _settled(self, event: Event) -> None:
        if self._unstable_since is not None:
            self.unstable_ms += elapsed(self._unstable_since, moment(event)) or 0
            self._unstable_since = None

    # --- events

    def _started(self, event: RebalanceStarted) -> None:
        if self.open is not None:
            self.open.outcome = "interrupted" if self.open.outcome == "stabilized" else "lost"
        reason = event.reason or Reason("", RebalanceCause.NOT_TOLD)
        began = Round(
            moment(event),
            event.generation,
            cause=reason.cause,
            causers=reason.members,
            reason=reason.text,
            client_reason=reason.client,
            initial=self._empty,
        )
        self._begin_rebalance(began, event)
        self._empty = False
        self._unstable_since = self._unstable_since or moment(event)
        self._preparing_since = self._preparing_since or moment(event)
        for id in reason.members[:NAMES_KEPT]:
            self._caused(id, reason, event)
        self._note_generation(event.generation)

    def _caused(self, id: str, reason: Reason, event: RebalanceStarted) -> None:
        member, round = self.member(id, event), self.rounds[-1]
        member.caused += 1
        how = _GONE.get(reason.cause)
        if how is not None:
            if not member.gone:
                self._gone(id, event, how)
                self.counts[how] += 1
                if how == "expired":  # a line before the log says that it failed
                    self._in_burst(id, event)
            (round.left if how == "left" else round.expired).append(id)
        elif reason.cause == RebalanceCause.JOIN:
            if member.joined is None:
                member.joined = moment(event)
                member.instance = member.instance or reason.instance
                self.counts["joined"] += 1
            round.joined.append(id)
        elif reason.cause in (RebalanceCause.LEADER_REJOIN, RebalanceCause.METADATA_CHANGE):
            member.used = True

    def _stabilized(self, event: Stabilized) -> None:
        self._begun, self._last_begun = self._begun + 1, moment(event)
        self._joined_by_all(event, event.members, "stabilized", self.still_awaited)
        self.largest = max(self.largest, event.members or 0)

    def _emptied(self, event: GroupEmptied) -> None:
        self._joined_by_all(event, 0, "emptied", ())
        self._empty = True
        self._settled(event)

    def _joined_by_all(
        self,
        event: Stabilized | GroupEmptied,
        size: int | None,
        outcome: str,
        awaited: tuple[str, ...],
    ) -> None:
        round = self._last_round("open") or self._begin(Round(None, event.generation - 1))
        round.to_generation, round.size, round.outcome = event.generation, size, outcome
        round.joined_at = moment(event)
        hold_up(round, self.bursts[-1] if self.bursts else None, awaited)
        self.counts[outcome] += 1
        self._note_generation(event.generation)
        self._joined_up(event)

    def _assigned(self, event: AssignmentReceived) -> None:
        self._note_generation(event.generation)
        if event.leader is not None:
            leader = self.member(event.leader, event)
            leader.led, leader.used = leader.led + 1, True
        round = self._last_round("stabilized")
        if round is None or round.to_generation != event.generation:
            return
        round.assigned, round.outcome, round.leader = moment(event), "assigned", event.leader
        round.size = round.size if round.size is not None else event.members
        if round.size == 1 and event.leader is not None and round.waited_for.startswith(NOT_SHOWN):
            round.held_up_by, round.waited_for = (event.leader,), "joined last"
        self.counts["assigned"] += 1
        self._settled(event)

    def _handed_out(self, event: IdHandedOut) -> None:
        self.member(event.member, event).handed_out = moment(event)
        self.counts["ids_handed_out"] += 1

    def _added(self, event: MemberAdded) -> None:
        member = self.member(event.member, event)
        member.joined, member.instance = moment(event), event.instance
        self.counts["joined"] += 1
        if event.fresh and event.instance is None:
            self.counts["joined_without_id"] += 1
        running = self._last_round("open")
        if running is not None:
            note(running.joined, event.member)
            running.handed_at_once += event.fresh and event.instance is None

    def _replaced(self, event: StaticReplaced) -> None:
        self._gone(event.old, event, "replaced").instance = event.instance
        self.counts["static_returns"] += 1
        if event.new is not None:
            new = self.member(event.new, event)
            new.joined, new.instance = moment(event), event.instance

    def _append_failed(self, event: AppendFailed) -> None:
        """A static member's new id could not be written: the old one is back."""
        known = self.members.get(event.reverted_to or "")
        if known is not None and known.gone == "replaced":
            known.gone, known.ended = "", None

    def _left(self, event: MemberLeft) -> None:
        member = self.member(event.member, event)
        if member.gone != "left":
            self._gone(event.member, event, "never_joined" if event.pending else "left")
            self.counts["pending_left" if event.pending else "left"] += 1
        member.client_reason = event.client_reason
        if event.timeouts is not None:
            self.timeouts(event.member, event.timeouts)
        self.supports(event.protocols)
        member.instance = member.instance or event.instance
        if self.open is not None and event.member not in self.open.left:
            note(self.open.left, event.member)

    def _expired(self, event: MemberExpired) -> None:
        self._gone(event.member, event, "never_joined" if event.pending else "expired")
        self.counts["pending_expired" if event.pending else "expired"] += 1
        if self.open is not None:
            note(self.open.expired, event.member)
        if not event.pending:
            self._in_burst(event.member, event)

    def _in_burst(self, id: str, event: Event) -> None:
        if self._burst is None or (elapsed(self._burst.last, moment(event)) or 0) > TOGETHER_MS:
            self._burst = Burst(moment(event), moment(event), [])
            if len(self.bursts) < ROUNDS_KEPT:
                self.bursts.append(self._burst)
        self._burst.last, self._burst.count = moment(event), self._burst.count + 1
        note(self._burst.members, id)

    def _went(self, event: MemberGone) -> None:
        self._gone(event.member, event, "gone")
        self.counts["gone"] += 1

    def _not_rejoined(self, event: NotRejoined) -> None:
        for id in event.members:
            self._gone(id, event, "not_rejoined")
        self.counts["not_rejoined"] += len(event.members)
        self.counts["rounds_ended_by_timeout"] += 1
        if self.open is not None:
            self.open.not_rejoined = list(event.members[:NAMES_KEPT])

    def _not_synced(self, event: NotSynced) -> None:
        for id in event.members:
            self._gone(id, event, "not_synced")
        self.counts["not_synced"] += len(event.members)

    def _member_loaded(self, event: MemberLoaded) -> None:
        if event.generation is None:
            self.member(event.member, event).instance = event.instance
        if event.timeouts is not None:
            self.timeouts(event.member, event.timeouts)
        self.supports(event.protocols)

    def _moved(self, event: GroupLoaded | GroupUnloaded) -> None:
        self.counts["loaded" if isinstance(event, GroupLoaded) else "unloaded"] += 1
        self.interrupted(event)

    def _removed(self, event: GroupDied) -> None:
        running = self._last_round("open")
        if running is not None:
            running.last = event
        self.interrupted(event)
        self._died, self.died_in = moment(event), event.generation

    def _other(self, event: OtherProtocol) -> None:
        if event.member is not None:
            self._other_member(event, event.member)
        epochs = event.what in ("epoch", "target") and len(self.epochs) < ROUNDS_KEPT
        if event.epoch is not None and epochs:
            self.epochs.append((event.epoch, moment(event), event.what))
        last = self.rounds[-1] if self.rounds else None
        began = self._story.observe(event, last)
        if began is not None:
            if is_lost(last, began.to_generation):
                lost = self.rounds.pop()
                self.counts["rebalances"] -= 1
                self.causes[lost.cause.value] -= 1
            self._begin_rebalance(began, event)
            for id in began.causers:
                self.member(id, event).caused += 1

    def _other_member(self, event: OtherProtocol, id: str) -> None:
        member = self.member(id, event)
        if event.joins_classic and member.joined is not None:
            member.gone, member.ended = "", None
        elif event.what in ("joined", "rejoined"):
            again = event.what == "joined" and member.joined is not None and not member.gone
            member.joined, member.gone, member.ended = moment(event), "", None
            self.counts["joined"] += not again  # else the records of the first were lost
            if event.what == "rejoined" and event.detail and event.detail != id:
                self._gone(event.detail, event, "replaced")
        elif event.what == "assignment":
            member.armed = moment(event)
            self.reached = max(self.reached or 0, event.epoch or 0) or None
        elif (how := "away" if event.what == "away" else how_it_went(event)) is not None:
            self._gone(id, event, how)
            self.counts[how] += 1


_GONE = {
    RebalanceCause.LEAVE: "left",
    RebalanceCause.SESSION_EXPIRED: "expired",
    RebalanceCause.SYNC_TIMEOUT: "not_synced",
}
_HANDLERS: dict[type[Event], Callable[[Timeline, Any], None]] = {
    RebalanceStarted: Timeline._started,
    Stabilized: Timeline._stabilized,
    GroupEmptied: Timeline._emptied,
    AppendFailed: Timeline._append_failed,
    AssignmentReceived: Timeline._assigned,
    IdHandedOut: Timeline._handed_out,
    MemberAdded: Timeline._added,
    StaticReplaced: Timeline._replaced,
    MemberLeft: Timeline._left,
    MemberExpired: Timeline._expired,
    MemberGone: Timeline._went,
    NotRejoined: Timeline._not_rejoined,
    NotSynced: Timeline._not_synced,
    MemberLoaded: Timeline._member_loaded,
    GroupDied: Timeline._removed,
    GroupLoaded: Timeline._moved,
    GroupUnloaded: Timeline._moved,
    OtherProtocol: Timeline._other,
}
