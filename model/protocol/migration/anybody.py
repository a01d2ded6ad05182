"""Every request that any client could send, of either protocol."""

from __future__ import annotations

from collections.abc import Iterator

from groupcheck.model.engine import evolve, rule
from groupcheck.model.protocol.consumer.anybody import heartbeats
from groupcheck.model.protocol.consumer.memory import Core, Seat
from groupcheck.model.protocol.consumer.messages import HandedOutId, Kind, Link, Request, Tag
from groupcheck.model.protocol.migration.scope import MigrationScope


def classic_requests(
    seat: Seat | None, handed_out: HandedOutId, *, static: bool, scope: MigrationScope
) -> Iterator[Request]:
    """All requests of the classic protocol, from one member. A dynamic one joins first without an
    id.
    """
    others = (False, True) if static else (False,)
    if not static and seat is None and handed_out != HandedOutId.REMEMBERED:
        yield Request(Kind.JOIN_GROUP, full=True, subscribed=scope.topic(0), owned=0, other=True)
    for other in others:
        for topics in scope.subscriptions:
            for owned in range(scope.everything + 1):
                yield Request(
                    Kind.JOIN_GROUP, owned=owned, full=True, subscribed=topics, other=other
                )
    for kind in (Kind.SYNC_GROUP, Kind.CLASSIC_BEAT):
        yield Request(kind, Tag.CURRENT)
        if seat is not None:
            yield Request(kind, Tag.AHEAD)
    yield Request(Kind.LEAVE_GROUP)


def first_heartbeats(
    seat: Seat | None, *, static: bool, scope: MigrationScope
) -> Iterator[Request]:
    """What is asked of a classic group."""
    for request in heartbeats(seat, static=static, scope=scope):
        if request.kind == Kind.JOIN:
            yield request


@rule(when=lambda link: link.answer is None)
def anybody_asks(
    core: Core, link: Link, seat: Seat | None, scope: MigrationScope
) -> Iterator[tuple[Core, Link, Seat | None]]:
    """A request arrives that some client could have sent. To an empty consumer group no JoinGroup
    comes with an id: it takes the group from the memory, and leaves it in the log.
    """
    asked = heartbeats if core.phase is None else first_heartbeats
    for request in asked(seat, static=link.static, scope=scope):
        yield core, evolve(link, request=request), seat
    for request in classic_requests(seat, link.handed_out, static=link.static, scope=scope):
        joins = request.kind == Kind.JOIN_GROUP and request.other
        if core.members or core.phase is not None or joins:
            yield core, evolve(link, request=request), seat
