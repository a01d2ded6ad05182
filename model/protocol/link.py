"""The connection of one member to the coordinator: one queue, answered in order.

A JoinGroup or SyncGroup that the coordinator parks holds up all requests behind it. A request that
is sent over an idle connection is handled, and its answer received, in the step that sends it:
nothing can come between, because only the two ends see the message. There is one exception: the
SyncGroup that follows a JoinGroup answer is a step of its own, or the sync timer could never fire.
"""

from __future__ import annotations

from typing import Any, TypeVar

from attrs import frozen

from groupcheck.model.engine import evolve, remembered
from groupcheck.model.protocol.messages import Answer, JoinGroup, Request, SyncGroup

R = TypeVar("R", bound=Request)


@frozen
class Link:
    """The connection of one member."""

    # The request that waits for its answer at the coordinator.
    parked: JoinGroup | SyncGroup | None = None
    # The coordinator will never answer `parked`: another request has taken its place, or its member
    # was removed while it waited in SyncGroup.
    orphaned: bool = False
    # Requests that stand behind `parked`, in order; the coordinator has not read them.
    queue: tuple[Request, ...] = ()
    # A request of an earlier connection that has not arrived yet.
    late: Request | None = None
    # Inside a step: the request that the coordinator handles now.
    request: Request | None = None
    # `request` came over this connection. False: over one that is gone, whose answers nobody reads.
    live: bool = True
    # Inside a step: the answer that the member receives now.
    answer: Answer | None = None
    # It leads to a broker that is no longer the coordinator (see `classic.failover_phases`).
    stale: bool = False
    # There is no connection: the member looks for the coordinator (see `classic.find_coordinator`).
    seeks: bool = False

    @property
    def idle(self) -> bool:
        """Would the coordinator read at once a request that is sent now?"""
        return self.parked is None and not self.queue


@remembered
def send(link: Link, request: Request) -> Link:
    """The request reaches the coordinator in this step, or queues behind those that wait."""
    if link.idle:
        return evolve(link, request=request, live=True)
    return evolve(link, queue=(*link.queue, request))


def send_into_the_void(link: Link, request: Request) -> Link:
    """The request is handled in this step, but its connection is gone; the member has a new one."""
    return Link(late=link.late, request=request, live=False, stale=link.stale)


def handled(link: Link, kind: type[R]) -> R:
    """The request that is being handled, which is of this kind."""
    assert isinstance(link.request, kind)
    return link.request


def reply(link: Link, answer: Answer) -> Link:
    """Answers the request that is being handled."""
    if link.live:
        return evolve(link, request=None, answer=answer)
    return evolve(link, request=None, live=True)


@remembered
def park(link: Link, request: JoinGroup | SyncGroup) -> Link:
    """Parks the request that is being handled. One from a dead connection takes the place of the
    same member's parked request of the same kind, which is then never answered.
    """
    if link.live:
        return evolve(link, request=None, parked=request, orphaned=False)
    superseded = (
        link.parked is not None
        and type(link.parked) is type(request)
        and link.parked.id == request.id
    )
    return evolve(link, request=None, live=True, orphaned=link.orphaned or superseded)


def waits(link: Link, kind: type[JoinGroup] | type[SyncGroup], id: int) -> bool:
    """Does this connection wait for the coordinator's answer to such a request of this member
    id?
    """
    return (
        type(link.parked) is kind
        and not link.orphaned
        and not link.stale
        and link.parked is not None
        and link.parked.id == id
    )


@remembered
def deliver(
    link: Link, kind: type[JoinGroup] | type[SyncGroup], id: int, code: int, *fields: Any
) -> Link:
    """Answers a parked request, if the connection that sent it still waits. `code` and `fields` are
    those of the `Answer`.
    """
    if link.parked is None or not waits(link, kind, id):
        return link
    return evolve(link, parked=None, answer=Answer(link.parked, code, *fields))


@remembered
def orphan(link: Link, kind: type[JoinGroup] | type[SyncGroup], id: int) -> Link:
    """The coordinator forgets a parked request without answering it."""
    return evolve(link, orphaned=True) if waits(link, kind, id) else link


def mentions(link: Link, id: int) -> bool:
    """Does a message on this connection, or a late one, still carry the id? Then no other member
    may get the same number.
    """
    return any(getattr(r, "id", None) == id for r in (link.parked, link.late, *link.queue))
