"""How long something lasted that outputs show at single moments."""

from __future__ import annotations

from attrs import define

from groupcheck.traces.group_tables.outputs import Output

LONG_MS = 60_000
"""A state that lasts so long is no passing one: a commit or a round of a healthy group takes less.
"""
MANY = 5
"""So many outputs in a row show the same, where no line tells their times."""


@define
class OutputSpan:
    """Something that each of some outputs in a row shows."""

    # The line that shows it first, and its time in ms.
    line: int
    text: str
    since: int | None
    until: int | None = None
    outputs: int = 1

    @classmethod
    def start(cls, output: Output, line: int = 0, text: str = "") -> OutputSpan:
        """It shows in this output, in the given line of it."""
        return cls(line or output.line, text or output.text, output.time, output.time)

    def goes_on(self, output: Output) -> None:
        """It shows in the next output, too."""
        self.outputs += 1
        self.until = output.time

    @property
    def lasted_ms(self) -> int | None:
        """How long, in ms; None if the times are not known."""
        if self.since is None or self.until is None or self.outputs < 2:
            return None
        return self.until - self.since

    @property
    def sure(self) -> bool:
        """It lasted, and is not only what one moment shows."""
        return self.lasted_ms >= LONG_MS if self.lasted_ms is not None else self.outputs >= MANY
