"""How quick the members of a scenario are."""

from __future__ import annotations

from attrs import frozen


@frozen
class Timing:
    """What a scenario says of a member, in ms: its session, its heartbeats, how long it may not
    poll, and how often it looks for new partitions.
    """

    session: int = 3000
    heartbeat: int = 500
    max_poll: int = 10_000
    metadata: int = 300_000
