"""The statements about one group, kept in bounded memory, and which of them meet a need."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence, Set

from attrs import Factory, define, evolve, frozen

from groupcheck.traces.both.removals import Removal
from groupcheck.traces.causes.contexts import shown_contexts, speaker
from groupcheck.traces.causes.versions import Versions
from groupcheck.traces.clients.statement import Statement, ms_between
from groupcheck.traces.facts.needs import Need
from groupcheck.traces.facts.values import same_name
from groupcheck.traces.lines.timestamps import FIRST_DATED
from groupcheck.traces.members.clocks import Skew
from groupcheck.traces.members.group_story import GroupStory
from groupcheck.traces.members.members import GroupMembers

STATEMENTS_KEPT = 500
"""Of each kind: so many of the first and of the last statements are kept."""
MOST_WRITERS = 10_000
NEAR_LINES = 20
"""Without times, lines that lie closer together are of one moment."""
Places = Set[tuple[str, int, str]]
"""The places of statements that a cause cannot explain."""


@frozen
class Counted:
    """Which statements count for a cause."""

    # Proofs rule these out.
    refuted: Places = frozenset()
    # Those of these libraries and of lines that show none; empty: of all.
    library: tuple[str, ...] = ()
    # Those of these speakers; empty: of all.
    speaker: tuple[str, ...] = ()

    def counts(self, said: Statement) -> bool:
        """Does the statement?"""
        return (
            place(said) not in self.refuted
            and (not self.library or said.library in ("", *self.library))
            and (not self.speaker or speaker(said) in self.speaker)
        )


ALL = Counted()


def is_process(said: Statement) -> bool:
    """Is its writer known by the process alone?"""
    return bool(said.process) and said.who == said.process


@define
class StatementTally:
    """The statements of one kind about one group."""

    count: int = 0
    first: list[Statement] = Factory(list)
    last: deque[Statement] = Factory(lambda: deque(maxlen=STATEMENTS_KEPT))

    def add(self, said: Statement) -> None:
        self.count += 1
        (self.first if len(self.first) < STATEMENTS_KEPT else self.last).append(said)

    def statements(self) -> Iterator[Statement]:
        """Those that were kept, in order."""
        yield from self.first
        yield from self.last


@define
class GroupEvidence:
    """The statements about one group."""

    # Its name; empty for statements that name no group.
    group: str
    tallies: dict[str, StatementTally] = Factory(dict)
    libraries: Counter[str] = Factory(Counter)
    # Log -> the writer of its lines without a name; None if not yet known.
    _nameless: dict[str, str] | None = None
    # What each process said, as far as it was kept, in order; None after an addition.
    _each: list[list[Statement]] | None = None
    _contexts: Set[str] | None = None
    _times: list[int] | None = None
    # Which versions all logs tell.
    versions: Versions = Factory(Versions)
    # By how much the clocks of its clients differ from those of its brokers.
    skews: tuple[Skew, ...] = ()
    # What its members did, by the model of a member.
    followed: GroupMembers = Factory(GroupMembers)
    # What its members did, by their clients' logs, whatever their library.
    story: GroupStory = Factory(GroupStory)
    # How memberships ended, by the coordinator's log.
    removals: tuple[Removal, ...] = ()

    def add(self, said: Statement) -> None:
        self._nameless = self._each = self._contexts = self._times = None
        tally = self.tallies.get(said.kind)
        if tally is None:
            tally = self.tallies[said.kind] = StatementTally()
        tally.add(said)
        if said.library:
            self.libraries[said.library] += 1

    def leave_out(self, wrong: Callable[[Statement], bool]) -> None:
        """Takes the statements out that are wrong."""
        self._nameless = self._each = self._contexts = self._times = None
        for kind, tally in [*self.tallies.items()]:
            kept = [said for said in tally.statements() if not wrong(said)]
            gone = len(tally.first) + len(tally.last) - len(kept)
            if gone == 0:
                continue
            del self.tallies[kind]
            if kept:
                first, last = kept[:STATEMENTS_KEPT], kept[STATEMENTS_KEPT:]
                rest = deque(last, maxlen=STATEMENTS_KEPT)
                self.tallies[kind] = StatementTally(tally.count - gone, first, rest)

    def leave_out_undated(self, dated: Set[str]) -> None:
        """Of these logs, which print dates, times without one are left out: they stand before the
        first date, and are no time of that clock.
        """

        def without(said: Statement) -> Statement:
            undated = said.time is not None and said.time < FIRST_DATED and said.log in dated
            return evolve(said, time=None) if undated else said

        self._change(without)

    def correct_times(self, skews: Sequence[Skew]) -> None:
        """Gives all statements the times of one clock, that of a broker, as far as it is known how
        the others differ from it.
        """
        processes = {(s.log, s.process) for t in self.tallies.values() for s in t.statements()}
        self.skews = tuple(s for s in skews if s.process in processes)
        ahead = {s.process: s.ahead for s in reversed(self.skews) if s.differs}
        if not ahead:
            return

        def by_broker(said: Statement) -> Statement:
            ms = ahead.get((said.log, said.process))
            return said if ms is None or said.time is None else evolve(said, time=said.time - ms)

        self._change(by_broker)

    def _change(self, changed: Callable[[Statement], Statement]) -> None:
        """Puts another statement into the place of each that was kept."""
        self._each = self._times = None
        for tally in self.tallies.values():
            tally.first = [changed(s) for s in tally.first]
            tally.last = deque(map(changed, tally.last), maxlen=STATEMENTS_KEPT)

    def all(self, *some: str) -> list[Statement]:
        """The statements of these kinds that were kept, in order; all kinds if none is given."""
        tallies = [t for kind, t in self.tallies.items() if not some or kind in some]
        return sorted((s for t in tallies for s in t.statements()), key=lambda s: s.line)

    @property
    def shared(self) -> Set[str]:
        """The names under which several members write whose lines cannot be told apart."""
        some = [m for m in self.story.members if m.shared]
        return {name for m in some for name in (m.name, m.client) if name}

    @property
    def times(self) -> list[int]:
        """The times of the statements that were kept, in order, in ms."""
        if self._times is None:
            kept = (s.time for t in self.tallies.values() for s in t.statements())
            self._times = sorted(time for time in kept if time is not None)
        return self._times

    @property
    def contexts(self) -> Set[str]:
        """The surroundings that its lines show."""
        if self._contexts is None:
            self._contexts = shown_contexts(
                s for t in self.tallies.values() for s in t.statements()
            )
        return self._contexts

    def matching(self, need: Need, some: Counted = ALL) -> list[Statement]:
        """The statements that meet the need, in order; none if there are fewer than it asks."""
        found = self._fitting(need, some)
        enough = len(found) >= need.at_least and len({s.who for s in found}) >= need.members
        return found if enough else []

    def by_writer(self, need: Need, some: Counted = ALL) -> dict[str, list[Statement]]:
        """The statements that meet the need, of each writer that made enough of them."""
        out: dict[str, list[Statement]] = {}
        for said in self._fitting(need, some):
            out.setdefault(self.writer(said), []).append(said)
        return {who: said for who, said in out.items() if len(said) >= need.at_least}

    def of_each_process(self, *some: str) -> list[list[Statement]]:
        """The statements of these kinds that were kept, in order, by who said them, each process by
        itself: one that comes back under its name has another log or process.
        """
        if self._each is None:
            out: dict[tuple[str, str, str], list[Statement]] = {}
            for said in self.all():
                out.setdefault((self.writer(said), said.log, said.process), []).append(said)
            self._each = list(out.values())
        if not some:
            return self._each
        return [kept for each in self._each if (kept := [s for s in each if s.kind in some])]

    def writer(self, said: Statement) -> str:
        """Who said it. A line without a name belongs to the only writer of its log that has one; if
        there is none, or several, to somebody who is named after the log.
        """
        if said.who:
            return same_name(said)
        if self._nameless is None:
            named: dict[str, set[str]] = {}
            for some in self.tallies.values():
                for one in some.statements():
                    named.setdefault(one.log, set()).update({same_name(one)} - {""})
            self._nameless = {
                log: next(iter(names)) if len(names) == 1 else log for log, names in named.items()
            }
        return self._nameless.get(said.log, "")

    def _fitting(self, need: Need, some: Counted) -> list[Statement]:
        tally = self.tallies.get(need.kind)
        if tally is None:
            return []
        found = [s for s in tally.statements() if need.fits(s) and some.counts(s)]
        if need.not_beside and found:
            taken = {(s.log, s.line) for s in self.all(*need.not_beside)}
            found = [s for s in found if (s.log, s.line) not in taken]
        for kinds, later, wanted in (
            (need.after, False, True),
            (need.before, True, True),
            (need.not_after, False, False),
            (need.not_before, True, False),
        ):
            if kinds and found:
                others = self.all(*kinds)
                found = [s for s in found if wanted is self._has_near(s, others, later, need)]
        return found

    def _has_near(self, said: Statement, others: list[Statement], later: bool, need: Need) -> bool:
        """Does one of the others stand before the statement (or after it), near enough?"""
        pairs = [(said, o) if later else (o, said) for o in others if place(o) != place(said)]
        if need.same:
            told = said.fields.get(need.same)
            pairs = [p for p in pairs if all(s.fields.get(need.same) == told for s in p)]
        if need.own:
            pairs = [(a, b) for a, b in pairs if self.writer(a) == self.writer(b)]
        return any(_precedes(a, b, need.within) for a, b in pairs)


def _precedes(a: Statement, b: Statement, within: int) -> bool:
    """Does `a` stand before `b`, and not further away?"""
    ms = ms_between(a, b)
    if ms:
        return not within or ms <= within
    ordered = a.log == b.log and a.line < b.line
    return ordered and (ms == 0 or not within or b.line - a.line <= NEAR_LINES)


def place(said: Statement) -> tuple[str, int, str]:
    """Log, line and kind of a statement."""
    return said.log, said.line, said.kind
