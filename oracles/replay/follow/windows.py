"""The last lines about each group, in bounded memory.

A line is about every known group whose name stands in it as a word. A line that names none may
concern any: it is kept apart, and read with those of every group. While there is one group at most,
all lines are read together.
"""

from __future__ import annotations

import heapq
import io
import re
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence

from attrs import Factory, define, evolve, field, frozen

from groupcheck.traces.reading import Notes, Part, Source
from groupcheck.traces.reading.lines import read_lines

MOST_LINES, MOST_BYTES = 2_000, 4 << 20
"""Of each group, and of the lines that name none."""
MOST_GROUPS, ALL_BYTES = 1_000, 64 << 20
"""Of more groups, those are forgotten of which nothing was said for the longest time."""
LINE_BYTES = 170
"""What a line takes in memory besides its text: the objects for it, its number and its time."""
CONTEXT, AT_ONCE = 50, 250
"""So many lines without a group are read again with new ones, to see whether they name one; and so
many new ones at once: each may name a group of its own."""
_WORD = re.compile(rb"[\w.-]+")
_GROUP = re.compile(rb"(?i)group(?:[._]?id)?\W{1,3}([\w.-]+)")
MOST_TRIED = 10_000
"""Words that stand where a name may stand, and turned out to name no group."""


@frozen
class Line:
    """A line of a log."""

    log: str
    # In its log, from 1 on.
    number: int
    text: bytes
    # When it came, in seconds of a clock that only rises.
    came: float

    @property
    def size(self) -> int:
        """The bytes that it takes in memory."""
        return len(self.text) + LINE_BYTES


@define
class Window:
    """The last lines about one group, or of no group, in the order in which they came."""

    lines: deque[Line] = Factory(deque)
    # The bytes of all of them in memory.
    size: int = 0
    # How many older ones have been left out.
    left_out: int = 0
    # How many have come since the group was last judged, and how many were left out then.
    fresh: int = 0
    judged_without: int = 0

    def add(self, line: Line) -> None:
        self.lines.append(line)
        self.size += line.size
        self.fresh += 1

    def trim(self, since: float) -> None:
        """Leaves out what came before a time, and what is too much."""
        lines = self.lines
        while lines and (
            lines[0].came < since or len(lines) > MOST_LINES or self.size > MOST_BYTES
        ):
            self.size -= lines.popleft().size
            self.left_out += 1


@frozen
class LinesInMemory(Source):
    """Some lines of one log, under the numbers that they have there."""

    text: bytes = field(default=b"", repr=False)
    numbers: Sequence[int] = field(default=(), repr=False)
    parts: tuple[Part, ...] = ()

    def lines(
        self, notes: Notes, needles: tuple[bytes, ...] = (), without: tuple[bytes, ...] = ()
    ) -> Iterator[tuple[int, str]]:
        with io.BufferedReader(io.BytesIO(self.text)) as stream:
            for at, text in read_lines(stream, notes, needles, without):
                yield self.numbers[at - 1], text
        notes.parts.extend(evolve(part) for part in self.parts)


@define
class Windows:
    """The windows of all groups, and of the lines that name none."""

    # Group -> its lines; that of which something was said last is the last.
    groups: dict[str, Window] = Factory(dict)
    nobody: Window = Factory(Window)
    # How many groups were forgotten because there were too many.
    forgotten: int = 0
    # Names as they stand in lines: those that are words, and others.
    _words: dict[bytes, str] = Factory(dict)
    _others: dict[bytes, str] = Factory(dict)
    # What may be a name, and was looked at: no group has it.
    _tried: set[bytes] = Factory(set)

    @property
    def alone(self) -> bool:
        """There is one group at most."""
        return len(self.groups) <= 1

    def add(self, line: Line) -> None:
        """Takes in one more line."""
        names = self.named(line.text)
        for name in names:
            window = self.groups.pop(name)
            self.groups[name] = window
            window.add(line)
        if not names or self._may_name_another(line.text):
            self.nobody.add(line)

    def learn(self, some: Sequence[str]) -> None:
        """Groups of which nothing was known. Lines that name them are their own from now on."""
        new = set(some)
        for group in some:
            name = group.encode(errors="replace")
            (self._words if _is_word(name) else self._others)[name] = group
            self.groups[group] = Window(fresh=1)
        kept: deque[Line] = deque()
        unread = len(self.nobody.lines) - self.nobody.fresh
        for k, line in enumerate(self.nobody.lines):
            own = [self.groups[name] for name in self.named(line.text) if name in new]
            for window in own:
                window.add(line)
            if not own:
                kept.append(line)
            elif k >= unread:
                self.nobody.fresh -= 1
        self.nobody.lines = kept
        self.nobody.size = sum(line.size for line in kept)
        while len(self.groups) > MOST_GROUPS:
            self.forget(next(iter(self.groups)))

    def forget(self, group: str) -> None:
        """There are too many groups."""
        name = group.encode(errors="replace")
        del self.groups[group]
        self._words.pop(name, None)
        self._others.pop(name, None)
        self.forgotten += 1

    def trim(self, since: float) -> None:
        """Leaves out what came before a time, and what is too much."""
        self.nobody.trim(since)
        for window in self.groups.values():
            window.trim(since)
        size = sum(window.size for window in self.groups.values())
        while size > ALL_BYTES:
            oldest = next(iter(self.groups))
            size -= self.groups[oldest].size
            self.forget(oldest)

    def unread(self) -> tuple[list[Line], list[Line]]:
        """The next new lines that name no group, with some before them, and without these."""
        lines = [*self.nobody.lines]
        first = max(0, len(lines) - self.nobody.fresh)
        some = lines[max(0, first - CONTEXT) : first + AT_ONCE]
        return some, lines[first : first + AT_ONCE]

    def sources(self, group: str, parts: Mapping[str, Sequence[Part]]) -> list[Source]:
        """The lines about a group and those that name none, as logs; empty: only the latter."""
        nobody = self.nobody.lines
        own = self.groups[group].lines if group else ()
        return as_sources(heapq.merge(own, nobody, key=lambda line: line.came), parts)

    def _may_name_another(self, text: bytes) -> bool:
        """Does a word stand in it where names of groups stand, at which nobody has looked?"""
        some = {word.rstrip(b".-") for word in _GROUP.findall(text)}
        new = some - self._words.keys() - self._tried
        if new:
            if len(self._tried) >= MOST_TRIED:
                self._tried.clear()
            self._tried |= new
        return bool(new)

    def named(self, text: bytes) -> list[str]:
        """The known groups that a line names."""
        found = {name: None for raw, name in self._others.items() if raw in text}
        if self._words:
            for word in _WORD.findall(text):
                name = self._words.get(word) or self._words.get(word.rstrip(b".-"))
                if name is not None:
                    found[name] = None
        return [*found]


def _is_word(name: bytes) -> bool:
    return _WORD.fullmatch(name) is not None and name == name.rstrip(b".-")


def as_sources(lines: Iterable[Line], parts: Mapping[str, Sequence[Part]]) -> list[Source]:
    """Lines as logs that can be read again and again; those of a log in order."""
    by_log: dict[str, list[Line]] = {}
    for line in lines:
        by_log.setdefault(line.log, []).append(line)
    out: list[Source] = []
    for log, some in by_log.items():
        some = sorted({line.number: line for line in some}.values(), key=lambda line: line.number)
        out.append(
            LinesInMemory(
                log,
                (),
                text=b"".join(line.text + b"\n" for line in some),
                numbers=[line.number for line in some],
                parts=tuple(parts[log]),
            )
        )
    return out
