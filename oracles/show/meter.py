"""Progress of a run on stderr, on a terminal only: states, speed, level, frontier, memory, and an
estimate where one can be given. In a browser tab the page hears it in place of stderr.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TypeVar

from groupcheck.model.engine import Limits, Progress

T = TypeVar("T")

DRAWN_S = 0.1  # a line for people
PAGE: ContextVar[Callable[[str], None] | None] = ContextVar("page", default=None)
"""What hears of progress in place of a terminal: each report in words."""
SHRINKING = 0.9  # a level that finds fewer than this share of the level before it announces the end


class Estimate:
    """Guesses how long a run takes yet, once its levels shrink: the sizes of the last levels go on
    as a falling series.

    Protocols with budgets rise to one peak and fall off ever faster, so the guess is an upper bound
    that gets better; before the peak there is none.
    """

    def __init__(self) -> None:
        self._ends: list[tuple[int, int]] = [
            (0, 0)
        ]  # (level, states at its end), the last one still growing

    def see(self, level: int, number: int) -> None:
        """Takes in a glance at the run: the number of states, or of rows, until now."""
        if level == self._ends[-1][0]:
            self._ends[-1] = (level, number)
        else:
            self._ends.append((level, number))

    def seconds_left(self, seconds: float) -> float | None:
        """Seconds that the run takes yet at its mean speed; None where nothing can be said.
        `seconds`: how long it took until the last glance.
        """
        ends, (_, number) = [many for _, many in self._ends[:-1]], self._ends[-1]
        if len(ends) < 4 or seconds <= 0 or not number:
            return None
        a, b, c = (ends[k] - ends[k - 1] for k in (-3, -2, -1))
        if min(a, b, c) <= 0 or b > SHRINKING * a or c > SHRINKING * b:
            return None
        ratio = c / b
        left = max(0.0, ends[-1] + c * ratio / (1 - ratio) - number)
        return left * seconds / number


class PartsLeft:
    """The time that is left of a run in several parts, each of which goes level by level."""

    def __init__(self) -> None:
        self._part = 0
        self._began = (0, 0, 0.0)  # level, number and seconds at the begin of the part in hand

    def __call__(self, part: int, parts: int, level: int, number: int, seconds: float) -> str:
        """Words for a terminal: the part in hand (from 1 on) and what is left of it. `number`: of
        rows until now, in all parts.
        """
        if part != self._part:
            self._part, self._estimate = part, Estimate()
            self._began = (level - 1, number, seconds)
        of_before, rows, began = self._began
        self._estimate.see(level - of_before, number - rows)
        told = f"  scope {part} of {parts}" if parts > 1 else ""
        left = self._estimate.seconds_left(seconds - began)
        return told if left is None else told + _left(left)


def of_part(report: Callable[[T, int, int], None], part: int, parts: int) -> Callable[[T], None]:
    """What hears of one part of a run; `report` also hears which it is, and how many there are."""
    return lambda counts: report(counts, part, parts)


def _left(seconds: float) -> str:
    return f"  about {seconds:.0f} s left" if seconds >= 1 else "  nearly done"


def line(progress: Progress, limits: Limits, left: float | None) -> str:
    """One line for a terminal."""
    if progress.compiling:
        return "compiling the search loop (the first run of this shape of model only, some seconds)"
    rate = progress.states / progress.seconds if progress.seconds > 0.1 else 0.0
    parts = [
        f"{progress.states:,} states",
        f"{rate:,.0f} states/s" if rate else "",
        f"walk {progress.level:,}" if progress.walks else f"level {progress.level}",
        f"{'left' if progress.walks else 'frontier'} {progress.frontier:,}",
        f"{progress.memory / 2**20:,.0f} MiB" if progress.memory else "",
        f"{progress.disk / 2**30:,.1f} GiB on disk" if progress.disk else "",
        f"{progress.seconds:.0f} s",
    ]
    if left is not None:
        parts.append(_left(left).strip())
    elif limits.states:
        parts.append(f"{progress.states / limits.states:.0%} of --max-states")
    elif limits.seconds:
        parts.append(f"{progress.seconds / limits.seconds:.0%} of --max-seconds")
    return "  ".join(filter(None, parts))


@contextmanager
def meter(limits: Limits) -> Iterator[Callable[[Progress], None] | None]:
    """Gives what an exploration reports to; None where stderr is no terminal."""
    estimate = Estimate()

    def words(progress: Progress, seconds: float) -> str:
        if progress.walks:
            return line(progress, limits, None)
        estimate.see(progress.level, progress.states)
        return line(progress, limits, estimate.seconds_left(progress.seconds))

    with reports(words) as report:
        yield report


def time_left(done: float, whole: float, seconds: float) -> str:
    """`  about 12 s left`, if the rest goes on as what is done; empty at the beginning."""
    if not 0 < done <= whole:
        return ""
    return _left(seconds * (whole - done) / done)


@contextmanager
def reports(words: Callable[..., str]) -> Iterator[Callable[..., None] | None]:
    """Gives what a run reports to: each report takes the place of the one before it on stderr, as
    `words(*report, seconds)`, with the seconds since the start. None where stderr is no terminal,
    and no page listens.
    """
    if (page := PAGE.get()) is not None:
        yield _drawn_now_and_then(words, page)
        return
    if not sys.stderr.isatty():
        yield None
        return
    from rich.live import Live
    from rich.text import Text

    from groupcheck.oracles.show.text import console

    on = console(stderr=True)
    # No thread draws it: a copy of a process with threads, which a run may want, is not safe.
    with Live(Text("starting"), console=on, auto_refresh=False, transient=True) as live:

        def draw(text: str) -> None:
            live.update(Text(text, overflow="ellipsis", no_wrap=True), refresh=True)

        yield _drawn_now_and_then(words, draw)


def _drawn_now_and_then(
    words: Callable[..., str], draw: Callable[[str], None]
) -> Callable[..., None]:
    """What takes reports of a run and draws one of them every `DRAWN_S`, in words."""
    began, drawn = time.perf_counter(), 0.0

    def show(*report: Any) -> None:
        nonlocal drawn
        now = time.perf_counter()
        if now - drawn >= DRAWN_S:
            drawn = now
            draw(words(*report, now - began))

    return show
