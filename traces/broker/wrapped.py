"""A coordinator's line that was broken into several when it was pasted, and names that are masked:
neither is a sentence of its own, and a mask is nobody's name.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator, Mapping
from typing import Any

from attrs import Factory, define, evolve

from groupcheck.traces.lines.marks import is_mask
from groupcheck.traces.lines.rests import MOST_PARTS, may_be_rest
from groupcheck.traces.reading import Notes, Source
from groupcheck.traces.story.events import Reason, RebalanceCause

_MARK = re.compile(r"\s*\[(?:Group|Partition|Consumer|Worker)")
"""What a line begins with that was pasted without its time."""
JOINTS = ("", " ")
"""A terminal breaks a line at its width, also inside of a word; an editor does at a blank."""


@define
class LineContinuation:
    """Finds what a line goes on with. Lines are asked for in their order, so the log is read a
    second time at most, and only where some line is not understood as it is.
    """

    source: Source
    _lines: Iterator[tuple[int, str]] | None = None
    # The lines that were read last. The rest of the next line may begin with one of them.
    _kept: deque[tuple[int, str]] = Factory(lambda: deque(maxlen=MOST_PARTS))
    _last: int = 0

    def wholes(self, number: int, line: str) -> Iterator[str]:
        """The line joined with those behind it that may be its rest, each way it may be."""
        so_far = [line]
        for k in range(1, MOST_PARTS + 1):
            rest = self._at(number + k)
            if not may_be_rest(rest) or _MARK.match(rest):
                return
            so_far = [text + joint + rest for text in so_far for joint in JOINTS]
            yield from so_far

    def _at(self, number: int) -> str:
        if self._lines is None:
            self._lines = self.source.lines(Notes())
        while self._last < number:
            found = next(self._lines, None)
            if found is None:
                return ""
            self._last = found[0]
            self._kept.append(found)
        return next((text for n, text in self._kept if n == number), "")


def tells(fields: Mapping[str, Any]) -> bool:
    """Is the reason among the fields, if there is one, a reason that some version prints?"""
    reason = fields.get("reason")
    return not isinstance(reason, Reason) or reason.cause != RebalanceCause.NOT_TOLD


def masked(fields: Mapping[str, Any]) -> bool:
    """Does a mask stand for a name that the sentence is about?"""
    return any(isinstance(value, str) and is_mask(value) for value in fields.values())


def without_masks(fields: dict[str, Any]) -> dict[str, Any]:
    """The fields; a reason names nobody where masks stand for its members."""
    return {
        k: evolve(v, members=()) if isinstance(v, Reason) and any(map(is_mask, v.members)) else v
        for k, v in fields.items()
    }
