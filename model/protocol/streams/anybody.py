"""Every heartbeat that any client could send to a streams group, in place of members."""

from __future__ import annotations

from collections.abc import Iterator

from groupcheck.model.engine import evolve, rule
from groupcheck.model.protocol.consumer.anybody import nobody_hears
from groupcheck.model.protocol.consumer.memory import Previous
from groupcheck.model.protocol.consumer.messages import Kind, Tag
from groupcheck.model.protocol.faults import Budget
from groupcheck.model.protocol.streams.memory import StreamsSeat
from groupcheck.model.protocol.streams.messages import StreamsLink, StreamsRequest
from groupcheck.model.protocol.streams.scope import StreamsScope
from groupcheck.model.protocol.streams.tasks import both


def streams_heartbeats(seat: StreamsSeat | None, scope: StreamsScope) -> Iterator[StreamsRequest]:
    """All of them, from one member."""
    for topology in range(scope.topologies):
        yield StreamsRequest(Kind.JOIN, owned=0, topology=topology)
    yield StreamsRequest(Kind.LEAVE)
    if scope.budget.allows("shutdown"):
        yield StreamsRequest(Kind.JOIN, owned=0, shutdown=True)
        yield StreamsRequest(Kind.LEAVE, shutdown=True)
    if seat is None:
        yield StreamsRequest(Kind.BEAT)
        return
    for tag in (Tag.CURRENT, Tag.PREVIOUS) if seat.previous == Previous.OLDER else (Tag.CURRENT,):
        for owned in (None, *_owned(scope)):
            yield StreamsRequest(Kind.BEAT, tag, owned)
    yield StreamsRequest(Kind.BEAT, Tag.AHEAD)
    if scope.budget.allows("shutdown"):
        yield StreamsRequest(Kind.BEAT, Tag.CURRENT, shutdown=True)


def _owned(scope: StreamsScope) -> Iterator[int]:
    """Every set of tasks that a member may say it has."""
    every = 1 << scope.tasks
    for copies in range(every if scope.standbys else 1):
        for run in range(every):
            yield both(run, copies)


@rule("request", "failing", when=lambda link: link.answer is None)
def anybody_streams(
    link: StreamsLink, seat: StreamsSeat | None, budget: Budget, scope: StreamsScope
) -> Iterator[tuple[str, StreamsLink, StreamsSeat | None, Budget]]:
    """A heartbeat arrives that some client could have sent; perhaps its append fails."""
    for request in streams_heartbeats(seat, scope):
        yield "request", evolve(link, request=request), seat, budget
        if budget.allows("append_failure"):
            failing = evolve(link, request=request, fails=True)
            yield "failing", failing, seat, budget.spend("append_failure")


ANYBODY_RULES = (anybody_streams, nobody_hears)
