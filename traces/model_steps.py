"""The steps of the model's coordinator that a log can show, taken on the group itself.

A log names members, generations and counts, but hardly ever who is parked. So the replay runs the
coordinator's own rules (`model.protocol`) on a group with one member that stands for all, and keeps
of the outcome what concerns the group: its phase, the initial delay, the append in flight. What is
known of the members themselves is kept in `belief`. Generations are relative: 0 is the current one,
so that no scope bounds a real log.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

from groupcheck.model.engine import Rule, but
from groupcheck.model.protocol.coordinator import sync_group
from groupcheck.model.protocol.group import REST, Core, Phase, Seat, Seats, Walk
from groupcheck.model.protocol.link import Link
from groupcheck.model.protocol.messages import SyncGroup
from groupcheck.model.protocol.rounds import after_removal, complete, prepare
from groupcheck.model.protocol.scope import Scope
from groupcheck.model.protocol.timers import append_committed
from groupcheck.model.protocol.walks import WALK_RULES

_SCOPE = Scope(members=1, generations=2)
_LEADER = 0
_Case = tuple[Core, Walk, Seats, Link]


def _fire(rule: Rule, case: _Case) -> Iterator[tuple[str, _Case]]:
    """The outcomes of a rule: its label (empty, if it has none) and what it leaves."""
    there = dict(zip(("core", "walk", "seats", "link"), case, strict=True))
    if rule.guard is not None and not rule.guard.allows(0, there[rule.guard.slot]):
        return
    given = [
        *([0] if rule.takes_me else []),
        *(there[name] for name in rule.slots),
        *([_SCOPE] if rule.takes_scope else []),
    ]
    for outcome in rule.call(*given):
        values = outcome if isinstance(outcome, tuple) else (outcome,)
        label, values = (values[0], values[1:]) if rule.labels else ("", values)
        after = there | dict(zip(rule.slots, values, strict=True))
        core, walk, seats, link = after["core"], after["walk"], after["seats"], after["link"]
        assert (
            isinstance(core, Core)
            and isinstance(walk, Walk)
            and isinstance(seats, Seats)
            and isinstance(link, Link)
        )
        yield label, (core, walk, seats, link)


def _settled(case: _Case) -> set[Core]:
    """Takes the walk over all seats to its end, whatever it chooses on its way."""
    if case[0].walk is None and case[1] == REST:
        return {_plain(case[0])}
    return {
        core for rule in WALK_RULES for _, after in _fire(rule, case) for core in _settled(after)
    }


def _plain(core: Core) -> Core:
    """What concerns the group, in generation 0."""
    return Core(phase=core.phase, initial=core.initial, appending=core.appending)


def _group(core: Core, *, joined: bool = False) -> _Case:
    """The group in this world, with one member; `joined`: its JoinGroup is parked."""
    if core.phase == Phase.EMPTY:
        return core, REST, Seats(), Link()
    seat = Seat(member=True, join=joined, due=core.phase in (Phase.COMPLETING, Phase.STABLE))
    counted = but(
        core, members=1, parked=int(joined), due=int(seat.due), led=True, leader_parked=joined
    )
    return counted, REST, Seats(((_LEADER, seat),), leader=_LEADER), Link()


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
    group, walk, seats, link = _group(_EVERY[world])
    return _only(_settled((prepare(group), walk, seats, link)))


@cache
def end_round(world: World, anybody: bool) -> World | None:
    """The join phase ends, with members or with none; None where no round is running."""
    if PHASE[world] != Phase.PREPARING:
        return None
    group, walk, seats, link = (
        _group(_EVERY[world], joined=True) if anybody else (_EVERY[world], REST, Seats(), Link())
    )
    after = complete(group, _SCOPE)
    assert after.generation == group.generation + 1
    return _only(_settled((after, walk, seats, link)))


@cache
def leader_syncs(world: World) -> World | None:
    """The leader's SyncGroup arrives in a group that waits for it: its assignment is being
    appended. None where nobody waits for it.
    """
    group, walk, seats, _ = _group(_EVERY[world])
    outcomes = list(_fire(sync_group, (group, walk, seats, Link(request=SyncGroup(0, 0)))))
    ((label, (after, *_)),) = outcomes
    return _NUMBER[_plain(after)] if label in ("led", "parked") else None


@cache
def silent_steps(worlds: frozenset[World]) -> frozenset[World]:
    """The worlds with those that follow without a line in the log: the leader's append commits and
    the group is Stable.
    """
    committed = (
        after for world in worlds for _, after in _fire(append_committed, _group(_EVERY[world]))
    )
    return worlds | {_NUMBER[core] for case in committed for core in _settled(case)}


@cache
def must_restart(world: World) -> bool:
    """Does the loss of a member start a rebalance here (and not end a running one, or concern an
    Empty group)?
    """
    if PHASE[world] == Phase.PREPARING:
        return False
    group, walk, seats, link = _group(_EVERY[world])
    return any(
        core.phase == Phase.PREPARING
        for core in _settled((after_removal(group, _SCOPE), walk, seats, link))
    )
