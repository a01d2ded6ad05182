"""Every heartbeat that any client could send, in place of members."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from groupcheck.model.engine import evolve, rule, urgent
from groupcheck.model.protocol.consumer.memory import Previous, Seat
from groupcheck.model.protocol.consumer.messages import Kind, Link, Request, Tag
from groupcheck.model.protocol.consumer.plans import NAMED
from groupcheck.model.protocol.consumer.scope import ConsumerScope
from groupcheck.model.protocol.consumer.votes import NAMES
from groupcheck.model.protocol.faults import Budget

UNKNOWN = "unheard-of"  # an assignor that no broker has
Asked = tuple[str, Link, Seat | None, Budget]


def heartbeats(seat: Seat | None, *, static: bool, scope: ConsumerScope) -> Iterator[Request]:
    """All of them, from one member."""
    others = (False, True) if static and seat is not None else (False,)
    for other in others:
        for said in _subscriptions(seat, scope):
            for assignor in _assignors(scope):
                yield Request(
                    Kind.JOIN,
                    owned=0,
                    full=True,
                    assignor=assignor,
                    other=other,
                    **said,
                )
        yield Request(Kind.LEAVE, other=other)
        if static:
            yield Request(Kind.PARK, other=other)
    yield from _beats(seat, scope)
    if len(others) > 1:
        yield Request(Kind.BEAT, Tag.CURRENT, other=True)


def _subscriptions(seat: Seat | None, scope: ConsumerScope) -> Iterator[dict[str, Any]]:
    """By names, as Java sends them, and by a pattern instead; a pattern is given up by what has
    one.
    """
    kind = "regex" if scope.regexes else "pattern"
    for topics in (scope.topic(0),) if scope.regexes else scope.subscriptions:
        yield {"subscribed": topics}
        if seat is not None and getattr(seat, kind):
            yield {"subscribed": topics, kind: 0}
    if scope.matches:
        for pattern in range(1, scope.regexes + 1) if scope.regexes else (scope.everything,):
            yield {"subscribed": 0, kind: pattern}


def _assignors(scope: ConsumerScope) -> tuple[str | None, ...]:
    return (None, *NAMES, UNKNOWN) if scope.assignor == NAMED else (None,)


def _beats(seat: Seat | None, scope: ConsumerScope) -> Iterator[Request]:
    if seat is None:
        yield Request(Kind.BEAT)
        return
    if scope.regexes:
        yield from _few_beats(seat, scope)
        return
    tags: tuple[Tag, ...] = (Tag.CURRENT,)
    if seat.previous == Previous.NEW:  # a heartbeat with epoch 0 is a first one
        tags = ()
    elif seat.previous == Previous.OLDER and not seat.parked:
        tags = (Tag.CURRENT, Tag.PREVIOUS)
    for tag in tags:
        for owned in (None, *range(scope.everything + 1)):
            yield Request(Kind.BEAT, tag, owned)
            for said in _subscriptions(seat, scope):
                yield Request(Kind.BEAT, tag, owned, **said)
                if owned is not None:
                    yield Request(Kind.BEAT, tag, owned, True, **said)
        for assignor in _assignors(scope):
            if assignor is not None:
                yield Request(Kind.BEAT, tag, seat.assigned, assignor=assignor)
    yield Request(Kind.BEAT, Tag.AHEAD)


def _few_beats(seat: Seat, scope: ConsumerScope) -> Iterator[Request]:
    """With regexes: those of a member that follows, or that changes its subscription. The others
    are the same as without.
    """
    if seat.previous == Previous.NEW or seat.parked:
        return
    for owned in dict.fromkeys((None, 0, seat.owned)):
        yield Request(Kind.BEAT, Tag.CURRENT, owned)
    for said in _subscriptions(seat, scope):
        yield Request(Kind.BEAT, Tag.CURRENT, **said)


@rule("request", "failing", when=lambda link: link.answer is None)
def anybody_sends(
    link: Link, seat: Seat | None, budget: Budget, scope: ConsumerScope
) -> Iterator[Asked]:
    """A heartbeat arrives that some client could have sent; perhaps its append fails."""
    for request in heartbeats(seat, static=link.static, scope=scope):
        yield "request", evolve(link, request=request), seat, budget
        if budget.allows("append_failure"):
            failing = evolve(link, request=request, fails=True)
            yield "failing", failing, seat, budget.spend("append_failure")


@urgent(when=lambda link: link.answer is not None)
def nobody_hears(link: Link) -> Iterator[Link]:
    """Nobody waits for the answer."""
    yield evolve(link, answer=None)
