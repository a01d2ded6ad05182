"""Moments of a log, and rebalances as the time between them."""

from __future__ import annotations

from attrs import Factory, define

from groupcheck.traces.events import Cause, Event


@define
class Moment:
    line: int
    time: int | None


def moment(event: Event) -> Moment:
    return Moment(event.line, event.time)


def elapsed(a: Moment | None, b: Moment | None) -> int | None:
    """Milliseconds from a to b; None if one is not known, or the clock went backwards."""
    if a is None or b is None or a.time is None or b.time is None or b.time < a.time:
        return None
    return b.time - a.time


@define
class Round:
    """One rebalance."""

    started: Moment | None
    from_generation: int | None
    to_generation: int | None = None
    cause: Cause = Cause.NOT_SEEN
    causers: tuple[str, ...] = ()
    reason: str = ""
    client_reason: str | None = None
    # When the join phase ended: Stabilized, or the group is empty.
    joined_at: Moment | None = None
    # When the leader's assignment arrived.
    assigned: Moment | None = None
    # open, stabilized (no assignment yet), assigned, emptied, interrupted (another round began
    # before the assignment) or lost.
    outcome: str = "open"
    size: int | None = None
    leader: str | None = None
    joined: list[str] = Factory(list)
    left: list[str] = Factory(list)
    expired: list[str] = Factory(list)
    not_rejoined: list[str] = Factory(list)
    # The members that it waited for, as far as the log tells, and what ended the wait, in words.
    held_up_by: tuple[str, ...] = ()
    waited_for: str = ""
    # It began in an Empty group, so the initial delay ran (KIP-134).
    initial: bool = False
    # The last event of its join phase so far.
    last: Event | None = None

    @property
    def ended(self) -> Moment | None:
        return self.joined_at if self.outcome == "emptied" else self.assigned
