"""The tallies of a parser about one log."""

from __future__ import annotations

from collections.abc import Iterator

from attrs import Factory, define, field, setters

from groupcheck.traces.lines.timestamps import Clock
from groupcheck.traces.reading.lines import Notes
from groupcheck.traces.reading.source import Source, source_of

SAMPLES, SAMPLE_CHARS = 20, 500


def _as_source(given: Source | str) -> Source:
    return source_of(given) if isinstance(given, str) else given


@define
class Log:
    """One log with its tallies, which are complete when all of it has been read."""

    # It may be given as the path of a file.
    # Without a hook, which every assignment to a tally would pass through.
    source: Source = field(converter=_as_source, on_setattr=setters.NO_OP)
    notes: Notes = Factory(Notes)
    # Lines that a coordinator, or the request logger, wrote: those that some version is known to
    # print, and those that none is.
    understood: int = 0
    strange: int = 0
    # (number, text) of the first strange lines.
    samples: list[tuple[int, str]] = Factory(list)
    clock: Clock = Factory(Clock)
    # How often timestamps ran backwards, and the first line where they did.
    backwards: int = 0
    first_backwards: int = 0

    @property
    def path(self) -> str:
        return self.source.name

    def lines(self, needles: tuple[bytes, ...]) -> Iterator[tuple[int, str]]:
        """(number, text) of the lines that contain one of `needles`. Raises `TraceError` if a file
        cannot be opened.
        """
        return self.source.lines(self.notes, needles)

    def note_strange(self, number: int, text: str) -> None:
        """Counts a line that no version is known to print."""
        self.strange += 1
        if len(self.samples) < SAMPLES:
            self.samples.append((number, text))

    def note_backwards(self, line: int) -> None:
        """Counts a line that is older than the one before it."""
        self.backwards += 1
        self.first_backwards = self.first_backwards or line
