"""Sets of tasks as bit masks: the lower bits have the active ones, the upper bits the standbys."""

from __future__ import annotations

from groupcheck.model.protocol.masks import numbers

MOST = 8  # tasks of a topology


def active(tasks: int) -> int:
    """The tasks that are active in the set."""
    return tasks & (1 << MOST) - 1


def standby(tasks: int) -> int:
    """The tasks that are standbys in the set."""
    return tasks >> MOST


def either(tasks: int) -> int:
    """The tasks of the set, whatever their roles."""
    return active(tasks) | standby(tasks)


def both(run: int, copied: int) -> int:
    """A set of active tasks and standbys."""
    return run | copied << MOST


def shown(tasks: int) -> str:
    """In words."""
    names = [f"task {n}" for n in numbers(active(tasks))]
    names += [f"standby {n}" for n in numbers(standby(tasks))]
    return ", ".join(names) if names else "nothing"
