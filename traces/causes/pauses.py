"""Pauses that a process tells of by itself, and what they cost its consumers."""

from __future__ import annotations

import re
from collections.abc import Iterator

from groupcheck.traces.causes.group_evidence import GroupEvidence
from groupcheck.traces.clients.statement import Statement, fact, ms_between

LONG_MS = 5_000
"""A shorter pause ends no session that anybody sets."""
SOON_MS, SOON_LINES = 60_000, 20
"""The cost of a pause shows within so many ms; without times, within so many lines."""
_COSTS = (
    "poll_expired",
    "session_timed_out",
    "member_unknown",
    "lost",
    "commit_refused",
    "heartbeat_failed",
    "broker_expired",
)
_PART = re.compile(r"(?P<number>\d{1,9})(?P<unit>ms|[hms])")
_UNITS = {"h": 3_600_000, "m": 60_000, "s": 1_000, "ms": 1}


def long_pauses(group: GroupEvidence) -> Iterator[Statement]:
    """Pauses of a log after which its group is in trouble."""
    costs = group.all(*_COSTS)
    for said in group.all("process_stalled"):
        ms = _lasted(said)
        if ms >= LONG_MS and any(_follows(said, cost) for cost in costs):
            yield fact(said, "long_pause", lasted=ms, what=said.fields.get("what"))


def _lasted(said: Statement) -> int:
    """How long the process stood still, in ms."""
    told = said.fields.get("lasted")
    if isinstance(told, int | float):
        return int(told)
    seconds = said.fields.get("seconds")
    if isinstance(seconds, int | float):
        return int(seconds * 1_000)
    parts = _PART.finditer(str(said.fields.get("delta", "")))
    return sum(int(part["number"]) * _UNITS[part["unit"]] for part in parts)


def _follows(pause: Statement, cost: Statement) -> bool:
    if pause.log != cost.log:
        return False
    ms = ms_between(pause, cost)
    if ms is None:
        return 0 < cost.line - pause.line <= SOON_LINES
    return -1_000 <= ms <= SOON_MS


PAUSES = (long_pauses,)
