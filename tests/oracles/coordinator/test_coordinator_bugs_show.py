"""Which known bugs a client can see: the healthy coordinator and one with the bug get the same
random requests, at the same times of a clock of the test's, until their answers differ.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import zip_longest
from typing import Any

import pytest
from attrs import Factory, define
from virtual_coordinator import Asked, Told

from groupcheck.oracles.coordinator.model import every_served

STEPS, SEEDS = 60, 60
# Shorter than a session, so that members live that miss a round.
ROUND_MS = 5_000
WAITS_S = (0.2, 1, 1, 3, 5.5, 5.5, 6, 9, 11, 301)
# How a coordinator is set, and whether it moves.
SETTINGS: dict[str, tuple[dict[str, float], bool]] = {
    "as it is": ({}, False),
    "with an initial delay": ({"delay_s": 3.0}, False),
    "that moves": ({"load_s": 2.0}, True),
}
# Bugs that no answer shows, and why.
UNSEEN = {
    "memory_kept_after_unload": "What a node has kept is replaced when it loads the group again.",
    "stale_claims_assigned": "The plan is the leader's, and the leader is a client.",
}
# Dice hardly ever come to them: test_coordinator_groups.py has a schedule.
RARE = {"heartbeats_fail_while_loading", "served_before_loaded", "takeover_not_logged"}


@define(eq=False)
class Process:
    """A member, as it knows itself. The first one is static."""

    index: int
    ids: list[str] = Factory(list)
    generation: int = 0

    @property
    def instance(self) -> str | None:
        return None if self.index else "i"


@define(eq=False)
class Life:
    """What three processes do, by the throw of dice, and what they are answered."""

    told: Told
    dice: random.Random
    moves: bool
    processes: list[Process] = Factory(lambda: [Process(index) for index in range(3)])
    waiting: list[tuple[int, Process, Asked]] = Factory(list)

    def steps(self) -> Iterator[Any]:
        """After each step: what was answered at once, and the answers that came."""
        for number in range(STEPS):
            yield self._step(number, self.dice.choice(self.processes)), list(self._answers())

    def _step(self, number: int, one: Process) -> Any:
        kind, wait, stale = self.dice.random(), self.dice.choice(WAITS_S), self.dice.random()
        newly, version = self.dice.random() < 0.15, self.dice.choice((5, 9))
        names = ("range",) if self.dice.random() < 0.9 else ("range", "other")
        me = one.ids[-1] if one.ids else ""
        if stale < 0.08 and len(one.ids) > 1:
            me = one.ids[-2]
        generation, named = one.generation - (stale > 0.93), {"groupInstanceId": one.instance}
        if self.moves and kind < 0.04:
            return self.told.groups.fail_over()
        if kind < 0.2:
            return self.told.after(wait)
        if kind < 0.5 or not me:
            who = "" if newly else me
            asked = self.told.join(who, one.instance, version, *names, rebalanceTimeoutMs=ROUND_MS)
        elif kind < 0.72:
            plan = {id: id.encode() for process in self.processes for id in process.ids[-1:]}
            asked = self.told.sync(me, generation, plan, **named)
        elif kind < 0.84:
            return self.told.beat(me, generation, **named)
        elif kind < 0.97:
            return self.told.commit(me, generation, number, **named)
        else:
            return self.told.leave((me, one.instance))
        return self.waiting.append((number, one, asked))

    def _answers(self) -> Iterator[Any]:
        for number, one, asked in list(self.waiting):
            if not asked.answers:
                continue
            self.waiting.remove((number, one, asked))
            yield number, [sorted((k, repr(v)) for k, v in a.items()) for a in asked.answers]
            name, generation = asked.told.get("memberId"), asked.told.get("generationId", -1)
            if name and name not in one.ids:
                one.ids.append(name)
            if generation > 0:
                one.generation = generation


def lives(mutation: str | None, seed: int, how: str) -> Iterator[Any]:
    given, moves = SETTINGS[how]
    return Life(Told(mutation, max_size=2, **given), random.Random(seed), moves).steps()


def shown(mutation: str) -> tuple[str, int, int] | None:
    """Where the bug shows first: the setting, the seed, the step."""
    for how in SETTINGS:
        for seed in range(SEEDS):
            pairs = zip_longest(lives(None, seed, how), lives(mutation, seed, how))
            for step, (healthy, broken) in enumerate(pairs):
                if healthy != broken:
                    return how, seed, step
    return None


def test_what_a_coordinator_answers_depends_on_the_requests_alone():
    for how in SETTINGS:
        assert list(lives(None, 3, how)) == list(lives(None, 3, how))


@pytest.mark.night
@pytest.mark.parametrize("mutation", sorted({m.id for m in every_served()} - RARE))
def test_a_known_bug_shows_in_answers_unless_it_is_argued_that_it_cannot(mutation):
    assert (shown(mutation) is None) == (mutation in UNSEEN)
