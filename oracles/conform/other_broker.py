"""Rows of what comes from outside the group while a fail-over takes its phases: to a coordinator
that loads, and to a former one.

One that loads answers 14, and its sweep for expired offsets is not armed. A former one that knows
what it is answers 16. One that does not know yet answers from its memory, and sweeps; but what
would append a record is answered 16 and changes nothing. (The end of a transaction is answered 6:
completeTransaction passes the writer's error on as it is.)

An administrator asks again, so these are no steps of the model. What a former coordinator says is
what the model's rules make of its memory. A rule that does something while the group is loaded
differs.

Kafka: GroupCoordinatorService (handleOperationException), CoordinatorRuntime (CoordinatorState,
CoordinatorTimerImpl, scheduleWriteOperation, scheduleReadOperation).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import attrs

from groupcheck.model.engine import evolve
from groupcheck.model.protocol.classic.features.failover_phases import LOADING
from groupcheck.model.protocol.classic.features.full_offsets.admin import ADMIN_RULES
from groupcheck.model.protocol.classic.features.zombie_coordinator import FORMER, SENT_AWAY
from groupcheck.model.protocol.classic.scope import Scope
from groupcheck.oracles.conform import full_offsets
from groupcheck.oracles.conform.full_offsets import DESCRIBES, NOT_LEADER, SWEEPS
from groupcheck.oracles.conform.row import ENDS_TXN, Fires, Input, Memory, Outcome

OUTSIDE = frozenset({*(r.name for r in ADMIN_RULES), *ENDS_TXN, DESCRIBES})


def inputs(memory: Memory, scope: Scope) -> Iterator[Fires]:
    """The inputs that come from outside the group. A former coordinator sweeps first and is asked
    for a description last, which shows what the rest has left in its memory.
    """
    if memory.kept is None or not scope.phases:
        return
    names = [r.name for r in reversed(ADMIN_RULES) if scope.has(r.name)]
    for former in (False, True) if memory.stale else (False,):
        if memory.core.loading:
            unarmed = former and memory.former is None
            yield from (Fires(n, former=former) for n in names if n != SWEEPS or not unarmed)
            for me, txn in enumerate(memory.txns):
                yield from (Fires(n, me, former=former) for n in ENDS_TXN if not txn.idle)
        yield Fires(DESCRIBES, former=former)


def concerns(memory: Memory, given: Fires) -> bool:
    """Is it such an input? (Where the group is loaded no sweep is armed, so there is no row.)"""
    armed = given.rule != SWEEPS or given.former
    return given.rule == DESCRIBES or (memory.core.loading and given.rule in OUTSIDE and armed)


def is_ruled(given: Fires) -> bool:
    """Could the model have a rule for it?"""
    return not given.former and given.rule != DESCRIBES


def remembered(memory: Memory) -> Memory:
    """The memory of a former coordinator that does not know yet that it no longer is one. What its
    appends hold back, `comparing.held_for_good` knows.
    """
    assert memory.former is not None and memory.kept is not None
    kept = memory.former_kept and evolve(memory.former_kept, other=memory.kept.other)
    former = evolve(memory.former, appending=False)
    return Memory(former, memory.former_seats, kept=kept, txns=memory.txns)


def outcome(
    memory: Memory, given: Fires, usually: Callable[[Memory, Input], tuple[Outcome, ...]]
) -> Outcome:
    """The result of such an input. `usually`: what a coordinator does with it."""
    there = Outcome((), (), memory, waiting=memory.waiting)
    if not given.former and memory.core.loading:
        return attrs.evolve(there, rules=(f"{given.rule}:{LOADING}",))
    if given.former and memory.former is None:
        return attrs.evolve(there, rules=(f"{FORMER}{given.rule}:{SENT_AWAY}",))
    if given.former:
        return attrs.evolve(there, rules=(_at_former(remembered(memory), given, usually),))
    return attrs.evolve(there, rules=(_describes(memory),))


def _describes(memory: Memory) -> str:
    assert memory.kept is not None
    return f"{DESCRIBES}:{'told' if memory.kept.there else 'no_group'}"


def _at_former(
    memory: Memory, given: Fires, usually: Callable[[Memory, Input], tuple[Outcome, ...]]
) -> str:
    """The answer from this memory: as usual, unless that appends a record."""
    if given.rule == DESCRIBES:
        return FORMER + _describes(memory)
    own = attrs.evolve(given, former=False)
    for found in usually(memory, own):
        if not full_offsets.appended(memory, own, found):
            return FORMER + found.rules[0]
    return f"{FORMER}{given.rule}:{NOT_LEADER if given.rule in ENDS_TXN else SENT_AWAY}"
