"""What a client knows of its membership at each moment of a run: what it was last told, and what it
has done about it.

A client knows an answer soon after it was sent, not at once; rules allow for that (`GRACE_S`).
"""

from __future__ import annotations

from collections.abc import Iterator

from attrs import evolve, frozen

from groupcheck.model.assignors import Partitions
from groupcheck.model.protocol.codes import (
    FENCED_INSTANCE_ID,
    ILLEGAL_GENERATION,
    MEMBER_ID_REQUIRED,
    NONE,
    REBALANCE_IN_PROGRESS,
    UNKNOWN_MEMBER_ID,
    name_of,
)
from groupcheck.oracles.judge.client.record import (
    NO_GENERATION,
    NOTHING,
    Asked,
    Event,
    Record,
    Stopping,
    Told,
)

GRACE_S = 0.5
# The application's events go through its own buffers and a pipe.
EVENTS_GRACE_S = 1.0
LOST = (ILLEGAL_GENERATION, UNKNOWN_MEMBER_ID, FENCED_INSTANCE_ID)
OF_THE_MEMBER = ("JoinGroup", "SyncGroup", "Heartbeat", "OffsetCommit")
# The codes that the application is told, of those that a coordinator gives: what the model's member
# throws at the next poll, as Kafka's does (a test asks its rows). A heartbeat or a commit that is
# not allowed is not among them.
FATAL = {
    "JoinGroup": (23, 24, 26, 30, 81, FENCED_INSTANCE_ID),
    "SyncGroup": (23, 30, FENCED_INSTANCE_ID),
    "Heartbeat": (FENCED_INSTANCE_ID,),
    "OffsetCommit": (FENCED_INSTANCE_ID,),
    # AbstractCoordinator.FindCoordinatorResponseHandler.
    "FindCoordinator": (30,),
}


@frozen
class Since:
    """Something that the client was told, or has done, and when."""

    at: float
    words: str
    code: int = NONE


@frozen
class Knowledge:
    """What the client knows."""

    # The id that it was last told; empty before, and after it was refused.
    id: str = ""
    # The id that was last refused with 25, and when.
    refused: tuple[str, float] | None = None
    generation: int = NO_GENERATION
    generation_at: float = 0.0
    # The share that it was last told, in which generation and when; None: none yet.
    share: Partitions | None = None
    share_generation: int = NO_GENERATION
    share_at: float = 0.0
    # The share before that one.
    share_before: Partitions = NOTHING
    # The first JoinGroup since its last share.
    joining: float | None = None
    # Does it use the cooperative protocol?
    cooperative: bool = False
    # It is no member of its generation any more.
    lost: Since | None = None
    fenced: Since | None = None
    # It was told to join, and has not yet.
    to_join: Since | None = None
    fatal: Since | None = None
    # Its last own timeouts.
    session_ms: int = 0
    rebalance_ms: int = 0
    # When its last heartbeat was answered 0.
    beaten_at: float = 0.0
    # When its coordinator told it last that it is a member.
    heard_at: float = 0.0
    has_joined: bool = False
    stopping: float | None = None

    @property
    def state(self) -> str:
        """The state of its membership in one word."""
        if self.fatal is not None:
            return "failed"
        if self.joining is not None:
            return "joining" if self.share is not None else "new"
        if self.lost is not None:
            return "lost"
        if self.to_join is not None:
            return "told to join"
        return "member" if self.share is not None else "new"


class Following:
    """What the client knows, event by event."""

    def __init__(self, session_ms: int, rebalance_ms: int) -> None:
        self.now = Knowledge(session_ms=session_ms, rebalance_ms=rebalance_ms)
        self._asked: dict[int, Asked] = {}

    def see(self, event: Event) -> None:
        if isinstance(event, Asked):
            if event.api in FATAL:
                self._asked[event.number] = event
            self.now = _after_request(self.now, event)
        elif isinstance(event, Told):
            request = self._asked.pop(event.number, None)
            if request is not None:
                self.now = _after_answer(self.now, request, event)
        elif isinstance(event, Stopping):
            self.now = evolve(self.now, stopping=event.at)


def known(record: Record) -> Iterator[tuple[Event, Knowledge]]:
    """Each event of a run with what the client knows before it."""
    following = Following(record.session_ms, record.rebalance_ms)
    for event in record.events:
        yield event, following.now
        following.see(event)


def _after_request(now: Knowledge, request: Asked) -> Knowledge:
    if request.api != "JoinGroup":
        return now
    return evolve(
        now,
        joining=request.at if now.joining is None else now.joining,
        cooperative=eager_free(request),
        to_join=None,
        session_ms=request.session_ms or now.session_ms,
        rebalance_ms=request.rebalance_ms or request.session_ms or now.rebalance_ms,
        has_joined=True,
    )


def eager_free(request: Asked) -> bool:
    """Does a JoinGroup list cooperative assignors alone? A member that lists an eager one, too, is
    eager (ConsumerCoordinator).
    """
    listed = [p.name.lower() for p in request.protocols]
    return bool(listed) and all("cooperative" in name for name in listed)


def _after_answer(now: Knowledge, request: Asked, answer: Told) -> Knowledge:
    if request.api == "JoinGroup" and answer.error == MEMBER_ID_REQUIRED:
        return evolve(now, id=answer.member)
    if request.api == "JoinGroup" and not answer.error:
        return evolve(
            now,
            id=answer.member,
            generation=answer.generation,
            generation_at=answer.at,
            heard_at=answer.at,
            refused=None if now.refused and now.refused[0] == answer.member else now.refused,
        )
    if request.api == "SyncGroup" and not answer.error:
        if request.generation < now.share_generation:
            return now
        gives_up = now.cooperative and now.lost is None and (now.share or NOTHING) - answer.share
        words = "its share, which lacks what it owned"
        return evolve(
            now,
            share=answer.share,
            share_generation=request.generation,
            share_at=answer.at,
            share_before=now.share or NOTHING,
            joining=None,
            lost=None,
            to_join=Since(answer.at, words) if gives_up else None,
        )
    if request.api == "Heartbeat" and not answer.error:
        return evolve(now, beaten_at=answer.at, heard_at=answer.at)
    return _after_error(now, request, answer) if answer.error else now


def _after_error(now: Knowledge, request: Asked, answer: Told) -> Knowledge:
    """What the client knows after an error in a request of a member."""
    code, api = answer.error, request.api
    why = Since(answer.at, f"{name_of(code)} to its {api}", code)
    current = api == "JoinGroup" or request.generation == now.generation
    if code in LOST and current and request.member:
        refused = (request.member, answer.at) if code == UNKNOWN_MEMBER_ID else now.refused
        id = "" if code == UNKNOWN_MEMBER_ID and request.member == now.id else now.id
        now = evolve(now, lost=now.lost or why, refused=refused, id=id)
        if code != FENCED_INSTANCE_ID and now.joining is None:
            now = evolve(now, to_join=now.to_join or why)
    if code == REBALANCE_IN_PROGRESS and current and api in ("Heartbeat", "SyncGroup"):
        now = evolve(now, heard_at=answer.at)
        late = api == "Heartbeat" and now.joining is not None
        now = now if late else evolve(now, to_join=now.to_join or why)
    if code == FENCED_INSTANCE_ID:
        now = evolve(now, fenced=now.fenced or why)
    if code in FATAL[api]:
        now = evolve(now, fatal=now.fatal or why)
    return now
