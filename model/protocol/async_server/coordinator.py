"""How the coordinator answers requests: one rule for each API, over (core, seats[i], link[i]).

A member asks for an id first, and the coordinator remembers nothing of it, so that no id that was
never used holds up a round (KIP-394 keeps such ids, which makes no difference here). There is no
SyncGroup: the answer to JoinGroup carries the share. An old client sends SyncGroup behind it and is
answered at once; both are one exchange here.
"""

from __future__ import annotations

from collections.abc import Iterator

from groupcheck.model.engine import evolve, urgent
from groupcheck.model.protocol.async_server.group import Core, Seat, Seats, remove
from groupcheck.model.protocol.async_server.messages import Report
from groupcheck.model.protocol.async_server.rounds import after_removal, answer, attempt, prepare
from groupcheck.model.protocol.async_server.scope import AsyncScope
from groupcheck.model.protocol.classic.group import Phase
from groupcheck.model.protocol.codes import (
    ILLEGAL_GENERATION,
    MEMBER_ID_REQUIRED,
    NONE,
    REBALANCE_IN_PROGRESS,
    UNKNOWN_MEMBER_ID,
)
from groupcheck.model.protocol.link import Link, handled, mentions, park, reply
from groupcheck.model.protocol.messages import (
    NO_GENERATION,
    NO_ID,
    Answer,
    Heartbeat,
    JoinGroup,
    LeaveGroup,
    OffsetCommit,
)

Outcome = tuple[str, Core, Seats, Link]


def new_id(seats: Seats, link: Link) -> int:
    """The smallest number that no seat, no message on its way and no record still carries."""
    id = 0
    while (
        seats[id] is not None
        or mentions(link, id)
        or any(known == id for known, *_ in seats.durable)
    ):
        id += 1
    return id


@urgent(
    "id_required",
    "unknown",
    "added",
    "repeated",
    "answered_again",
    "parked",
    "rejoined",
    when=lambda link: isinstance(link.request, JoinGroup),
)
def join_group(core: Core, seats: Seats, link: Link, scope: AsyncScope) -> Iterator[Outcome]:
    """A member joins, or joins again: it owns nothing any more. Its request is parked until a plan
    has a share for it that nobody else owns.
    """
    request = handled(link, JoinGroup)
    seat = seats[request.id]
    if request.id == NO_ID:
        id = new_id(seats, link)
        told = reply(link, Answer(request, MEMBER_ID_REQUIRED, id))
        yield "id_required", core, seats, told
    elif seat is None and request.claimed != NO_GENERATION:
        yield "unknown", core, seats, reply(link, Answer(request, UNKNOWN_MEMBER_ID))
    elif seat is None:
        yield _add(core, seats, link, request, scope)
    elif seat.join:
        yield "repeated", core, seats, _parked(link, request)
    elif _answered_since(seat, request, scope):
        given = Answer(request, NONE, request.id, seat.epoch, seat.owned)
        yield "answered_again", core, seats, reply(link, given)
    else:
        yield _join_again(core, seats, link, request, seat, scope)


def _answered_since(seat: Seat, request: JoinGroup, scope: AsyncScope) -> bool:
    """Was the member answered since it has sent this request? A coordinator that has loaded the
    group cannot know, but then the request was sent to itself, by a member that owns nothing.
    """
    known = seat.loaded is None and scope.rejoin == "answered_again"
    return known and request.claimed < seat.epoch


def _parked(link: Link, request: JoinGroup) -> Link:
    """The request waits. One from a dead connection does not take the place of another one."""
    return park(link, request) if link.live else evolve(link, request=None, live=True)


def _add(core: Core, seats: Seats, link: Link, request: JoinGroup, scope: AsyncScope) -> Outcome:
    """A new member, which owns nothing: a round begins, or the running one has its report."""
    waits = core.phase == Phase.COMPLETING and scope.joins == "wait"
    core = evolve(core, members=core.members + 1)
    if core.phase == Phase.PREPARING:
        core = attempt(core, scope)
    elif waits:
        core = evolve(core, again=True)
    else:
        core = prepare(core)
    seat = Seat(join=True, heard=core.phase == Phase.PREPARING, later=waits)
    return "added", core, seats.put(request.id, seat), _parked(link, request)


def _join_again(
    core: Core, seats: Seats, link: Link, request: JoinGroup, seat: Seat, scope: AsyncScope
) -> Outcome:
    """A member has given up what it owned, which others may get now."""
    joined = evolve(seat.heard_in(request.claimed), owned=0, join=True, marked=False)
    if core.phase == Phase.PREPARING:
        core = evolve(core, missing=core.missing - (not seat.heard))
        joined = evolve(joined, heard=True)
        return (
            "parked",
            attempt(core, scope),
            seats.put(request.id, joined),
            _parked(link, request),
        )
    settled = core.phase == Phase.STABLE or seat.settled
    core = evolve(
        core,
        phase=Phase.COMPLETING,
        unsettled=core.unsettled + settled,
        withheld=core.withheld & ~seat.owned,
    )
    return "rejoined", answer(core, scope), seats.put(request.id, joined), _parked(link, request)


@urgent(
    "unknown",
    "illegal_generation",
    "reported",
    "told",
    "accepted",
    when=lambda link: isinstance(link.request, Heartbeat),
)
def heartbeat(core: Core, seats: Seats, link: Link, scope: AsyncScope) -> Iterator[Outcome]:
    """A member shows that it lives. In PreparingRebalance the heartbeat is its report; later, a
    member that is marked is told to re-join.
    """
    request = handled(link, Heartbeat)
    seat = seats[request.id]
    told = reply(link, Answer(request, REBALANCE_IN_PROGRESS))
    if seat is None:
        yield "unknown", core, seats, reply(link, Answer(request, UNKNOWN_MEMBER_ID))
    elif _outdated(core, seat, request, scope):
        answer = reply(link, Answer(request, ILLEGAL_GENERATION))
        if scope.stale == "believed" and core.phase == Phase.PREPARING and not seat.join:
            core, seats = _reported(core, seats, request, seat, scope)
        yield "illegal_generation", core, seats, answer
    elif core.phase == Phase.PREPARING and not seat.heard:
        if scope.old == "told" and not isinstance(request, Report):
            yield "told", core, seats, told
        else:
            core, seats = _reported(core, seats, request, seat, scope)
            yield "reported", core, seats, reply(link, Answer(request))
    elif seat.marked:
        kept = evolve(seat, marked=scope.mark == "kept")
        yield "told", core, seats.put(request.id, kept), told
    else:
        seats = seats.put(request.id, seat.heard_in(request.generation))
        yield "accepted", core, seats, reply(link, Answer(request))


def _outdated(core: Core, seat: Seat, request: Heartbeat, scope: AsyncScope) -> bool:
    """Does the heartbeat name another generation than it should?"""
    if scope.epochs == "group" and core.phase != Phase.PREPARING and not seat.marked:
        return request.generation != core.generation
    return not seat.names_its_epoch(request.generation)


def _reported(
    core: Core, seats: Seats, request: Heartbeat, seat: Seat, scope: AsyncScope
) -> tuple[Core, Seats]:
    """The member has reported; the last report makes the plan."""
    if isinstance(request, Report):
        owned = request.owned
    elif scope.old == "nothing":
        owned = 0
    else:
        owned = seat.owned if seat.loaded is None else seat.share
    core = evolve(core, missing=core.missing - (not seat.heard))
    said = evolve(seat.heard_in(request.generation), heard=True, owned=owned)
    return attempt(core, scope), seats.put(request.id, said)


@urgent("unknown", "left", when=lambda link: isinstance(link.request, LeaveGroup))
def leave_group(core: Core, seats: Seats, link: Link, scope: AsyncScope) -> Iterator[Outcome]:
    """A member leaves, and has given up everything."""
    request = handled(link, LeaveGroup)
    if seats[request.id] is None:
        yield "unknown", core, seats, reply(link, Answer(request, UNKNOWN_MEMBER_ID))
        return
    core, seats = remove(core, seats, request.id)
    yield "left", after_removal(core, scope), seats, reply(link, Answer(request))


@urgent(
    "unknown",
    "illegal_generation",
    "rebalancing",
    "accepted",
    when=lambda link: isinstance(link.request, OffsetCommit),
)
def offset_commit(core: Core, seats: Seats, link: Link, scope: AsyncScope) -> Iterator[Outcome]:
    """A member commits. It has to name its own generation, and may not have re-joined since; a
    member that is marked may commit until it does.
    """
    request = handled(link, OffsetCommit)
    seat = seats[request.id]
    if seat is None:
        yield "unknown", core, seats, reply(link, Answer(request, UNKNOWN_MEMBER_ID))
    elif scope.commits == "by_id":
        yield "accepted", core, seats, reply(link, Answer(request))
    elif not _may_commit(core, seat, request, scope):
        yield "illegal_generation", core, seats, reply(link, Answer(request, ILLEGAL_GENERATION))
    elif seat.join:
        yield "rebalancing", core, seats, reply(link, Answer(request, REBALANCE_IN_PROGRESS))
    else:
        yield "accepted", core, seats, reply(link, Answer(request))


def _may_commit(core: Core, seat: Seat, request: OffsetCommit, scope: AsyncScope) -> bool:
    """Does the commit name the generation that it should?"""
    if scope.epochs == "mark" and seat.marked:
        return request.generation == core.generation
    return seat.names_its_epoch(request.generation)


REQUEST_RULES = (join_group, heartbeat, leave_group, offset_commit)
