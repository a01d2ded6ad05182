"""The broker that is judged, as far as a schedule has to know it, and how long is waited for it."""

from __future__ import annotations

from collections.abc import Mapping
from uuid import UUID

from attrs import field, frozen

from groupcheck.oracles.judge.broker.profiles import USUAL_MS
from groupcheck.oracles.judge.following.said import TOPIC


@frozen
class Pace:
    """How long is waited."""

    # For an answer that must come; and of each API of which enough is known.
    usual_s: float = 7.0
    of_api: Mapping[str, float] = field(factory=dict)
    # Before an answer that must not come counts as not come.
    quiet_s: float = 0.01
    # How long what the broker says may lag behind what it does.
    lag_s: float = 2.0

    def patience_s(self, api: str) -> float:
        """For the answer to a request of this API."""
        return self.of_api.get(api, self.usual_s)


@frozen
class Target:
    """The broker, as far as a schedule has to know it."""

    address: str
    # API key -> the versions that it announces.
    announced: Mapping[int, range]
    # How many nodes there are: with one, it coordinates every group.
    nodes: int = 1
    topic: str = TOPIC
    # Of the topic; None if the broker has no ids of topics.
    topic_id: UUID | None = None
    # The shortest session that it takes, and the shortest time for a round.
    session_ms: int = 6_000
    rebalance_ms: int = 2_000
    # Sessions and rounds that are not waited for.
    usual_ms: int = USUAL_MS
    # It makes a member at once in every version of JoinGroup, and gives no id first (KIP-394).
    joins_at_once: bool = False
    # What was slow before anything was judged, in a sentence; empty: nothing.
    slow: str = ""
