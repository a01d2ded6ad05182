"""Where the real coordinator stands after a schedule, in the model's terms, and what to tell it
next so that it takes the model's step.
"""

from __future__ import annotations

from attrs import frozen

from groupcheck.model.protocol import messages
from groupcheck.model.protocol.classic import failover, timers
from groupcheck.model.protocol.classic.assignment import interval
from groupcheck.model.protocol.classic.group import Core, Phase, Seats
from groupcheck.model.protocol.classic.scope import Scope
from groupcheck.model.protocol.messages import NO_ID
from groupcheck.oracles.conform.rows import STRANGER, Asks, Fires, Input, Memory, Outcome
from groupcheck.oracles.kafka import commands
from groupcheck.oracles.kafka.commands import AutoCommit, Command, CommitAppends, FailOver, Fire

TOPIC = "t"
INITIAL_DELAY_MS = 3000  # group.initial.rebalance.delay.ms
PATIENCE_MS = 30_000  # rebalance timeout: the initial delay can be extended nine times
CREATION: tuple[Command, ...] = (
    commands.JoinGroup(),
    commands.LeaveGroup(member="m1"),
)  # a group that is there, with nobody in it
FORGOTTEN = "m1"
Name = tuple[tuple[int, int], str]  # (process, id), the driver's name of it


@frozen
class Standing:
    """A schedule that leads to a memory."""

    # The seed of the hash orders with which the commands lead there.
    seed: int = 0
    commands: tuple[Command, ...] = CREATION
    # What the driver calls the ids that are in memory or in the log.
    names: tuple[Name, ...] = ()
    # An id that the coordinator has forgotten.
    gone: str = FORGOTTEN
    # How many ids the coordinator has made.
    made: int = 1
    # (process, number of its request that waits).
    parked: tuple[tuple[int, int], ...] = ()
    # The number of the leader's SyncGroup whose append is in flight; 0 if there is none.
    append: int = 0
    # Appends are not replicated until the schedule says so.
    held: bool = False
    # How often the running initial delay was extended.
    extended: int = 0
    # Requests whose answers wait for an append that was begun before them.
    owed: tuple[int, ...] = ()
    # How many records the log has, and how many of them the other brokers have.
    written: int = 1
    replicated: int = 1

    def name(self, member: int, id: int) -> str:
        """What the driver calls that id."""
        if id == NO_ID:
            return ""
        return self.gone if id == STRANGER else dict(self.names).get((member, id), self.gone)


@frozen
class Move:
    """What takes the real coordinator along one input."""

    # The input itself.
    first: tuple[Command, ...]
    # Commands that replicate what the step has written.
    then: tuple[Command, ...]
    # The number of the request among all commands; 0 if the input is none.
    asked: int = 0

    @property
    def commands(self) -> tuple[Command, ...]:
        return (*self.first, *self.then)


def move(
    at: Standing,
    before: Memory,
    given: Input,
    outcome: Outcome,
    scope: Scope,
    patience_ms: int = PATIENCE_MS,
) -> Move:
    """The commands for an input; `outcome` is one that the model allows."""
    then = _replicates(at, before, given, outcome, scope)
    leads = leads_with(before, given)
    holds = (leads or unwritten(before, outcome)) and not at.held
    prelude: tuple[Command, ...] = (AutoCommit(on=False),) if holds else ()
    if isinstance(given, Fires):
        return Move((*prelude, *_fires(at, before.core, given)), then)
    request = _request(at, before, given, scope, leads, patience_ms)
    return Move((*prelude, request), then, len(at.commands) + len(prelude) + 1)


def empties(before: Memory, outcome: Outcome) -> bool:
    """Does the group become Empty, of which it writes a record?"""
    now = outcome.after.core
    return now.phase == Phase.EMPTY and now.generation > before.core.generation


def unwritten(before: Memory, outcome: Outcome) -> bool:
    """Does the group become Empty in memory, while a fail-over would not find the record of it?"""
    now = outcome.after.core
    return (
        "fail_over" in now.keeps
        and empties(before, outcome)
        and now.durable != (now.generation, False, None)
    )


def leads_with(before: Memory, given: Input) -> bool:
    """Does the leader bring its plan? (Twice, if it asks again before the append has ended: then
    the plan is written twice.)
    """
    if not isinstance(given, Asks) or not isinstance(given.request, messages.SyncGroup):
        return False
    request, core = given.request, before.core
    return (
        core.phase == Phase.COMPLETING
        and before.seats[given.member].leader == request.id
        and request.generation == core.generation
    )


def _request(
    at: Standing, before: Memory, given: Asks, scope: Scope, leads: bool, patience_ms: int
) -> Command:
    request, me = given.request, given.member
    assert not isinstance(request, messages.Store)
    name = at.name(me, request.id)
    match request:
        case messages.JoinGroup():
            return commands.JoinGroup(
                member=name,
                owned_generation=request.claimed,
                protocols=_protocols(scope, me),
                rebalance_timeout_ms=patience_ms,
                version=None if scope.two_step else 3,
            )
        case messages.SyncGroup():
            planned = plan(at, before.seats, scope) if leads else ()
            return commands.SyncGroup(
                member=name, generation=request.generation, assignments=planned
            )
        case messages.Heartbeat():
            return commands.Heartbeat(member=name, generation=request.generation)
        case messages.LeaveGroup():
            return commands.LeaveGroup(member=name)
        case messages.OffsetCommit():
            return commands.OffsetCommit(
                member=name, generation=request.generation, offsets={TOPIC: {0: request.offset}}
            )


def _protocols(scope: Scope, me: int) -> tuple[str, ...]:
    return scope.lists[me] if scope.lists else ("range",)


def plan(
    at: Standing, seats: tuple[Seats, ...], scope: Scope
) -> tuple[tuple[str, frozenset[tuple[str, int]]], ...]:
    """What the leader hands out: the range assignor's shares, with members ordered by index."""
    members = [(me, id) for me, some in enumerate(seats) for id, seat in some if seat.member]
    planned = []
    for rank, (me, id) in enumerate(members):
        share = interval(rank, len(members), scope.partition_count)
        planned.append((at.name(me, id), partitions_of(share)))
    return tuple(planned)


def partitions_of(share: int) -> frozenset[tuple[str, int]]:
    """A share (bit mask) as partitions."""
    return frozenset((TOPIC, p) for p in range(share.bit_length()) if share >> p & 1)


def _fires(at: Standing, core: Core, given: Fires) -> tuple[Command, ...]:
    match given.rule:
        case timers.append_committed.name:
            return (AutoCommit(on=True),)
        case timers.append_failed.name:
            return (Fire(timer=f"append-{at.append}"),)
        case timers.initial_delay.name | timers.rebalance_timeout.name:
            return (Fire(timer="join-g"),)
        case timers.sync_timeout.name:
            return (Fire(timer="sync-g"),)
        case failover.fail_over.name:
            return (FailOver(keep="all" if core.recorded else "committed"),)
    assert given.member is not None and given.id is not None
    return (Fire(timer=f"heartbeat-g-{at.name(given.member, given.id)}"),)


def _replicates(
    at: Standing, before: Memory, given: Input, outcome: Outcome, scope: Scope
) -> tuple[Command, ...]:
    """Appends in flight are held up from the leader's SyncGroup on, until it is settled whether a
    fail-over would find them.

    A plan that was overtaken is replicated after all where the model says so (`recorded`), or with
    the next group record.
    """
    now = outcome.after.core
    if unwritten(before, outcome):
        return (CommitAppends(to=at.written),) if before.core.recorded else ()
    if (
        now.appending
        or not at.held
        or (isinstance(given, Fires) and given.rule == timers.append_committed.name)
    ):
        return ()
    failed_over = isinstance(given, Fires) and given.rule == failover.fail_over.name
    found = before.core.recorded or not scope.has("fail_over")
    if failed_over or found or now.durable != before.core.durable:
        return (AutoCommit(on=True),)
    return ()


def after(at: Standing, before: Memory, given: Input, moved: Move, outcome: Outcome) -> Standing:
    """Where it stands when the move has led to this outcome."""
    names, gone, made = dict(at.names), at.gone, at.made
    parked = dict(at.parked)
    for told in outcome.told:
        if told.parked:
            parked.pop(told.member, None)
    if isinstance(given, Asks) and not any(not told.parked for told in outcome.told):
        parked[given.member] = moved.asked
    for me, (was, now) in enumerate(zip(before.seats, outcome.after.seats)):
        for id, _ in now:
            if (me, id) not in names:
                made += 1
                names[me, id] = f"m{made}"
        logged = {id for id, _, _ in now.durable}
        for id, _ in was:
            if now[id] is None:
                gone = names[me, id]
        names = {
            key: name
            for key, name in names.items()
            if key[0] != me or now[key[1]] is not None or key[1] in logged
        }
        if not any(seat.join or seat.sync for _, seat in now):
            parked.pop(me, None)
    if gone in (names.get((me, id)) for me, now in enumerate(outcome.after.seats) for id, _ in now):
        gone = FORGOTTEN
    switches = [c.on for c in moved.commands if isinstance(c, AutoCommit)]
    leads = isinstance(given, Asks) and outcome.after.core.appending and not before.core.appending
    held = not switches[-1] if switches else at.held
    late = isinstance(given, Asks) and any(not told.parked for told in outcome.told)
    owed = (*at.owed, *((moved.asked,) if late else ())) if held else ()
    return Standing(
        at.seed,
        (*at.commands, *moved.commands),
        tuple(sorted(names.items())),
        gone,
        made,
        tuple(sorted(parked.items())),
        moved.asked if leads else at.append,
        held,
        _extended(at, before, outcome),
        owed,
        *_logged(at, before, given, moved, outcome, held),
    )


def _extended(at: Standing, before: Memory, outcome: Outcome) -> int:
    if not outcome.after.core.initial:
        return 0
    return at.extended + (outcome.rules[0] == f"{timers.initial_delay.name}:extended")


def _logged(
    at: Standing, before: Memory, given: Input, moved: Move, outcome: Outcome, held: bool
) -> tuple[int, int]:
    """Records written and replicated after the move."""
    written = at.written + (leads_with(before, given) or outcome.stored or empties(before, outcome))
    replicated = at.replicated
    for command in moved.commands:
        if isinstance(command, FailOver):
            written = replicated = written if command.keep == "all" else replicated
        elif isinstance(command, CommitAppends) and command.to is not None:
            replicated = command.to
    return written, replicated if held else written
