"""Lines that stand twice because two appenders write to one file: the usual slip in a logging
configuration (a logger with an appender of its own that also hands its lines on to the root's).

A line that says the same in the same millisecond may be a second event or a repetition: one such
line is left to the replay, which follows it as a second event and, where that does not fit, neither
blames the coordinator nor clears it. But where line after line stands twice, lines of several kinds
and nothing single between them, one would have to believe that the coordinator did everything
twice, down to the ids that it drew at random. So a stretch of at least `PAIRS` pairs of `KINDS`
kinds is taken for what two appenders write, and of each pair in it the first is given. A burst of
one kind of event that is told twice is not.

Pairs are counted off: of four equal lines two are given, so that an event that did happen twice
still does. Threads and buffers may move the second of a pair away from the first, by less than
`WINDOW` lines. A stretch may begin and end in mid-file, as at a restart; a line in it that stands
once does not end it, two in a row do.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable, Iterable, Iterator
from typing import Generic, TypeVar

from attrs import Factory, define

T = TypeVar("T")

WINDOW = 64
PAIRS, KINDS = 8, 3
MOST_CHARS = 1 << 23
"""Of the lines that are held back to look for their second."""


@define(eq=False)
class Line(Generic[T]):
    """A line on its way. `key`: all that it says; `kind`: of event; `size`: its characters."""

    item: T
    key: Hashable
    kind: str
    size: int
    paired: bool = False
    second: bool = False


@define
class Once(Generic[T]):
    """Gives lines in their order, those that stand twice once. `left_out`: how many were not given;
    `kept`: how many second ones were.
    """

    left_out: int = 0
    kept: int = 0
    _window: deque[Line[T]] = Factory(deque)
    _alone: dict[Hashable, Line[T]] = Factory(dict)
    _run: list[Line[T]] = Factory(list)
    _doubled: bool = False
    _singles: int = 0
    _chars: int = 0

    def of(self, lines: Iterable[Line[T]]) -> Iterator[T]:
        for line in lines:
            first = self._alone.pop(line.key, None)
            if first is None:
                self._alone[line.key] = line
            else:
                first.paired = line.paired = line.second = True
            self._window.append(line)
            self._chars += line.size
            while len(self._window) > WINDOW or (self._window and self._chars > MOST_CHARS):
                yield from self._settled()
        while self._window:
            yield from self._settled()
        yield from self._given()

    def _settled(self) -> Iterator[T]:
        """The oldest line's fate, once its second would have come."""
        line = self._window.popleft()
        if line.paired:
            self._singles = 0
            self._run.append(line)
            if self._doubled or len(self._run) >= WINDOW or self._chars > MOST_CHARS:
                yield from self._given()
            return
        del self._alone[line.key]
        yield from self._given()
        self._singles += 1
        self._doubled = self._doubled and self._singles < 2
        self._chars -= line.size
        yield line.item

    def _given(self) -> Iterator[T]:
        """The pairs met since the last line that stands once, judged together."""
        if not self._doubled:
            seconds = [line.kind for line in self._run if line.second]
            self._doubled = len(seconds) >= PAIRS and len(set(seconds)) >= KINDS
        for line in self._run:
            self._chars -= line.size
            if line.second and self._doubled:
                self.left_out += 1
                continue
            self.kept += line.second
            yield line.item
        self._run.clear()


def left_out_note(count: int) -> str:
    """What is said of lines that were left out."""
    lines = "1 line stands" if count == 1 else f"{count:,} lines stand"
    return f"{lines} twice, as where two appenders write to one file: taken once"
