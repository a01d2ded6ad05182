"""A rebalance as one member saw it, how a membership ended, and what a member owned: the parts of
a member's story (`story.py`).
"""

from __future__ import annotations

from attrs import define, frozen

from groupcheck.traces.clients.partitions import End as Ending
from groupcheck.traces.story.events import RebalanceCause
from groupcheck.traces.story.moments import Moment, elapsed


@define
class MemberRound:
    """One rebalance as one member saw it."""

    # When it sent JoinGroup, or began to reconcile; and why, in words.
    asked: Moment | None
    cause: RebalanceCause
    why: str = ""
    # The generation, or the epoch of KIP-848; None as long as it has not joined.
    generation: int | None = None
    member: str = ""
    joined: Moment | None = None
    # When it sent JoinGroup again, the last time.
    asked_last: Moment | None = None
    # Was its last JoinGroup answered, be it with an id to join with or an error?
    answered: bool = False
    # When it had its share.
    synced: Moment | None = None
    leader: str = ""
    # The members of the generation, if this one leads it and its log tells them.
    size: int | None = None
    ids: frozenset[str] = frozenset()

    @property
    def begun(self) -> Moment | None:
        return self.asked or self.joined or self.synced

    @property
    def took_ms(self) -> int | None:
        return elapsed(self.asked, self.synced)


@frozen
class End:
    """How a membership ended, by the member's own doing."""

    at: Moment
    how: str
    reason: str = ""


@frozen
class Owned:
    """A partition that the member held. Times are ms since 1970."""

    partition: str
    since: int
    until: int
    # revoked, lost, or `end of log`.
    how: Ending
    # The generation in which it got it; None if that is not known.
    generation: int | None = None
