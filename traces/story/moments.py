"""Moments of a log, rebalances as the time between them, and who held a rebalance up: for whom its
members waited, as far as the log tells.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from attrs import Factory, define

from groupcheck.traces.story.events import (
    Event,
    MemberAdded,
    MemberExpired,
    MemberLeft,
    RebalanceCause,
    RebalanceStarted,
)

ONE_STEP_MS = 50
"""Lines this close together are one step of the coordinator, as far as a log can tell."""
JITTER_MS, HALF_DAY_MS = 1_000, 43_200_000
TOGETHER_MS = 3000
"""Members that expire this close together ended together: they last sent heartbeats at most one
interval apart (heartbeat.interval.ms, 3 s by default).
"""
MOST_CANDIDATES, NAMES_KEPT = 5, 1000
NOT_SHOWN = "not shown"
ACKNOWLEDGED, KEPT, UNSEEN = "acknowledged", "kept", "unseen"


@define
class Moment:
    """A line of a log, and its time in ms since 1970 if it has one."""

    line: int
    time: int | None


def moment(event: Event) -> Moment:
    return Moment(event.line, event.time)


def elapsed(a: Moment | None, b: Moment | None) -> int | None:
    """Milliseconds from a to b; None if one is not known, or the clock went backwards."""
    if a is None or b is None or a.time is None or b.time is None or b.time < a.time:
        return None
    return b.time - a.time


def is_back(last: Moment | None, now: Moment) -> bool:
    """Is it earlier than the line before, by more than threads write out of order? A time of day
    that goes back by half a day is of the next day.
    """
    if last is None or last.time is None or now.time is None:
        return False
    return JITTER_MS < last.time - now.time < HALF_DAY_MS


@define
class Handover:
    """Partitions on their way from one member of a consumer group (KIP-848) to another."""

    partitions: tuple[str, ...]
    # The member that had them.
    source: str
    # The target assignment took them away; where no line tells it, the member was told.
    since: Moment
    # Who is to have them; empty if nobody is, or no line tells it.
    heir: str = ""
    # Nobody is to have them.
    dropped: bool = False
    # The source was told to give them up.
    asked: Moment | None = None
    # The source had given them up; and how: `acknowledged`, or how the source went; `kept` if a
    # later target assignment left them with it before it was told, or it was told to have them
    # again before others were; `unseen` if lines are missing.
    released: Moment | None = None
    how: str = ""
    # The heir was given them; or lines are missing that may have told it.
    taken: Moment | None = None
    unseen: bool = False

    @property
    def held_ms(self) -> int | None:
        """How long the source held them back, in ms; None while it does, or without times."""
        return elapsed(self.since, self.released)

    @property
    def waits(self) -> bool:
        """Somebody still waits for them."""
        over = self.how in (KEPT, UNSEEN) or self.unseen
        over = over or (self.dropped and self.released is not None)
        return self.taken is None and not over


@define
class Round:
    """One rebalance."""

    started: Moment | None
    from_generation: int | None
    to_generation: int | None = None
    cause: RebalanceCause = RebalanceCause.NOT_SEEN
    causers: tuple[str, ...] = ()
    reason: str = ""
    client_reason: str | None = None
    # When the join phase ended: Stabilized, or the group is empty.
    joined_at: Moment | None = None
    # When the leader's assignment arrived.
    assigned: Moment | None = None
    # open, stabilized (no assignment yet), assigned, emptied, interrupted (another round began
    # before the assignment), lost, or unseen (no line tells how rebalances of the group end).
    outcome: str = "open"
    size: int | None = None
    leader: str | None = None
    joined: list[str] = Factory(list)
    # Ids of `joined` that were made for their JoinGroup (no second step of the join).
    handed_at_once: int = 0
    left: list[str] = Factory(list)
    expired: list[str] = Factory(list)
    not_rejoined: list[str] = Factory(list)
    # The members that it waited for, as far as the log tells, and what ended the wait, in words.
    held_up_by: tuple[str, ...] = ()
    waited_for: str = ""
    # The partitions that it takes from members, each in one (consumer groups alone).
    handovers: list[Handover] = Factory(list)
    # It began in an Empty group, so the initial delay ran (KIP-134).
    initial: bool = False
    # The last event of its join phase so far.
    last: Event | None = None

    @property
    def ended(self) -> Moment | None:
        return self.joined_at if self.outcome == "emptied" else self.assigned


def ends_are_shown(rounds: Sequence[Round]) -> bool:
    """Would the log show it if the last rebalance were over? Not if it shows the end of none of
    several: the earlier ones are over, so such lines were left out of it. Where there is a single
    rebalance, nothing tells that lines were left out.
    """
    ended = any(r.joined_at is not None or r.assigned is not None for r in rounds)
    return ended or len(rounds) == 1


def unseen(rounds: Sequence[Round]) -> int:
    """How many rebalances no line shows: generations grow by one, so those that are left out
    between two rounds were others. A generation that goes back tells nothing.
    """
    missed = 0
    for before, after in pairwise(rounds):
        was = before.to_generation
        if was is None and before.from_generation is not None:
            was = before.from_generation + 1  # it may have ended in lines that are missing
        if was is not None and after.from_generation is not None:
            missed += max(0, after.from_generation - was)
    return missed


def average_period(rounds: Sequence[Round]) -> int | None:
    """From one rebalance to the next, in ms, those that no line shows included."""
    some = [at for r in rounds if (at := r.started or r.joined_at) is not None]
    whole = elapsed(some[0], some[-1]) if some else None
    return round(whole / (len(some) + unseen(rounds) - 1)) if whole else None


@define
class Burst:
    """Members that expired together."""

    first: Moment
    last: Moment
    # The first of them; `count` says how many there are.
    members: list[str]
    count: int = 0


def note(names: list[str], id: str) -> None:
    """Adds an id to a list of names, if that has room."""
    if len(names) < NAMES_KEPT:
        names.append(id)


def hold_up(round: Round, burst: Burst | None, awaited: tuple[str, ...]) -> None:
    """Records who held the round up: the last to join, or those who never came. `burst`: the last
    members that expired; `awaited`: the members that had not visibly joined. A member that is gone
    because the round began did not hold it up.
    """
    last = round.last
    if isinstance(last, MemberLeft | MemberExpired) and last.member in round.causers:
        last = None
    if last is not None and (elapsed(moment(last), round.joined_at) or 0) > ONE_STEP_MS:
        last = None
    round.held_up_by, round.waited_for = _held_up(round, last, burst, awaited)
    round.last = None


def _held_up(
    round: Round, last: Event | None, burst: Burst | None, awaited: tuple[str, ...]
) -> tuple[tuple[str, ...], str]:
    match last:
        case _ if round.not_rejoined:
            return tuple(round.not_rejoined), "did not rejoin until the rebalance timeout"
        case MemberExpired():
            together = set(burst.members) if burst and burst.last.line == last.line else set()
            since = [id for id in round.expired if id in together and id not in round.causers]
            gone = tuple(since) or (last.member,)
            how = "never joined" if last.pending else "gone"
            return gone, f"{how}, until the session timeout"
        case MemberLeft():
            return (last.member,), "left instead of joining"
        case MemberAdded():
            return (last.member,), "joined last"
        case RebalanceStarted() if not awaited:
            return (), "nobody"
    if round.initial:
        return (), "the initial delay"
    if 0 < len(awaited) <= MOST_CANDIDATES:
        return awaited, "joined last" if len(awaited) == 1 else "one of them joined last"
    return (), f"{NOT_SHOWN} (the JoinGroup of a member that the group knew)"
