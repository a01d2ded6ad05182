"""The phases of a fail-over in rows: which commands begin and end them, and what they answer to
requests that waited for an append.
"""

from __future__ import annotations

from collections.abc import Iterable

from groupcheck.model.protocol.classic.features import failover_phases
from groupcheck.model.protocol.classic.features.failover_phases import Way
from groupcheck.model.protocol.codes import NOT_COORDINATOR
from groupcheck.oracles.conform.row import MOVES
from groupcheck.oracles.kafka.commands import Command, FailOver, FinishLoad, Load, Unload

LOADS = failover_phases.load_group.name


def loses_memory(rule: str) -> bool:
    """Is the group unloaded, or loaded from the log, in a step that begins with this outcome?"""
    return rule.partition(":")[0] in (*MOVES, LOADS)


def former(commands: Iterable[Command]) -> int:
    """The number of the former coordinator after these commands (see `FailOver.zombie`)."""
    number = -1
    for command in commands:
        if isinstance(command, FailOver):
            number = number + 1 if command.zombie else -1
    return number


def begun(
    way: Way | None, keep: str, whole: bool, commands: Iterable[Command]
) -> tuple[Command, ...]:
    """The commands with which the coordinator moves, after `commands`. `keep`: the records that the
    next one finds; `whole`: these are all. A broker that is elected again finds all that it has
    written; where the model has it lose some, it is another broker that nobody has connected to
    before.
    """
    if way is None:
        return (FailOver(keep=keep),)
    if way == Way.REGAINED:
        loads = Load(hold=True) if whole else FailOver(keep=keep, hold=True)
        return (Unload(), loads)
    moves = FailOver(keep=keep, zombie=True, hold=True)
    if way == Way.UNNOTICED:
        return (moves,)
    return moves, Unload(broker=former((*commands, moves)))


def ended(rule: str, commands: Iterable[Command]) -> tuple[Command, ...]:
    """The commands that end a phase, after `commands`."""
    return (FinishLoad(),) if rule == LOADS else (Unload(broker=former(commands)),)


def unloads(commands: Iterable[Command]) -> bool:
    """Does a broker unload the group, so that all is answered that waits there?"""
    return any(isinstance(command, Unload) for command in commands)


def codes(numbers: Iterable[int]) -> dict[int, int]:
    """The codes of requests that waited for an append when the group was unloaded."""
    return dict.fromkeys(numbers, NOT_COORDINATOR)
