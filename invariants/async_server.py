"""A group that the coordinator rebalances while its members go on: who owns what, who may be
stopped, whose commits count, and that no plan gets stuck. (`async_server_goals` has the goals.)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated, Any

from groupcheck.model.engine import invariant, step_invariant, view
from groupcheck.model.protocol.async_server import coordinator, rounds
from groupcheck.model.protocol.async_server.group import Core, Seats
from groupcheck.model.protocol.async_server.member import Client
from groupcheck.model.protocol.async_server.messages import Report
from groupcheck.model.protocol.async_server.scope import AsyncScope
from groupcheck.model.protocol.classic.client import Member
from groupcheck.model.protocol.classic.group import Phase
from groupcheck.model.protocol.classic.step_words import member, partitions
from groupcheck.model.protocol.family import ASYNC_SERVER
from groupcheck.model.protocol.link import Link, waits
from groupcheck.model.protocol.messages import JoinGroup

SOURCE = "asynchronous server-side rebalance"
Tally = tuple[int, int, int]


@view(of=ASYNC_SERVER)
def rightly(seats: Annotated[Seats, "seats[i]"], client: Annotated[Client, "client[i]"]) -> int:
    """The partitions (bit mask) that a member owns which names its own generation."""
    seat = seats[client.id]
    current = seat is not None and seat.names_its_epoch(client.generation)
    return client.owned if current else 0


@view(of=ASYNC_SERVER)
def wrongly(seats: Annotated[Seats, "seats[i]"], client: Annotated[Client, "client[i]"]) -> int:
    """The partitions (bit mask) that a process believes it owns, although it is no member, or
    another request under its id was answered since.
    """
    seat = seats[client.id]
    current = seat is not None and seat.names_its_epoch(client.generation)
    return 0 if current else client.owned


@view(of=ASYNC_SERVER)
def counted(seats: Annotated[Seats, "seats[i]"]) -> int:
    """The partitions (bit mask) that the coordinator counts for the ids of one process."""
    total = 0
    for _, seat in seats:
        total |= seat.owned
    return total


@view(of=ASYNC_SERVER)
def sizes(seats: Annotated[Seats, "seats[i]"]) -> tuple[int, ...]:
    """How many partitions the plan gives to each member of one process that it knows."""
    return tuple([seat.share.bit_count() for _, seat in seats if not seat.later])


@view(of=ASYNC_SERVER)
def tally(core: Core, seats: Annotated[Seats, "seats[i]"]) -> Tally:
    """Counts the members of one process, those that have not reported, and those without their
    share.
    """
    known = [seat for _, seat in seats]
    reports, gives = core.phase == Phase.PREPARING, core.phase == Phase.COMPLETING
    return (
        len(known),
        sum(reports and not seat.heard for seat in known),
        sum(gives and not seat.settled for seat in known),
    )


@invariant(source=f"{SOURCE}, step 4: only members whose share changes stop", of=ASYNC_SERVER)
def owners_apart(a: Annotated[int, "rightly[i]"], b: Annotated[int, "rightly[j]"]) -> bool:
    """No two members own the same partition, each in its own generation.

    Why: members do not stop all together. Whoever gets a partition may go on at once, and whoever
    had it goes on until it re-joins.
    """
    return not a & b


@invariant(source=f"{SOURCE}, step 2: the plan is complete", of=ASYNC_SERVER)
def everything_assigned(
    core: Core, owned: Annotated[tuple[int, ...], "counted[:]"], scope: AsyncScope
) -> bool:
    """In a Stable group every partition has an owner."""
    total = 0
    for mask in owned:
        total |= mask
    return core.phase != Phase.STABLE or total == scope.everything


@invariant(
    source=f"{SOURCE}, step 3: they are told on their next heartbeat",
    broken="{name} has to re-join, and neither knows it nor will be told so by its heartbeats",
    of=ASYNC_SERVER,
)
def marks_last(
    core: Core, seats: Annotated[Seats, "seats[i]"], client: Annotated[Client, "client[i]"]
) -> bool:
    """While a member has to re-join, it will be told so, or it knows it already.

    Why: nobody gets what it has to give up before it does.
    """
    seat = seats[client.id]
    if core.phase != Phase.COMPLETING or seat is None or seat.settled:
        return True
    knows = client.rejoin or client.state != Member.STABLE
    return seat.marked or seat.join or knows


@step_invariant(
    "core",
    "seats",
    "link",
    rules=(coordinator.heartbeat.name,),
    source=f"{SOURCE}: unaffected members never notice",
    broken="{name} is stopped by the answer to its heartbeat, although its share does not change",
    of=ASYNC_SERVER,
)
def others_go_on(before: Any, after: Any, label: str) -> bool:
    """A heartbeat with which a new client reports is answered with NONE, unless the member's share
    changes, it is no member, or another request under its id was answered since.

    Why: any other answer stops the member.
    """
    request = before.link.request
    seat = before.seats[request.id]
    if not before.link.live or not isinstance(request, Report) or seat is None:
        return True
    if label == "told":
        return bool(before.core.phase == Phase.COMPLETING and seat.owned != seat.share)
    return label != "illegal_generation" or not seat.names_its_epoch(request.generation)


def _entitled(before: Any) -> bool:
    request = before.link.request
    seat = before.seats[request.id]
    return seat is not None and not seat.join and bool(seat.names_its_epoch(request.generation))


@step_invariant(
    "core",
    "seats",
    "link",
    rules=(coordinator.offset_commit.name,),
    source="ClassicGroup.validateOffsetCommit",
    broken=(
        "the coordinator accepts a commit of {name} that it sent before it gave its partitions up"
    ),
    of=ASYNC_SERVER,
)
def only_owners_commit(before: Any, after: Any, label: str) -> bool:
    """A commit is accepted only from a member that names the generation in which it was answered
    last, and has not re-joined since.

    Why: any other sender has given its partitions up, and would overwrite what their next owner
    has committed.
    """
    return label != "accepted" or _entitled(before)


@step_invariant(
    "core",
    "seats",
    "link",
    rules=(coordinator.offset_commit.name,),
    source=f"{SOURCE}, step 4: nothing is lost across a revoke",
    broken="{name} commits before it gives its partitions up, and the coordinator refuses that",
    of=ASYNC_SERVER,
)
def owners_may_commit(before: Any, after: Any, label: str) -> bool:
    """The commit of a member that has not re-joined, in the generation in which it was answered
    last, is accepted, even if the member is marked.

    Why: it is the last one before the member gives its partitions up. If it is refused, the next
    owner does the work again.
    """
    return label == "accepted" or not _entitled(before)


@invariant(
    source=f"{SOURCE}, step 2: a sticky assignment",
    broken="plan {core.generation} gives one member more than another one",
    of=ASYNC_SERVER,
)
def plans_are_even(
    core: Core, sizes: Annotated[tuple[tuple[int, ...], ...], "sizes[:]"], scope: AsyncScope
) -> bool:
    """The sizes of any two shares of a sticky plan differ by one at most."""
    if core.phase not in (Phase.COMPLETING, Phase.STABLE) or scope.assignor != "sticky":
        return True
    every = [size for mine in sizes for size in mine]
    return not every or max(every) - min(every) <= 1


@step_invariant(
    "walk",
    "seats",
    rules=(rounds.deal.name,),
    source=f"{SOURCE}, step 2",
    broken="the plan takes partitions from {name} and gives it others",
    of=ASYNC_SERVER,
)
def plans_are_sticky(before: Any, after: Any, scope: AsyncScope) -> bool:
    """A sticky plan takes partitions from a member, or gives it some, but never both.

    Why: what it is given in place of its own moves for nothing, and stops two members.
    """
    if scope.assignor != "sticky":
        return True
    pairs = [(rounds.counted(seat, scope), after.seats[id].share) for id, seat in before.seats]
    return all(not (owned & ~share and share & ~owned) for owned, share in pairs)


@invariant(
    source="protocol: a plan is in the log before anybody is told of it",
    broken=(
        "{name} names generation {client.generation}, but the group has reached only"
        " {core.generation}"
    ),
    of=ASYNC_SERVER,
)
def generations_are_known(core: Core, client: Client) -> bool:
    """No member names a generation that the group has not reached.

    Why: a coordinator that does not find a plan in the log would give its number to another one.
    """
    return client.generation <= core.generation


@invariant(
    source=f"{SOURCE}, step 5: the answer carries the share",
    broken="{name} waits for its share, which nobody else owns, and is not answered",
    of=ASYNC_SERVER,
)
def free_shares_are_answered(core: Core, seats: Seats) -> bool:
    """A parked JoinGroup waits for a plan, or for partitions that another member still owns."""
    if core.phase == Phase.PREPARING:
        return True
    waiting = [seat for _, seat in seats if seat.join and not seat.later]
    return all(core.phase == Phase.COMPLETING and seat.share & core.withheld for seat in waiting)


@invariant(
    source="GroupMetadataManager.completeJoinFuture",
    broken="{name} waits for the answer to its JoinGroup, which the coordinator has forgotten",
    of=ASYNC_SERVER,
)
def waiting_is_remembered(
    seats: Annotated[Seats, "seats[i]"], link: Annotated[Link, "link[i]"]
) -> bool:
    """While a member waits for the answer to a parked JoinGroup, the coordinator remembers it."""
    if link.parked is None or not waits(link, JoinGroup, link.parked.id):
        return True
    seat = seats[link.parked.id]
    return seat is not None and seat.join


@invariant(
    source="ClassicGroup.numAwaitingJoinResponse",
    broken=(
        "the coordinator counts {core.members} members, {core.missing} without a report and"
        " {core.unsettled} without their share, and that is not right"
    ),
    of=ASYNC_SERVER,
)
def group_is_counted(core: Core, tallies: Annotated[tuple[Tally, ...], "tally[:]"]) -> bool:
    """The coordinator's counts of members, of those that have not reported, and of those without
    their share are right.

    Why: they decide when a plan is made, and when it is carried out.
    """
    sums = tuple(sum(tally[k] for tally in tallies) for k in range(3))
    return (core.members, core.missing, core.unsettled) == sums


def _owners_apart(b: Any) -> str:
    both = -1
    for i in b.who:
        both &= b.after["client"][i].owned
    first, second = sorted(b.who, key=lambda i: not b.before["client"][i].owned & both)
    it = "it" if both.bit_count() == 1 else "them"
    if b.before["client"][second].owned & both:
        return f"{member(first)} and {member(second)} both own {partitions(both)}"
    return f"{member(first)} still owns {partitions(both)} when {member(second)} gets {it}"


def _everything_assigned(b: Any) -> str:
    left = b.scope.everything
    for seats in b.after["seats"]:
        left &= ~counted.call(seats)
    return f"the group is Stable, and nobody has {partitions(left)}"


# Invariant -> what makes its sentence, from an `invariants.sentences.Broken`.
SENTENCES: Mapping[str, Callable[[Any], str]] = {
    "owners_apart": _owners_apart,
    "everything_assigned": _everything_assigned,
}
