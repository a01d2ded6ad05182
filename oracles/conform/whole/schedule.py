"""Random schedules: drawn, carried out on the real group, followed by the model, and shortened if
the two disagree.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import attrs
from attrs import define, field, frozen

from groupcheck.oracles.conform.whole.fitting import Look, misfits
from groupcheck.oracles.conform.whole.model import Following, Guess
from groupcheck.oracles.conform.whole.promises import broken, position
from groupcheck.oracles.conform.whole.turns import Turn, chances, commands, possible

MOST_GUESSES = 4000
FAULTS = (0.05, 0.2, 1.0)  # weights of faults, of which each schedule has one
Ask = Callable[[list[dict[str, Any]]], Look]


@frozen
class Setup:
    """A fresh group."""

    members: int
    partitions: int
    autocommit: bool
    # The seed of the member ids, and so of every hash order.
    seed: int


@frozen
class Parted:
    """The real group did what the model does not allow."""

    setup: Setup
    turns: tuple[Turn, ...]
    # What differs from the nearest state of the model, or what was promised and is broken.
    what: tuple[str, ...]
    # The promise to the application that the real group broke; empty if it parted from the model.
    promise: str = ""
    # What each step was in the model; the last one was nothing.
    rules: tuple[tuple[str, ...], ...] = ()

    @property
    def cause(self) -> tuple[str, ...]:
        """Differences of the same cause: the last step's kind, and the fields that differ."""
        fields = {re.sub(r"\d+", "N", what.partition(" is ")[0]) for what in self.what}
        return (self.promise, self.turns[-1].kind, *sorted(fields))


@define
class Seen:
    """What was executed."""

    # Steps that agree, and steps that do not.
    steps: int = 0
    differing: int = 0
    schedules: int = 0
    # Outcome of the model -> steps in which it fired.
    rules: Counter[str] = field(factory=Counter)
    kinds: Counter[str] = field(factory=Counter)


class Refused(Exception):
    """The driver cannot carry out a step."""


def names_of(look: Look) -> frozenset[str]:
    """The ids that the real coordinator knows."""
    group = look["group"]
    members = [m["member"] for m in group.get("members", ())]
    return frozenset([*members, *group.get("pendingJoin", ())])


class Walk:
    """One schedule as it goes on, in both."""

    def __init__(self, ask: Ask, model: Following, setup: Setup) -> None:
        self._ask, self._model, self.setup = ask, model, setup
        start: dict[str, Any] = {"op": "reset", "members": setup.members, "seed": setup.seed}
        start |= {"partitions": setup.partitions, "autoCommit": setup.autocommit}
        self.look = self._told([start])
        self.guesses: list[Guess] = [model.start()]
        self.turns: list[Turn] = []
        # What each step was: of the first state that fits.
        self.rules: list[tuple[str, ...]] = []
        # All rules of which the last step may have been one.
        self.fired: set[str] = set()
        self._processed = 0

    def _told(self, told: list[dict[str, Any]]) -> Look:
        look = self._ask(told)
        if "failed" in look:
            raise RuntimeError(look["failed"])
        if "refused" in look:
            raise Refused(look["refused"])
        for member in look["members"]:
            member["auto"] = self.setup.autocommit
        return look

    def possible(self, faults: float = 1) -> list[tuple[float, Turn]]:
        """What can happen now, with its weight; `faults`: that of faults beside the rest."""
        return list(possible(self.look, faults))

    def take(self, turn: Turn) -> Parted | None:
        """The step happens. `Parted` if no state of the model fits any more."""
        before = self.look
        self.turns.append(turn)
        self.look = self._told(commands(turn, before))
        allowed, names = chances(turn, before), names_of(self.look)
        fitting: dict[Any, Guess] = {}
        nearest: tuple[str, ...] | None = None
        self.fired = set()
        for guess in self.guesses:
            for after in self._model.after(guess, allowed, names):
                wrong = tuple(misfits(self._model, after, self.look))
                if not wrong:
                    fitting.setdefault(after.key, after)
                    self.fired.update(after.rules)
                elif nearest is None or len(wrong) < len(nearest):
                    nearest = wrong
        if not fitting:
            what = nearest or ("the model does not allow this step",)
            return Parted(self.setup, tuple(self.turns), what, rules=tuple(self.rules))
        self.guesses = list(fitting.values())
        self.rules.append(self.guesses[0].rules)
        assert len(self.guesses) <= MOST_GUESSES, "too many states of the model fit"
        return self._broken(turn, before)

    def _broken(self, turn: Turn, before: Look) -> Parted | None:
        """The first promise that the real group has broken in this step."""
        for one in (turn, turn.meanwhile):
            if one and one.kind == "process":
                offset = position(self.look["members"][one.member])
                self._processed = max(self._processed, offset)
        for promise, what in broken(before, self.look, self._processed):
            return Parted(self.setup, tuple(self.turns), (what,), promise, tuple(self.rules))
        return None


def draw(walk: Walk, steps: int, dice: random.Random, seen: Seen) -> Parted | None:
    """A schedule of that many steps, drawn as it goes. Some have many faults and some few, because
    members process and commit only if nothing disturbs them for some steps.
    """
    seen.schedules += 1
    faults = dice.choice(FAULTS)
    for _ in range(steps):
        weighted = walk.possible(faults)
        (turn,) = dice.choices([t for _, t in weighted], [w for w, _ in weighted])
        parted = walk.take(turn)
        if parted:
            seen.differing += 1
            return parted
        seen.steps += 1
        seen.kinds[turn.kind] += 1
        seen.kinds["something meanwhile"] += turn.meanwhile is not None
        seen.rules.update(walk.fired)
    return None


def again(ask: Ask, model: Following, setup: Setup, turns: Sequence[Turn]) -> Parted | None:
    """Carries out given steps; those that cannot happen are left out."""
    walk = Walk(ask, model, setup)
    for turn in turns:
        if turn not in [t for _, t in walk.possible()]:
            continue
        if parted := walk.take(turn):
            return parted
    return None


def shortened(ask: Ask, model: Following, parted: Parted) -> Parted:
    """A schedule in which the two disagree, too, and from which no step can be left out, nor
    anything that happens while a request is on its way.
    """
    best, size = parted, max(1, len(parted.turns) // 2)
    while size:
        before = best
        for turns in _shorter(best.turns, size):
            found = again(ask, model, best.setup, turns)
            if found and _effort(found.turns) < _effort(best.turns):
                best = found
                break
        if best is before:
            size //= 2
    return best


def _shorter(turns: tuple[Turn, ...], size: int) -> Iterator[tuple[Turn, ...]]:
    """The same without some run of that many steps, or without what happens meanwhile in one."""
    for start in range(len(turns) - 1):
        yield (*turns[:start], *turns[start + size :])
    for k, turn in enumerate(turns if size == 1 else ()):
        if turn.meanwhile:
            yield (*turns[:k], attrs.evolve(turn, meanwhile=None), *turns[k + 1 :])


def _effort(turns: Sequence[Turn]) -> int:
    """How much happens in a schedule."""
    return sum(1 + (turn.meanwhile is not None) for turn in turns)
