"""Every request that any client could send, of either protocol."""

from __future__ import annotations

from collections.abc import Iterator

from groupcheck.model.engine import evolve, rule
from groupcheck.model.protocol.consumer.anybody import heartbeats
from groupcheck.model.protocol.consumer.memory import Core, Seat
from groupcheck.model.protocol.consumer.messages import Kind, Link, Request, Tag
from groupcheck.model.protocol.migration.scope import MigrationScope


def classic_requests(
    core: Core, seat: Seat | None, *, static: bool, scope: MigrationScope
) -> Iterator[Request]:
    """All requests of the classic protocol to a consumer group, from one member."""
    for other in (False, True) if static else (False,):
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
    """A request arrives that some client could have sent. A JoinGroup to an empty consumer group is
    left out: it makes a classic group, whose rules are those of the classic family.
    """
    if core.phase is not None:
        for request in first_heartbeats(seat, static=link.static, scope=scope):
            yield core, evolve(link, request=request), seat
        return
    for request in heartbeats(seat, static=link.static, scope=scope):
        yield core, evolve(link, request=request), seat
    if core.members:
        for request in classic_requests(core, seat, static=link.static, scope=scope):
            yield core, evolve(link, request=request), seat
