"""Which events of a course need a round under a protocol, and whether a round serves them that
another event began: if two members leave while one round runs, it serves both.
"""

from __future__ import annotations

from collections.abc import Sequence

from groupcheck.oracles.replay.what_if.outside import LASTING
from groupcheck.oracles.replay.what_if.runs import GOING, Run
from groupcheck.oracles.replay.what_if.schedule import Instant
from groupcheck.oracles.simulate import Assumptions


def effects(mine: Sequence[Instant], static: bool, a: Assumptions) -> dict[int, float]:
    """Number of an instant of one process -> when the group hears of it, in ms of virtual time. An
    instant that is missing needs no round: a static member that was away, or an application that
    stalled, is back before anybody has noticed.
    """
    found: dict[int, float] = {}
    unnoticed = False
    for k, one in enumerate(mine):
        if one.what not in GOING:
            if not unnoticed:
                found[one.number] = one.at
            unnoticed = False
            continue
        heard = one.at + _until_heard(one.what, static, a)
        back = mine[k + 1].at if k + 1 < len(mine) else float("inf")
        # The old id of a dynamic member that died expires even if the process is back.
        unnoticed = back < heard and (static or one.what in LASTING)
        if not unnoticed:
            found[one.number] = heard
    return found


def _until_heard(what: str, static: bool, a: Assumptions) -> float:
    if what == "stall":
        return a.max_poll_interval_ms
    return a.session_timeout_ms if static or what in ("crash", "pause") else 0.0


def served(at: float, one: Run, a: Assumptions) -> bool:
    """Is a round in its join phase about when the group hears of an event? A session ends up to a
    heartbeat earlier than `effects` says.
    """
    near = 2 * a.heartbeat_interval_ms
    return any(began.at - near <= at <= began.until + near for began in one.rounds)
