"""Every heartbeat that any client could send to a share group, in place of members."""

from __future__ import annotations

from collections.abc import Iterator

from groupcheck.model.engine import evolve, rule
from groupcheck.model.protocol.consumer.anybody import nobody_hears
from groupcheck.model.protocol.consumer.memory import Previous, Seat
from groupcheck.model.protocol.consumer.messages import Kind, Link, Request, Tag
from groupcheck.model.protocol.faults import Budget
from groupcheck.model.protocol.share.scope import ShareScope


def share_heartbeats(seat: Seat | None, scope: ShareScope) -> Iterator[Request]:
    """All of them, from one member."""
    for topics in scope.subscriptions:
        yield Request(Kind.JOIN, full=True, subscribed=topics)
    yield Request(Kind.LEAVE)
    yield Request(Kind.BEAT, Tag.OLD if seat is not None else Tag.CURRENT)
    if seat is None:
        return
    for tag in (Tag.CURRENT, Tag.PREVIOUS) if seat.previous == Previous.OLDER else (Tag.CURRENT,):
        yield Request(Kind.BEAT, tag)
        for topics in scope.subscriptions:
            yield Request(Kind.BEAT, tag, full=True, subscribed=topics)
    yield Request(Kind.BEAT, Tag.AHEAD)


@rule("request", "failing", when=lambda link: link.answer is None)
def anybody_shares(
    link: Link, seat: Seat | None, budget: Budget, scope: ShareScope
) -> Iterator[tuple[str, Link, Seat | None, Budget]]:
    """A heartbeat arrives that some client could have sent; perhaps its append fails."""
    for request in share_heartbeats(seat, scope):
        yield "request", evolve(link, request=request), seat, budget
        if budget.allows("append_failure"):
            failing = evolve(link, request=request, fails=True)
            yield "failing", failing, seat, budget.spend("append_failure")


ANYBODY_RULES = (anybody_shares, nobody_hears)
