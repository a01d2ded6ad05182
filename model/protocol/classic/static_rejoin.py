"""A feature of the classic group: static members that come back to a Stable group without a round
(KIP-345; protocol.md 1.6.3).

Every process has an instance id (group.instance.id) of its own, which survives a restart. Messages
do not carry it: the coordinator of the model knows each process by its index.

What the feature covers:

- A JoinGroup without a member id, of an instance that the group does not know, makes a member in
  one step. A static member is never told to come again with an id (79).
- A JoinGroup without a member id, of an instance that the group knows, replaces the member's id. In
  a Stable group the new id takes over the share and is answered at once, in the same generation,
  without a round. In PreparingRebalance the JoinGroup is parked; in CompletingRebalance a round
  starts.
- A static member sends no LeaveGroup, neither when it closes nor when it does not poll in time. The
  coordinator sees a crash, or silence. So the faults `close` and `poll_timeout` do not exist.

What it leaves out:

- Fencing (82). Only the owner of an id that was replaced could meet it, and nobody owns such an id
  here: it takes a JoinGroup that arrives late, and the fault `delay_request` does not exist.
- The append. In a Stable group Kafka answers once the record with the new id is replicated, and
  goes back to the old id if the append fails. Here the record is there at once.
- The SyncGroup that is still owed. Kafka goes on waiting for that of the id that was replaced, and
  its sync timer starts a round that nobody needs. Here the new id owes it.
- Members that list different assignors, static and dynamic members in one group, and LeaveGroup by
  instance id.

Kafka: GroupMetadataManager.classicGroupJoin, updateStaticMemberThenRebalanceOrCompleteJoin.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import ClassVar

import attrs
from attrs import frozen

from groupcheck.model.engine import ScopeError, Spec, but
from groupcheck.model.protocol.classic import client, client_faults, coordinator, timers
from groupcheck.model.protocol.classic.coordinator import Outcome
from groupcheck.model.protocol.classic.group import Core, Phase, Seats
from groupcheck.model.protocol.classic.rounds import attempt, prepare
from groupcheck.model.protocol.classic.scope import Scope
from groupcheck.model.protocol.classic.telling import CODES, PARKS, Words
from groupcheck.model.protocol.feature import own, rebuilt, rewritten, without
from groupcheck.model.protocol.link import Link, park, reply
from groupcheck.model.protocol.messages import NO_ID, Answer, JoinGroup

SILENT = "a static member sends no LeaveGroup"
LACKS: Mapping[str, str] = {
    "close": SILENT,
    "poll_timeout": SILENT,
    "delay_request": "a late JoinGroup would replace a living member, which needs fencing",
}
# The rules of members and connections that serve these faults alone.
GONE = (
    client_faults.close,
    client_faults.poll_timeout,
    client_faults.delay_request,
    timers.late_request,
    client.leave_answer,
    client.closed,
)
REPLACED = ("replaced", "replaced_and_parked", "replaced_and_restarted")
WORDS = Words(
    codes={
        **CODES,
        "join_group:replaced": 0,
        "join_group:replaced_and_parked": None,
        "join_group:replaced_and_restarted": None,
    },
    parks={
        **PARKS,
        "join_group:replaced_and_parked": ("gives {who} a new id", "parks the request"),
        "join_group:replaced_and_restarted": (
            "gives {who} a new id",
            "parks the request",
            "starts a new round",
        ),
    },
)


@frozen
class StaticScope(Scope):
    """The scope of a group in which all members are static."""

    NO_STYLES: ClassVar[str] = "they do not know how static members close"
    LACKS: ClassVar[Mapping[str, str]] = LACKS


def static_rejoin(spec: Spec) -> Spec:
    """The feature: all members are static."""
    if spec.scope.protocols:
        raise ScopeError("static members that list different assignors are left out", where="scope")
    usual = own(spec, coordinator.join_group)
    join = rewritten(usual, _joining(usual.call), labels=(*usual.labels, *REPLACED))
    in_one_step = attrs.evolve(spec.scope, two_step=False)
    return attrs.evolve(without(rebuilt(spec, [join]), *GONE), scope=in_one_step)


def _joining(usual: Callable[..., Iterable[Outcome]]) -> Callable[..., Iterable[Outcome]]:
    def join_group(core: Core, seats: Seats, link: Link, scope: Scope) -> Iterator[Outcome]:
        """A static member wants to be in the group. If the group knows its instance, it has a new
        id from now on; in a Stable group it is answered at once.
        """
        request = link.request
        assert isinstance(request, JoinGroup)
        # For group.max.size Kafka looks for the member by its id, which is empty.
        accepted = coordinator.accepts(core, None, scope)
        if request.id != NO_ID or not seats.ids or not accepted:
            yield from usual(core, seats, link, scope)
            return
        ((old, seat),) = seats.ids  # a process has one instance id, so it has one member id
        id = coordinator.new_id(seats, link)
        joined = but(seat, new=False, join=core.phase != Phase.STABLE, sync=False)
        leads = seats.leader == old
        seats = seats.drop(old).put(id, but(joined, claimed=request.claimed))
        seats = but(seats, leader=id if leads else seats.leader)
        if core.phase == Phase.STABLE:
            answer = Answer(request, id=id, generation=core.generation)
            yield "replaced", core, _recorded(seats, old, id, request.claimed), reply(link, answer)
            return
        core = but(
            core,
            parked=core.parked + (not seat.join),
            leader_parked=core.leader_parked or leads,
        )
        link = park(link, JoinGroup(id, request.claimed))
        if core.phase == Phase.PREPARING:
            yield "replaced_and_parked", attempt(core, scope), seats, link
        else:
            yield "replaced_and_restarted", prepare(core), seats, link

    return join_group


def _recorded(seats: Seats, old: int, id: int, claimed: int) -> Seats:
    """The group record that Kafka writes in a Stable group: the last one, with the new id."""
    renamed = [
        (id, but(seat, claimed=claimed)) if known == old else (known, seat)
        for known, seat in seats.durable
    ]
    leader = id if seats.durable_leader == old else seats.durable_leader
    return but(seats, durable=tuple(renamed), durable_leader=leader)
