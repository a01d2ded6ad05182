"""The steps of the model's coordinator that a log can show, taken on the group itself.

A log names members, generations and counts, but hardly ever who is parked. So the replay runs the
coordinator's own rules (`model.protocol`) on a group with one member that stands for all, and keeps
of the outcome what concerns the group: its phase, the initial delay, the append in flight. What is
known of the members themselves is kept in `belief`. Generations are relative: 0 is the current one,
so that no scope bounds a real log.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

from groupcheck.model.engine import evolve
from groupcheck.model.engine.step import State
from groupcheck.model.protocol.classic import timers
from groupcheck.model.protocol.classic.group import Core, Phase, Seat, Seats
from groupcheck.model.protocol.classic.rounds import after_removal, complete, prepare
from groupcheck.model.protocol.classic.rules import COORDINATOR, spec
from groupcheck.model.protocol.classic.scope import Scope
from groupcheck.model.protocol.driven import Driven
from groupcheck.model.protocol.messages import SyncGroup

_SCOPE = Scope(members=1, generations=2)
_COORDINATOR = Driven(spec(_SCOPE), COORDINATOR)
_LEADER = 0
_NOBODY = Seats()


def _cores(states: Iterable[State]) -> set[Core]:
    """The parts of the memory that concern the group, in generation 0."""
    cores = (state[_COORDINATOR.see.at["core", None]] for state in states)
    return {Core(phase=c.phase, initial=c.initial, appending=c.appending) for c in cores}


def _settled(core: Core, seats: Seats = _NOBODY) -> set[Core]:
    """Takes the walk over all seats to its end, whatever it chooses on its way."""
    begun = _COORDINATOR.state(core=core, seats=(seats,))
    return _cores(state for _, state in _COORDINATOR.settle(begun))


def _group(core: Core, *, joined: bool = False) -> tuple[Core, Seats]:
    """The group in this world, with one member; `joined`: its JoinGroup is parked."""
    if core.phase == Phase.EMPTY:
        return core, _NOBODY
    seat = Seat(member=True, join=joined, due=core.phase in (Phase.COMPLETING, Phase.STABLE))
    counted = evolve(
        core, members=1, parked=int(joined), due=int(seat.due), led=True, leader_parked=joined
    )
    return counted, Seats(((_LEADER, seat),), leader=_LEADER)


def _only(outcomes: set[Core]) -> int:
    (core,) = outcomes
    return _NUMBER[core]


_EVERY = (
    Core(phase=Phase.EMPTY),
    Core(phase=Phase.PREPARING, initial=True),
    Core(phase=Phase.PREPARING),
    Core(phase=Phase.COMPLETING),
    Core(phase=Phase.COMPLETING, appending=True),
    Core(phase=Phase.STABLE),
)
_NUMBER = {core: number for number, core in enumerate(_EVERY)}

World = int
"""A world by its number; `PHASE` says where the group is in it."""
EVERY_WORLD = frozenset(range(len(_EVERY)))
"""All that a group can be, as far as the members are left open."""
PHASE = tuple(core.phase for core in _EVERY)
EMPTY, STABLE = _NUMBER[_EVERY[0]], _NUMBER[_EVERY[-1]]


@cache
def start_round(world: World) -> World | None:
    """A rebalance begins; None where one is already running."""
    if PHASE[world] == Phase.PREPARING:
        return None
    group, seats = _group(_EVERY[world])
    return _only(_settled(prepare(group), seats))


@cache
def end_round(world: World, anybody: bool) -> World | None:
    """The join phase ends, with members or with none; None where no round is running."""
    if PHASE[world] != Phase.PREPARING:
        return None
    group, seats = _group(_EVERY[world], joined=True) if anybody else (_EVERY[world], _NOBODY)
    after = complete(group, _SCOPE)
    assert after.generation == group.generation + 1
    return _only(_settled(after, seats))


@cache
def leader_syncs(world: World) -> World | None:
    """The leader's SyncGroup arrives in a group that waits for it: its assignment is being
    appended. None where nobody waits for it.
    """
    group, seats = _group(_EVERY[world])
    state = _COORDINATOR.state(core=group, seats=(seats,))
    (reaction,) = _COORDINATOR.ask(state, _LEADER, SyncGroup(_LEADER, group.generation))
    (after,) = _cores([reaction.state])
    return _NUMBER[after] if after.appending or reaction.own is None else None


@cache
def silent_steps(worlds: frozenset[World]) -> frozenset[World]:
    """The worlds with those that follow without a line in the log: the leader's append commits and
    the group is Stable.
    """
    found = set(worlds)
    for world in worlds:
        group, seats = _group(_EVERY[world])
        state = _COORDINATOR.state(core=group, seats=(seats,))
        reactions = _COORDINATOR.fire(state, timers.append_committed.name)
        found |= {_NUMBER[core] for core in _cores(r.state for r in reactions)}
    return frozenset(found)


@cache
def must_restart(world: World) -> bool:
    """Does the loss of a member start a rebalance here (and not end a running one, or concern an
    Empty group)?
    """
    if PHASE[world] == Phase.PREPARING:
        return False
    group, seats = _group(_EVERY[world])
    settled = _settled(after_removal(group, _SCOPE), seats)
    return any(core.phase == Phase.PREPARING for core in settled)
