"""What a step of the model shows of itself in its coordinator's log, and whether that is what the
next lines of a log tell.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from attrs import frozen

from groupcheck.model.protocol.classic import coordinator, failover, timers
from groupcheck.model.protocol.classic.group import Core, Phase, Seats
from groupcheck.oracles.explore.log_lines import Line
from groupcheck.traces.story.events import (
    AssignmentReceived,
    Event,
    GroupEmptied,
    GroupLoaded,
    IdHandedOut,
    MemberAdded,
    MemberExpired,
    MemberLeft,
    NotRejoined,
    NotSynced,
    RebalanceCause,
    RebalanceStarted,
    Stabilized,
)

Seat = tuple[int, int]  # (process, id) of the model
Bound = tuple[tuple[str, Seat], ...]  # members of the log, by their seats


@frozen
class Fact:
    """Something that a step shows, or that a line says."""

    kind: type[Event]
    # In a fact of the model its seat, in one of a log its name.
    who: Seat | str | None = None
    generation: int | None = None
    members: int | None = None


@frozen
class Knowledge:
    """How names and generations of a log relate to those of the model."""

    # Added to a generation of the model; None as long as no line has told it.
    base: int | None = None
    bound: Bound = ()

    def with_generation(self, shown: int | None, told: int | None) -> Knowledge | None:
        """What is known after these two are the same; None if they are not."""
        if shown is None or told is None:
            return self
        if self.base is None:
            return Knowledge(told - shown, self.bound)
        return self if self.base == told - shown else None

    def with_member(self, seat: Seat, name: str) -> Knowledge | None:
        """As `with_generation`, of a member."""
        known = dict(self.bound)
        if name in known:
            return self if known[name] == seat else None
        if seat in known.values():
            return None
        return Knowledge(self.base, (*self.bound, (name, seat)))

    def without(self, gone: Sequence[Seat]) -> Knowledge:
        """Seats that are gone mean somebody else from now on."""
        if not gone:
            return self
        return Knowledge(self.base, tuple(b for b in self.bound if b[1] not in gone))


def shown(
    rules: Sequence[str], before: Core, after: Core, seats: Sequence[tuple[Seats, Seats]]
) -> list[Fact]:
    """What a step of the model shows. `rules`: those that have fired, with their labels; `seats`:
    of each process, before and after.
    """
    names = {r.partition(":")[0] for r in rules}
    found = list(_of_members(names, seats))
    if failover.fail_over.name in names:
        found.append(Fact(GroupLoaded, generation=after.generation, members=after.members))
        return found
    on = after.generation > before.generation
    if before.phase != Phase.PREPARING and (after.phase == Phase.PREPARING or on):
        found.append(Fact(RebalanceStarted, generation=before.generation))
    if on and after.members:
        found.append(Fact(Stabilized, generation=after.generation, members=after.members))
    elif on:
        found.append(Fact(GroupEmptied, generation=after.generation))
    if f"{coordinator.sync_group.name}:led" in rules:
        found.append(Fact(AssignmentReceived, generation=after.generation))
    return found


def _of_members(names: set[str], seats: Sequence[tuple[Seats, Seats]]) -> Iterator[Fact]:
    """Who came and who went."""
    for process, (was, now) in enumerate(seats):
        if was == now:
            continue
        old, new = dict(was), dict(now)
        for id, seat in new.items():
            if id not in old and not seat.member:
                yield Fact(IdHandedOut, (process, id))
            elif seat.member and not (id in old and old[id].member):
                yield Fact(MemberAdded, (process, id))
        for id in old.keys() - new.keys():
            yield Fact(_gone(names), (process, id))


def _gone(names: set[str]) -> type[Event]:
    """How a member went."""
    if coordinator.leave_group.name in names:
        return MemberLeft
    if timers.rebalance_timeout.name in names:
        return NotRejoined
    if timers.sync_timeout.name in names:
        return NotSynced
    return MemberExpired


def told(line: Line) -> Iterator[Fact]:
    """What a line says."""
    e = line.event
    if isinstance(e, IdHandedOut | MemberAdded | MemberLeft | MemberExpired):
        yield Fact(type(e), e.member)
    elif isinstance(e, NotRejoined | NotSynced):
        for member in e.members:
            yield Fact(type(e), member)
    elif isinstance(e, GroupLoaded | Stabilized):
        yield Fact(type(e), None, e.generation, e.members)
    elif isinstance(e, RebalanceStarted | GroupEmptied | AssignmentReceived):
        yield Fact(type(e), None, e.generation)


BY_REASON = {
    RebalanceCause.JOIN: MemberAdded,
    RebalanceCause.LEAVE: MemberLeft,
    RebalanceCause.SESSION_EXPIRED: MemberExpired,
}


def besides(line: Line, printed: frozenset[type[Event]]) -> Iterator[Fact]:
    """What a line says of steps that have no line of their own in this log: who caused a round."""
    reason = line.event.reason if isinstance(line.event, RebalanceStarted) else None
    kind = BY_REASON.get(reason.cause) if reason is not None else None
    if reason is not None and kind is not None and kind not in printed:
        for member in reason.members:
            yield Fact(kind, member)


def fits(
    facts: Sequence[Fact],
    lines: Sequence[Line],
    first: int,
    known: Knowledge,
    printed: frozenset[type[Event]],
) -> tuple[int, Knowledge] | None:
    """How many lines, from the `first` on, a step with these facts explains, and what is known
    after it; None if the next lines tell something else. A step shows all or nothing of itself:
    each of its facts that this log prints is one of the next lines.
    """
    left = [f for f in facts if f.kind in printed]
    unseen = [f for f in facts if f.kind not in printed]
    at = first
    while left:
        if at == len(lines):
            return None
        for wanted, among in (
            *((f, left) for f in told(lines[at])),
            *((f, unseen) for f in besides(lines[at], printed)),
        ):
            found = next(((f, k) for f in among if (k := _same(f, wanted, known))), None)
            if found is None:
                return None
            among.remove(found[0])
            known = found[1]
        at += 1
    gone = [f.who for f in facts if f.kind in GONE and isinstance(f.who, tuple)]
    return at - first, known.without(gone)


GONE = (MemberLeft, MemberExpired, NotRejoined, NotSynced)


def _same(shown: Fact, wanted: Fact, known: Knowledge) -> Knowledge | None:
    """What is known after a fact of the model is what a line says; None if it is not."""
    if shown.kind is not wanted.kind:
        return None
    if None not in (shown.members, wanted.members) and shown.members != wanted.members:
        return None
    after = known.with_generation(shown.generation, wanted.generation)
    if after is not None and isinstance(wanted.who, str) and isinstance(shown.who, tuple):
        return after.with_member(shown.who, wanted.who)
    return after
