"""Kafka Connect's `EagerAssignor`: all work is given up before a round and dealt out again."""

from __future__ import annotations

from itertools import cycle

from groupcheck.model.assignors.connect.values import Config, Name, Work


def eager(config: Config, workers: tuple[Name, ...]) -> dict[Name, Work]:
    """Deals all connectors out to the workers in turn, by their names, and then all tasks, going on
    with the worker at which the connectors ended (EagerAssignor.performTaskAssignment).
    """
    turn = cycle(sorted(workers))
    connectors: dict[Name, list[object]] = {name: [] for name in workers}
    tasks: dict[Name, list[tuple[object, int]]] = {name: [] for name in workers}
    for connector in sorted(config.work.connectors):
        connectors[next(turn)].append(connector)
    for task in sorted(config.work.tasks):
        tasks[next(turn)].append(task)
    return {name: Work(tuple(connectors[name]), tuple(tasks[name])) for name in workers}
