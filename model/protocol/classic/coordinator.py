"""How the classic coordinator answers requests (protocol.md 1.4 to 1.10): one rule for each API,
over (core, seats[i], link[i]).

Kafka: GroupMetadataManager (classicGroupJoin, classicGroupSync, classicGroupHeartbeat,
classicGroupLeave) and OffsetMetadataManager; the old GroupCoordinator.scala does the same unless a
rule says otherwise. The group exists, sizes and timeouts are in range, and there are no ACLs.
"""

from __future__ import annotations

from collections.abc import Iterator

from groupcheck.model.engine import evolve, remembered, urgent
from groupcheck.model.protocol.classic.assignment import write_record
from groupcheck.model.protocol.classic.group import (
    Core,
    Phase,
    Seat,
    Seats,
    is_member,
    remove,
    supported,
)
from groupcheck.model.protocol.classic.rounds import (
    after_removal,
    attempt,
    prepare,
    succeed,
)
from groupcheck.model.protocol.classic.scope import Scope
from groupcheck.model.protocol.codes import (
    GROUP_MAX_SIZE_REACHED,
    ILLEGAL_GENERATION,
    INCONSISTENT_GROUP_PROTOCOL,
    MEMBER_ID_REQUIRED,
    NONE,
    REBALANCE_IN_PROGRESS,
    UNKNOWN_MEMBER_ID,
)
from groupcheck.model.protocol.link import Link, deliver, handled, mentions, orphan, park, reply
from groupcheck.model.protocol.messages import (
    NO_ID,
    Answer,
    Heartbeat,
    JoinGroup,
    LeaveGroup,
    OffsetCommit,
    Store,
    SyncGroup,
)

Outcome = tuple[str, Core, Seats, Link]
HANDED_OUT = Seat()  # an id that has not joined yet
# A member that joins, without and with the five-minute timer.
JOINING, NEWCOMER = Seat(True, join=True), Seat(True, new=True, join=True)
NEVER_TOLD = 100  # the first id of those that the coordinator gives to dead connections


@remembered
def new_id(seats: Seats, link: Link) -> int:
    """The smallest number that no seat, no message on its way and no record still carries.

    An id for a dead connection is taken from a range of its own, because no member will ever use
    it, and the member that has sent the request may hold a small number that the coordinator has
    forgotten.
    """
    id = 0 if link.live else NEVER_TOLD
    while (
        seats[id] is not None
        or mentions(link, id)
        or any(known == id for known, _ in seats.durable)
        or any(id == seat.owed or seat.takes_from(id) for _, seat in seats)
    ):
        id += 1
    return id


def accepts(core: Core, seat: Seat | None, scope: Scope) -> bool:
    """Does the size of the group allow this join (KIP-389, acceptJoiningMember)? Pending ids do not
    count, and known members may come back.
    """
    if scope.max_size is None or core.phase == Phase.EMPTY:
        return True
    if core.phase == Phase.PREPARING:
        return (seat is not None and seat.member and seat.join) or core.parked < scope.max_size
    return is_member(seat) or core.members < scope.max_size


@urgent(
    "too_many",
    "inconsistent",
    "id_required",
    "added",
    "unknown",
    "parked",
    "unchanged",
    "restarted",
    when=lambda link: isinstance(link.request, JoinGroup),
)
def join_group(core: Core, seats: Seats, link: Link, scope: Scope) -> Iterator[Outcome]:
    """A member wants to join the group. If it has no id, it gets one and must send JoinGroup again
    (KIP-394). Then its request is parked until the round completes.
    """
    request = handled(link, JoinGroup)
    seat = seats[request.id]
    if not accepts(core, seat, scope):
        yield from _too_many(core, seats, link, request, scope)
    elif not agrees(core, seats, scope):
        yield "inconsistent", core, seats, reply(link, Answer(request, INCONSISTENT_GROUP_PROTOCOL))
    elif request.id == NO_ID:
        id = new_id(seats, link)
        if scope.two_step:
            seats = seats.put(id, HANDED_OUT)
            yield (
                "id_required",
                evolve(core, pending=core.pending + 1),
                seats,
                reply(link, Answer(request, MEMBER_ID_REQUIRED, id)),
            )
        else:
            yield _add(core, seats, link, id, evolve(request, id=id), scope)
    elif seat is None or (seat.member and core.phase == Phase.EMPTY):
        yield "unknown", core, seats, reply(link, Answer(request, UNKNOWN_MEMBER_ID))
    elif not seat.member:
        yield _add(evolve(core, pending=core.pending - 1), seats, link, request.id, request, scope)
    else:
        yield from _join_again(core, seats, link, seat, request, scope)


def agrees(core: Core, seats: Seats, scope: Scope) -> bool:
    """Do all members support an assignor that the joiner lists (supportsProtocols)? An Empty group
    takes any.
    """
    if not core.support or core.phase == Phase.EMPTY:
        return True
    return any(
        n == core.members and name in seats.listed
        for n, name in zip(core.support, scope.assignors_listed, strict=True)
    )


def _too_many(
    core: Core, seats: Seats, link: Link, request: JoinGroup, scope: Scope
) -> Iterator[Outcome]:
    if seats[request.id] is not None:
        core, seats = remove(core, seats, request.id, scope)
        core = succeed(core)
    yield "too_many", core, seats, reply(link, Answer(request, GROUP_MAX_SIZE_REACHED))


def _add(
    core: Core, seats: Seats, link: Link, id: int, request: JoinGroup, scope: Scope
) -> Outcome:
    """addMemberAndRebalance: the new member's request is parked, with the five-minute timer. A
    round starts, or the running one may complete. The first member leads.
    """
    if not core.members:
        core, seats = evolve(core, led=True, leader_parked=True), evolve(seats, leader=id)
    seat = subscribed(NEWCOMER if "new_member_timeout" in core.keeps else JOINING, request)
    core = evolve(
        core,
        members=core.members + 1,
        parked=core.parked + 1,
        support=supported(core.support, seats, 1, scope),
    )
    core = (
        attempt(evolve(core, extended=core.initial), scope)
        if core.phase == Phase.PREPARING
        else prepare(core)
    )
    return "added", core, seats.put(id, seat), park(link, request)


@remembered
def subscribed(seat: Seat, request: JoinGroup) -> Seat:
    """The member with the subscription of its JoinGroup."""
    return evolve(
        seat,
        claimed=request.claimed,
        owned=request.owned,
        topics=request.topics,
        more=request.more,
        assigned=request.assigned,
    )


def _join_again(
    core: Core, seats: Seats, link: Link, seat: Seat, request: JoinGroup, scope: Scope
) -> Iterator[Outcome]:
    """A known member joins: it is parked in a running round, and answered at once if nothing has
    changed. Otherwise, or if it leads a Stable group, a new round starts.
    """
    leads = seats.leader == request.id
    same = subscribed(seat, request) == seat and not (seat.loaded and len(seats.listed) > 1)
    unchanged = same and (core.phase == Phase.COMPLETING or not leads)
    if core.phase != Phase.PREPARING and unchanged:
        yield (
            "unchanged",
            core,
            seats,
            reply(link, Answer(request, NONE, request.id, core.generation)),
        )
        return
    if seat.loaded:
        core = evolve(
            core,
            support=supported(
                supported(core.support, seats, -1, scope, core.assignor), seats, 1, scope
            ),
        )
    core = evolve(
        core, parked=core.parked + (not seat.join), leader_parked=core.leader_parked or leads
    )
    joined = subscribed(evolve(seat, join=True, loaded=False), request)
    seats = seats.put(request.id, joined)
    if core.phase == Phase.PREPARING:
        yield "parked", attempt(core, scope), seats, park(link, request)
        return
    yield "restarted", prepare(core), seats, park(link, request)


@urgent(
    "unknown",
    "illegal_generation",
    "rebalancing",
    "stable",
    "led",
    "parked",
    when=lambda link: isinstance(link.request, SyncGroup),
)
def sync_group(core: Core, seats: Seats, link: Link, scope: Scope) -> Iterator[Outcome]:
    """A member asks for its share: it waits until the leader's assignment is written, or gets it at
    once in a Stable group.
    """
    request = handled(link, SyncGroup)
    seat = seats[request.id]
    if seat is None or not seat.member or core.phase == Phase.EMPTY:
        yield "unknown", core, seats, reply(link, Answer(request, UNKNOWN_MEMBER_ID))
    elif request.generation != core.generation:
        yield "illegal_generation", core, seats, reply(link, Answer(request, ILLEGAL_GENERATION))
    elif core.phase == Phase.PREPARING:
        yield "rebalancing", core, seats, reply(link, Answer(request, REBALANCE_IN_PROGRESS))
    else:
        due = core.due - seat.due
        core = evolve(core, due=due, deadline=core.deadline and due > 0)
        if core.phase == Phase.STABLE:
            seats = seats.put(request.id, evolve(seat, due=False))
            share = Answer(
                request, NONE, request.id, request.generation, seat.share, told=seat.told
            )
            yield "stable", core, seats, reply(link, share)
        else:
            leads = seats.leader == request.id and not core.appending
            seats = seats.put(request.id, evolve(seat, sync=True, due=False))
            core = evolve(core, appending=core.appending or leads)
            yield "led" if leads else "parked", core, seats, park(link, request)
            if leads and "fail_over" in core.keeps:
                yield "led", write_record(core, scope), seats, park(link, request)


@urgent(
    "unknown",
    "illegal_generation",
    "rebalancing",
    "accepted",
    when=lambda link: isinstance(link.request, Heartbeat),
)
def heartbeat(core: Core, seats: Seats, link: Link) -> Iterator[Outcome]:
    """A member shows that it lives, and hears whether it is still a member and whether a round is
    running. The session timer starts again, even in place of a new member's five-minute timer.
    """
    request = handled(link, Heartbeat)
    if not is_member(seats[request.id]) or (
        request.generation == core.generation and core.phase == Phase.EMPTY
    ):
        yield "unknown", core, seats, reply(link, Answer(request, UNKNOWN_MEMBER_ID))
    elif request.generation != core.generation:
        yield "illegal_generation", core, seats, reply(link, Answer(request, ILLEGAL_GENERATION))
    elif core.phase == Phase.PREPARING:
        seats = _hurry(seats, request.id)
        yield "rebalancing", core, seats, reply(link, Answer(request, REBALANCE_IN_PROGRESS))
    else:
        yield "accepted", core, seats, reply(link, Answer(request))


def _hurry(seats: Seats, id: int) -> Seats:
    """The session timer starts again (rescheduleClassicGroupMemberHeartbeat). A new member, whose
    JoinGroup is parked, has lost its five minutes.
    """
    seat = seats[id]
    return seats.put(id, evolve(seat, hurried=True)) if seat is not None and seat.new else seats


@urgent("unknown", "pending", "left", when=lambda link: isinstance(link.request, LeaveGroup))
def leave_group(core: Core, seats: Seats, link: Link, scope: Scope) -> Iterator[Outcome]:
    """A member leaves. In the new coordinator, an id that has not joined can leave too, which
    starts a round in a Stable group.
    """
    request = handled(link, LeaveGroup)
    seat = seats[request.id]
    if seat is None:
        yield "unknown", core, seats, reply(link, Answer(request, UNKNOWN_MEMBER_ID))
        return
    core, seats = remove(core, seats, request.id, scope)
    link = _forget(link, seat, request.id)
    yield (
        "left" if seat.member else "pending",
        after_removal(core, scope),
        seats,
        reply(link, Answer(request)),
    )


def _forget(link: Link, seat: Seat, id: int) -> Link:
    """A removed member's parked JoinGroup is answered; its parked SyncGroup never is (seen on the
    real coordinator).
    """
    if seat.join:
        link = deliver(link, JoinGroup, id, UNKNOWN_MEMBER_ID)
    return orphan(link, SyncGroup, id) if seat.sync else link


@urgent(
    "unknown",
    "illegal_generation",
    "rebalancing",
    "accepted",
    when=lambda link: isinstance(link.request, OffsetCommit),
)
def offset_commit(core: Core, seats: Seats, link: Link) -> Iterator[Outcome]:
    """A member commits. The commit is refused unless it comes from a member of the current
    generation; whether that owns the partition is never checked. An accepted one starts the session
    timer again, as a heartbeat does.
    """
    request = handled(link, OffsetCommit)
    if not is_member(seats[request.id]) or core.phase == Phase.EMPTY:
        yield "unknown", core, seats, reply(link, Answer(request, UNKNOWN_MEMBER_ID))
    elif request.generation != core.generation:
        yield "illegal_generation", core, seats, reply(link, Answer(request, ILLEGAL_GENERATION))
    elif core.phase == Phase.COMPLETING:
        yield "rebalancing", core, seats, reply(link, Answer(request, REBALANCE_IN_PROGRESS))
    else:
        seats = _hurry(seats, request.id)
        yield "accepted", core, seats, evolve(link, request=Store(request))


REQUEST_RULES = (join_group, sync_group, heartbeat, leave_group, offset_commit)
