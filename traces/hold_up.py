"""Who held up a round: for whom its members waited, as far as the lines of the log tell."""

from __future__ import annotations

from attrs import define

from groupcheck.traces.events import MemberAdded, MemberExpired, MemberLeft, RebalanceStarted
from groupcheck.traces.moments import Moment, Round, elapsed, moment

AT_ONCE_MS = 50
"""Lines this close together are one step of the coordinator, as far as a log can tell."""
MOST_CANDIDATES = 5


@define
class Burst:
    """Members that expired together: their timers were armed at one moment, and nothing was heard
    of them since.
    """

    first: Moment
    last: Moment
    members: list[str]
    count: int = 0


def hold_up(round: Round, burst: Burst | None, awaited: tuple[str, ...]) -> None:
    """Who came last, or for whom the round waited in vain, as far as the lines since its start
    tell.
    """
    last = (
        round.last
        if round.last is not None
        and (elapsed(moment(round.last), round.joined_at) or 0) <= AT_ONCE_MS
        else None
    )
    if round.not_rejoined:
        round.held_up_by, round.waited_for = (
            tuple(round.not_rejoined),
            "did not rejoin until the rebalance timeout",
        )
    elif isinstance(last, MemberExpired):
        together = burst is not None and burst.last.line == last.line
        round.held_up_by = (
            tuple(burst.members) if burst is not None and together else (last.member,)
        )
        round.waited_for = (
            "never joined, until the session timeout"
            if last.pending
            else "gone, until the session timeout"
        )
    elif isinstance(last, MemberLeft):
        round.held_up_by, round.waited_for = (last.member,), "left instead of joining"
    elif isinstance(last, MemberAdded):
        round.held_up_by, round.waited_for = (last.member,), "joined last"
    elif isinstance(last, RebalanceStarted) and not awaited:
        round.waited_for = "nobody"
    elif round.initial:
        round.waited_for = "the initial delay"
    elif 0 < len(awaited) <= MOST_CANDIDATES:
        round.held_up_by, round.waited_for = (
            awaited,
            "joined last" if len(awaited) == 1 else "one of them joined last",
        )
    else:
        round.waited_for = "not shown (the JoinGroup of a member that the group knew)"
    round.last = None
