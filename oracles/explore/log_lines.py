"""The lines of a log about one classic group, as steps of its coordinator that a walk can follow.

The logs of a coordinator print most of these steps; what a request log shows, the replay tells in
the same words.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from attrs import frozen

from groupcheck.model.engine import UserError
from groupcheck.model.protocol.classic.group import Phase
from groupcheck.oracles.printable import printable
from groupcheck.traces.exchanges.exchange import Exchange
from groupcheck.traces.formats import OF_COORDINATORS, WALKED
from groupcheck.traces.reading import Source
from groupcheck.traces.reading.finding import find_logs
from groupcheck.traces.replay import ReplayOptions, replay_log
from groupcheck.traces.requests.words import exchange_text
from groupcheck.traces.story.events import (
    AssignmentReceived,
    Event,
    GroupEmptied,
    GroupLoaded,
    IdHandedOut,
    MemberAdded,
    MemberExpired,
    MemberLeft,
    NotRejoined,
    NotSynced,
    RebalanceStarted,
    Stabilized,
)

MOST_LINES = 150  # of a walk
MOST_MEMBERS = 8  # at once
STEPS = (
    RebalanceStarted, Stabilized, GroupEmptied, AssignmentReceived, IdHandedOut, MemberAdded,
    MemberLeft, MemberExpired, NotRejoined, NotSynced, GroupLoaded,
)  # fmt: skip
DO = "give the log of a group coordinator, or a broker's request log"


@frozen
class Line:
    """A step of the coordinator that a log tells."""

    event: Event
    # The line of the log that tells it, or the exchange; empty for a step that answers show, and no
    # line.
    text: str

    @property
    def number(self) -> int:
        """The number of the line, from 1; 0: no line tells it."""
        return self.event.line

    @property
    def words(self) -> str:
        """As a walk shows it."""
        return f"line {self.number}: {self.text}" if self.text else "no line of its own"


@frozen
class LogPart:
    """A part of a log about one group, in which few members take part."""

    log: str
    group: str
    lines: tuple[Line, ...]
    # Members when it begins, and the most that it has at once.
    begins: int
    most: int
    # Kinds of events that this log prints. A step of another kind may have happened unseen.
    printed: frozenset[type[Event]]
    # How many steps of the group the log tells before this part, and after it.
    before: int
    after: int
    # Its members keep what they own while they join (KIP-429), as a request log shows.
    cooperative: bool = False

    @property
    def two_step(self) -> bool:
        """Do members ask for an id first (KIP-394)?"""
        added = [x.event for x in self.lines if isinstance(x.event, MemberAdded)]
        return IdHandedOut in self.printed or not any(e.fresh for e in added)


def read(path: str, group: str | None = None, line: int | None = None) -> LogPart:
    """The part of a log that a walk follows: the last one, or the one with a line. `path`: as
    `replay` takes it. `group`: its name, None if the log has a single classic group. Raises
    `UserError` for a log without such a part.
    """
    where = printable(path)[:80]
    found: dict[str, GroupLog] = {}
    for source in _sources(path, where):
        for one in _of_log(source):
            known = found.get(one.group)
            if known is None or len(known.events) < len(one.events):
                found[one.group] = one
    name = _chosen(found, group, where)
    _must_be_plain(found[name], where)
    return _part(found[name], line, where)


def _sources(path: str, where: str) -> list[Source]:
    found = find_logs([path])
    if not found.sources:
        refused = found.refused[0][1].what if found.refused else "holds no log"
        raise UserError(refused, where=where, do=DO)
    return found.sources


@frozen
class GroupLog:
    """A group of a log, with all that is told about it."""

    source: Source
    group: str
    protocol: str
    events: list[Event]
    static: bool
    # Line -> its exchange in words, in a request log.
    exchanges: dict[int, str]


def _of_log(source: Source) -> Iterator[GroupLog]:
    events, exchanges = list[Event](), dict[int, str]()

    def seen(event: Event | Exchange, _: str) -> None:
        if isinstance(event, Event):
            events.append(event)
        elif event.line not in exchanges:
            exchanges[event.line] = exchange_text(event)

    for report in replay_log(source, ReplayOptions(None, None, seen, events.append)):
        for one in report.groups if report.format in OF_COORDINATORS else ():
            mine = [e for e in events if e.group == one.group]
            static = any(getattr(e, "instance", None) is not None or _counts_static(e)
                         for e in mine)  # fmt: skip
            steps: list[Event] = [e for e in mine if isinstance(e, STEPS)]
            yield GroupLog(source, one.group, one.protocol, steps, static, exchanges)


def _counts_static(event: Event) -> bool:
    return isinstance(event, AssignmentReceived) and bool(event.static)


def _chosen(found: dict[str, GroupLog], group: str | None, where: str) -> str:
    classic = [name for name, one in found.items() if one.events]
    if group is not None and group in found:
        return group
    if group is None and len(classic) == 1:
        return classic[0]
    if not classic:
        raise UserError("shows no step of a classic group's coordinator", where=where, do=DO)
    names = ", ".join(printable(n)[:60] for n in sorted(classic)[:6])
    more = f" and {len(classic) - 6} more" if len(classic) > 6 else ""
    what = "has several groups" if group is None else f"has no group {printable(group)[:60]}"
    raise UserError(what, where=where, do=f"name one with --group: {names}{more}")


def _must_be_plain(found: GroupLog, where: str) -> None:
    """Raises `UserError` for a group whose members the model that is walked does not have."""
    if found.static or found.protocol == "static":
        raise UserError(
            "has static members, whose lines no walk follows yet",
            where=where,
            do="`replay` follows them",
        )
    if found.protocol not in WALKED:
        raise UserError(
            f"is about a group of the protocol {found.protocol}, whose lines no walk follows yet",
            where=where,
            do="`replay` tells its story",
        )


def _part(found: GroupLog, line: int | None, where: str) -> LogPart:
    """The last part with a whole round and few members, or the one with a line."""
    events = found.events
    cuts = [0, *(_behind(events, k) for k, e in enumerate(events) if isinstance(e, GroupEmptied))]
    cuts.append(len(events))
    spans = [(a, b) for a, b in pairwise(cuts) if b > a]
    if line is not None:
        spans = [(a, b) for a, b in spans if events[a].line <= line <= events[b - 1].line]
        if not spans:
            what = f"line {line} tells no step of {printable(found.group)}"
            raise UserError(what, where=where)
    fewest, parts, by_ids = 0, [], not any(isinstance(e, MemberAdded) for e in events)
    for a, b in reversed(spans):
        first, end = (a, min(b, a + MOST_LINES)) if line else (_late_enough(events, a, b), b)
        begins, most = _members(events[first:end], by_ids)
        fewest = min(fewest or most, most)
        if most <= MOST_MEMBERS:
            parts.append((first, end, begins, most))
    if not parts:
        raise UserError(
            f"has no part with at most {MOST_MEMBERS} members at once: the fewest are {fewest}",
            where=where,
            do="`replay` explains groups of any size",
        )
    whole = (p for p in parts if any(isinstance(e, Stabilized) for e in events[p[0] : p[1]]))
    first, end, begins, most = next(whole, parts[0])
    chosen = events[first:end]
    missing = {e.line for e in chosen if e.line and e.line not in found.exchanges}
    texts = found.source.texts(missing) | found.exchanges
    lines = tuple(Line(e, printable(texts.get(e.line, ""))) for e in chosen)
    kinds = frozenset(map(type, events))
    rest = first, len(events) - end
    cooperative = found.protocol == "cooperative"
    return LogPart(found.source.name, found.group, lines, begins, most, kinds, *rest, cooperative)


def _behind(events: Sequence[Event], at: int) -> int:
    """The first event behind the step in which a group becomes empty. The old coordinator prints
    that a member has left behind what this caused.
    """
    at += 1
    while at < len(events):
        event = events[at]
        if not (isinstance(event, MemberLeft) and event.late):
            break
        at += 1
    return at


def _late_enough(events: Sequence[Event], first: int, end: int) -> int:
    """Where a part begins that has few enough lines: with a round."""
    if end - first <= MOST_LINES:
        return first
    begun = (k for k in range(end - MOST_LINES, end) if isinstance(events[k], RebalanceStarted))
    return next(begun, end - MOST_LINES)


def _change(event: Event, by_ids: bool) -> int:
    """How many members an event adds, or takes away. `by_ids`: no line tells that a member joins,
    so that an id that is handed out counts as one.
    """
    if isinstance(event, IdHandedOut if by_ids else MemberAdded):
        return 1
    if isinstance(event, MemberLeft | MemberExpired):
        return 0 if event.pending and not by_ids else -1
    return -len(event.members) if isinstance(event, NotRejoined | NotSynced) else 0


def _members(events: Sequence[Event], by_ids: bool) -> tuple[int, int]:
    """Members at the beginning, and the most at once: by the first size that a line prints, and who
    came and went before it.
    """
    begins = change = least = 0
    for e in events:
        if getattr(e, "phase", None) == Phase.EMPTY and not change:
            break
        change += _change(e, by_ids)
        least = min(least, change)
        size = 0 if isinstance(e, GroupEmptied) else getattr(e, "members", None)
        if isinstance(e, GroupEmptied | Stabilized) and size is not None:
            begins = max(size - change, -least)
            break
    begins = max(begins, -least)
    now, pending, most = begins, set[str](), begins
    for e in events:
        if isinstance(e, IdHandedOut) and not by_ids:
            pending.add(e.member)
        elif isinstance(e, MemberAdded | MemberLeft | MemberExpired):
            pending.discard(e.member)
        now = max(now + _change(e, by_ids), 0)
        if isinstance(e, Stabilized) and e.members is not None:
            now = e.members
        most = max(most, now + len(pending))
    return begins, max(most, 1)
