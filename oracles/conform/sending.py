"""The commands that carry out an input on the real coordinator, from where it stands."""

from __future__ import annotations

import attrs

from groupcheck.model.protocol import messages
from groupcheck.model.protocol.classic import failover, timers
from groupcheck.model.protocol.classic.features import failover_phases, takeover
from groupcheck.model.protocol.classic.features.triggers.scope import TriggersScope
from groupcheck.model.protocol.classic.features.triggers.settings import max_size
from groupcheck.model.protocol.classic.group import Seat, Seats
from groupcheck.model.protocol.classic.scope import Scope
from groupcheck.oracles.conform import full_offsets, phases, takeovers
from groupcheck.oracles.conform.real_position import (
    Move,
    Standing,
    append_fails,
    kept,
    kept_until,
    leads_with,
    offset_of,
    replicates,
    unwritten,
)
from groupcheck.oracles.conform.row import (
    CHANGED,
    LOWER_MAX_SIZE,
    Asks,
    Fires,
    Input,
    Memory,
    Outcome,
)
from groupcheck.oracles.conform.schedule_memory import (
    Key,
    left_over,
)
from groupcheck.oracles.conform.topics import layout_of, partitions_of, range_shares, topics_of
from groupcheck.oracles.kafka import commands
from groupcheck.oracles.kafka.commands import (
    AutoCommit,
    Command,
    CommitAppends,
    FailAppends,
    FailOver,
    Fire,
)

# Member i has timeouts of its own, and other ones once its subscription has changed.
SESSION_MS, SESSION_STEP_MS = 10_000, 1000
# The initial delay can be extended nine times.
REBALANCE_MS, REBALANCE_STEP_MS = 30_000, 10_000
CHANGED_MS = 500


def move(
    at: Standing,
    before: Memory,
    given: Input,
    outcome: Outcome,
    scope: Scope,
) -> Move:
    """The commands for an input; `outcome` is one that the model allows."""
    then = replicates(at, before, given, outcome, scope)
    leads = leads_with(before, given)
    writes = leads or unwritten(before, outcome) or takeovers.begins(before, given, outcome)
    holds = writes and not at.log.held
    prelude: tuple[Command, ...] = (AutoCommit(on=False),) if holds else ()
    if append_fails(before, outcome):
        prelude = (FailAppends(),)
    if isinstance(given, Fires):
        outside = full_offsets.command(given)
        if outside and given.former:
            outside = attrs.evolve(outside, broker=phases.former(at.commands))
        asks = isinstance(outside, commands.Request)
        asked = len(at.commands) + len(prelude) + 1 if asks else 0
        fired = (outside,) if outside else _fires(at, before, given, scope)
        return Move((*prelude, *fired), then, asked)
    request = _request(at, before, given, scope, leads)
    if given.former:
        request = attrs.evolve(request, broker=phases.former(at.commands))
    return Move((*prelude, request), then, len(at.commands) + len(prelude) + 1)


def user_data(said: messages.JoinGroup | Seat) -> str | None:
    """User data that stand for those of CooperativeStickyAssignor."""
    return None if said.assigned == messages.NO_GENERATION else str(said.assigned)


def written_user_data(text: str | None) -> str | None:
    """User data as it is read back, in hexadecimal digits."""
    return None if text is None else text.encode().hex()


def _request(at: Standing, before: Memory, given: Asks, scope: Scope, leads: bool) -> Command:
    request, me = given.request, given.member
    assert not isinstance(request, messages.Store)
    name = (at.former if given.former and at.former else at).name(me, request.id)
    instance = takeovers.instance(before.seats[me], me)
    match request:
        case messages.JoinGroup():
            changed = CHANGED_MS * (request.claimed == CHANGED)
            return commands.JoinGroup(
                member=name,
                instance=instance,
                owned_generation=request.claimed,
                user_data=user_data(request),
                topics=topics_of(request.topics, scope),
                owned=partitions_of(request.owned, scope),
                protocols=_protocols(scope, given, before.seats[me]),
                session_timeout_ms=SESSION_MS + SESSION_STEP_MS * me + changed,
                rebalance_timeout_ms=REBALANCE_MS + REBALANCE_STEP_MS * me + changed,
                version=None if scope.two_step or instance else 3,
            )
        case messages.SyncGroup():
            planned = plan(at, before.seats, request.sees, scope) if leads else ()
            return commands.SyncGroup(
                member=name,
                instance=instance,
                generation=request.generation,
                assignments=planned,
            )
        case messages.Heartbeat():
            return commands.Heartbeat(member=name, instance=instance, generation=request.generation)
        case messages.LeaveGroup():
            return commands.LeaveGroup(member=name, instance=instance)
        case messages.OffsetCommit():
            return commands.OffsetCommit(
                member=name,
                instance=instance,
                generation=request.generation,
                offsets={layout_of(scope)[0].name: {0: request.offset}},
            )
        case messages.TxnOffsetCommit():
            return commands.TxnOffsetCommit(
                member=name,
                instance=instance if name else None,
                generation=request.generation,
                producer=me + 1,
                offsets={layout_of(scope)[0].name: {0: request.offset}},
            )
        case messages.OffsetFetch():
            return commands.OffsetFetch(stable=request.stable)


def _protocols(scope: Scope, given: Asks, seats: Seats) -> tuple[str, ...]:
    """The protocols that the process lists."""
    if given.relisted:
        assert isinstance(scope, TriggersScope)
        return scope.lists_after[given.member]
    return seats.listed or ("range",)


def plan(
    at: Standing, seats: tuple[Seats, ...], sees: int, scope: Scope
) -> tuple[tuple[str, frozenset[tuple[str, int]]], ...]:
    """The plan that the leader hands out: the range assignor's shares, with members ordered by
    index. `sees`: the partitions that it knows, as a bit mask (see `triggers`).
    """
    shares = planned_shares(seats, sees, scope)
    return tuple((at.name(*key), partitions_of(share, scope)) for key, share in shares.items())


def planned_shares(seats: tuple[Seats, ...], sees: int, scope: Scope) -> dict[Key, int]:
    """(process, id) of each member -> its share in the leader's plan, as a bit mask."""
    members = {
        (me, id): seat.topics for me, some in enumerate(seats) for id, seat in some if seat.member
    }
    return dict(zip(members, range_shares(tuple(members.values()), sees, scope)))


def _fires(at: Standing, before: Memory, given: Fires, scope: Scope) -> tuple[Command, ...]:
    core = before.core
    if given.rule == LOWER_MAX_SIZE:
        size = max_size(core, scope)
        assert size is not None
        return (FailOver(keep=kept(at, before), config={"group.max.size": size - 1}),)
    match given.rule:
        case takeover.takeover_committed.name:
            return (_replicated(at, dict(at.takeovers)[given.member or 0]),)
        case takeover.takeover_failed.name:
            return (Fire(timer=f"append-{dict(at.takeovers)[given.member or 0]}"),)
        case timers.append_committed.name:
            return (AutoCommit(on=True),)
        case timers.append_failed.name:
            return (Fire(timer=f"append-{at.append}"),)
        case timers.initial_delay.name:
            twice = left_over(at.past, at.commands, core)
            return (Fire(timer="join-g"),) * (2 if twice else 1)
        case timers.rebalance_timeout.name:
            return (Fire(timer="join-g"),)
        case timers.sync_timeout.name:
            return (Fire(timer="sync-g"),)
        case failover.fail_over.name:
            whole = kept_until(at, before) == at.log.written
            return phases.begun(given.way, kept(at, before), whole, at.commands)
        case failover_phases.load_group.name | failover_phases.former_learns.name:
            return phases.ended(given.rule, at.commands)
    assert given.member is not None and given.id is not None
    return (Fire(timer=f"heartbeat-g-{at.name(given.member, given.id)}"),)


def _replicated(at: Standing, number: int) -> Command:
    """Replicates the record of a takeover, and what stands before it; all, if it is the last."""
    if max(n for _, n in at.takeovers) == number:
        return AutoCommit(on=True)
    return CommitAppends(to=offset_of(at, number) + 1)
