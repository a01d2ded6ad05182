"""Whether a request log has the requests of every connection.

A number that is skipped on a connection shows that lines are missing (`holes`). Nothing on the
other connections shows that a whole one is missing, over which an administrator has removed a
static member. The names of connections may: each network thread of a broker counts the connections
that it accepts, and since 4.0 their names end with its number and theirs
(SocketServer.Processor.connectionId). So a log is known to have all connections of a thread up to
some moment if it has every number, and a connection that was made after that moment.

Left out: threads of which the log has no connection, and connections that are older than all those
that it has. Names that end with one number alone,
as before 4.0, do not say which thread counts. Names in another form are no connections of a broker,
and say nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from itertools import pairwise

from attrs import frozen

from groupcheck.model.protocol.codes import NONE
from groupcheck.traces.exchanges.exchange import (
    CommitExchange,
    Exchange,
    HeartbeatExchange,
    SyncExchange,
)
from groupcheck.traces.lines.envelope import unwrap
from groupcheck.traces.lines.timestamps import parse_time
from groupcheck.traces.requests.line import MARK

CONNECTIONS_KEPT = 100_000  # connections of which numbers are kept
_TOOK = re.compile(r'"totalTimeMs": ?(\d{1,9}(?:\.\d{1,20})?)\b')
_NAME = re.compile(r'"connection": ?"[^"]*:\d+-[^"]*:\d+-(\d+)(?:-(\d+))?"')


@frozen
class LoggedConnections:
    """The connections of a log."""

    # Network thread -> number of a connection -> when the first request that its lines show had
    # come (ms since 1970).
    first: Mapping[int, Mapping[int, float]] = {}
    # Does a name leave out which thread counts?
    no_thread: bool = False

    def may_lack(self, until: float) -> str:
        """Why a connection may be missing over which a request came before this moment (ms since
        1970), in words; empty if nothing says so.
        """
        if self.no_thread:
            return "the log may lack a connection, as the names of connections do not tell"
        for thread, first in sorted(self.first.items()):
            numbers = sorted(first)
            for before, after in pairwise(numbers):
                if after > before + 1:
                    return f"no line shows connection {before + 1} of network thread {thread}"
            if first[numbers[-1]] <= until:
                latest = f"the latest one of network thread {thread}"
                return f"the log may lack a connection: it shows none after {latest}"
        return ""


def connections_of(lines: Iterable[tuple[int, str]]) -> LoggedConnections:
    """The connections of the lines of a request log."""
    first: dict[int, dict[int, float]] = {}
    no_thread, kept = False, 0
    for _, line in lines:
        found = _NAME.search(line)
        if found is None:
            continue
        thread, index = found.groups()
        if index is None:
            no_thread = True
        elif kept < CONNECTIONS_KEPT and int(index) not in first.setdefault(int(thread), {}):
            first[int(thread)][int(index)] = _came(line)
            kept += 1
    return LoggedConnections(first, no_thread)


def _came(line: str) -> float:
    """When the request of a line had come; before everything if the line does not tell."""
    unwrapped = unwrap(line)
    before, _, _ = unwrapped.line.partition(MARK)
    answered = parse_time(before) or unwrapped.time
    took = _TOOK.search(line)
    return float("-inf") if answered is None or took is None else answered - float(took[1])


def depends_on_removals(e: Exchange) -> bool:
    """May the answer be another one because an administrator has removed a static member? Nobody
    is accepted because of that.
    """
    return e.code != NONE or not isinstance(e, SyncExchange | HeartbeatExchange | CommitExchange)
