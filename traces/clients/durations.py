"""Durations that programs print in lines of their own: a callback that was done after 88543 ms, a
blocked event loop. No library has such texts, so a line of one is never read so.
"""

from __future__ import annotations

import re

LONG_MS = 5_000
"""What is shorter delays no member noticeably."""
MOST_MS = 86_400_000
_UNITS = {"ms": 1, "mil": 1, "s": 1_000, "sec": 1_000, "m": 60_000, "min": 60_000}
_TOOK = re.compile(
    r"(?:\b(?:took|taken|takes|taking|lasted|slept|elapsed|duration|blocked|stalled|paused|stopped|"
    r"stuck|busy|hung|idle)\b|\b(?:done|finished|completed?|processed|returned|flushed|ended)\b"
    r"[^.;]{0,40}?\b(?:after|in)\b)"
    r"[\s:=]{1,3}(?:for\s|about\s|~\s?)?(\d{1,9}(?:\.\d{1,6})?)\s?"
    r"(ms|mil(?=liseconds?\b)|s(?=\b)|sec(?=\b|onds?\b)|min(?=\b|s\b|utes?\b)|m(?=\b))",
    re.IGNORECASE,
)


def may_tell_duration(text: str) -> bool:
    """Do lines of this shape tell how long something took?"""
    return _TOOK.search(text) is not None


def told_duration(text: str) -> int | None:
    """The longest time, in ms, that a line says something took; None if none is long."""
    found = (float(n) * _UNITS[unit.lower()] for n, unit in _TOOK.findall(text))
    return max((round(ms) for ms in found if LONG_MS <= ms <= MOST_MS), default=None)
