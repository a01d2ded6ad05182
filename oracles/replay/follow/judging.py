"""Judges groups while their logs grow: each by the replay of its window, when something new was
said of it. What a judgement costs depends on the window, never on how much was read before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from attrs import Factory, define, frozen

from groupcheck.oracles.replay.answers import WORST, Answer, answers
from groupcheck.oracles.replay.follow.windows import Line, Window, Windows, as_sources
from groupcheck.oracles.replay.moved_rounds import as_others_tell
from groupcheck.oracles.replay.report import reports_of
from groupcheck.traces.causes.diagnosis import Health
from groupcheck.traces.causes.evidence import NO_GROUP, Evidence
from groupcheck.traces.causes.knowledge import Knowledge
from groupcheck.traces.findings.report import FileReport
from groupcheck.traces.phrases import seconds
from groupcheck.traces.reading import Part, Source
from groupcheck.traces.replay import ReplayOptions

WINDOW_S = 3_600.0
FACTS_KEPT = 200
Key = tuple[str, ...]


@frozen
class Known:
    """What is known of a group from its last judgement."""

    health: Health
    reason: str
    # It counts for the health of everything: something was told of it.
    counts: bool
    # A member of it waits, so that the next line may be one too many.
    waits: bool
    # The facts that were known: what is not among them is new.
    facts: frozenset[Key]


@frozen
class Change:
    """A group has another health than before, or is named for the first time."""

    group: str
    # None: it was not known.
    before: Health | None
    health: Health
    reason: str
    # The answer, with the reports that tell where its lines stand; None if no line of it is left.
    answer: Answer | None = None
    reports: tuple[FileReport, ...] = ()
    # Of its facts, those that were not known before.
    new: frozenset[Key] = frozenset()
    # How many lines the answer rests on at most, and how many older ones were left out.
    lines: int = 0
    left_out: int = 0
    # The newest line about it: its log, and its number there.
    last: tuple[str, int] | None = None


@define
class Judge:
    """The groups of logs that grow, each with its health."""

    asked: ReplayOptions
    knowledge: Knowledge
    # Lines that came longer ago than this, in seconds, are left out.
    window_s: float = WINDOW_S
    windows: Windows = Factory(Windows)
    # The last that is known of each group.
    known: dict[str, Known] = Factory(dict)
    # Log -> the files that hold its lines.
    parts: dict[str, Sequence[Part]] = Factory(dict)

    def add(
        self, log: str, parts: Sequence[Part], lines: Sequence[tuple[int, bytes]], now: float
    ) -> None:
        """More lines of a log, each with its number there, at a time in seconds."""
        self.parts[log] = parts
        for number, text in lines:
            self.windows.add(Line(log, number, text, now))

    @property
    def fresh(self) -> int:
        """How many lines wait to be judged, of the group of which most wait."""
        each = (window.fresh for window in self.windows.groups.values())
        return max(self.windows.nobody.fresh, *each, 0)

    def changes(
        self, now: float, least: int = 1, is_over: Callable[[], bool] = lambda: False
    ) -> Iterator[Change]:
        """Judges each group of which so many new lines have come, until `is_over` says so."""
        windows = self.windows
        if windows.nobody.fresh >= least:
            yield from self._nobody(is_over)
        windows.trim(now - self.window_s)
        for name in self.known.keys() - windows.groups.keys() - {NO_GROUP}:
            del self.known[name]
        yield from self._passed()
        each = windows.groups.items()
        due = [n for n, window in each if window.fresh >= least or self._is_over(n, window)]
        for name in due:
            if is_over():
                return
            if name in windows.groups:  # it may have been forgotten meanwhile
                yield from self._group(name)

    def _passed(self) -> Iterator[Change]:
        """Groups in trouble of which no line is left, and those of which only newer ones are."""
        for name, known in [*self.known.items()]:
            window = self.windows.groups.get(name)
            if window is None or known.health == "calm" or window.lines or not window.left_out:
                continue
            reason = f"no line about it for {seconds(round(self.window_s * 1000))}"
            if known.health != "unknown":
                yield Change(name, known.health, "unknown", reason, left_out=window.left_out)
            self.known[name] = Known("unknown", reason, False, False, known.facts)

    def _nobody(self, is_over: Callable[[], bool]) -> Iterator[Change]:
        """Looks for groups in new lines that name none that is known, and judges such lines."""
        windows = self.windows
        silent = False
        windows.nobody.fresh = min(windows.nobody.fresh, len(windows.nobody.lines))
        while windows.nobody.fresh and not is_over():
            found = self._looked_at()
            silent = silent or any(not a.group and _tells(a) for a in found)
        if is_over() or (windows.alone and windows.groups):
            return  # in a single group they are read with its own
        if silent or NO_GROUP in self.known:
            reports, found = self._replayed(windows.sources(NO_GROUP, self.parts), others=True)
            for a in found:
                if not a.group and (_tells(a) or NO_GROUP in self.known):
                    yield from self._told(a, reports, NO_GROUP)

    def _looked_at(self) -> list[Answer]:
        """The answers of some new lines that name no known group; learns the groups that they
        name. However many those are, this takes a second or two.
        """
        windows = self.windows
        lines, new = windows.unread()
        windows.nobody.fresh -= len(new)
        reports, found = self._replayed(as_sources(lines, self.parts), others=not windows.alone)
        self._learn(found)
        # A line of no group may concern all.
        if any(r.understood for r in reports) and not all(windows.named(x.text) for x in new):
            self._touch()
        else:
            self._touch_waiting()
        return found

    def _is_over(self, name: str, window: Window) -> bool:
        """May its trouble be over, because lines that told of it are left out?"""
        known = self.known.get(name)
        troubled = known is not None and known.health in ("troubled", "broken")
        return troubled and window.left_out > window.judged_without and bool(window.lines)

    def _touch(self) -> None:
        """Something was said that may concern every group."""
        for window in self.windows.groups.values():
            window.fresh = max(1, window.fresh)

    def _touch_waiting(self) -> None:
        """Time has passed for those that wait."""
        for name, window in self.windows.groups.items():
            if (known := self.known.get(name)) is not None and known.waits:
                window.fresh = max(1, window.fresh)

    def _group(self, name: str) -> Iterator[Change]:
        window = self.windows.groups[name]
        window.fresh, window.judged_without = 0, window.left_out
        sources = self.windows.sources(name, self.parts)
        asked = None if self.windows.alone and self.asked.group is None else name
        reports, found = self._replayed(sources, not self.windows.alone, asked)
        nobody = [a for a in found if asked is None and not a.group]
        if asked is None and not nobody:
            self.known.pop(NO_GROUP, None)  # lines without a name are the group's own
        told = [a for a in nobody if _tells(a) or NO_GROUP in self.known]
        for a in (*(a for a in found if a.group == name), *told):
            yield from self._told(a, reports, a.group)
        self._learn(found)

    def _learn(self, found: Sequence[Answer]) -> None:
        """Groups that were not known. The second one changes how all lines are read."""
        few = len(self.windows.groups) < 2
        new = [a.group for a in found if a.group and a.group not in self.windows.groups]
        new = [name for name in new if self.asked.group in (None, name)]
        if new:
            self.windows.learn(new)
        if few and not self.windows.alone:
            self._touch()

    def _replayed(
        self, sources: Sequence[Source], others: bool, group: str | None = None
    ) -> tuple[tuple[FileReport, ...], list[Answer]]:
        evidence = Evidence(rules=self.knowledge.facts, others=others)
        asked = ReplayOptions(group or self.asked.group, self.asked.format)
        reports = as_others_tell(r for s in sources for r in reports_of(s, asked, evidence))
        return tuple(reports), answers(reports, evidence, self.knowledge)

    def _told(self, a: Answer, reports: tuple[FileReport, ...], name: str) -> Iterator[Change]:
        """The change that an answer amounts to, if there is one."""
        known = self.known.get(name)
        window = self.windows.groups[name] if name else self.windows.nobody
        before = None if known is None else known.health
        cut = window.left_out or self.windows.nobody.left_out
        if a.health == "unknown" and before == "calm" and cut:
            return  # nothing has changed but that older lines were left out
        facts = frozenset((f.kind, f.text) for f in a.facts[:FACTS_KEPT])
        new = facts - (known.facts if known else frozenset())
        counts = a.health != "unknown" or bool(a.diagnosis.hints)
        waits = any(s.stands for s in a.evidence.story.standing())
        self.known[name] = Known(a.health, a.reason, counts, waits, facts)
        if a.health == before:
            return
        lines = len(window.lines) + (len(self.windows.nobody.lines) if name else 0)
        last = (window.lines[-1].log, window.lines[-1].number) if window.lines else None
        yield Change(
            name, before, a.health, a.reason, a, reports, new, lines, window.left_out, last
        )

    @property
    def unjudged(self) -> int:
        """Groups of which nothing but the name is known: they wait to be judged."""
        groups = self.windows.groups.items()
        return sum(window.fresh > 0 and name not in self.known for name, window in groups)

    @property
    def health(self) -> Health:
        """That of the group in worst health, as `replay` tells it."""
        shown = [k.health for k in self.known.values() if k.counts]
        return min(shown or ["unknown"], key=WORST.index)


def _tells(a: Answer) -> bool:
    d = a.diagnosis
    return bool(d.causes or d.candidates or d.hints)


def healths(known: Mapping[str, Known]) -> dict[str, Health]:
    """Group -> its health, those in worst health first."""
    ranked = sorted(known.items(), key=lambda one: (WORST.index(one[1].health), one[0]))
    return {name: k.health for name, k in ranked}
