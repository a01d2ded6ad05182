"""The parts of a row: what can happen to a member, what it remembers, and what it does."""

from __future__ import annotations

from enum import StrEnum

from attrs import field, frozen

from groupcheck.model.protocol.classic.client import Client, Member
from groupcheck.model.protocol.codes import (
    COORDINATOR_LOAD_IN_PROGRESS,
    COORDINATOR_NOT_AVAILABLE,
    NONE,
    NOT_COORDINATOR,
)
from groupcheck.model.protocol.messages import (
    NO_GENERATION,
    NO_ID,
    JoinGroup,
    Request,
    SyncGroup,
)

# Every error code that a coordinator sends, and one that nobody knows.
CODES = (14, 15, 16, 22, 23, 24, 25, 26, 27, 30, 35, 79, 81, 82, 84, -1)
LOST = (COORDINATOR_NOT_AVAILABLE, NOT_COORDINATOR)  # the member looks for its coordinator again
BACKS_OFF = (COORDINATOR_LOAD_IN_PROGRESS, *LOST)


class Does(StrEnum):
    """The events that happen to the member, apart from answers."""

    POLL = "the application polls"
    SEND = "the network is polled"
    BEAT = "a heartbeat is due"
    PROCESS = "the application processes a record"
    COMMIT = "the application commits"
    FETCH = "the committed offset is fetched"
    BREAK = "the connection breaks"
    BREAK_POLL = "the connection breaks under the request that the next poll sends"
    BREAK_COMMIT = "the connection breaks under the application's commit"
    BREAK_LEAVING = "the connection breaks under the LeaveGroup of a member that polls too late"
    SILENCE = "the session timeout passes without an answer to a heartbeat"
    NO_POLL = "the application does not poll in time"
    NO_ANSWER = "the commit before JoinGroup is not answered in time"
    CLOSE = "the application closes the member"
    UNSUBSCRIBE = "the application unsubscribes, polls, and subscribes again"


class During(StrEnum):
    """The actions of the application in each rebalance callback that is called."""

    NOTHING = "they do nothing"
    THROWS = "they throw"
    COMMITS = "they commit and wait for the answer"
    LASTS = "they last longer than max.poll.interval.ms"
    OUTLASTS = "they last longer than the session timeout"
    BEATS = "a heartbeat is answered while they run"


@frozen
class Input:
    """One thing that happens to the member."""

    # What happens; None if the oldest request in flight is answered.
    does: Does | None = None
    # What the application does in its rebalance callbacks.
    during: During = During.NOTHING
    # The error code of the answer; of the answer to an OffsetFetch, or to a commit or a heartbeat
    # in a callback, if there is one.
    code: int = NONE
    # The id and generation of an answer to JoinGroup, and whether it makes the member the leader.
    id: int = NO_ID
    generation: int = NO_GENERATION
    leads: bool = False
    # The partitions of an answer to SyncGroup, as a bit mask.
    share: int = 0
    # The offset that is fetched; -1 if nothing is committed.
    offset: int = 0
    # Where the log of the partition ends, if auto.offset.reset asks; -1 if it does not get so far.
    end: int = -1


class Failure(StrEnum):
    """A request that has failed, of which the next poll takes notice."""

    NOTHING = "nothing"
    JOIN = "JoinGroup or SyncGroup"
    COMMIT = "the commit before JoinGroup"


@frozen
class RequestInFlight:
    """A request in flight."""

    request: Request
    # It is the commit before JoinGroup: the member does not join until it is answered.
    awaited: bool = False


@frozen(cache_hash=True)
class Memory:
    """The member, and what it waits for."""

    # `failed` is the error that the next poll throws. `dirty` is left out (always False): Kafka's
    # member commits every position that it has, whether it was committed before or not.
    client: Client = field(default=Client())
    # Requests in flight over its connection to the coordinator, in order.
    flight: tuple[RequestInFlight, ...] = ()
    # Does it know its coordinator?
    known: bool = False
    # What has failed and will be sent again: the next poll backs off. If `client.failed` is set,
    # what has failed for good: the next poll throws.
    failed: Failure = Failure.NOTHING
    # The commit before JoinGroup was sent: until it gives up its partitions, the application gets
    # no more of their records. (The model says so only while the member waits for that commit.)
    paused: bool = False
    # The time for that commit is over, so the member joins without it.
    overdue: bool = False
    # A commit was answered 82: `client.failed` is thrown by every poll, which then does nothing.
    fenced: bool = False
    # The id that it forgets at the next poll; the model's member has forgotten it already. Its
    # share was not installed when it lost its generation.
    late_id: int = NO_ID

    def waits_for(self, *kinds: type[Request]) -> bool:
        """Is a request of these kinds in flight?"""
        return any(isinstance(s.request, kinds) for s in self.flight)

    @property
    def joining(self) -> bool:
        return self.waits_for(JoinGroup, SyncGroup)

    @property
    def committing_first(self) -> bool:
        return any(s.awaited for s in self.flight)


@frozen
class Outcome:
    """The actions of the model's member."""

    # The rules that fired, with their outcomes, in order.
    rules: tuple[str, ...]
    # None if the member is gone: closed.
    after: Memory | None
    # The requests that it sends, in order, those included whose connection breaks.
    sent: tuple[Request, ...] = ()
    # The error that the application gets.
    thrown: int = NONE
    # The generation and id that it had when it gave up its partitions; None if it did not.
    gave_up: tuple[int, int] | None = None
    # Has it taken over its share?
    installed: bool = False
    # Does the exception of a callback go through to the application?
    raised: bool = False
    # Has the application unsubscribed?
    leaves: bool = False
    # The reason that its next JoinGroup will give, where the input and the memory do not tell.
    reason: str | None = None
    # The commits in callbacks of onJoinComplete that are answered: callback and offset.
    commits: tuple[tuple[str, int], ...] = ()
    # The callbacks in which a heartbeat is answered, in order.
    beats: tuple[str, ...] = ()
    # The partitions whose committed offsets it asks for, as a bit mask, and those of them for which
    # there is one.
    asks: int = 0
    found: int = 0


def callbacks(before: Memory, outcome: Outcome) -> list[tuple[str, int]]:
    """The rebalance callbacks that are called, each with its partitions as a bit mask."""
    c = before.client
    found = [("assigned", c.granted & ~c.owned)] if outcome.installed else []
    if outcome.installed and (revoked := revokes(c)):
        found.insert(0, ("revoked", revoked))
    if outcome.gave_up is not None:
        owned = c.granted if outcome.installed else c.owned
        generation, id = outcome.gave_up
        closing = outcome.leaves or outcome.after is None
        rebalances = closing and c.state in (Member.PREPARING, Member.COMPLETING)
        lost = generation == NO_GENERATION or id == NO_ID or rebalances
        if owned or not (lost or closing):
            found.append(("lost" if lost else "revoked", owned))
    return found


def commits_in_callback(m: Memory, does: Does | None) -> bool:
    """Does a commitSync in a callback send OffsetCommit?"""
    c = m.client
    known = m.known or does == Does.POLL
    return bool(known and not m.fenced and c.state == Member.STABLE and c.position >= 0)


def thread_runs(m: Memory) -> bool:
    """Does the heartbeat thread act, on a timer that is over? SyncGroup may be unsent yet."""
    return m.client.state in (Member.COMPLETING, Member.STABLE)


def answered_in_callbacks(m: Memory, given: Input, outcome: Outcome) -> list[tuple[str, int]]:
    """The commits in callbacks that are answered: callback and offset. A member that closes waits
    for none.
    """
    if given.during != During.COMMITS or given.does == Does.CLOSE:
        return []
    if outcome.installed:
        return [*outcome.commits]
    if not commits_in_callback(m, given.does):
        return []
    return [(name, m.client.position) for name, _ in callbacks(m, outcome)]


def revokes(c: Client) -> int:
    """The partitions that onJoinComplete revokes, as a bit mask. An eager member owns nothing then,
    or what it is granted, if the callback has thrown before.
    """
    return c.owned & ~c.granted
