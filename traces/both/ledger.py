"""What logs of a coordinator say about a group's generations and member ids: the lines to which
lines of clients are compared.

A generation counts once: if two lines begin a generation of one number, the group was reset or the
log is told twice, and nothing is said about it. Lines are compared only within one life: from a
start, load or reset of the group to the next one, in the log of one broker.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from attrs import Factory, define, frozen

from groupcheck.traces.clients.said import TEXT_CHARS, Said
from groupcheck.traces.clients.who import BROKER
from groupcheck.traces.exchanges.exchange import Exchange, JoinExchange, LeaveExchange
from groupcheck.traces.story.events import (
    AssignmentReceived,
    Cause,
    CoordinatorStarted,
    CoordinatorStopped,
    Event,
    GroupDied,
    GroupEmptied,
    GroupLoaded,
    GroupsDeleted,
    GroupUnloaded,
    IdHandedOut,
    MemberAdded,
    MemberExpired,
    MemberLeft,
    NotRejoined,
    NotSynced,
    RebalanceStarted,
    Stabilized,
    StaticReplaced,
)

MOST_ENTRIES = 200_000
"""Generations and member ids, of all groups."""
Life = tuple[str, int | None, int]
"""Log, broker, and how many lives of the group stand before in it."""


@frozen
class Told:
    """A line of a coordinator about a group."""

    said: Said
    life: Life

    def before(self, other: Told) -> bool:
        """It is older: by its place and by its time, in one life."""
        a, b = self.said, other.said
        if self.life != other.life or a.time is None or b.time is None:
            return False
        return a.line < b.line and a.time < b.time


@define
class Generation:
    """What is said about one generation. Each is None if no line tells it."""

    number: int
    # The join phase is over, and how many members it has.
    begun: Told | None = None
    size: int | None = None
    # It has no members.
    empty: Told | None = None
    # The line that names its leader, and the leader.
    led: Told | None = None
    leader: str = ""
    # Another rebalance begins, which ends it.
    over: Told | None = None
    # Two lines begin it.
    twice: bool = False

    @property
    def anchor(self) -> Told | None:
        """The line that shows it first."""
        return self.begun or self.empty or self.led


@define
class Membership:
    """What is said about one member id."""

    member: str
    instance: str | None = None
    # The id was made.
    created: Told | None = None
    # The last line that shows it in the group, or that removes it.
    shown: Told | None = None
    # It is gone: left, expired, not_rejoined, not_synced or replaced.
    ended: Told | None = None
    how: str = ""
    # All lines that say so, everything that they say, and the reason that the client gave.
    endings: list[Told] = Factory(list)
    hows: set[str] = Factory(set)
    client_reason: str | None = None
    # It went while a rebalance waited for its members.
    in_round: bool = False
    # The lines of the same life that name it as a member after that.
    again: list[Told] = Factory(list)


_ENDINGS = {
    Cause.LEAVE: "left",
    Cause.SESSION_EXPIRED: "expired",
    Cause.SYNC_TIMEOUT: "not_synced",
}


_JOINS = (Cause.JOIN, Cause.LEADER_REJOIN, Cause.METADATA_CHANGE)


@define
class Book:
    """One group."""

    generations: dict[int, Generation] = Factory(dict)
    members: dict[str, Membership] = Factory(dict)
    # Of each life the first line that names a generation, and the last one with its number.
    first: dict[Life, Told] = Factory(dict)
    last: dict[Life, tuple[int, Told]] = Factory(dict)
    # The lives that are in a join phase.
    rounds: set[Life] = Factory(set)

    def sure(self, number: int) -> bool:
        """Is this the only generation of its number? A coordinator that fails may forget the one
        that it has just begun, and the next coordinator uses the number again. So the life must
        show the beginning of the one before, too.
        """
        this, before = self.generations.get(number), self.generations.get(number - 1)
        if this is None or this.twice or this.anchor is None:
            return False
        anchor = None if before is None or before.twice else before.anchor
        return number == 1 or (anchor is not None and anchor.life == this.anchor.life)


@define
class Ledger:
    """All groups of all logs of coordinators."""

    books: dict[str, Book] = Factory(dict)
    # (log, broker) -> its restarts; (log, broker, group) -> loads and resets of the group.
    _restarts: dict[tuple[str, int | None], int] = Factory(dict)
    _resets: dict[tuple[str, int | None, str], int] = Factory(dict)
    _entries: int = 0

    def listener(self, log: str) -> Callable[[Event | Exchange, str], None]:
        """What a replay of this log calls with every event, see `replay.Asked`."""

        def listen(event: Event | Exchange, text: str) -> None:
            if isinstance(event, Exchange):
                if isinstance(event, JoinExchange | LeaveExchange) and event.group:
                    self._exchange(event, log)
                return
            handler = _HANDLERS.get(type(event))
            if handler is not None and event.group is not None and self._entries < MOST_ENTRIES:
                handler(self, event, self._told(event, text, log))
            elif isinstance(event, CoordinatorStarted | CoordinatorStopped):
                key = (log, event.broker)
                self._restarts[key] = self._restarts.get(key, 0) + 1
            elif isinstance(event, GroupsDeleted):
                for group in event.groups:
                    self._reset(log, event.broker, group)

        return listen

    def book(self, group: str) -> Book:
        return self.books.setdefault(group, Book())

    def _told(self, event: Event, text: str, log: str) -> Told:
        assert event.group is not None
        said = Said(
            kind="",
            line=event.line,
            text=text[:TEXT_CHARS],
            time=event.time,
            library=BROKER,
            log=log,
            group=event.group,
        )
        return Told(said, self._life(log, event.broker, event.group))

    def _life(self, log: str, broker: int | None, group: str) -> Life:
        lives = self._restarts.get((log, broker), 0) + self._resets.get((log, broker, group), 0)
        return log, broker, lives

    def _reset(self, log: str, broker: int | None, group: str) -> None:
        key = (log, broker, group)
        self._resets[key] = self._resets.get(key, 0) + 1

    def _anew(self, event: Event, told: Told) -> None:
        self._reset(told.said.log, event.broker, told.said.group)

    # --- generations

    def _generation(self, number: int, told: Told) -> Generation:
        book = self.book(told.said.group)
        self._now(book, number, told)
        found = book.generations.get(number)
        if found is None:
            self._entries += 1
            found = book.generations[number] = Generation(number)
        return found

    def _now(self, book: Book, number: int, told: Told) -> None:
        book.first.setdefault(told.life, told)
        before = book.last.get(told.life)
        if before is None or number >= before[0]:
            book.last[told.life] = (number, told)

    def _prepares(self, event: RebalanceStarted, told: Told) -> None:
        over = self._generation(event.generation, told)
        over.over = over.over or told
        reason = event.reason
        how = None if reason is None else _ENDINGS.get(reason.cause)
        for id in () if reason is None else reason.members:
            if how is not None:
                self._ends(id, told, how)
            elif reason is not None and reason.cause in _JOINS:
                self._shows(id, told)
        self.book(told.said.group).rounds.add(told.life)

    def _begins(self, event: Stabilized, told: Told) -> None:
        found = self._generation(event.generation, told)
        found.twice = found.twice or found.begun is not None or found.empty is not None
        found.begun, found.size = told, event.members
        self.book(told.said.group).rounds.discard(told.life)

    def _empties(self, event: GroupEmptied, told: Told) -> None:
        found = self._generation(event.generation, told)
        found.twice = found.twice or found.begun is not None or found.empty is not None
        found.empty = told
        self.book(told.said.group).rounds.discard(told.life)

    def _assigns(self, event: AssignmentReceived, told: Told) -> None:
        found = self._generation(event.generation, told)
        if event.leader is None:
            return
        found.twice = found.twice or found.leader not in ("", event.leader)
        found.led, found.leader = told, event.leader
        self._shows(event.leader, told)

    # --- members

    def _member(self, id: str, told: Told) -> Membership:
        members = self.book(told.said.group).members
        found = members.get(id)
        if found is None:
            self._entries += 1
            found = members[id] = Membership(id)
        return found

    def _shows(self, id: str, told: Told) -> Membership:
        found = self._member(id, told)
        found.shown = told
        if found.ended is not None and found.ended.before(told):
            found.again.append(told)
        return found

    def _ends(self, id: str, told: Told, how: str) -> Membership:
        found = self._member(id, told)
        found.shown = told
        found.endings.append(told)
        found.hows.add(how)
        if found.ended is None:
            found.ended, found.how = told, how
            found.in_round = told.life in self.book(told.said.group).rounds
        return found

    def _hands_out(self, event: IdHandedOut, told: Told) -> None:
        found = self._member(event.member, told)
        found.created = found.created or told

    def _adds(self, event: MemberAdded, told: Told) -> None:
        found = self._shows(event.member, told)
        found.instance = event.instance
        if event.fresh:
            found.created = found.created or told

    def _replaces(self, event: StaticReplaced, told: Told) -> None:
        self._ends(event.old, told, "replaced").instance = event.instance
        if event.new is not None:
            new = self._shows(event.new, told)
            new.instance, new.created = event.instance, new.created or told

    def _leaves(self, event: MemberLeft, told: Told) -> None:
        found = self._ends(event.member, told, "left")
        found.client_reason = found.client_reason or event.client_reason

    def _expires(self, event: MemberExpired, told: Told) -> None:
        self._ends(event.member, told, "expired")

    def _removes(self, event: NotRejoined | NotSynced, told: Told) -> None:
        how = "not_rejoined" if isinstance(event, NotRejoined) else "not_synced"
        for id in event.members:
            self._ends(id, told, how)

    # --- request logs

    def _exchange(self, e: JoinExchange | LeaveExchange, log: str) -> None:
        if self._entries >= MOST_ENTRIES or e.code:
            return
        text = f"{e.api} of {e.client}, answered at {int(e.given)}"
        said = Said(
            kind="", line=e.line, text=text, time=int(e.given), library=BROKER, log=log,
            group=e.group,
        )  # fmt: skip
        told = Told(said, (log, None, 0))
        if isinstance(e, JoinExchange):
            found = self._generation(e.to_generation, told)
            found.twice = found.twice or found.leader not in ("", e.leader)
            found.led, found.leader = found.led or told, e.leader
            self._shows(e.told, told)
            return
        for leaver in e.leavers:
            if not leaver.code and leaver.member:
                self._ends(leaver.member, told, "left").client_reason = leaver.reason


_HANDLERS: dict[type[Event], Callable[[Ledger, Any, Told], None]] = {
    RebalanceStarted: Ledger._prepares,
    Stabilized: Ledger._begins,
    GroupEmptied: Ledger._empties,
    AssignmentReceived: Ledger._assigns,
    IdHandedOut: Ledger._hands_out,
    MemberAdded: Ledger._adds,
    StaticReplaced: Ledger._replaces,
    MemberLeft: Ledger._leaves,
    MemberExpired: Ledger._expires,
    NotRejoined: Ledger._removes,
    NotSynced: Ledger._removes,
    GroupLoaded: Ledger._anew,
    GroupUnloaded: Ledger._anew,
    GroupDied: Ledger._anew,
}
