"""The places where a request log shows that lines are missing: numbers of requests that were
skipped on a connection, generations that no line shows, the end of the log.

An answer that does not fit near such a hole proves nothing.
"""

from __future__ import annotations

from bisect import bisect_right

from attrs import Factory, define, frozen

from groupcheck.model.protocol.codes import (
    FENCED_INSTANCE_ID,
    NONE,
    REBALANCE_IN_PROGRESS,
    UNKNOWN_MEMBER_ID,
)
from groupcheck.traces.exchanges.exchange import (
    CommitExchange,
    Exchange,
    HeartbeatExchange,
    JoinExchange,
    LeaveExchange,
    SyncExchange,
)

CONNECTIONS_KEPT = 10_000
HOLES_KEPT = 10_000
GENERATIONS_KEPT = 10_000
APPEND_MS = 1000.0
"""A record of the group is written within this time, as a rule."""
STEP_MS = 25.0
"""All who wait for one step of the coordinator are answered within this time, as a rule."""


@frozen
class Hole:
    """Lines are missing between two moments (ms since 1970)."""

    since: float
    until: float
    # Why, in words.
    said: str


@define
class _Round:
    """The JoinGroups that were answered with one generation."""

    completed: float
    joined: set[str] = Factory(set)
    synced: set[str] = Factory(set)
    # Everybody in it, as the leader was told.
    members: set[str] = Factory(set)


@define
class Holes:
    """The holes of one group. Exchanges come in the order in which they began."""

    _holes: list[Hole] = Factory(list)
    # Connection -> the number and the time of the last request on it.
    _last: dict[str, tuple[int, float]] = Factory(dict)
    _rounds: dict[int, _Round] = Factory(dict)
    _highest: tuple[int, float] | None = None
    # Member -> its session timeout, and when it was answered last; the members that left.
    _asked: dict[str, int] = Factory(dict)
    _seen: dict[str, float] = Factory(dict)
    _left: set[str] = Factory(set)
    # Member -> the latest generation in which it sent a request.
    _acted: dict[str, int] = Factory(dict)
    # Instance -> the member id that it has.
    _id_of: dict[str, str] = Factory(dict)
    # When the last answer was given, and the last that shows that no JoinGroup waits.
    _end: float = float("-inf")
    _calm: float = float("-inf")
    # How long a round waits for its members.
    _patience: float = 0.0

    def observe(self, e: Exchange) -> None:
        number, at = self._last.get(e.connection, (e.correlation, 0.0))
        if e.correlation > number + 1:
            skipped = e.correlation - number - 1
            self._add(at, e.began, f"{skipped} requests before it on {e.connection} are not shown")
        if e.connection not in self._last and len(self._last) >= CONNECTIONS_KEPT:
            del self._last[next(iter(self._last))]
        self._last[e.connection] = (max(number, e.correlation), e.given)
        self._end = max(self._end, e.given)
        self._instances(e)
        if e.code == NONE and isinstance(e, JoinExchange | HeartbeatExchange):
            self._calm = max(self._calm, e.given)
        if e.member and len(self._seen) < CONNECTIONS_KEPT:
            self._seen[e.member] = e.given
        if len(self._left) < CONNECTIONS_KEPT:
            self._left |= _gone(e)
        if isinstance(e, JoinExchange) and e.code == NONE and e.to_generation > 0:
            self._joined(e)
        if isinstance(e, SyncExchange | HeartbeatExchange | CommitExchange):
            self._acts(e)
        if isinstance(e, SyncExchange) and e.code == NONE and e.generation in self._rounds:
            self._rounds[e.generation].synced.add(e.member)

    def _instances(self, e: Exchange) -> None:
        """Notes the member ids of static members, and which of them are gone."""
        gone: list[str] = []
        if isinstance(e, LeaveExchange):
            gone = [x.instance for x in e.leavers if x.instance is not None and not x.member]
        elif isinstance(e, JoinExchange) and e.instance is not None:
            self._patience = max(self._patience, float(e.rebalance_ms))
            if not e.member:
                gone = [e.instance]
        if len(self._left) < CONNECTIONS_KEPT:
            self._left |= {self._id_of[instance] for instance in gone if instance in self._id_of}
        id = e.response_member if isinstance(e, JoinExchange) else e.member
        known = e.instance is not None and id and e.code in (NONE, REBALANCE_IN_PROGRESS)
        if known and e.instance is not None and len(self._id_of) < CONNECTIONS_KEPT:
            self._id_of[e.instance] = id

    def _add(self, since: float, until: float, said: str) -> None:
        if len(self._holes) < HOLES_KEPT:
            self._holes.append(Hole(since, until, said))

    def _joined(self, e: JoinExchange) -> None:
        # A group that is empty in between goes on by two.
        if self._highest is not None and e.to_generation > self._highest[0] + 2:
            self._add(
                self._highest[1],
                e.given,
                f"generation {e.to_generation} follows generation {self._highest[0]}",
            )
        if self._highest is None or e.to_generation > self._highest[0]:
            self._highest = (e.to_generation, e.given)
        if e.to_generation not in self._rounds and len(self._rounds) >= GENERATIONS_KEPT:
            del self._rounds[next(iter(self._rounds))]
        round = self._rounds.setdefault(e.to_generation, _Round(e.given))
        round.completed = min(round.completed, e.given)
        round.joined.add(e.response_member)
        self._asked[e.response_member] = e.session_ms
        if e.leader == e.response_member and e.members:
            round.members |= {id for id, _ in e.members}
            self._vanished(e, round.members)

    def _acts(self, e: SyncExchange | HeartbeatExchange | CommitExchange) -> None:
        """A member knows its generation from the answer to its JoinGroup: that line is missing if
        the log does not have it.
        """
        accepted = e.member and e.code in (NONE, REBALANCE_IN_PROGRESS)
        if not accepted or self._acted.get(e.member) == e.generation:
            return
        if e.member in self._acted or len(self._acted) < CONNECTIONS_KEPT:
            self._acted[e.member] = e.generation
        round, before = (self._rounds.get(e.generation - k) for k in (0, 1))
        if round is None or e.member not in round.joined:
            since = float("-inf") if before is None else before.completed
            self._add(since, e.began, f"no line shows how {e.member} joined")

    def _vanished(self, e: JoinExchange, members: set[str]) -> None:
        """Members that are gone although their sessions have not ended and no line shows that they
        left.
        """
        for id in [id for id in self._asked if id not in members]:
            session, seen = self._asked.pop(id), self._seen.pop(id, e.given)
            if seen + session > e.given and id not in self._left:
                self._add(seen, e.given, f"no line shows how {id} left the group")
            self._left.discard(id)

    def _before(self, at: float) -> float:
        """When the last round that the log shows whole had ended."""
        whole = sorted(
            r.completed for r in self._rounds.values() if r.members and r.members <= r.joined
        )
        k = bisect_right(whole, at)
        return whole[k - 1] if k else float("-inf")

    def _all_answered(self, e: Exchange) -> bool:
        """Does the log show the answers to all members that waited as `e` did?"""
        generation = e.to_generation if isinstance(e, JoinExchange) else getattr(e, "generation", 0)
        round = self._rounds.get(generation)
        if round is None or not round.members:
            return False
        return round.members <= (round.joined if isinstance(e, JoinExchange) else round.synced)

    def _may_wait(self, e: Exchange) -> bool:
        """May a JoinGroup of a static member explain it that waits at the end of the log, and so
        has no line? (That of a dynamic member follows on one that was answered with its id.)
        """
        code = e.leavers[0].code if isinstance(e, LeaveExchange) and e.leavers else e.code
        if not self._patience or code not in (FENCED_INSTANCE_ID, REBALANCE_IN_PROGRESS):
            return False
        if code == FENCED_INSTANCE_ID and e.given >= self._end - APPEND_MS:
            return True
        return e.given >= max(self._end - self._patience, self._calm)

    def near(self, e: Exchange, due: bool) -> str:
        """Why an answer that does not fit may be explained by missing lines, in words; empty if
        the log shows no hole near it. `due`: a request that waited is answered, and others should
        be answered in the same step. To be asked at the end of the log.
        """
        if due and e.given >= self._end - STEP_MS and not self._all_answered(e):
            return "the log ends before all who waited then are answered"
        if self._may_wait(e):
            return "the log ends while a JoinGroup of a static member may wait"
        since = self._before(e.began - 1)
        for hole in self._holes:
            if hole.until >= since and hole.since <= e.given:
                return hole.said
        return ""


def _gone(e: Exchange) -> set[str]:
    """The members of which an answer tells that they are gone."""
    if isinstance(e, LeaveExchange):
        return {x.member for x in e.leavers}
    return {e.member} if e.code == UNKNOWN_MEMBER_ID else set()
