"""The picture of a group over time, as plain values for the script of the page: a lane for each
member, the rounds and generations above them, and where the harm was done.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence, Set
from types import MappingProxyType
from typing import Any

from attrs import Factory, define, evolve, frozen

from groupcheck.oracles.printable import printable
from groupcheck.oracles.replay.harm import ABSENT
from groupcheck.oracles.replay.rounds import cut, names
from groupcheck.traces.causes.found_cause import FoundCause
from groupcheck.traces.clients.partitions import Holdings
from groupcheck.traces.clients.sentences import trouble
from groupcheck.traces.clients.statement import Statement
from groupcheck.traces.clients.who import BROKER
from groupcheck.traces.exchanges.member_spans import MemberSpan
from groupcheck.traces.findings.findings import Findings, Window
from groupcheck.traces.findings.report import GroupReport
from groupcheck.traces.members.group_story import GroupStory
from groupcheck.traces.members.story import MemberStory
from groupcheck.traces.phrases import plural, some_of
from groupcheck.traces.story.member import Member, client_of
from groupcheck.traces.story.moments import Moment, Round

LANES_SHOWN = 2000
ITEMS_SHOWN = 20_000
ROUNDS_DRAWN = 3000
MARKS_SHOWN = 500
UNOWNED_SHOWN = 50
PARTITIONS_NAMED = 8
TEXT_CHARS = 300
GONE = {
    "left": "left the group",
    "expired": "was removed: its session expired",
    "fenced": "was removed: it was fenced, for another reason than its session",
    "not_rejoined": "was removed: it did not join until the rebalance timeout",
    "not_synced": "was removed: it did not send SyncGroup",
    "never_joined": "never used its id",
    "replaced": "was replaced by a new id of the same instance",
}

WAITS = {
    "joining": "waits for the answer to JoinGroup",
    "syncing": "waits for its assignment",
    "refused": "was refused: the group does not know it in this generation",
}
NO_STORY = GroupStory()


@frozen
class Item:
    """Something on a lane, or in a band above them. `until` equals `since` for a moment."""

    lane: int
    since: int
    until: int
    kind: str
    text: str
    line: int


@define
class Picture:
    """All that is drawn about one group. Times are ms since 1970 by the clocks of the logs."""

    # Members and clients that the causes concern; their lanes come first.
    concerned: frozenset[str]
    # The most items.
    most: int
    # Member id or client -> its lane, in order of appearance.
    lanes: dict[str, int] = Factory(dict)
    items: list[Item] = Factory(list)
    # Rounds and generations: preparing, completing, stable or empty.
    bands: list[Item] = Factory(list)
    # Where the causes were seen, and other harm; `lane` is the number of the claim, from 1.
    marks: list[Item] = Factory(list)
    # Items and lanes beyond the limits.
    left_out: int = 0

    @property
    def drawn(self) -> bool:
        return self.end > self.begin

    @property
    def begin(self) -> int:
        return min((x.since for x in self._all()), default=0)

    @property
    def end(self) -> int:
        return max((x.until for x in self._all()), default=0)

    def _all(self) -> Iterable[Item]:
        return [*self.items, *self.bands, *self.marks]

    def lane(self, name: str) -> int | None:
        """The lane of a member; None if there are too many."""
        if name not in self.lanes and len(self.lanes) >= LANES_SHOWN:
            self.left_out += 1
            return None
        return self.lanes.setdefault(name, len(self.lanes))

    def add(self, who: str, since: int, until: int, kind: str, text: str, line: int) -> None:
        lane = self.lane(who)
        if lane is None:
            return
        if len(self.items) >= self.most:
            self.left_out += 1
            return
        self.items.append(Item(lane, since, max(since, until), kind, text, line))

    def tick(self, who: str, at: Moment | None, kind: str, text: str) -> None:
        if who and at is not None and at.time is not None:
            self.add(who, at.time, at.time, kind, text, at.line)

    def document(self) -> dict[str, Any]:
        """Plain JSON with times relative to `from`. Texts are made printable and cut."""
        begin = self.begin
        order = sorted(self.lanes, key=lambda name: not {name, client_of(name)} & self.concerned)
        place = {self.lanes[name]: k for k, name in enumerate(order)}

        def plain(some: Iterable[Item], places: Mapping[int, int] = MappingProxyType({})) -> Any:
            return [
                [
                    places.get(x.lane, x.lane),
                    x.since - begin,
                    x.until - begin,
                    x.kind,
                    cut(printable(x.text[: 2 * TEXT_CHARS]), TEXT_CHARS),
                    x.line,
                ]
                for x in sorted(some, key=lambda x: (x.since, x.until))
            ]

        return {
            "from": begin,
            "length": self.end - begin,
            "lanes": [printable(name) for name in order],
            "items": plain(self.items, place),
            "bands": plain(self.bands),
            "marks": plain(self.marks[:MARKS_SHOWN]),
        }


def picture(
    groups: Sequence[GroupReport],
    statements: Iterable[Statement],
    found: Sequence[FoundCause],
    story: GroupStory = NO_STORY,
    most: int = ITEMS_SHOWN,
) -> Picture:
    """The picture that logs of brokers (`groups`) and of clients (`statements`, `story`) give of
    one group, with the causes that were `found`; `most`: how many items on lanes it has at most.
    """
    out = Picture(frozenset(who for cause in found for who in cause.who), most)
    for group in groups:
        _members(out, group)
        rounds = group.timeline.rounds[-min(ROUNDS_DRAWN, most // 6) :]
        out.left_out += len(group.timeline.rounds) - len(rounds)
        _rounds(out, rounds, group.timeline.last)
        if group.requests is not None:
            _stays(out, group.requests.spans.kept, group)
        _harm(out, group.findings)
    for m in story.members:
        _told(out, m)
    _said(out, statements, {(m.log, m.process, m.client): m.member for m in story.members})
    _causes(out, found, len(groups) == 1)
    return out


def _causes(out: Picture, found: Sequence[FoundCause], one_log: bool) -> None:
    """When each cause was seen. Evidence without a time has that of its line, if there is only one
    log of a broker.
    """
    of_line = {x.line: x.since for x in [*out.bands, *out.items] if x.line} if one_log else {}
    for number, cause in enumerate(found, 1):
        times = [t for t in (cause.since, cause.until) if t is not None]
        times = times or [
            of_line[s.line] for s in cause.evidence if s.library == BROKER and s.line in of_line
        ]
        if times:
            first = next((s.line for s in cause.evidence), 0)
            title = cause.cause.title
            out.marks.append(Item(number, min(times), max(times), "cause", title, first))


def _members(out: Picture, group: GroupReport) -> None:
    last = group.timeline.last
    for m in group.timeline.members.values():
        begin = m.joined or m.handed_out or m.first_seen
        if begin is None or begin.time is None or last is None or last.time is None:
            continue
        end = m.ended.time if m.ended and m.ended.time is not None else last.time
        out.add(m.id, begin.time, end, "member", _life(m), begin.line)
        out.tick(m.id, m.handed_out, "id", "the coordinator handed out this id")
        out.tick(m.id, m.joined, "joined", "joined")
        if m.gone:
            kind = "left" if m.gone in ("left", "replaced") else "gone"
            out.tick(m.id, m.ended, kind, GONE.get(m.gone, m.gone))


def _harm(out: Picture, found: Findings) -> None:
    """Where users felt it, and members that were away."""

    def mark(window: Window, text: str, kind: str = "harm") -> None:
        if window.since is not None and window.until is not None:
            out.marks.append(Item(0, window.since, window.until, kind, text, window.line))

    for empty in found.empty:
        if not empty.by_choice:
            mark(empty.window, "the group had no members")
    for some in found.unowned[:UNOWNED_SHOWN]:
        mark(some.window, f"{some.partition} had no owner")
    for two in found.two_owners:
        text = f"{two.partition} was owned by {two.earlier} and {two.later}"
        mark(Window(two.since, two.until, 0), text)
    for back in found.went_back:
        text = f"the offset of {back.partition} went back from {back.was} to {back.committed}"
        mark(Window(back.time, back.time, back.line), text)
    for jump in found.jumped:
        text = f"the offset of {jump.partition} jumped from {jump.was} to {jump.committed}"
        mark(Window(jump.time, jump.time, jump.line), text)
    for restart in found.restarts:
        mark(restart.window, f"the coordinator was away ({restart.what})", "restart")
    for absent in found.absences:
        w = absent.window
        if w.since is not None and w.until is not None:
            text = f"it {ABSENT[absent.kind]}"
            out.add(absent.member, w.since, w.until, "away", text, w.line)


def _life(m: Member) -> str:
    led = f", led {plural(m.led, 'generation')}" if m.led else ""
    caused = f", caused {plural(m.caused, 'rebalance')}" if m.caused else ""
    instance = f", instance {m.instance}" if m.instance else ""
    end = GONE.get(m.gone, m.gone) if m.gone else "a member until the log ends"
    return f"{end}{led}{caused}{instance}"


def _rounds(out: Picture, rounds: Sequence[Round], last: Moment | None) -> None:
    for k, x in enumerate(rounds):
        following = rounds[k + 1].started if k + 1 < len(rounds) else last
        why = x.cause.value.replace("_", " ")
        by = f" ({names(x.causers, None)})" if x.causers else ""
        waits = f"; it waited: {names(x.held_up_by, None)} {x.waited_for}" if x.waited_for else ""
        _band(out, x.started, x.joined_at or following, "preparing", f"rebalance: {why}{by}{waits}")
        for id in x.causers[:1]:
            out.tick(id, x.started, "caused", f"a rebalance begins: {why}")
        if x.outcome == "emptied":
            _band(out, x.joined_at, following, "empty", f"generation {x.to_generation}: Empty")
            continue
        waiting = f"generation {x.to_generation} waits for its assignment"
        _band(out, x.joined_at, x.assigned or following, "completing", waiting)
        _band(out, x.assigned, following, "stable", f"generation {x.to_generation}: Stable")
        out.tick(x.leader or "", x.assigned, "led", "the leader's assignment arrives")


def _band(out: Picture, start: Moment | None, end: Moment | None, kind: str, text: str) -> None:
    if start is None or end is None or start.time is None or end.time is None:
        return
    if end.time >= start.time:
        out.bands.append(Item(0, start.time, end.time, kind, text, start.line))


def _stays(out: Picture, stays: Sequence[MemberSpan], group: GroupReport) -> None:
    members, last = group.timeline.members, group.timeline.last
    end = last.time if last and last.time is not None else 0
    # A commit after LeaveGroup has no member id: it is one of the client's last member.
    latest: dict[str, str] = {}
    for stay in stays:
        if stay.member:
            latest[stay.client] = stay.member
        member = members.get(stay.member)
        gone = member.ended.time if member and member.ended else None
        until = stay.until
        if until is None:
            until = max(stay.since, gone if gone is not None else end)
        who = stay.member or latest.get(stay.client, stay.client)
        out.add(who, stay.since, until, stay.kind, _stay(stay), stay.line)


def _stay(stay: MemberSpan) -> str:
    generation = f" in generation {stay.generation}" if (stay.generation or -1) >= 0 else ""
    if stay.kind == "owns":
        more = stay.count - PARTITIONS_NAMED
        some = ", ".join(stay.partitions[:PARTITIONS_NAMED]) + (f" and {more} more" * (more > 0))
        return f"owns {some}{generation}"
    return WAITS[stay.kind] + generation


def _told(out: Picture, m: MemberStory) -> None:
    """A member as its own log tells it: when it joined and waited, and what it owned."""
    who = m.member or m.name
    for r in m.rounds:
        for kind, a, b in (("joining", r.asked, r.joined), ("syncing", r.joined, r.synced)):
            if a is not None and b is not None and a.time is not None and b.time is not None:
                text = f"{WAITS[kind]} in generation {r.generation}"
                out.add(r.member or who, a.time, b.time, kind, text, a.line)
    for since, until, partitions in held((o.partition, o.since, o.until) for o in m.owned()):
        out.add(who, since, until, "owns", f"owns {_named(partitions)}", 0)


def _said(
    out: Picture, statements: Iterable[Statement], members: Mapping[tuple[str, str, str], str]
) -> None:
    """The statements of clients: ticks, and, of those that are no `members` of a story, what they
    own between two lines about it.
    """
    holdings: dict[str, Holdings] = {}
    latest = 0
    clients = {client_of(name): name for name in out.lanes}
    timed = sorted((s for s in statements if s.time is not None), key=lambda s: s.time or 0)
    writers: dict[str, set[str]] = {}
    for s in timed:
        writers.setdefault(s.log, set()).update({s.who} - {""})
    # A line without a name belongs to the only writer of its log that has one.
    alone = {log: min(names) for log, names in writers.items() if len(names) == 1}
    for s in timed:
        latest = s.time or 0
        name = s.who or alone.get(s.log, "") or s.log or "the client"
        told = members.get((s.log, s.process, s.client))
        who = s.member if s.member in out.lanes else told or clients.get(name, name)
        if told is None:
            mine = holdings.setdefault(who, Holdings())
            gone = s.kind in ("left", "closed")
            mine.add(evolve(s, kind="lost", fields={"whole": True}) if gone else s)
        kind = "trouble" if s.kind in trouble() else SAID.get(s.kind, "said")
        out.add(who, latest, latest, kind, s.text, s.line)
    for who, mine in holdings.items():
        for since, until, partitions in held(
            (s.partition, s.since, s.until) for s in mine.spans_until(latest)
        ):
            out.add(who, since, until, "owns", f"owns {_named(partitions)}", 0)


def held(
    spans: Iterable[tuple[str, int | None, int | None]],
) -> Iterator[tuple[int, int, Set[str]]]:
    """From when to when a client held which partitions: a stretch ends where they change. `spans`:
    each partition, since when and until when.
    """
    changes = []
    for partition, since, until in spans:
        if since is not None and until is not None:
            changes += [(since, True, partition), (until, False, partition)]
    now: set[str] = set()
    before = 0
    for time, gained, partition in sorted(changes):
        if now and time > before:
            yield before, time, now
        (now.add if gained else now.discard)(partition)
        before = time


def _named(partitions: Collection[str]) -> str:
    return some_of(sorted(partitions), PARTITIONS_NAMED)


SAID = {"joined": "joined", "id_given": "id", "leading": "led", "left": "left", "closed": "left"}
