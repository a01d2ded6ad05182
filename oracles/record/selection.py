"""Which lines of the broker's logs a recording keeps. They are selected, never changed."""

from __future__ import annotations

import calendar
import re
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from groupcheck.oracles.show.files import whole

APIS = (
    "JOIN_GROUP",
    "SYNC_GROUP",
    "HEARTBEAT",
    "LEAVE_GROUP",
    "OFFSET_COMMIT",
    "OFFSET_FETCH",
    "CONSUMER_GROUP_HEARTBEAT",
)
OUR_CLIENTS = ("groupcheck-admin", "groupcheck-feed")
_STAMP = re.compile(r"\[(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d),(\d{3})\] ")
_API = re.compile(r'"requestApiKeyName":"([A-Z_]+)"')
_COORDINATOR = re.compile(
    r"\] [A-Z]+ \[GroupCoordinator id=|\(org\.apache\.kafka\.coordinator\.group\.[\w.$]+\)\s*$"
)


def stamp(line: str) -> int | None:
    """The time at the beginning of a line in Unix ms; the broker writes UTC. None: the line
    continues the one before it.
    """
    match = _STAMP.match(line)
    return (
        calendar.timegm(time.strptime(match[1], "%Y-%m-%d %H:%M:%S")) * 1000 + int(match[2])
        if match
        else None
    )


def of_a_coordinator(line: str) -> bool:
    """Did the group coordinator write it, or its runtime? (The share coordinator has the same
    runtime.)
    """
    return bool(_COORDINATOR.search(line))


def of_a_group(line: str) -> bool:
    """Is it a request of the group APIs that the recorder did not send itself?"""
    match = _API.search(line)
    return bool(match and match[1] in APIS) and not any(
        f'"clientId":"{name}"' in line for name in OUR_CLIENTS
    )


def selected(
    lines: Iterable[str], keep: Callable[[str], bool], from_ms: int = 0, to_ms: int | None = None
) -> Iterator[str]:
    """The lines between `from_ms` and `to_ms` that `keep` wants, each with the lines that continue
    it (a stack trace).
    """
    keeping = False
    for line in lines:
        at = stamp(line)
        if at is not None:
            keeping = from_ms <= at and (to_ms is None or at <= to_ms) and keep(line)
        if keeping:
            yield line


def select_file(
    source: Path,
    target: Path,
    keep: Callable[[str], bool],
    from_ms: int = 0,
    to_ms: int | None = None,
) -> int:
    """Copies the selected lines of a file to another one, byte for byte, and returns how many they
    are. A file that does not exist has none. Raises `UserError` if the other cannot be written.
    """
    count = 0
    with whole(target) as out:
        if source.is_file():
            with source.open(encoding="utf-8", errors="surrogateescape", newline="\n") as lines:
                for line in selected(lines, keep, from_ms, to_ms):
                    out.write(line.encode(errors="surrogateescape"))
                    count += 1
    return count
