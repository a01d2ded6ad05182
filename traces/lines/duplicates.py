"""Lines that appear twice because two appenders write to one file, a common mistake in a logging
configuration: a logger has its own appender and also passes its lines on to the root's.

A line that says the same in the same millisecond may be a second event or a repetition. A single
one is left to the replay, which follows it as a second event; if that does not fit, the line is
evidence neither against the coordinator nor for it. But if line after line appears twice, lines of
several kinds with nothing single between them, the coordinator would have done everything twice,
down to the ids that it drew at random. So a stretch of at least `PAIRS` pairs of `KINDS` kinds
counts as the work of two appenders, and only the first line of each of its pairs is passed on. A
burst of one kind of event that appears twice does not count as such.

Of four equal lines two are passed on, so that an event that did happen twice still does. Threads
and buffers may move the second line of a pair away from the first, by less than `WINDOW` lines. A
stretch may begin and end inside the file, as at a restart. One line in it that appears once does
not end it, two in a row do.
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
"""Of all lines that are held back to look for their repetition."""


@define(eq=False)
class Line(Generic[T]):
    """A line that is held back."""

    item: T
    # All that it says.
    key: Hashable
    # The kind of its event.
    kind: str
    # How many characters it has.
    size: int
    # It is one of a pair, and the second one.
    paired: bool = False
    second: bool = False


@define
class DuplicateFilter(Generic[T]):
    """Passes lines on in their order, and repeated lines once."""

    # How many lines were left out, and how many second lines were passed on.
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
                yield from self._decide()
        while self._window:
            yield from self._decide()
        yield from self._pass_on()

    def _decide(self) -> Iterator[T]:
        """Decides about the oldest line, whose repetition would have come by now."""
        line = self._window.popleft()
        if line.paired:
            self._singles = 0
            self._run.append(line)
            if self._doubled or len(self._run) >= WINDOW or self._chars > MOST_CHARS:
                yield from self._pass_on()
            return
        del self._alone[line.key]
        if self._run:
            yield from self._pass_on()
        self._singles += 1
        self._doubled = self._doubled and self._singles < 2
        self._chars -= line.size
        yield line.item

    def _pass_on(self) -> Iterator[T]:
        """Passes on the pairs since the last single line, judged together."""
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
    """The note about lines that were left out."""
    lines = "1 line appears" if count == 1 else f"{count:,} lines appear"
    return f"{lines} twice, as if two appenders wrote to one file: taken once"
