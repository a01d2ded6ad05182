"""Facts about connections that end: idle ones, all of them, and those a listener closes at once."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from groupcheck.traces.causes.at_work import COORDINATOR_ANSWERS
from groupcheck.traces.causes.group_evidence import GroupEvidence
from groupcheck.traces.clients.statement import Statement, fact, ms_between

SHORT_MS = 2_000
"""A connection that ends so soon was closed by a listener that could not use it."""
IDLE_MS = range(590_000, 640_001)
"""connections.max.idle.ms of the broker is 600000, and it looks only now and then."""
OLD_MS = 590_000
"""A connection that was up for so long was of use, and ends in the course of things."""
MINUTES_MS, NEAR_MS = 300_000, 3_000
"""Idle connections end with the clients' refresh of metadata, every five minutes."""
TOGETHER_MS = 2_000
LONG_MS = 300_000


def short_connections(group: GroupEvidence) -> Iterator[Statement]:
    """Connections that are closed right after they were made, in a log that shows no work of the
    member: how a listener behaves that expects another security.protocol.
    """
    for some in group.of_each_process("disconnected", "coordinator_found", *COORDINATOR_ANSWERS):
        if any(s.kind != "disconnected" for s in some):
            continue
        short = [s for s in some if s.fields.get("state") == "UP" and s.fields["wait"] <= SHORT_MS]
        if len(short) >= 3 or len({s.time for s in short}) >= 2:
            told = "closes the connection right after it was made"
            yield fact(short[-1], "listener_unfit", told=told, listener="SASL")


def idle_ends(group: GroupEvidence) -> Iterator[Statement]:
    """Connections that ended because they were idle: at the broker's limit, or all of them whole
    multiples of five minutes apart. A client that fails to connect has another problem.
    """
    for some in group.of_each_process("disconnected", "session_timed_out"):
        if any(s.kind != "disconnected" or _is_failure(s) for s in some):
            continue
        ended = [s for s in some if s.library == "librdkafka"]
        limited = [
            s for s in ended if s.fields.get("state") == "UP" and s.fields["wait"] in IDLE_MS
        ]
        gaps = [gap for a, b in pairwise(ended) if (gap := ms_between(a, b) or 0) > TOGETHER_MS]
        if limited:
            yield fact(limited[0], "idle_end", repeats=len(limited), wait=limited[0].fields["wait"])
        elif len(gaps) >= 3 and all(_near_multiple(gap) for gap in gaps):
            yield from (fact(s, "idle_end", repeats=len(gaps) + 1, period="yes") for s in ended)
        elif ended and all(_is_old(s) for s in ended):
            lines = {(s.log, s.line) for s in ended}
            yield fact(ended[0], "old_end", repeats=len(lines), wait=ended[0].fields["wait"])


def _is_old(said: Statement) -> bool:
    return said.fields.get("state") == "UP" and said.fields["wait"] >= OLD_MS


def _near_multiple(ms: int) -> bool:
    return ms >= MINUTES_MS - NEAR_MS and (ms + NEAR_MS) % MINUTES_MS <= 2 * NEAR_MS


def _is_failure(said: Statement) -> bool:
    return "failed" in said.fields or said.fields.get("reason") == "authentication"


def all_down(group: GroupEvidence) -> Iterator[Statement]:
    """Clients that say that all their brokers are down. librdkafka also counts connections so that
    ended idle: then it says so again and again, and no attempt to connect fails.
    """
    for some in group.of_each_process("disconnected"):
        down = [s for s in some if "down" in s.fields]
        span = ms_between(down[0], down[-1]) if down else None
        often = len(down) >= 3 and (span or 0) >= LONG_MS
        if often and not any(_is_failure(s) for s in some):
            yield fact(down[-1], "all_down_again", repeats=len(down), span=span)
        elif down:
            yield fact(down[0], "all_down", repeats=len(down))


ENDS = (short_connections, idle_ends, all_down)
