"""The connection of one member to the coordinator: one queue, answered in order.

A JoinGroup or SyncGroup that the coordinator parks holds up everything behind it. `request` and
`answer` exist only inside a step: what is sent over an idle connection is handled, and what is
answered is received, in the step that sent it (nothing can come between, because nobody else sees
the message). The exception is the place between a JoinGroup's answer and the SyncGroup that it
causes: there the member stops, or the sync timer would have nothing to fire on.
"""

from __future__ import annotations

from attrs import frozen

from groupcheck.model.engine import but
from groupcheck.model.protocol.messages import Answer, JoinGroup, Request, SyncGroup


@frozen
class Link:
    """`parked` waits at the coordinator, `queue` stands unread behind it, `late` is a request of an
    earlier connection that is still to arrive.

    `orphaned`: the coordinator will never answer `parked` (a later request took its place, or its
    member was removed while it synced). `live` tells whether `request` came over this connection or
    over one that is gone, whose answers nobody reads.
    """

    parked: JoinGroup | SyncGroup | None = None
    orphaned: bool = False
    queue: tuple[Request, ...] = ()
    late: Request | None = None
    request: Request | None = None
    live: bool = True
    answer: Answer | None = None

    @property
    def idle(self) -> bool:
        """Is a request that is sent now read at once?"""
        return self.parked is None and not self.queue


def send(link: Link, request: Request) -> Link:
    """The request reaches the coordinator in this step, or queues behind those that wait."""
    if link.idle:
        return but(link, request=request, live=True)
    return but(link, queue=(*link.queue, request))


def send_into_the_void(link: Link, request: Request) -> Link:
    """The request is handled in this step, but its connection is gone: a new one stands in its
    place.
    """
    return Link(late=link.late, request=request, live=False)


def reply(link: Link, answer: Answer) -> Link:
    """Answers the request at hand."""
    if link.live:
        return but(link, request=None, answer=answer)
    return but(link, request=None, live=True)


def park(link: Link, request: JoinGroup | SyncGroup) -> Link:
    """The request at hand waits for its answer. One from a dead connection takes the place of the
    living one, which is then never answered.
    """
    if link.live:
        return but(link, request=None, parked=request, orphaned=False)
    superseded = (
        link.parked is not None
        and type(link.parked) is type(request)
        and link.parked.id == request.id
    )
    return but(link, request=None, live=True, orphaned=link.orphaned or superseded)


def waits(link: Link, kind: type[JoinGroup] | type[SyncGroup], id: int) -> bool:
    """Does this connection wait for the answer to such a request of this member id?"""
    return (
        type(link.parked) is kind
        and not link.orphaned
        and link.parked is not None
        and link.parked.id == id
    )


def deliver(
    link: Link, kind: type[JoinGroup] | type[SyncGroup], id: int, code: int, *fields: int
) -> Link:
    """Answers a parked request, if the connection that sent it still waits. `code` and `fields` are
    those of the `Answer`.
    """
    if link.parked is None or not waits(link, kind, id):
        return link
    return but(link, parked=None, answer=Answer(link.parked, code, *fields))


def orphan(link: Link, kind: type[JoinGroup] | type[SyncGroup], id: int) -> Link:
    """The coordinator forgets a parked request without answering it."""
    return but(link, orphaned=True) if waits(link, kind, id) else link


def mentions(link: Link, id: int) -> bool:
    """Does some message on this connection, or a late one, still carry the id? Then the number may
    not be given to somebody else.
    """
    return any(getattr(r, "id", None) == id for r in (link.parked, link.late, *link.queue))
