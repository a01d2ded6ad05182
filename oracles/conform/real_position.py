"""Where the real coordinator is after a schedule, in the model's terms, and the commands for the
next step of the model.

The record of an Empty group is never replicated in most rows, and neither is what stands behind it.
With offsets, later appends are answered, so that append fails (`append_fails`), as it may in Kafka.
"""

from __future__ import annotations

import attrs
from attrs import field, frozen

from groupcheck.model.protocol import messages
from groupcheck.model.protocol.classic import timers
from groupcheck.model.protocol.classic.features import takeover
from groupcheck.model.protocol.classic.group import Phase
from groupcheck.model.protocol.classic.scope import Scope
from groupcheck.model.protocol.messages import NO_ID
from groupcheck.oracles.conform import full_offsets, schedule_memory, takeovers
from groupcheck.oracles.conform.row import (
    STRANGER,
    Asks,
    Fires,
    Input,
    Memory,
    Outcome,
    moves,
)
from groupcheck.oracles.conform.schedule_memory import (
    APPEND_MS,
    History,
    Key,
    Log,
    Write,
    timers_of,
)
from groupcheck.oracles.conform.takeovers import key
from groupcheck.oracles.kafka import commands
from groupcheck.oracles.kafka.commands import AutoCommit, Command, CommitAppends

CREATION: tuple[Command, ...] = (
    commands.JoinGroup(),
    commands.LeaveGroup(member="m1"),
)  # a group that is there, with nobody in it
FORGOTTEN = "m1"  # the id that has made it
NEVER_MADE = "x"  # in its place, where nobody has made the group
Name = tuple[Key, str]  # the driver's name of an id


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
    # (process, number of its JoinGroup): takeovers whose appends are in flight.
    takeovers: tuple[tuple[int, int], ...] = ()
    # A fail-over finds the log up to here because of a takeover that is in flight no more.
    found: int = 0
    # Requests whose answers wait for an append that was begun before them, with their codes.
    owed: tuple[tuple[int, int], ...] = ()
    # Requests that wait for an append at a former coordinator that does not know that it is none.
    stranded: tuple[int, ...] = ()
    # Requests that it has forgotten, and that were made while an append was in flight.
    forgotten: tuple[int, ...] = ()
    log: Log = field(factory=Log)
    # What the real coordinator still knows about the schedule, and the model does not.
    past: History = field(factory=History)
    # Where the former coordinator stands that answers while the next one loads.
    former: Standing | None = None

    @classmethod
    def before(cls, memory: Memory, seed: int) -> Standing:
        """The position before the first row. If offsets are part of the rows, there is no group
        yet.
        """
        if memory.kept is None:
            return cls(seed)
        first = full_offsets.creation(memory.kept)
        log = Log(written=len(first), replicated=len(first))
        return cls(seed, commands=first, gone=NEVER_MADE, made=0, log=log)

    def name(self, member: int, id: int) -> str:
        """The driver's name for that id."""
        if id == NO_ID:
            return ""
        return self.gone if id == STRANGER else dict(self.names).get(key(member, id), self.gone)

    @property
    def behind_an_append(self) -> tuple[int, ...]:
        """Requests without an answer that an unload answers because an append is in flight."""
        own = {w.number for w in self.log.in_flight if w.timer == f"append-{w.number}"}
        late = (number for number, _ in self.owed if number in own)
        return (*late, *self.past.plans, *self.forgotten)

    def timers(self, memory: Memory) -> dict[str, int]:
        """The timers that are armed, each with the time until it is due (ms)."""
        of_the_group = timers_of(memory, self.past, self.commands, dict(self.names))
        return of_the_group | {w.timer: APPEND_MS for w in self.log.in_flight}


@frozen
class Move:
    """The commands that give the real coordinator one input."""

    # The input itself.
    first: tuple[Command, ...]
    # Commands that replicate what the step has written.
    then: tuple[Command, ...]
    # The number of the request among all commands; 0 if the input is none.
    asked: int = 0

    @property
    def commands(self) -> tuple[Command, ...]:
        return (*self.first, *self.then)


def possible(
    at: Standing, before: Memory, given: Input, outcomes: tuple[Outcome, ...] = ()
) -> bool:
    """Can the input happen there? A timer that has fired without effect is gone. Of several
    takeovers, the one that was appended first is replicated first. A plan that a fail-over will not
    find stands in the log before everything that is appended to it.
    """
    lost = at.log.written > at.log.replicated
    behind = before.kept is not None and "fail_over" in before.core.keeps and lost
    if behind and any(full_offsets.follows(before, given, outcome) for outcome in outcomes):
        return False
    if not isinstance(given, Fires):
        return True
    if given.rule == takeover.takeover_committed.name:
        return given.member == min(at.takeovers, key=lambda one: one[1])[0]
    return (given.member, given.id) not in at.past.spent


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


def append_fails(before: Memory, outcome: Outcome) -> bool:
    """Does the append of that record fail by itself? In rows of offsets it does, so that later
    appends may succeed; in others it is never replicated, and neither is any later one.
    """
    return before.kept is not None and unwritten(before, outcome)


def leads_with(before: Memory, given: Input) -> bool:
    """Does the leader bring its plan? (Twice, if it asks again before the append has ended: then
    the plan is written twice.)
    """
    if not isinstance(given, Asks) or given.former:
        return False
    request, core = given.request, before.core
    return (
        isinstance(request, messages.SyncGroup)
        and core.phase == Phase.COMPLETING
        and before.seats[given.member].leader == request.id
        and request.generation == core.generation
    )


def offset_of(at: Standing, number: int) -> int:
    """The offset of the record of a takeover that is in flight."""
    return next(write.offset for write in at.log.in_flight if write.number == number)


def found_until(at: Standing, memory: Memory) -> int | None:
    """The end of the log that a fail-over finds where the model says so of a takeover in flight;
    None if it says so of none.
    """
    numbers = dict(at.takeovers)
    ends = [offset_of(at, numbers[me]) + 1 for me, found in takeovers.in_flight(memory) if found]
    return max([*ends, at.found], default=0) or None


def _found_after(at: Standing, before: Memory, given: Input, outcome: Outcome) -> int:
    """`Standing.found` after the step."""
    if moves(given):
        return 0
    flying, numbers = dict(takeovers.in_flight(outcome.after)), dict(at.takeovers)
    begun = given.member if takeovers.begins(before, given, outcome) else None
    ended = [
        offset_of(at, numbers[me]) + 1
        for me, found in takeovers.in_flight(before)
        if found and (me not in flying or me == begun) and me != takeovers.ends(given)
    ]
    return max([*ended, at.found])


def kept_until(at: Standing, memory: Memory) -> int:
    """The end of the log that a fail-over finds."""
    if memory.core.recorded:
        return at.log.written
    return found_until(at, memory) or at.log.replicated


def kept(at: Standing, memory: Memory) -> str:
    """The records that a fail-over finds, for the driver."""
    if memory.core.recorded:
        return "all"
    found = found_until(at, memory)
    return "committed" if found is None else str(found)


def replicates(
    at: Standing, before: Memory, given: Input, outcome: Outcome, scope: Scope
) -> tuple[Command, ...]:
    """Appends in flight are held up from the leader's SyncGroup on, until it is settled whether a
    fail-over would find them.

    A plan that was overtaken is replicated after all where the model says so (`recorded`), or with
    the next group record.
    """
    now, found = outcome.after.core, _found_after(at, before, given, outcome)
    if append_fails(before, outcome):
        return (AutoCommit(on=True),) if at.log.held and before.core.recorded else ()
    if unwritten(before, outcome):
        until = at.log.written if before.core.recorded else found
        return (CommitAppends(to=until),) if until > at.log.replicated else ()
    commits = (timers.append_committed.name, takeover.takeover_committed.name)
    if not at.log.held or (isinstance(given, Fires) and given.rule in commits):
        return ()
    if now.appending or any(takeovers.in_flight(outcome.after)):
        return ()
    failed_over = moves(given)
    survives = before.core.recorded or not scope.has("fail_over")
    changed = takeovers.record(outcome.after) != takeovers.record(before)
    if failed_over or survives or changed or now.durable != before.core.durable:
        return (AutoCommit(on=True),)
    return (CommitAppends(to=found),) if found > at.log.replicated else ()


def after(at: Standing, before: Memory, given: Input, moved: Move, outcome: Outcome) -> Standing:
    """The position once the move has led to this outcome."""
    names, gone, made = dict(at.names), at.gone, at.made
    kept = takeovers.remembered(outcome.after) | takeovers.record(outcome.after).keys()
    for me, (was, now) in enumerate(zip(before.seats, outcome.after.seats)):
        for id, _ in now:
            if (me, id) not in names:
                made += 1
                names[me, id] = f"m{made}"
        for id, _ in was:
            if now[id] is None:
                gone = names[me, id]
        names = {
            whose: name
            for whose, name in names.items()
            if whose[0] != me or now[whose[1]] is not None or whose in kept
        }
    if gone in (names.get((me, id)) for me, now in enumerate(outcome.after.seats) for id, _ in now):
        gone = FORGOTTEN if before.kept is None else NEVER_MADE
    leads = isinstance(given, Asks) and outcome.after.core.appending and not before.core.appending
    done = (*at.commands, *moved.commands)
    number = len(at.commands) + len(moved.first)
    log = log_after(at, before, given, moved, outcome, moved.commands)
    waiting = {**dict(at.owed), **late_codes(at, before, given, moved, outcome)}
    plans = _plans(at, before, given, moved, outcome, log.in_flight)
    found = _found_after(at, before, given, outcome)
    flights = dict(at.takeovers)
    if isinstance(given, Asks) and takeovers.begins(before, given, outcome):
        flights[given.member] = moved.asked
    flying = dict(takeovers.in_flight(outcome.after))
    past = schedule_memory.after(at.past, before, given, outcome, done, number, dict(at.names))
    former, stranded = _at_former(at, given, outcome)
    return Standing(
        at.seed,
        done,
        tuple(sorted(names.items())),
        gone,
        made,
        tuple(sorted(waits_after(at, moved, outcome).items())),
        moved.asked if leads else at.append,
        tuple((me, n) for me, n in sorted(flights.items()) if me in flying),
        found if found > log.replicated else 0,
        tuple((w.number, waiting[w.number]) for w in log.in_flight if w.number in waiting),
        stranded,
        _forgotten(at, moved, outcome, log),
        log,
        attrs.evolve(past, plans=plans),
        former,
    )


def _at_former(
    at: Standing, given: Input, outcome: Outcome
) -> tuple[Standing | None, tuple[int, ...]]:
    """`Standing.former` and `Standing.stranded` after the step."""
    former, stranded = at.former, at.stranded
    if moves(given):
        former = attrs.evolve(at, former=None)
        stranded = at.behind_an_append
    if not outcome.after.stale:
        return None, ()
    return former, stranded if outcome.after.former is not None else ()


def _forgotten(at: Standing, moved: Move, outcome: Outcome, log: Log) -> tuple[int, ...]:
    """`Standing.forgotten` after the step."""
    waited = dict(at.parked)
    now = {waited.get(w.member, 0) if w.parked else moved.asked for w in outcome.forgotten}
    return tuple(w.number for w in log.in_flight if w.number in {*at.forgotten, *now})


def waits_after(at: Standing, moved: Move, outcome: Outcome) -> dict[int, int]:
    """Process -> the number of its request that waits."""
    before = dict(at.parked)
    return {
        waiter.member: before.get(waiter.member, 0) if waiter.parked else moved.asked
        for waiter in outcome.waiting
    }


def ends_at_once(outcome: Outcome) -> bool:
    """Does a round of nobody begin, whose timer of 0 ms ends it in the same step?"""
    return f"{timers.rebalance_timeout.name}:nobody" in outcome.rules[1:]


def log_after(
    at: Standing,
    before: Memory,
    given: Input,
    moved: Move,
    outcome: Outcome,
    commands: tuple[Command, ...],
) -> Log:
    """The log after these commands of the move."""
    log, last = at.log, len(at.commands) + len(moved.first)
    chained = ends_at_once(outcome)
    lost = append_fails(before, outcome)
    writes = 0 if lost else _written(before, given, outcome)
    throws = full_offsets.fails(outcome) or outcome.fails or lost
    for number, command in enumerate(commands, len(at.commands) + 1):
        count = writes if number == last else 0
        twice = chained and number == last and (lost or count > 0)
        log = log.then(number, command, writes=count, chained=twice, fails=throws)
    return log


def _written(before: Memory, given: Input, outcome: Outcome) -> int:
    """How many records the step appends."""
    outside = full_offsets.appended(before, given, outcome)
    if outside is not None:
        return len(outside)
    return int(
        leads_with(before, given)
        or outcome.stored is not None
        or empties(before, outcome)
        or takeovers.begins(before, given, outcome)
        or full_offsets.pends(given, outcome)
        or full_offsets.creates(before, given, outcome)
    )


def late_codes(
    at: Standing, before: Memory, given: Input, moved: Move, outcome: Outcome
) -> dict[int, int]:
    """The request at hand and its code, if the answer is held back until what was written before it
    is replicated. JoinGroup and SyncGroup are answered past the runtime.
    """
    own = outcome.own
    if own is not None and full_offsets.waits_for_nothing(own.request):
        return {}
    code = full_offsets.code(outcome) if own is None else own.code
    if code is None:
        return {}
    log = log_after(at, before, given, moved, outcome, moved.first)
    late = f"append-{moved.asked}" in {write.timer for write in log.in_flight}
    chained = ends_at_once(outcome)
    late = late and not (chained and at.log.written == at.log.replicated)
    return {moved.asked: code} if late else {}


def _plans(
    at: Standing,
    before: Memory,
    given: Input,
    moved: Move,
    outcome: Outcome,
    flying: tuple[Write, ...],
) -> tuple[int, ...]:
    """The leaders' SyncGroups in flight that have no answer."""
    waited = dict(at.parked)
    answered = {waited.get(told.member) for told in outcome.told if told.parked}
    begun = (moved.asked,) if leads_with(before, given) else ()
    kept = {write.number for write in flying}
    return tuple(n for n in (*at.past.plans, *begun) if n in kept and n not in answered)


def impatient(at: Standing) -> Standing:
    """The same schedule with a rebalance timeout of the group's first member that does not allow
    one more extension of the initial delay.
    """
    place = at.past.began - 1
    first = at.commands[place]
    assert isinstance(first, commands.JoinGroup)
    timeout = schedule_memory.INITIAL_DELAY_MS * (at.past.extended + 1)
    hurried = attrs.evolve(first, rebalance_timeout_ms=timeout)
    return attrs.evolve(at, commands=(*at.commands[:place], hurried, *at.commands[place + 1 :]))
