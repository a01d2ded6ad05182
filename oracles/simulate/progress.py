"""How far simulations are, in one line for a terminal: runs, the time that is left, and the first
figures, which get sharper.
"""

from __future__ import annotations

from collections.abc import Callable

from groupcheck.oracles.simulate.replications import Progress, Results

MINUTES_FROM_S = 60  # seconds from which on minutes are said


def progress_line(done: float, runs: int, seconds: float, sketch: str = "", known: int = 0) -> str:
    """The line. `done`: runs, and the part of the one that is under way; `known`: those of them
    that took no time.
    """
    words = f"run {min(int(done) + 1, runs):,} of {runs:,}"
    if done > known and seconds > 1:
        words += f", about {_time(seconds / (done - known) * (runs - done))} left"
    return f"{words}; {sketch}" if sketch else words


def _time(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < MINUTES_FROM_S else f"{seconds / 60:.0f} min"


def sketched(sketch: Callable[[Results], str]) -> Callable[[Progress, float], str]:
    """The words of `show.meter.reports` with what `sketch` says of the replications that are done,
    which it is asked once for each.
    """
    known: dict[int, str] = {}

    def words(progress: Progress, seconds: float) -> str:
        whole = len(progress.results[0])
        if whole not in known:
            known[whole] = sketch(progress.results) if whole else ""
        return progress_line(progress.done, progress.runs, seconds, known[whole], progress.known)

    return words


def stopped_early(done: int, asked: int) -> str:
    """Says that an answer is one of fewer replications than were asked for; empty if it is not."""
    if done >= asked:
        return ""
    return (
        f"interrupted after {done:,} of {asked:,} replications; the intervals are those of what is"
        " done"
    )
