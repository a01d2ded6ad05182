"""What a heartbeat says of topics and of assignors. A field that is not there means "as before",
also in a join, so whoever joins under a known id or instance keeps what it does not name.
"""

from __future__ import annotations

from groupcheck.model.engine import evolve
from groupcheck.model.protocol.consumer.memory import Core, Seat
from groupcheck.model.protocol.consumer.messages import Kind, Link, Request
from groupcheck.model.protocol.consumer.plans import NAMED
from groupcheck.model.protocol.consumer.scope import AS_KAFKA, ConsumerScope
from groupcheck.model.protocol.consumer.votes import moved, preferred, preferred_with


def _pattern(seat: Seat, request: Request, scope: ConsumerScope) -> int:
    """The partitions that its regular expression means from now on."""
    if request.pattern is None:
        if scope.regexes:
            return seat.pattern  # the feature changes it
        joins = request.kind == Kind.JOIN and scope.k22 != AS_KAFKA
        return 0 if joins else seat.pattern
    return request.pattern


def _assignor(seat: Seat, request: Request) -> str:
    return seat.assignor if request.assignor is None else request.assignor


def bumps(seat: Seat, request: Request, core: Core, scope: ConsumerScope) -> bool:
    """Is another target needed after it, whatever the group knows of topics? A pattern that nobody
    has resolved needs one later.
    """
    if request.subscribed is not None and request.subscribed != seat.subscribed:
        return True
    pattern = _pattern(seat, request, scope)
    resolved = bool(core.matching) if pattern else scope.release.pattern_ends
    if pattern != seat.pattern and resolved:
        return True
    if not scope.release.follows_votes or scope.assignor != NAMED:
        return False
    return named(seat, request, core, scope) != preferred(core.votes)


def named(seat: Seat, request: Request, core: Core, scope: ConsumerScope) -> str:
    """The assignor of the next target; empty: nobody can name one."""
    if scope.assignor != NAMED:
        return ""
    change = core.votes, seat.assignor, _assignor(seat, request)
    return preferred_with(*change) if scope.k24 == AS_KAFKA else preferred(moved(*change))


def noted(core: Core, seat: Seat, request: Request, scope: ConsumerScope) -> tuple[Core, Seat]:
    """The group, and the member's record, once it is written."""
    pattern, assignor = _pattern(seat, request, scope), _assignor(seat, request)
    if request.subscribed is not None:
        seat = evolve(seat, subscribed=request.subscribed)
    if assignor != seat.assignor:
        core = evolve(core, votes=moved(core.votes, seat.assignor, assignor))
        seat = evolve(seat, assignor=assignor)
    if pattern != seat.pattern:
        resolved = pattern if core.matching else 0
        matching = core.matching + bool(resolved) - bool(seat.pattern)
        core = evolve(core, matching=matching)
        seat = evolve(seat, pattern=resolved, unresolved=pattern != resolved)
    return core, seat


def wanted(link: Link, request: Request, scope: ConsumerScope) -> tuple[int, int]:
    """What the process subscribes to by name and by pattern, as it has said itself, as far as it
    may describe that.
    """
    names, pattern = (0, 0) if request.kind == Kind.JOIN else link.wants
    if request.regex is not None:
        pattern = scope.meaning(request.regex) & ~hidden(link, scope) if request.regex else 0
    return (
        names if request.subscribed is None else request.subscribed,
        pattern if request.pattern is None else request.pattern,
    )


def hidden(process: Link | Seat, scope: ConsumerScope) -> int:
    """The topics that a process may not describe."""
    return scope.topic(scope.topics - 1) if process.blind else 0


def there(core: Core, scope: ConsumerScope) -> int:
    """The topics that exist."""
    return sum(t for t in map(scope.topic, range(scope.topics)) if t & core.topics)
