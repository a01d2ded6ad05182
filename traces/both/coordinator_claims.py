"""Claims of coordinators' logs about a group's generations and member ids: the lines to which lines
of clients are compared.

A generation counts once: if two lines begin a generation of one number, the group was reset or the
log is told twice, and nothing is said about it. Lines are compared only within one life: from a
start, load or reset of the group to the next one, in the log of one broker.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from attrs import Factory, define, frozen

from groupcheck.traces.clients.statement import TEXT_CHARS, Statement
from groupcheck.traces.clients.who import BROKER
from groupcheck.traces.exchanges.exchange import Exchange, JoinExchange, LeaveExchange
from groupcheck.traces.story.events import (
    AssignmentReceived,
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
    RebalanceCause,
    RebalanceStarted,
    Stabilized,
    StaticReplaced,
)

MOST_ENTRIES = 200_000
"""Generations and member ids, of all groups."""
CoordinatorLife = tuple[str, int | None, int]
"""Log, broker, and how many lives of the group stand before in it."""


@frozen
class CoordinatorLine:
    """A line of a coordinator about a group."""

    # Its number, and what it says.
    line: int
    text: str
    time: int | None
    log: str
    group: str
    life: CoordinatorLife

    @property
    def said(self) -> Statement:
        """The line as a statement: few of all lines are ever asked for it."""
        return Statement(
            kind="",
            line=self.line,
            text=self.text,
            time=self.time,
            library=BROKER,
            log=self.log,
            group=self.group,
        )

    def before(self, other: CoordinatorLine) -> bool:
        """It is older: by its place and by its time, in one life."""
        if self.life != other.life or self.time is None or other.time is None:
            return False
        return self.line < other.line and self.time < other.time


@define
class GenerationClaims:
    """The claims about one generation. Each is None if no line tells it."""

    number: int
    # The join phase is over, and how many members it has.
    begun: CoordinatorLine | None = None
    size: int | None = None
    # It has no members.
    empty: CoordinatorLine | None = None
    # The line that names its leader, and the leader.
    led: CoordinatorLine | None = None
    leader: str = ""
    # Another rebalance begins, which ends it.
    over: CoordinatorLine | None = None
    # Two lines begin it.
    twice: bool = False

    @property
    def anchor(self) -> CoordinatorLine | None:
        """The line that shows it first."""
        return self.begun or self.empty or self.led


@define
class Membership:
    """The claims about one member id."""

    member: str
    instance: str | None = None
    # The id was made.
    created: CoordinatorLine | None = None
    # The last line that shows it in the group, or that removes it.
    shown: CoordinatorLine | None = None
    # It is gone: left, expired, not_rejoined, not_synced or replaced.
    ended: CoordinatorLine | None = None
    how: str = ""
    # All lines that say so, everything that they say, and the reason that the client gave.
    endings: list[CoordinatorLine] = Factory(list)
    hows: set[str] = Factory(set)
    client_reason: str | None = None
    # It went while a rebalance waited for its members.
    in_round: bool = False
    # The lines of the same life that name it as a member after that.
    again: list[CoordinatorLine] = Factory(list)


_ENDINGS = {
    RebalanceCause.LEAVE: "left",
    RebalanceCause.SESSION_EXPIRED: "expired",
    RebalanceCause.SYNC_TIMEOUT: "not_synced",
}


_JOINS = (RebalanceCause.JOIN, RebalanceCause.LEADER_REJOIN, RebalanceCause.METADATA_CHANGE)


@define
class GroupClaims:
    """One group."""

    generations: dict[int, GenerationClaims] = Factory(dict)
    members: dict[str, Membership] = Factory(dict)
    # Of each life the first line that names a generation, and the last one with its number.
    first: dict[CoordinatorLife, CoordinatorLine] = Factory(dict)
    last: dict[CoordinatorLife, tuple[int, CoordinatorLine]] = Factory(dict)
    # The lives that are in a join phase.
    rounds: set[CoordinatorLife] = Factory(set)

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
class CoordinatorClaims:
    """All groups of all logs of coordinators."""

    groups: dict[str, GroupClaims] = Factory(dict)
    # (log, broker) -> its restarts; (log, broker, group) -> loads and resets of the group.
    _restarts: dict[tuple[str, int | None], int] = Factory(dict)
    _resets: dict[tuple[str, int | None, str], int] = Factory(dict)
    _entries: int = 0

    def listener(self, log: str) -> Callable[[Event | Exchange, str], None]:
        """The function that a replay of this log calls with every event (`ReplayOptions.seen`)."""

        def listen(event: Event | Exchange, text: str) -> None:
            if isinstance(event, Exchange):
                if isinstance(event, JoinExchange | LeaveExchange) and event.group:
                    self._exchange(event, log)
                return
            handler = _HANDLERS.get(type(event))
            if handler is not None and event.group is not None and self._entries < MOST_ENTRIES:
                handler(self, event, self._line(event, text, log))
            elif isinstance(event, CoordinatorStarted | CoordinatorStopped):
                key = (log, event.broker)
                self._restarts[key] = self._restarts.get(key, 0) + 1
            elif isinstance(event, GroupsDeleted):
                for group in event.groups:
                    self._reset(log, event.broker, group)

        return listen

    def group(self, group: str) -> GroupClaims:
        found = self.groups.get(group)
        if found is None:
            found = self.groups[group] = GroupClaims()
        return found

    def _line(self, event: Event, text: str, log: str) -> CoordinatorLine:
        assert event.group is not None
        life = self._life(log, event.broker, event.group)
        return CoordinatorLine(event.line, text[:TEXT_CHARS], event.time, log, event.group, life)

    def _life(self, log: str, broker: int | None, group: str) -> CoordinatorLife:
        lives = self._resets.get((log, broker, group), 0)
        if self._restarts:
            lives += self._restarts.get((log, broker), 0)
        return log, broker, lives

    def _reset(self, log: str, broker: int | None, group: str) -> None:
        key = (log, broker, group)
        self._resets[key] = self._resets.get(key, 0) + 1

    def _anew(self, event: Event, line: CoordinatorLine) -> None:
        self._reset(line.log, event.broker, line.group)

    # --- generations

    def _generation(self, number: int, line: CoordinatorLine) -> GenerationClaims:
        group = self.group(line.group)
        self._now(group, number, line)
        found = group.generations.get(number)
        if found is None:
            self._entries += 1
            found = group.generations[number] = GenerationClaims(number)
        return found

    def _now(self, group: GroupClaims, number: int, line: CoordinatorLine) -> None:
        group.first.setdefault(line.life, line)
        before = group.last.get(line.life)
        if before is None or number >= before[0]:
            group.last[line.life] = (number, line)

    def _prepares(self, event: RebalanceStarted, line: CoordinatorLine) -> None:
        over = self._generation(event.generation, line)
        over.over = over.over or line
        reason = event.reason
        how = None if reason is None else _ENDINGS.get(reason.cause)
        for id in () if reason is None else reason.members:
            if how is not None:
                self._ends(id, line, how)
            elif reason is not None and reason.cause in _JOINS:
                self._shows(id, line)
        self.group(line.group).rounds.add(line.life)

    def _begins(self, event: Stabilized, line: CoordinatorLine) -> None:
        found = self._generation(event.generation, line)
        found.twice = found.twice or found.begun is not None or found.empty is not None
        found.begun, found.size = line, event.members
        self.group(line.group).rounds.discard(line.life)

    def _empties(self, event: GroupEmptied, line: CoordinatorLine) -> None:
        found = self._generation(event.generation, line)
        found.twice = found.twice or found.begun is not None or found.empty is not None
        found.empty = line
        self.group(line.group).rounds.discard(line.life)

    def _assigns(self, event: AssignmentReceived, line: CoordinatorLine) -> None:
        found = self._generation(event.generation, line)
        if event.leader is None:
            return
        found.twice = found.twice or found.leader not in ("", event.leader)
        found.led, found.leader = line, event.leader
        self._shows(event.leader, line)

    # --- members

    def _member(self, id: str, line: CoordinatorLine) -> Membership:
        members = self.group(line.group).members
        found = members.get(id)
        if found is None:
            self._entries += 1
            found = members[id] = Membership(id)
        return found

    def _shows(self, id: str, line: CoordinatorLine) -> Membership:
        found = self._member(id, line)
        found.shown = line
        if found.ended is not None and found.ended.before(line):
            found.again.append(line)
        return found

    def _ends(self, id: str, line: CoordinatorLine, how: str) -> Membership:
        found = self._member(id, line)
        found.shown = line
        found.endings.append(line)
        found.hows.add(how)
        if found.ended is None:
            found.ended, found.how = line, how
            found.in_round = line.life in self.group(line.group).rounds
        return found

    def _hands_out(self, event: IdHandedOut, line: CoordinatorLine) -> None:
        found = self._member(event.member, line)
        found.created = found.created or line

    def _adds(self, event: MemberAdded, line: CoordinatorLine) -> None:
        found = self._shows(event.member, line)
        found.instance = event.instance
        if event.fresh:
            found.created = found.created or line

    def _replaces(self, event: StaticReplaced, line: CoordinatorLine) -> None:
        self._ends(event.old, line, "replaced").instance = event.instance
        if event.new is not None:
            new = self._shows(event.new, line)
            new.instance, new.created = event.instance, new.created or line

    def _leaves(self, event: MemberLeft, line: CoordinatorLine) -> None:
        found = self._ends(event.member, line, "left")
        found.client_reason = found.client_reason or event.client_reason

    def _expires(self, event: MemberExpired, line: CoordinatorLine) -> None:
        self._ends(event.member, line, "expired")

    def _removes(self, event: NotRejoined | NotSynced, line: CoordinatorLine) -> None:
        how = "not_rejoined" if isinstance(event, NotRejoined) else "not_synced"
        for id in event.members:
            self._ends(id, line, how)

    # --- request logs

    def _exchange(self, e: JoinExchange | LeaveExchange, log: str) -> None:
        if self._entries >= MOST_ENTRIES or e.code:
            return
        text = f"{e.api} of {e.client}, answered at {int(e.given)}"
        line = CoordinatorLine(e.line, text, int(e.given), log, e.group, (log, None, 0))
        if isinstance(e, JoinExchange):
            found = self._generation(e.to_generation, line)
            found.twice = found.twice or found.leader not in ("", e.leader)
            found.led, found.leader = found.led or line, e.leader
            self._shows(e.response_member, line)
            return
        for leaver in e.leavers:
            if not leaver.code and leaver.member:
                self._ends(leaver.member, line, "left").client_reason = leaver.reason


_HANDLERS: dict[type[Event], Callable[[CoordinatorClaims, Any, CoordinatorLine], None]] = {
    RebalanceStarted: CoordinatorClaims._prepares,
    Stabilized: CoordinatorClaims._begins,
    GroupEmptied: CoordinatorClaims._empties,
    AssignmentReceived: CoordinatorClaims._assigns,
    IdHandedOut: CoordinatorClaims._hands_out,
    MemberAdded: CoordinatorClaims._adds,
    StaticReplaced: CoordinatorClaims._replaces,
    MemberLeft: CoordinatorClaims._leaves,
    MemberExpired: CoordinatorClaims._expires,
    NotRejoined: CoordinatorClaims._removes,
    NotSynced: CoordinatorClaims._removes,
    GroupLoaded: CoordinatorClaims._anew,
    GroupUnloaded: CoordinatorClaims._anew,
    GroupDied: CoordinatorClaims._anew,
}
