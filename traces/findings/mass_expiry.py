"""Members that expired together: ghosts, which nobody used, or members that died at one time.

The session of a member begins to count when it joins, when a generation begins, and with each of
its heartbeats. So a ghost (an id with which nobody goes on) expires exactly one session after its
only generation, or, as long as its first JoinGroup is parked, five minutes after it joined
(NEW_MEMBER_JOIN_TIMEOUT_MS of Kafka's GroupMetadataManager). Whoever lived longer, or was in a
second generation, was alive: it was killed, or cut off from the broker.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from attrs import frozen

from groupcheck.traces.story.member import Member, client_of
from groupcheck.traces.story.moments import Burst, Moment, elapsed
from groupcheck.traces.story.timeline import Timeline

GHOSTS_LEAST = 3
DEAD_LEAST = 2
PARKED_MS = 300_000
LATE_MS = 500
"""How much later than due a coordinator may notice that a session has ended."""
USUAL_SESSIONS_MS = (6_000, 10_000, 30_000, 45_000, 60_000)
"""session.timeout.ms of clients that nobody configured: the broker's minimum, Java and librdkafka
before and after KIP-735, and the other libraries.
"""


@frozen
class MassExpiry:
    """Members that expired within seconds."""

    members: tuple[str, ...]
    # How many there are; `members` has the first.
    count: int
    first: Moment
    last: Moment
    # From their last sign of life that the log shows (a generation, their join, a request) to the
    # first expiry, in ms; None if it shows none.
    after_ms: int | None
    # The session timeout by which they are told to be ghosts, in ms; None: they are no ghosts.
    session_ms: int | None = None
    # They joined in this log, so that it shows their whole life.
    whole: bool = True

    @property
    def ghosts(self) -> bool:
        return self.session_ms is not None


def mass_expiries(timeline: Timeline) -> tuple[MassExpiry, ...]:
    """Every burst of expiries, its ghosts apart from the others, in order of time."""
    sessions = _shortest(timeline)
    return tuple(d for burst in timeline.bursts for d in _parts(timeline, burst, sessions))


def _parts(timeline: Timeline, burst: Burst, sessions: dict[str, int]) -> Iterator[MassExpiry]:
    known = [timeline.members[id] for id in burst.members if id in timeline.members]
    ghosts: list[Member] = []
    alive: list[Member] = []
    session = 0
    for m in known:
        after = _ghost_after(timeline, m, sessions)
        (alive if after is None else ghosts).append(m)
        session = max(session, after or 0)
    if len(ghosts) < GHOSTS_LEAST:
        alive, ghosts = known, []
    if ghosts:
        yield _expiry(timeline, burst, ghosts, len(ghosts), session)
    more = burst.count - len(burst.members)
    if len(alive) + more >= DEAD_LEAST:
        yield _expiry(timeline, burst, alive, len(alive) + more, None)


def _expiry(
    timeline: Timeline, burst: Burst, members: Sequence[Member], count: int, session: int | None
) -> MassExpiry:
    ends = [m.ended for m in members if m.ended is not None] or [burst.first]
    first, last = (f(ends, key=lambda e: e.line) for f in (min, max))
    signs = [t for m in members if (t := _last_sign(timeline, m)) is not None]
    after = None if not signs or first.time is None else max(first.time - max(signs), 0)
    whole = all(m.joined is not None for m in members)
    return MassExpiry(tuple(m.id for m in members), count, first, last, after, session, whole)


def _last_sign(timeline: Timeline, m: Member) -> int | None:
    armed = m.armed.time if m.armed is not None else None
    sign = timeline.signs.get(m.id)
    return max((t for t in (armed, sign) if t is not None), default=None)


def _ghost_after(timeline: Timeline, m: Member, sessions: dict[str, int]) -> int | None:
    """The session after which the member expired as ghosts do; None if it was alive."""
    after = elapsed(m.armed, m.ended)
    used = m.used or m.led or m.id in timeline.signs
    if used or m.instance is not None or m.joined is None or after is None:
        return None
    if m.generations == 0 and abs(after - PARKED_MS) <= LATE_MS:
        return PARKED_MS
    client = client_of(m.id)
    asked = timeline.asked.get(client)
    session = asked.session if asked is not None else sessions.get(client)
    return session if session is not None and after <= session + LATE_MS else None


def _shortest(timeline: Timeline) -> dict[str, int]:
    """client -> its session timeout, where no line tells it: some member expired that long after a
    generation or its join, nobody sooner, and clients have such a timeout unless somebody
    configures another.
    """
    shortest: dict[str, int] = {}
    for m in timeline.members.values():
        after = elapsed(m.armed, m.ended)
        if m.gone == "expired" and after:
            client = client_of(m.id)
            shortest[client] = min(shortest.get(client, after), after)
    return {
        client: usual
        for client, after in shortest.items()
        for usual in USUAL_SESSIONS_MS
        if usual - 50 <= after <= usual + LATE_MS
    }
