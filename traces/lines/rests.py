"""Lines that a terminal or an editor broke when they were pasted: which line may be the rest of the
one before it.
"""

from __future__ import annotations

import re

from groupcheck.traces.lines.timestamps import parse_time

MOST_PARTS = 3
"""So many lines, at most, are the rest of one."""
MOST_CHARS, TIME_CHARS = 1_000, 40
_BEGINS = re.compile(r"\s*(?:\[?\d{4}-|at |Caused by|\Z)")


def may_be_rest(line: str) -> bool:
    """May it be a rest? Not an empty or a long line, and not one that begins a record or belongs to
    a stack trace.
    """
    if len(line) > MOST_CHARS or _BEGINS.match(line):
        return False
    return parse_time(line[:TIME_CHARS]) is None
