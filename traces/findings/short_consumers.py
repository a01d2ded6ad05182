"""Consumers that come and go one after the other: one consumer a message or a run.

Such a group rebalances often and disturbs nobody, because its consumers are alone. That is another
matter than a storm, in which members that go on working stop again and again.
"""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from statistics import median

from attrs import frozen

from groupcheck.traces.story.events import RebalanceCause
from groupcheck.traces.story.member import Member, client_of
from groupcheck.traces.story.moments import Moment, elapsed
from groupcheck.traces.story.timeline import Timeline

LIVES_LEAST = 4
ALONE_SHARE = 0.8
ALIKE_MS = 500
POLL_TIMEOUT = "poll timeout"
"""Java and librdkafka say so when the application does not poll: the consumer itself goes on."""
_BY_LIVES = (RebalanceCause.JOIN, RebalanceCause.LEAVE, RebalanceCause.SESSION_EXPIRED)


@frozen
class ShortConsumers:
    """Consumers that were alone in their group, one after the other."""

    # How many, and the client that most of them are.
    count: int
    client: str
    # How many of them left by themselves, and how many expired.
    left: int
    expired: int
    # The median length of a life, and the median time from one join to the next, in ms; None if
    # the log has no times.
    life_ms: int | None
    period_ms: int | None
    # Where the first of them begins.
    first: Moment
    # The time after which each of them expired, if it was the same for all: no heartbeat came.
    silent_ms: int | None = None

    @property
    def closed(self) -> bool:
        """Most of them said that they left."""
        return self.left >= self.expired


def short_consumers(timeline: Timeline) -> ShortConsumers | None:
    """The lives of a group that is nearly always a single consumer, and never the same one for
    long; None if this is another kind of group.
    """
    lives = [m for m in timeline.members.values() if m.joined is not None]
    gone = [m for m in lives if m.gone in ("left", "expired")]
    rounds = [r for r in timeline.rounds if r.size is not None]
    alone = sum(1 for r in rounds if r.size in (0, 1))
    by_lives = sum(1 for r in rounds if r.cause in _BY_LIVES)
    if (
        len(gone) < LIVES_LEAST
        or min(alone, by_lives) < ALONE_SHARE * len(rounds)
        or len(gone) < ALONE_SHARE * len(lives)
        or sum(1 for m in gone if POLL_TIMEOUT in (m.client_reason or "")) * 2 > len(gone)
    ):
        return None
    return _summary(lives, gone)


def _summary(lives: list[Member], gone: list[Member]) -> ShortConsumers:
    joins = sorted(m.joined.time for m in lives if m.joined and m.joined.time is not None)
    lengths = [ms for m in gone if (ms := elapsed(m.joined, m.ended)) is not None]
    steps = [b - a for a, b in pairwise(joins)]
    ways = Counter(m.gone for m in gone)
    first = lives[0].joined
    assert first is not None
    return ShortConsumers(
        len(lives),
        Counter(client_of(m.id) for m in lives).most_common(1)[0][0],
        ways["left"],
        ways["expired"],
        int(median(lengths)) if lengths else None,
        int(median(steps)) if steps else None,
        first,
        _silent(gone),
    )


def _silent(gone: list[Member]) -> int | None:
    after = [
        ms for m in gone if m.gone == "expired" and (ms := elapsed(m.armed, m.ended)) is not None
    ]
    alike = len(after) >= LIVES_LEAST and max(after) - min(after) <= ALIKE_MS
    return min(after) if alike else None
