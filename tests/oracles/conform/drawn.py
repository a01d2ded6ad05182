"""Random schedules of static members on the real coordinator."""

from __future__ import annotations

import random

from random_walk import RandomWalk

from groupcheck.model.protocol.messages import NO_ID, JoinGroup, SyncGroup
from groupcheck.oracles.conform.row import STRANGER, Fires, Input

LIKELY = {"append_committed": 4.0, "initial_delay": 2.0, "takeover_committed": 0.5}
STEPS = 40


def walked(group: RandomWalk, seed: int, joins: tuple[float, float]) -> None:
    """Takes the group through a schedule that is drawn from a seed. `joins`: how likely a JoinGroup
    without an id and one with an id are.
    """
    drawn = random.Random(seed)
    for _ in range(STEPS):
        inputs = list(group.inputs())
        weights = [weight(given, group.memory.core.generation, joins) for given in inputs]
        group.step(drawn.choices(inputs, weights)[0], lost=drawn.random() < 0.3)
    group.catch_up()


def weight(given: Input, generation: int, joins: tuple[float, float]) -> float:
    """Most of what is drawn leads somewhere."""
    if isinstance(given, Fires):
        return LIKELY.get(given.rule, 0.12)
    request = given.request
    if getattr(request, "id", NO_ID) == STRANGER:
        return 0.01
    if getattr(request, "generation", generation) != generation:
        return 0.01
    if isinstance(request, JoinGroup):
        return joins[request.id != NO_ID]
    return 5.0 if isinstance(request, SyncGroup) else 0.12
