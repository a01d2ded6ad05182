"""Lines of a coordinator that are impossible, whatever other lines are missing.

A log may be filtered, cut or pieced together, and then a line that does not fit what comes before
it proves nothing. Some facts hold over any gap: the generation (or the epoch) only grows, a
generation has one leader, and a member that is gone never comes back under its id. Loading,
unloading and deleting a group begins all of them anew.
"""

from __future__ import annotations

from collections.abc import Callable, Set
from typing import Any

from attrs import Factory, define

from groupcheck.traces.lines.sequences import TEXT_CHARS, Growing, Key, Wrong
from groupcheck.traces.story.events import (
    AssignmentReceived,
    Converted,
    CoordinatorStarted,
    CoordinatorStopped,
    Event,
    GroupDied,
    GroupEmptied,
    GroupLoaded,
    GroupsDeleted,
    GroupUnloaded,
    MemberAdded,
    MemberExpired,
    MemberLeft,
    NotRejoined,
    NotSynced,
    OtherProtocol,
    RebalanceCause,
    RebalanceStarted,
    Stabilized,
    StaticReplaced,
)

MEMBERS_KEPT = 20_000
LEADERS_KEPT = 200
SEEN_KEPT = 100_000
FEW_GENERATIONS = 4
"""A group that began anew reaches so few generations again within some missing lines."""
SILENT_MS = 600_000
"""After so long, a group may have begun anew in lines that are missing, and reached the same
generation (those that follow go on from it either way) or no more than its first one.
"""
BEGINS, ASSIGNED, ENDS = 1, 3, 5
_ONCE = (BEGINS, ENDS)
_ANEW = (
    Converted,
    CoordinatorStarted,
    CoordinatorStopped,
    GroupDied,
    GroupLoaded,
    GroupUnloaded,
    GroupsDeleted,
)
_WENT = (RebalanceCause.LEAVE, RebalanceCause.SESSION_EXPIRED, RebalanceCause.SYNC_TIMEOUT)
_THERE = (
    RebalanceCause.JOIN,
    RebalanceCause.LEADER_REJOIN,
    RebalanceCause.METADATA_CHANGE,
    RebalanceCause.MEMBER_REJOIN,
)


@define
class _Gone:
    """A member that a line shows to be gone, and the lines that name it as a member since."""

    line: int
    text: str
    since: list[tuple[int, str]] = Factory(list)


@define
class CertainLines:
    """The facts of one group that hold over any gap."""

    generations: Growing = Factory(lambda: Growing("generation"))
    epochs: Growing = Factory(lambda: Growing("epoch"))
    # A step of the first generation that comes after others.
    _first: tuple[Key, int, str, int | None] | None = None
    _highest: int = 0
    # The latest step, and its time.
    _last: tuple[Key, int | None] | None = None
    _seen: set[Key] = Factory(set)
    # The size that a line prints for a generation: (size, line, text); and two that differ.
    _sizes: dict[int, tuple[int, int, str]] = Factory(dict)
    _differ: dict[int, tuple[tuple[int, int, str], tuple[int, int, str]]] = Factory(dict)
    _leaders: dict[int, list[tuple[str, int, str]]] = Factory(dict)
    # The leaders of settled generations.
    _led_by: dict[int, str] = Factory(dict)
    # The line in which a member joined.
    _joined: dict[str, int] = Factory(dict)
    _gone: dict[str, _Gone] = Factory(dict)
    _static: set[str] = Factory(set)
    _wrong: list[Wrong] = Factory(list)
    _contradictions: list[tuple[tuple[int, int, str], tuple[int, int, str]]] = Factory(list)

    def observe(self, event: Event, text: str) -> None:
        shows = _SHOWS.get(type(event))
        if shows is not None:
            shows(self, event, text)

    def _prepares(self, event: RebalanceStarted, text: str) -> None:
        self._step((event.generation, ENDS), event.line, text, event.time)
        reason = event.reason
        if reason is not None and reason.cause in _WENT:
            self._go(reason.members, event, text)
        elif reason is not None and reason.cause in _THERE:
            self._are_there(reason.members, event, text)

    def _begins(self, event: Stabilized, text: str) -> None:
        self._step((event.generation, BEGINS), event.line, text, event.time)
        if event.members is not None:
            self._sized(event, event.members, text)

    def _empties(self, event: GroupEmptied, text: str) -> None:
        self._step((event.generation, BEGINS), event.line, text, event.time)

    def _assigns(self, event: AssignmentReceived, text: str) -> None:
        self._step((event.generation, ASSIGNED), event.line, text, event.time)
        if event.leader is not None and not event.static:
            self._led(event, event.leader, text)
        if event.members is not None:
            self._sized(event, event.members, text)
        if event.leader is not None:
            self._are_there((event.leader,), event, text)

    def _adds(self, event: MemberAdded, text: str) -> None:
        self._are_there((event.member,), event, text)
        if len(self._joined) < MEMBERS_KEPT:
            self._joined.setdefault(event.member, event.line)
        if event.instance is not None:
            self._static.add(event.member)

    def _leaves(self, event: MemberLeft, text: str) -> None:
        if not event.pending:
            self._go((event.member,), event, text)
        if event.instance is not None:
            self._static.add(event.member)

    def _expires(self, event: MemberExpired, text: str) -> None:
        if not event.pending:
            self._go((event.member,), event, text)

    def _removes(self, event: NotRejoined | NotSynced, text: str) -> None:
        self._go(event.members, event, text)

    def _replaces(self, event: StaticReplaced, text: str) -> None:
        self._static |= {event.old, *([event.new] if event.new else [])}

    def _in_epoch(self, event: OtherProtocol, text: str) -> None:
        if event.what == "epoch" and event.epoch is not None:
            self.epochs.add((event.epoch, 0), event.line, text)

    def _go(self, ids: tuple[str, ...], event: Event, text: str) -> None:
        """The line shows these members to be gone."""
        for id in ids:
            if id not in self._gone and len(self._gone) < MEMBERS_KEPT:
                self._gone[id] = _Gone(event.line, text[:TEXT_CHARS])

    def _are_there(self, ids: tuple[str, ...], event: Event, text: str) -> None:
        """The line names these members."""
        for id in ids:
            gone = self._gone.get(id)
            if gone is not None and len(gone.since) < 3:
                gone.since.append((event.line, text[:TEXT_CHARS]))

    def _step(self, key: Key, line: int, text: str, time: int | None) -> None:
        """A step of a generation. One of the first generation tells that the group began anew in
        lines that are missing, unless the old generations go on right after it.
        """
        if self._first is not None:
            first, self._first = self._first, None
            goes_on = (
                self._highest > FEW_GENERATIONS and self._highest <= key[0] <= self._highest + 2
            )
            if not goes_on:
                self.begin_anew()
            self._add(*first)
        if key[0] <= 1 < self._highest:
            self._first = (key, line, text, time)
        else:
            self._add(key, line, text, time)

    def _add(self, key: Key, line: int, text: str, time: int | None) -> None:
        before, self._last = self._last, (key, time)
        if before is not None and None not in (time, before[1]):
            again = before[0] >= key and key[0] in (0, 1, before[0][0])
            silent = (time or 0) - (before[1] or 0)
            # Without the line that began this generation the log is filtered: any may be missing.
            is_filtered = key[1] == ENDS and (key[0], BEGINS) not in self._seen and silent > 0
            if again and (silent > SILENT_MS or is_filtered):
                self.begin_anew()
        self._highest = max(self._highest, key[0])
        if key[1] in _ONCE:
            if key in self._seen:
                key = (key[0], key[1] - 1)  # a second time: as if it came too late
            elif len(self._seen) < SEEN_KEPT:
                self._seen.add(key)
        self.generations.add(key, line, text, time)

    def begin_anew(self, *_: object) -> None:
        """Forgets everything that was certain about the group."""
        self._settle()

    def finish(self, refused: Set[int]) -> list[Wrong]:
        """All impossible lines, in order. `refused`: the lines that do not fit those before them;
        of two lines that contradict each other, that one is wrong.
        """
        self._settle()
        for first, second in self._contradictions:
            wrong, other = (first, second) if first[1] in refused else (second, first)
            why = f"{wrong[0]} members are printed, and line {other[1]} prints {other[0]} for the"
            self._wrong.append(Wrong(wrong[1], wrong[2], f"{why} same generation"))
        found = {w.line: w for w in (*self._wrong, *self.generations.wrong, *self.epochs.wrong)}
        return [found[line] for line in sorted(found)]

    def _led(self, event: AssignmentReceived, leader: str, text: str) -> None:
        if event.generation not in self._leaders and len(self._leaders) >= LEADERS_KEPT:
            self._one_leader(next(iter(self._leaders)))
        found = self._leaders.setdefault(event.generation, [])
        if len(found) < 10:
            found.append((leader, event.line, text[:TEXT_CHARS]))

    def _sized(self, event: Stabilized | AssignmentReceived, size: int, text: str) -> None:
        """A generation has one size: nobody joins or goes without a new one."""
        known = self._sizes.get(event.generation)
        if known is None:
            if len(self._sizes) >= LEADERS_KEPT:
                del self._sizes[next(iter(self._sizes))]
            self._sizes[event.generation] = (size, event.line, text[:TEXT_CHARS])
        elif known[0] != size and event.generation not in self._differ:
            self._differ[event.generation] = (known, (size, event.line, text[:TEXT_CHARS]))

    def _settle(self) -> None:
        self.generations.settle()
        self._first, self._highest = None, 0
        self._seen.clear()
        self.epochs.settle()
        for generation in list(self._leaders):
            self._one_leader(generation)
        for id, gone in self._gone.items():
            if id in self._static:
                continue
            if len(gone.since) > 2:
                why = f"{id} is said to be gone, and line {gone.since[0][0]} names it as a member"
                self._wrong.append(Wrong(gone.line, gone.text, why))
            for line, text in gone.since if len(gone.since) <= 2 else ():
                why = f"{id} is named as a member, and was gone since line {gone.line}"
                self._wrong.append(Wrong(line, text, why))
        self._contradictions += list(self._differ.values())[:LEADERS_KEPT]
        self._leaders, self._gone, self._sizes, self._differ = {}, {}, {}, {}
        self._joined, self._led_by = {}, {}

    def _one_leader(self, generation: int) -> None:
        """Says which of two leaders of a generation is wrong: the one that was no member then; else
        the one that does not lead the generation before it (a leader that rejoins stays the
        leader), or after it; else the later one.
        """
        found = self._leaders.pop(generation)
        if len(self._led_by) < LEADERS_KEPT:
            self._led_by[generation] = found[0][0]
        if len({leader for leader, _, _ in found}) < 2:
            return

        def leads(leader: str, number: int) -> bool:
            told = self._leaders.get(number, ())
            return self._led_by.get(number) == leader or any(x == leader for x, _, _ in told)

        later = min((line for _, line, _ in self._leaders.get(generation + 1, ())), default=0)

        def likely(told: tuple[str, int, str]) -> tuple[bool, bool, bool, int]:
            leader, line, _ = told
            gone = self._gone.get(leader)
            there = self._joined.get(leader, 0) <= line and (gone is None or gone.line > line)
            # Who is gone by then could not lead on.
            leads_on = leads(leader, generation + 1) or (gone is not None and gone.line < later)
            return there, leads(leader, generation - 1), leads_on, -line

        right = max(found, key=likely)
        for leader, line, text in found:
            if leader != right[0]:
                why = (
                    f"{leader} is called the leader of generation {generation}, and line {right[1]}"
                    f" names {right[0]}"
                )
                self._wrong.append(Wrong(line, text, why))


# Each kind of line, with what it shows.
_SHOWS: dict[type[Event], Callable[[CertainLines, Any, str], None]] = {
    **dict.fromkeys(_ANEW, CertainLines.begin_anew),
    RebalanceStarted: CertainLines._prepares,
    Stabilized: CertainLines._begins,
    GroupEmptied: CertainLines._empties,
    AssignmentReceived: CertainLines._assigns,
    MemberAdded: CertainLines._adds,
    MemberLeft: CertainLines._leaves,
    MemberExpired: CertainLines._expires,
    NotRejoined: CertainLines._removes,
    NotSynced: CertainLines._removes,
    StaticReplaced: CertainLines._replaces,
    OtherProtocol: CertainLines._in_epoch,
}
