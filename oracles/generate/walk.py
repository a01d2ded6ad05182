"""Random walks of the classic group and of its variants with static members. A listener, which
prints them, hears of each step and of each firing.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from functools import cache
from typing import Any, Protocol

from groupcheck.model.engine.step import Semantics, State
from groupcheck.model.engine.verdict import Firing
from groupcheck.model.protocol.classic.group import REST, Phase
from groupcheck.model.protocol.classic.scope import Scope
from groupcheck.model.variants import load

FAULTY = 0.15
"""How often a fault happens where one could, unless said otherwise."""
Pair = tuple[Firing, State]
Enabled = dict[tuple[bool, str], list[Pair]]
"""(is it a fault?, rule and outcome) -> what may happen."""


class Listener(Protocol):
    """An object that hears of a walk."""

    def preferred(self, state: State, enabled: Enabled) -> list[Pair]:
        """Steps of which one must be next; an empty list leaves the choice to the walk."""

    def step(self, firing: Firing, before: State, after: State) -> None:
        """A step begins."""

    def fired(self, firing: Firing, before: State, after: State) -> None:
        """One firing of the step, or one of the urgent firings that follow it."""

    def taken_back(self) -> bool:
        """The step has ended. Whether the listener's program does not take such a step: then the
        walk goes back to the state before it.
        """

    def rested(self, generation: int, quiet: bool) -> None:
        """A step is done. `generation` is that of the group; `quiet`: the group is empty, and the
        coordinator knows no id.
        """


_VARIANTS = tuple(map(load, ("classic", "static_membership", "cooperative_static")))


@cache
def semantics_of(scope: Scope) -> Semantics:
    """The meaning of the rules of the variant with this type of scope within it."""
    variant = next(v for v in _VARIANTS if v.scope_type is type(scope))
    return Semantics(variant.spec(scope))


def _outcomes(
    semantics: Semantics, instances: Any, state: State
) -> Iterator[list[tuple[Firing, State, Any]]]:
    for instance in instances:
        found = list(semantics.firings(instance, state))
        if found:
            yield found


def walk(
    scope: Scope,
    choose: random.Random,
    steps: int,
    listener: Listener,
    faulty_share: float = FAULTY,
) -> None:
    """One random walk of at most so many steps; the same for the same `choose` and listener."""
    semantics = semantics_of(scope)
    state = choose.choice(semantics.starts())[2]
    budget = semantics.at["budget", None]
    for _ in range(steps):
        enabled: Enabled = {}
        for outcomes in _outcomes(semantics, semantics.ordinary, state):
            for firing, after, _ in outcomes:
                enabled.setdefault((after[budget] != state[budget], firing.name), []).append(
                    (firing, after)
                )
        if not enabled:
            return
        faulty = [kind for kind in enabled if kind[0]]
        healthy = [kind for kind in enabled if not kind[0]]
        first = listener.preferred(state, enabled)
        kind = choose.choice(
            faulty if faulty and (not healthy or choose.random() < faulty_share) else healthy
        )
        firing, after = choose.choice(first or enabled[kind])
        before = state
        listener.step(firing, state, after)
        while True:
            listener.fired(firing, state, after)
            state = after
            urgent = next(_outcomes(semantics, semantics.urgent, state), None)
            if urgent is None:
                break
            firing, after, _ = choose.choice(urgent)
        if listener.taken_back():
            state = before
        listener.rested(semantics.named(state)["core"].generation, is_quiet(semantics, state))


def is_quiet(semantics: Semantics, state: State) -> bool:
    """Whether the group is as at the beginning, except for its generation: a run can follow."""
    named = semantics.named(state)
    core = named["core"]
    idle = (
        core.phase == Phase.EMPTY
        and not core.members
        and not core.pending
        and named["walk"] == REST
    )
    return idle and not any(seats.ids for seats in named["seats"])
