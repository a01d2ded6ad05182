"""The facts that the real coordinator still knows about the schedule that led to a memory, and the
model does not: what its timers were armed with, the subscriptions of members that have not joined
again, the assignment of the last round, the writes in flight.

Each is derived from the commands and from the model's steps, never from the dump, so that the dump
can be compared with it. Time stands still in a schedule: the whole time for which a timer was armed
is still left. Sources: GroupMetadataManager (prepareRebalance, maybeCompleteJoinElseSchedule,
tryCompleteInitialRebalanceElseSchedule, completeClassicGroupJoin, schedulePendingSync,
rescheduleClassicGroupMemberHeartbeat), CoordinatorRuntime (OperationTimeout).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import attrs
from attrs import frozen

from groupcheck.model.protocol import messages
from groupcheck.model.protocol.classic import timers
from groupcheck.model.protocol.classic.coordinator import heartbeat, join_group, offset_commit
from groupcheck.model.protocol.classic.features.full_offsets.admin import (
    delete_groups,
    expire_offsets,
)
from groupcheck.model.protocol.classic.features.twins import meet_twin
from groupcheck.model.protocol.classic.group import Core, Phase, Seat, Seats
from groupcheck.oracles.conform import phases, takeovers
from groupcheck.oracles.conform.row import Asks, Fires, Input, Memory, Outcome
from groupcheck.oracles.conform.takeovers import ends, renamed
from groupcheck.oracles.kafka.commands import (
    AutoCommit,
    Command,
    CommitAppends,
    DescribeGroups,
    FailOver,
    Fire,
    JoinGroup,
    OffsetFetch,
    Request,
    Unload,
)

# The group is deleted with the ids that it has handed out (see `full_offsets`).
ERASES = tuple(f"{r.name}:deleted" for r in (delete_groups, expire_offsets))
INITIAL_DELAY_MS = 3000  # group.initial.rebalance.delay.ms
NEW_MEMBER_MS = 300_000  # group.new.member.join.timeout (fixed to five minutes)
APPEND_MS = 5000  # offsets.commit.timeout.ms
NEVER_JOINED = JoinGroup(session_timeout_ms=0, rebalance_timeout_ms=0)
Key = tuple[int, int]  # (process, id)
# What the model does before a request is handled.
MOVES = frozenset(meet_twin.names)
# A JoinGroup whose timeouts and subscription hold from now on.
JOINED = frozenset(f"{join_group.name}:{label}" for label in ("added", "parked", "restarted"))
# The session timer starts again although the member's request stays parked.
HEARD = frozenset(
    {
        f"{heartbeat.name}:rebalancing",
        f"{heartbeat.name}:accepted",
        f"{offset_commit.name}:accepted",
    }
)


Known = (messages.Heartbeat, messages.OffsetCommit)  # requests that show that a member lives


@frozen
class Write:
    """A write operation that waits for replication."""

    # The number of the command that began it.
    number: int
    # The driver's name of its time-out.
    timer: str
    # It ends when the record at this offset is replicated: its own, or the last one before it.
    offset: int


@frozen
class History:
    """The facts that the schedule to a memory has left behind. Keys are (process, id) as in the
    memory.
    """

    # The number of the JoinGroup that holds for an id: its timeouts and its subscription.
    joined: tuple[tuple[Key, int], ...] = ()
    # The same for the members of the last group record, at the time when it was written.
    logged: tuple[tuple[Key, int], ...] = ()
    # The number of the JoinGroup that began the running initial delay; 0 if none runs.
    began: int = 0
    # How often the running initial delay was extended.
    extended: int = 0
    # newMemberAdded. It can be left over from an earlier initial delay.
    added: bool = False
    # What the timer of the running round (not of an initial delay) was armed with.
    round_ms: int = 0
    # What the sync timer was armed with.
    sync_ms: int = 0
    # The number of the JoinGroup that held when the timer of an id was armed last.
    armed: tuple[tuple[Key, int], ...] = ()
    # The assignment in memory: shares as bit masks.
    shares: tuple[tuple[Key, int], ...] = ()
    # Ids whose timer has fired while their request was parked: it did nothing, and it is gone.
    spent: frozenset[Key] = frozenset()
    # (the driver's name, ms): timers of ids that were rejected for the group's size.
    rejected: tuple[tuple[str, int], ...] = ()
    # The numbers of the leaders' SyncGroups whose appends are in flight and that have no answer.
    plans: tuple[int, ...] = ()


# -- Timeouts


def join_of(key: Key, joined: Sequence[tuple[Key, int]], commands: Sequence[Command]) -> JoinGroup:
    """The JoinGroup that holds for an id. If there is none, one that equals no request: only a
    wrong model knows an id that never joined.
    """
    number = dict(joined).get(key)
    command = commands[number - 1] if number else NEVER_JOINED
    assert isinstance(command, JoinGroup)
    return command


def longest_ms(
    seats: Sequence[Seats], joined: Sequence[tuple[Key, int]], commands: Sequence[Command]
) -> int:
    """The longest rebalance timeout of the members (ClassicGroup.rebalanceTimeoutMs)."""
    members = [(me, id) for me, some in enumerate(seats) for id, seat in some if seat.member]
    return max((join_of(key, joined, commands).rebalance_timeout_ms for key in members), default=0)


def remaining_ms(past: History, commands: Sequence[Command], extensions: int) -> int:
    """The rest of the rebalance timeout of the group's first member when an initial delay ends that
    was extended so often. If nothing is left, the delay is not extended again.
    """
    first = commands[past.began - 1]
    assert isinstance(first, JoinGroup)
    return max(first.rebalance_timeout_ms - INITIAL_DELAY_MS * (extensions + 1), 0)


def left_over(past: History, commands: Sequence[Command], core: Core) -> bool:
    """Is newMemberAdded left over from an earlier initial delay, so that this one is extended
    although nobody was added?
    """
    return (
        core.initial
        and past.added
        and not core.extended
        and remaining_ms(past, commands, past.extended) > 0
    )


def heartbeat_ms(key: Key, seat: Seat, past: History, commands: Sequence[Command]) -> int:
    """The time with which the timer of an id was armed."""
    if seat.new and not seat.hurried:
        return NEW_MEMBER_MS
    return join_of(key, past.armed, commands).session_timeout_ms


def timers_of(
    memory: Memory, past: History, commands: Sequence[Command], names: Mapping[Key, str]
) -> dict[str, int]:
    """The timers of the group that are armed, each with the time until it is due (ms)."""
    core, armed = memory.core, {f"heartbeat-g-{name}": ms for name, ms in past.rejected}
    for me, some in enumerate(memory.seats):
        for id, seat in some:
            if seat.armed and (me, id) not in past.spent:
                armed[f"heartbeat-g-{names[me, id]}"] = heartbeat_ms((me, id), seat, past, commands)
    if core.phase == Phase.PREPARING and core.initial:
        before = INITIAL_DELAY_MS
        if past.extended:
            before = remaining_ms(past, commands, past.extended - 1)
        armed["join-g"] = min(INITIAL_DELAY_MS, before)
    elif core.phase == Phase.PREPARING:
        armed["join-g"] = past.round_ms
    if core.deadline:
        armed["sync-g"] = past.sync_ms
    return armed


# -- One step further


def after(
    past: History,
    before: Memory,
    given: Input,
    outcome: Outcome,
    commands: Sequence[Command],
    number: int,
    names: Mapping[Key, str],
) -> History:
    """The facts that the step leaves behind. `commands`: the schedule with the step; `number`: of
    the command that is the input; `names`: the driver's names of the ids before the step.
    """
    now = outcome.after
    rule = next((name for name in outcome.rules if name not in MOVES), "")
    moved = phases.loses_memory(rule)
    there = {(me, id) for me, some in enumerate(now.seats) for id, _ in some}
    taken = {
        takeovers.key(me, seat.takes[0])
        for me, some in enumerate(now.seats)
        for _, seat in some
        if seat.takes is not None
    }
    renames = {} if moved else renamed(before, now)
    joined = dict(past.logged if moved else past.joined)
    if key := _joins(before, given, now, rule):
        joined[key] = number
    joined = {key: n for key, n in joined.items() if key in there | taken}
    pairs = tuple(sorted(joined.items()))
    rejected = _rejected(past, before, given, now, rule, commands, names)
    fired = {(given.member, given.id)} if isinstance(given, Fires) else set()
    still = {key for key in joined if not _arms(key, before, given, now, rule)}
    armed = joined | {key: n for key, n in past.armed if key in still}
    begins = now.core.generation != before.core.generation and not moved
    if ends(given) is None and not begins:  # the timer of a new id is armed before it has joined
        armed |= {new: dict(past.joined)[old] for new, old in renames.items()}
    armed = {key: n for key, n in armed.items() if key in there}
    starts = now.core.phase == Phase.PREPARING and (moved or before.core.phase != Phase.PREPARING)
    again = rule == f"{timers.rebalance_timeout.name}:postponed"
    longest = longest_ms(now.seats, pairs, commands) if starts or begins or again else 0
    return attrs.evolve(
        past,
        joined=pairs,
        logged=_logged(past, before, given, now, joined),
        began=(past.began or number) if now.core.initial else 0,
        extended=(past.extended + (rule == f"{timers.initial_delay.name}:extended"))
        * now.core.initial,
        added=now.core.extended
        or (past.added and not moved and not _resets_added(past, before, rule, commands)),
        round_ms=longest if starts or again else past.round_ms,
        sync_ms=longest if begins else past.sync_ms,
        shares=_loaded(now) if moved else _shares(past, before.core, now, renames),
        armed=tuple(sorted(armed.items())),
        spent=frozenset(key for key in still if key in past.spent or key in fired),
        rejected=() if moved else tuple(rejected),
    )


def _joins(before: Memory, given: Input, now: Memory, rule: str) -> Key | None:
    """The id that takes its timeouts and subscription from this request."""
    if not isinstance(given, Asks) or not isinstance(given.request, messages.JoinGroup):
        return None
    me, id = given.member, given.request.id
    if id == messages.NO_ID:
        known = {known for known, _ in before.seats[me]}
        return next(((me, made) for made, _ in now.seats[me] if made not in known), None)
    return (me, id) if rule in JOINED else None


def _logged(
    past: History, before: Memory, given: Input, now: Memory, joined: Mapping[Key, int]
) -> tuple[tuple[Key, int], ...]:
    members = takeovers.record(now)
    if members == takeovers.record(before) and before.core.durable == now.core.durable:
        return past.logged
    if ends(given) is not None:  # the record was written when the takeover began
        joined = {**joined, **{key: n for key, n in past.logged if key[0] != ends(given)}}
    return tuple((key, joined[key]) for key in members if key in joined)


def _resets_added(past: History, before: Memory, rule: str, commands: Sequence[Command]) -> bool:
    """Is newMemberAdded reset? It is where an initial delay is extended, for whatever reason."""
    if not rule.startswith(timers.initial_delay.name):
        return False
    return rule.endswith("extended") or left_over(past, commands, before.core)


def _shares(
    past: History, core: Core, now: Memory, renames: Mapping[Key, Key]
) -> tuple[tuple[Key, int], ...]:
    """The assignment of the last round stays in memory until the next one is written or a
    generation ends without one.
    """
    seats = [((me, id), seat) for me, some in enumerate(now.seats) for id, seat in some]
    if now.core.phase == Phase.STABLE:
        return tuple((key, seat.share) for key, seat in seats)
    same = (core.phase, core.generation) == (now.core.phase, now.core.generation)
    if core.phase == Phase.COMPLETING and not same:
        return ()
    held = dict(past.shares)
    return tuple((key, held.get(renames.get(key, key), 0)) for key, _ in seats)


def _loaded(now: Memory) -> tuple[tuple[Key, int], ...]:
    """The assignment in the record that a fail-over has loaded."""
    seats = [(me, id, seat) for me, some in enumerate(now.seats) for id, seat in some.durable]
    return tuple(((me, id), seat.share) for me, id, seat in seats)


def _arms(key: Key, before: Memory, given: Input, now: Memory, rule: str) -> bool:
    """Is the timer of an id armed in this step? It is for a new id and a new member, when a round
    completes, when a parked SyncGroup is answered, and when a request shows that the member lives.
    """
    me, id = key
    was, seat = before.seats[me][id], now.seats[me][id]
    if was is None or seat is None or now.core.generation != before.core.generation:
        return True
    if (
        isinstance(given, Asks)
        and rule in HEARD
        and isinstance(given.request, Known)
        and given.request.id == id
    ):
        return given.member == me
    return phases.loses_memory(rule) or was.member != seat.member or was.sync > seat.sync


def _rejected(
    past: History,
    before: Memory,
    given: Input,
    now: Memory,
    rule: str,
    commands: Sequence[Command],
    names: Mapping[Key, str],
) -> Iterator[tuple[str, int]]:
    """Timers of ids that are no members any more: an id that is rejected for the group's size, and
    one that is replaced, leave theirs behind. It ends with a sync timer that waited for the id, and
    is the member's own again if the id comes back.
    """
    renames = renamed(before, now)
    back = {names.get(new) for new in renames}
    if rule == timers.sync_timeout.name:
        seats = [(me, seat) for me, some in enumerate(before.seats) for _, seat in some]
        owed = {takeovers.key(me, seat.owed) for me, seat in seats if seat.owed is not None}
        back |= {names.get(key) for key in owed}
    yield from ((name, ms) for name, ms in past.rejected if name not in back)
    gone = list(renames.values())
    if rule == f"{join_group.name}:too_many" and isinstance(given, Asks):
        assert isinstance(given.request, messages.JoinGroup)
        gone.append((given.member, given.request.id))
    if rule in ERASES:
        gone += [(me, id) for me, some in enumerate(before.seats) for id, _ in some]
    for me, id in gone:
        seat = before.seats[me][id]
        if seat is not None and seat.armed and (me, id) not in past.spent:
            yield names[me, id], heartbeat_ms((me, id), seat, past, commands)


# -- The log


@frozen
class Log:
    """The offsets log, as far as answers and fail-overs depend on it."""

    # How many records it has, and how many of them the other brokers have.
    written: int = 1
    replicated: int = 1
    # Appends are not replicated until the schedule says so.
    held: bool = False
    # In the order in which they were begun.
    in_flight: tuple[Write, ...] = ()

    def then(
        self, number: int, command: Command, *, writes: int, chained: bool, fails: bool
    ) -> Log:
        """The log after one more command. `writes`: it appends so many records; `chained`: a timer
        of 0 ms that the command arms does so, in an operation of its own. `fails`: the request
        ends with an exception, which waits for nothing.
        """
        flying = self.in_flight
        match command:
            case AutoCommit(on=True):
                return Log(self.written, self.written)
            case AutoCommit(on=False):
                return attrs.evolve(self, held=True)
            case Unload(broker=None):
                return attrs.evolve(self, in_flight=())
            case FailOver(keep=keep):
                ends = {"all": self.written, "committed": self.replicated}
                end = ends[keep] if keep in ends else int(keep)
                return Log(end, self.replicated if self.held else end, self.held)
            case CommitAppends(to=int(to)):
                flying = tuple(write for write in flying if write.offset >= to)
                return attrs.evolve(self, replicated=to, in_flight=flying)
            case Fire(timer=timer) if timer.startswith("append-"):
                flying = tuple(write for write in flying if write.timer != timer)
                return attrs.evolve(self, in_flight=flying)
            case OffsetFetch(stable=False) | DescribeGroups():
                return self
            case Request() | Fire():
                if not self.held:
                    return Log(self.written + writes, self.written + writes)
                name, end = f"append-{number}", self.written
                if chained and end > self.replicated:
                    flying = (*flying, Write(number, name, end - 1))
                    name += ".2"
                end += writes
                if end > self.replicated and not fails:
                    flying = (*flying, Write(number, name, end - 1))
                return attrs.evolve(self, written=end, in_flight=flying)
        return self
