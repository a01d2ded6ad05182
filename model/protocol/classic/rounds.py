"""Rounds of the classic coordinator: starting one, completing it, handing out the assignment
(protocol.md 1.11, 1.12, 1.7).

What concerns all members is left to a walk over the seats (`walks`), which begins in the same step.
Kafka: GroupMetadataManager.prepareRebalance, completeClassicGroupJoin, setAndPropagateAssignment;
the old GroupCoordinator.scala alike.
"""

from __future__ import annotations

from groupcheck.model.engine import but
from groupcheck.model.protocol.classic.group import Core, Pass, Phase, Walk
from groupcheck.model.protocol.classic.scope import Scope
from groupcheck.model.protocol.codes import REBALANCE_IN_PROGRESS


def prepare(core: Core, code: int = REBALANCE_IN_PROGRESS, expel: bool = False) -> Core:
    """Starts a round (prepareRebalance): who waits in SyncGroup is sent back with `code`; from
    Empty the initial delay begins.

    With `expel`, the members that have not sent SyncGroup are removed first (the sync timer).
    """
    if core.phase == Phase.EMPTY:
        return but(core, phase=Phase.PREPARING, initial=True, extended=False)
    walk = Walk(Pass.RESTART, 0, code=code, expel=expel, led=expel and core.led)
    return but(
        core,
        phase=Phase.PREPARING,
        initial=False,
        extended=False,
        appending=False,
        recorded=False,
        deadline=False,
        due=0,
        walk=walk,
    )


def attempt(core: Core, scope: Scope, expiry: bool = False) -> Core:
    """Completes the round if everybody has joined (maybeCompleteJoinPhase); an expiry does so even
    during the initial delay.
    """
    if core.phase == Phase.PREPARING and (expiry or not core.initial) and core.all_joined:
        return complete(core, scope)
    return core


def complete(core: Core, scope: Scope) -> Core:
    """Begins the generation: who is not parked is removed, the others are answered. At the edge of
    the scope the group waits instead.
    """
    if core.generation >= scope.generations:
        return core
    generation = core.generation + 1
    walk = Walk(
        Pass.COMPLETE,
        0,
        left=core.parked,
        generation=generation,
        led=core.leader_parked,
        clears=not core.parked,
    )
    return but(
        core,
        generation=generation,
        led=core.leader_parked,
        leader_parked=False,
        initial=False,
        extended=False,
        walk=walk,
    )


def after_removal(core: Core, scope: Scope, expiry: bool = False) -> Core:
    """A member or an id that had been handed out is gone: a round starts, or the running one may
    complete.
    """
    if core.phase >= Phase.COMPLETING:
        return prepare(core)
    return succeed(attempt(core, scope, expiry))


def succeed(core: Core) -> Core:
    """If the leader is gone and the round goes on, another one follows at once. (A round that
    completes chooses among those who joined.)
    """
    if not core.led and core.members and core.walk is None:
        return but(core, walk=Walk(Pass.ELECT, 0, left=core.members))
    return core


def elect_assignor(core: Core, scope: Scope) -> Core:
    """The members of the new generation vote for an assignor, where they list different ones
    (ClassicGroup.selectProtocol).
    """
    if not scope.lists:
        return core
    return but(
        core,
        walk=Walk(Pass.VOTE, 0, members=core.members, votes=(0,) * len(scope.assignors_listed)),
    )


def assign(core: Core, scope: Scope) -> Core:
    """The leader's assignment is committed: it is stored, and whoever waits in SyncGroup gets its
    share.
    """
    everything = (1 << scope.partition_count) - 1
    keeps = tuple([fault for fault in core.keeps if fault != "new_member_timeout"])
    walk = Walk(
        Pass.ASSIGN,
        0,
        members=core.members,
        left=core.members,
        free=everything,
        again=core.recorded,
        keeps=keeps,
    )
    return but(core, walk=walk)


def write_record(core: Core, scope: Scope) -> Core:
    """From now on, a fail-over loads the leader's assignment, whether or not its append is ever
    seen to commit.
    """
    everything = (1 << scope.partition_count) - 1
    return but(
        core,
        recorded=True,
        walk=Walk(Pass.RECORD, 0, members=core.members, left=core.members, free=everything),
    )
