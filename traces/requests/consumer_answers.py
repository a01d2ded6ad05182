"""The answers to heartbeats of a consumer group (KIP-848), each judged by the rules of the model's
coordinator: which codes it may give (GroupMetadataManager), and which epoch and assignment
(CurrentAssignmentBuilder), from the member's record and from what others certainly have.

A request log tells neither targets nor the release, so any that fit will do. A member that is seen
first with another epoch than 0 has a record that is not known: only what its next answers tell of
it is judged. That a member still has a partition which another one is given is certain only when
its next heartbeat is accepted, as it may have been removed without a request.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from attrs import Factory, define, frozen

from groupcheck.model.engine import evolve
from groupcheck.model.protocol.codes import (
    FENCED_MEMBER_EPOCH,
    NONE,
    UNKNOWN_MEMBER_ID,
    name_of,
)
from groupcheck.model.protocol.consumer.heartbeats import REFUSED, refused
from groupcheck.model.protocol.consumer.memory import Core, Previous, Seat, State
from groupcheck.model.protocol.consumer.messages import Kind, Link, Request, Tag
from groupcheck.model.protocol.consumer.reconciliation import reconciled
from groupcheck.model.protocol.consumer.releases import RELEASES
from groupcheck.model.protocol.consumer.scope import ConsumerScope
from groupcheck.traces.exchanges.epoch_shares import AWAY, LEAVES
from groupcheck.traces.exchanges.exchange import EpochExchange, Exchange
from groupcheck.traces.phrases import some_of
from groupcheck.traces.requests.group_rules import AWAY as ELSEWHERE
from groupcheck.traces.requests.words import RefusedAnswer

MEMBERS_KEPT, PARTITIONS_KEPT = 20_000, 200_000
WAITING_KEPT, EPOCHS_KEPT = 200, 64
NAMED = 3
JUDGED_CODES = frozenset({NONE, FENCED_MEMBER_EPOCH, UNKNOWN_MEMBER_ID})
"""Codes that depend on the records of members alone. All others depend on the request, or on what
no request shows.
"""
_ELSEWHERE = 1
"""The bit of a partition that somebody else always has: what a target may hold back."""
_SCOPES = {release: ConsumerScope(kafka=version) for version, release in RELEASES.items()}


@define
class KnownRecord:
    """What is known of the coordinator's record of a member."""

    epoch: int
    # The epoch before it; None if that is not known.
    previous: int | None
    # All that it may be, apart from the target; None: anything.
    seats: frozenset[Seat] | None
    # When its last answer was given.
    heard: float
    line: int
    # Its connection then, and how many requests had been skipped on it.
    place: tuple[str, int]
    # It has left with epoch -2.
    parked: bool = False
    # The interval of heartbeats that it was told; 0: not known.
    interval_ms: int = 0

    def may_be_gone(self, at: float) -> bool:
        """May the coordinator have removed it, without a request that shows it? Its session is
        longer than its interval of heartbeats, and how much longer no request shows
        (GroupCoordinatorConfig refuses a broker's settings otherwise).
        """
        late = at - self.heard > self.interval_ms
        return late or self.seats is None or any(s.state == State.UNREVOKED for s in self.seats)

    @property
    def has(self) -> int:
        """What it certainly has."""
        certain = -1 if self.seats else 0
        for seat in self.seats or ():
            certain &= seat.owned
        return certain


@define
class _Waiting:
    """An answer that gives what others still have, until their next heartbeats decide."""

    refusal: RefusedAnswer
    # Each with its connection, and how many requests had been skipped on it.
    others: dict[str, tuple[str, int]]
    until: float


@frozen
class _Told:
    """What an answer tells: the epoch, and the assignment as a mask; None: as before."""

    epoch: int
    assigned: int | None


@define
class ConsumerAnswers:
    """One group's, filled by `observe`; exchanges come in the order in which they began."""

    # Takes each answer that no release gives.
    refuse: Callable[[RefusedAnswer], None]
    # How many answers were judged, and how many could not be.
    judged: int = 0
    unjudged: int = 0
    _records: dict[str, KnownRecord] = Factory(dict)
    # Members that left -> when that was answered.
    _left: dict[str, float] = Factory(dict)
    # Instance -> the id of its member.
    _instances: dict[str, str] = Factory(dict)
    _bits: dict[str, int] = Factory(dict)
    _named: list[str] = Factory(list)
    _waiting: list[_Waiting] = Factory(list)
    # (when it was told, epoch) of the latest targets; each epoch is higher than those before.
    _targets: list[tuple[float, int]] = Factory(list)
    # Connection -> the number of its last request, and how many were skipped before it.
    _numbers: dict[str, tuple[int, int]] = Factory(dict)

    def observe(self, e: Exchange) -> None:
        self.numbered(e)
        if e.code in ELSEWHERE:
            self.forget()
        elif isinstance(e, EpochExchange) and e.member:
            self.decide(e, alive=e.epoch > 0 and e.code == NONE)
            self._heartbeat(e)

    def forget(self) -> None:
        """The coordinator is elsewhere: what it was asked there is not shown."""
        self._records, self._left, self._waiting, self._targets = {}, {}, [], []
        self._instances.clear()

    def numbered(self, e: Exchange) -> None:
        """Counts requests that are not shown."""
        last, skipped = self._numbers.get(e.connection, (e.correlation, 0))
        if e.connection not in self._numbers and len(self._numbers) >= MEMBERS_KEPT:
            del self._numbers[next(iter(self._numbers))]
        skipped += max(e.correlation - last - 1, 0)
        self._numbers[e.connection] = max(last, e.correlation), skipped

    # -- records, for what else is known of members

    def of(self, member: str) -> KnownRecord | None:
        """What is known of a member's record."""
        return self._records.get(member)

    def take(self, member: str) -> KnownRecord | None:
        """Nothing is known of a member any more; gives what was."""
        return self._records.pop(member, None)

    def put(self, member: str, record: KnownRecord) -> None:
        """This is known of a member's record."""
        self._records[member] = record

    def heard(self, member: str, at: float) -> None:
        """The coordinator has heard of a member, by another request."""
        if (record := self._records.get(member)) is not None:
            record.heard = max(record.heard, at)

    def latest(self, before: float) -> int:
        """The latest epoch of a target that some member was told before a moment; 0 if none."""
        return max((epoch for at, epoch in self._targets if at < before), default=0)

    def place(self, e: Exchange) -> tuple[str, int]:
        return e.connection, self._numbers[e.connection][1]

    def hole(self, e: Exchange, before: tuple[str, int] | None) -> str:
        """What may be missing between an answer of a member and the one before, which came over a
        connection on which so many requests had been skipped; empty if nothing is.
        """
        if before is None or before == self.place(e):
            return ""
        if before[0] != e.connection:
            return (
                f"{e.member} has another connection, and may have sent a request that is not shown"
            )
        return f"requests before it on {e.connection} are not shown"

    def _heartbeat(self, e: EpochExchange) -> None:
        record = self._records.get(e.member)
        if record is not None and e.began <= record.heard:
            # It did not wait for the answer before: which was first is not known.
            record.seats, record.previous, self.unjudged = None, None, self.unjudged + 1
            record.epoch, record.heard = max(record.epoch, e.to_epoch or 0), e.given
        elif e.epoch in (LEAVES, AWAY):
            self._goes(e, record)
        elif e.epoch == 0 and e.instance is not None:
            self._takes_over(e)
        elif e.code not in JUDGED_CODES or not self._code_fits(e, record):
            self.unjudged += e.code not in JUDGED_CODES
        elif e.code == NONE:
            self._accepted(e, record)
        elif e.code == UNKNOWN_MEMBER_ID:
            self._records.pop(e.member, None)

    def _goes(self, e: EpochExchange, record: KnownRecord | None) -> None:
        if e.code != NONE:
            self.unjudged += 1
        elif e.epoch == LEAVES:
            self._records.pop(e.member, None)
            if len(self._left) < MEMBERS_KEPT:
                self._left[e.member] = e.given
        elif record is not None:
            seats = record.seats
            record.seats = seats and frozenset(evolve(s, revoking=0) for s in seats)
            record.parked, record.heard = True, e.given

    def _takes_over(self, e: EpochExchange) -> None:
        """A static member comes under a new id: it gets the record of the one before."""
        self.unjudged += 1
        if e.code != NONE or e.instance is None:
            return
        before = self._records.pop(self._instances.get(e.instance, ""), None)
        if len(self._instances) < MEMBERS_KEPT:
            self._instances[e.instance] = e.member
        if before is not None and before.parked:
            self._accepted(e, evolve(before, epoch=0, previous=None, parked=False))
        else:
            self._keep(e, self._nothing_known(e))

    def _nothing_known(self, e: EpochExchange) -> KnownRecord:
        return KnownRecord(e.to_epoch or 0, None, None, e.given, e.line, self.place(e))

    def _keep(self, e: EpochExchange, record: KnownRecord) -> None:
        if e.member in self._records or len(self._records) < MEMBERS_KEPT:
            self._records[e.member] = evolve(record, interval_ms=e.interval_ms)

    # -- codes

    def _code_fits(self, e: EpochExchange, record: KnownRecord | None) -> bool:
        """Is the code one that the coordinator may give, as far as the member's record tells?"""
        if record is None and not self._gone(e):
            return True
        allowed = {*self._codes(e, record)}
        fits = e.code in allowed
        if record is not None and e.code == UNKNOWN_MEMBER_ID:
            fits = fits or record.may_be_gone(e.began)
        if fits:
            self.judged += e.code != NONE
            return True
        self._refuse(e, allowed, record)
        if e.code == NONE:
            self._keep(e, self._nothing_known(e))
        else:
            self._records.pop(e.member, None)
        return False

    def _gone(self, e: EpochExchange) -> bool:
        """Did the member leave, and sends heartbeats as if it had not?"""
        left = self._left.get(e.member)
        if e.epoch == 0:
            self._left.pop(e.member, None)
        return left is not None and e.epoch > 0 and e.began > left

    def _codes(self, e: EpochExchange, record: KnownRecord | None) -> Iterator[int]:
        kind = Kind.JOIN if e.epoch == 0 else Kind.BEAT
        owned = None if e.owned is None else self._mask(e.owned)
        if record is None:
            yield from (REFUSED["absent"], UNKNOWN_MEMBER_ID)
            return
        tags = [Tag.CURRENT] if e.epoch == record.epoch else [Tag.OLD]
        if tags == [Tag.OLD] and record.previous in (None, e.epoch):
            tags = [Tag.PREVIOUS] if record.previous is not None else [Tag.PREVIOUS, Tag.OLD]
        before = Previous.ZERO if record.previous == 0 else Previous.OLDER
        some = record.seats or (Seat(assigned=-1), Seat())
        for scope in _SCOPES.values():
            for tag in tags:
                link = Link(request=Request(kind, tag, owned), static=e.instance is not None)
                for seat in some:
                    known = evolve(seat, previous=before, parked=record.parked)
                    why = refused(Core(exists=True, members=1), known, link, scope)
                    yield REFUSED[why] if why else NONE

    # -- epochs and assignments

    def _accepted(self, e: EpochExchange, record: KnownRecord | None) -> None:
        """An answer without an error: follows the member's record."""
        if record is None and e.epoch > 0:
            self.unjudged += 1
            self._keep(e, self._nothing_known(e))
            return
        if record is None and all(r.may_be_gone(e.began) for r in self._records.values()):
            self._targets = []  # an empty group may have been deleted, and begins anew
        fresh = KnownRecord(0, None, frozenset({Seat()}), e.began, e.line, self.place(e))
        before = record or fresh
        told = _Told(e.to_epoch or 0, None if e.assigned is None else self._mask(e.assigned))
        if before.seats is None:
            seats = self._learnt(e, before, told)
        else:
            self.judged += 1
            held = self._held(e.member)
            seats = frozenset(self._after(e, before, told, held))
            if not seats and e.epoch == 0 and before.may_be_gone(e.began):
                before = fresh
                seats = frozenset(self._after(e, before, told, held))
            if not seats:
                seats = frozenset(self._after(e, before, told, 0))
                self._wrong(e, before, told, seats)
        previous = before.previous if told.epoch == before.epoch else before.epoch
        place = self.place(e)
        self._keep(e, KnownRecord(told.epoch, previous, seats or None, e.given, e.line, place))
        if told.epoch > max((epoch for _, epoch in self._targets), default=0):
            self._targets.append((e.given, told.epoch))
            del self._targets[:-EPOCHS_KEPT]

    def _after(
        self, e: EpochExchange, before: KnownRecord, told: _Told, held: int
    ) -> Iterator[Seat]:
        """All that the record may be after this answer, by the rule of the model."""
        owned = 0 if e.owned is None and e.epoch == 0 else None
        owned = self._mask(e.owned) if e.owned is not None else owned
        latest = self.latest(e.began)
        for seat in before.seats or ():
            share = seat.assigned if told.assigned is None else told.assigned
            for target in (share, share | _ELSEWHERE):
                for current in (True, False):
                    now = evolve(
                        seat, current=current, target=target, subscribed=-1, previous=Previous.SAME
                    )
                    for new in _steps(now, owned, held | _ELSEWHERE, share):
                        moved = new.previous != Previous.SAME
                        rises = told.epoch > before.epoch
                        fits = rises if moved else told.epoch == before.epoch
                        late = moved and new.current and told.epoch < latest
                        if new.assigned == share and fits and not late:
                            yield evolve(new, target=0, current=False, fresh=0)

    def _learnt(self, e: EpochExchange, before: KnownRecord, told: _Told) -> frozenset[Seat] | None:
        """The record of a member of which nothing was known, if the answer tells it."""
        self.unjudged += 1
        if told.assigned is None or told.epoch <= before.epoch:
            return None
        gives_up = 0 if e.owned is None else self._mask(e.owned) & ~told.assigned
        here = Seat(assigned=told.assigned)
        unrevoked = evolve(here, state=State.UNREVOKED, revoking=gives_up)
        return frozenset({here, evolve(here, state=State.UNRELEASED), unrevoked})

    def _held(self, member: str) -> int:
        held = 0
        for id, record in self._records.items():
            if id != member:
                held |= record.has
        return held

    # -- what does not fit

    def _wrong(
        self, e: EpochExchange, before: KnownRecord, told: _Told, otherwise: frozenset[Seat]
    ) -> None:
        """No release gives this answer; `otherwise`: it would if others had nothing."""
        had = 0
        for seat in before.seats or ():
            had |= seat.owned
        given = (told.assigned or 0) & ~had
        others = {
            id: r.place for id, r in self._records.items() if id != e.member and r.has & given
        }
        if otherwise and others:
            other = min(others)
            record = self._records[other]
            names = self._names(record.has & given)
            why = f"gives it {names}, which {other} still has (line {record.line})"
            if len(self._waiting) < WAITING_KEPT:
                refusal = RefusedAnswer(e, "", False, why=why, hole=self.hole(e, before.place))
                self._waiting.append(_Waiting(refusal, others, e.given))
            return
        if told.epoch < before.epoch:
            why = f"has epoch {told.epoch}, and the member had epoch {before.epoch}"
        else:
            latest = self.latest(e.began)
            share = "no assignment" if told.assigned is None else self._names(told.assigned)
            why = (
                f"has epoch {told.epoch} with {share}, which no release gives to a member with"
                f" {self._names(had)} in epoch {before.epoch} of a group at epoch {latest} or later"
            )
        self.refuse(RefusedAnswer(e, "", False, why=why, hole=self.hole(e, before.place)))

    def _refuse(self, e: EpochExchange, allowed: Iterable[int], record: KnownRecord | None) -> None:
        self.judged += 1
        could = " or ".join(dict.fromkeys(name_of(code) for code in sorted({*allowed})))
        why = f"has the code {name_of(e.code or NONE)}, but could only have {could}"
        place = record.place if record is not None else None
        self.refuse(RefusedAnswer(e, could, False, why=why, hole=self.hole(e, place)))

    def decide(self, e: Exchange, *, alive: bool) -> None:
        """Whether this member still had what another one was given meanwhile. `alive`: the answer
        shows that it is a member still.
        """
        for one in [w for w in self._waiting if e.member in w.others]:
            whole = one.others.pop(e.member) == self.place(e)
            certain = whole and e.began > one.until and alive
            if certain:
                self.refuse(one.refusal)
            if certain or not one.others:
                self._waiting.remove(one)

    def _mask(self, partitions: Iterable[str]) -> int:
        mask = 0
        for partition in partitions:
            bit = self._bits.get(partition)
            if bit is None:
                if len(self._bits) >= PARTITIONS_KEPT:
                    continue
                bit = self._bits[partition] = len(self._bits) + 1
                self._named.append(partition)
            mask |= 1 << bit
        return mask

    def _names(self, mask: int) -> str:
        found = [name for k, name in enumerate(self._named, 1) if mask >> k & 1]
        return some_of(sorted(found), NAMED) or "nothing"


def _steps(seat: Seat, owned: int | None, held: int, share: int) -> Iterator[Seat]:
    """What each release makes of a record, whether or not its subscription has changed."""
    for release in _SCOPES:
        yield reconciled(seat, owned, held, False, release)
        yield reconciled(evolve(seat, subscribed=share), owned, held, True, release)
