"""Rebalances about which a log does not tell enough for an answer.

How long a process was away decides whether a longer session would have spanned it. A broker's log
shows when a session expired, and not when the last heartbeat came, which was one session before.
Nor does it show whether a process died and was started again, or was only paused: its client has a
new id in both cases.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from groupcheck.oracles.replay.what_if.outside import FOLLOWS, Happening, Outside

UNKNOWN_SESSION = (
    "how long the process was away follows from session.timeout.ms, which the log does not state"
)
UNKNOWN_PAUSE = "the log does not tell whether the process died or was only paused"


def doubts(outside: Outside, session_ms: tuple[float, float], *, stated: bool) -> dict[int, str]:
    """The indexes of rebalances that cannot be judged, with the reason. `session_ms`: before and
    after the change; `stated`: the first of them is known, and no estimate.
    """
    before, after = session_ms
    found: dict[int, str] = {}
    if before == after:
        return found
    for gone, back in _returns(outside.happenings):
        # It was away for this time and some more: for up to one session more.
        least = back.at - (gone.noticed or 0.0)
        hidden = least > 0 and not outside.requests and not outside.static
        if not stated and max(least, 0.0) < after < before + least:
            found.update((n, UNKNOWN_SESSION) for n in (gone.round, back.round) if n is not None)
        elif hidden and back.round is not None and after > least + (before if stated else 0.0):
            found[back.round] = UNKNOWN_PAUSE
    for k, r in enumerate(outside.rounds):
        if outside.cooperative and r.cause in FOLLOWS and k - 1 in found:
            found.setdefault(k, found[k - 1])
    return found


def _returns(happenings: Iterable[Happening]) -> Iterator[tuple[Happening, Happening]]:
    """Deaths that the coordinator noticed, each with the next start of its process."""
    last: dict[int, Happening] = {}
    for one in happenings:
        gone = last.get(one.process)
        if one.what == "start" and gone is not None and gone.noticed is not None:
            yield gone, one
        last[one.process] = one
