"""Random schedules: drawn, carried out on the real group, followed by the model, and shortened if
the two disagree.
"""

from __future__ import annotations

import json
import random
import re
from collections import Counter
from collections.abc import Generator, Iterator, Sequence
from typing import Any, TypeVar

import attrs
from attrs import define, field, frozen

from groupcheck.model.protocol.classic.scope import Scope
from groupcheck.oracles.conform.whole.fitting import Fitting
from groupcheck.oracles.conform.whole.look import Json, Look, Times, Ways, look
from groupcheck.oracles.conform.whole.model import Guess, scope_of
from groupcheck.oracles.conform.whole.promises import broken
from groupcheck.oracles.conform.whole.real import form_of
from groupcheck.oracles.conform.whole.turns import Turn, commands, plan, possible

MOST_GUESSES = 4000
FAULTS = (0.05, 0.2, 1.0)  # weights of faults, of which each schedule has one
T = TypeVar("T")
# What the driver is told next; is sent the line of its answer.
Asking = Generator[Json, bytes, T]


@frozen
class Setup:
    """A fresh group."""

    members: int
    partitions: int
    autocommit: bool
    # The seed of the member ids, and so of every hash order.
    seed: int
    # The session timeout and the rebalance timeout of each member, in ms.
    times: tuple[Times, ...]
    # group.max.size; None: no limit.
    max_size: int | None = None
    # What each member lists in JoinGroup, as in `Scope.protocols`; empty: all list the same.
    protocols: str = ""
    # The type of the variant's scope.
    kind: type[Scope] = Scope
    # How many members are static, where some are: the first ones. None: as `kind` says.
    static_members: int | None = None

    @property
    def ways(self) -> tuple[Ways, ...]:
        """The properties of each member."""
        static, kind = self.scope.static_count, self.kind
        return tuple((self.autocommit, k < static, kind.cooperative) for k in range(self.members))

    @property
    def scope(self) -> Scope:
        """The scope in which the model follows this group."""
        return scope_of(
            self.members,
            self.partitions,
            self.autocommit,
            self.max_size,
            self.protocols,
            self.kind,
            self.static_members,
        )


@frozen
class Divergence:
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
class StepCounts:
    """The steps that were executed."""

    # Steps that agree, and steps that do not.
    steps: int = 0
    differing: int = 0
    schedules: int = 0
    # Outcome of the model -> steps in which it fired.
    rules: Counter[str] = field(factory=Counter)
    kinds: Counter[str] = field(factory=Counter)

    def add(self, other: StepCounts) -> None:
        """Counts what another schedule has executed."""
        self.steps += other.steps
        self.differing += other.differing
        self.schedules += other.schedules
        self.rules.update(other.rules)
        self.kinds.update(other.kinds)


class StepRefusal(Exception):
    """The driver cannot carry out a step."""


class Walk:
    """One schedule as it goes on, in both."""

    def __init__(self, fitting: Fitting, setup: Setup) -> None:
        self._fitting, self._model, self.setup = fitting, fitting.model, setup
        self.guesses: list[Guess] = [self._model.start(setup.times)]
        self.turns: list[Turn] = []
        # What each step was: of the first state that fits.
        self.rules: list[tuple[str, ...]] = []
        # All rules of which the last step may have been one.
        self.fired: set[str] = set()
        self._processed = 0

    def begin(self) -> Asking[None]:
        """Makes a fresh group."""
        setup = self.setup
        lists = setup.scope.lists or ((setup.scope.listed_by_all,),) * setup.members
        start: dict[str, Any] = {
            "op": "reset",
            "seed": setup.seed,
            "partitions": setup.partitions,
            "autoCommit": setup.autocommit,
            "members": [
                {"sessionMs": session, "rebalanceMs": ms, "assignors": names}
                for (session, ms), names in zip(setup.times, lists)
            ],
        }
        for k, member in enumerate(start["members"][: setup.scope.static_count]):
            member["instance"] = f"i{k}"
        if setup.max_size is not None:
            start["maxSize"] = setup.max_size
        yield from self._tell([start])

    def _tell(self, commands: list[dict[str, Any]]) -> Asking[None]:
        answer = yield {"toWhole": {"do": commands}}
        if b"\t" not in answer:
            told = json.loads(answer)
            raise (
                StepRefusal(told["refused"]) if "refused" in told else RuntimeError(told["failed"])
            )
        self.look: Look = look(answer, self.setup.ways)

    def take(self, turn: Turn) -> Asking[Divergence | None]:
        """The step happens. `Divergence` if no state of the model fits any more."""
        before = self.look
        self.turns.append(turn)
        yield from self._tell(commands(turn, before))
        wrong = self._follow(turn, before)
        if wrong:
            return Divergence(self.setup, tuple(self.turns), wrong, rules=tuple(self.rules))
        return self._broken(turn, before)

    def _follow(self, turn: Turn, before: Look) -> tuple[str, ...]:
        """Keeps the states of the model that fit. If none does: what differs from the nearest."""
        may, names, real = plan(turn, before), self.look.names, form_of(self.look)
        found = [after for guess in self.guesses for after in self._model.after(guess, may, names)]
        fitting: dict[Any, Guess] = {}
        self.fired = set()
        for after in found:
            if self._fitting.fits(after, real):
                fitting.setdefault(after.key, after)
                self.fired.update(after.rules)
        if not fitting:
            wrong = [self._fitting.misfits(after, real) for after in found]
            assert all(wrong), "what differs has no words"
            return min(wrong, key=len, default=("the model does not allow this step",))
        self.guesses = list(fitting.values())
        self.rules.append(self.guesses[0].rules)
        assert len(self.guesses) <= MOST_GUESSES, "too many states of the model fit"
        return ()

    def _broken(self, turn: Turn, before: Look) -> Divergence | None:
        """The first promise that the real group has broken in this step."""
        for one in (turn, turn.meanwhile):
            if one and one.kind == "process":
                offset = self.look.members[one.member].position
                self._processed = max(self._processed, offset)
        for promise, what in broken(before, self.look, self._processed):
            return Divergence(self.setup, tuple(self.turns), (what,), promise, tuple(self.rules))
        return None


def draw(
    fitting: Fitting, setup: Setup, steps: int, dice: random.Random
) -> Asking[tuple[StepCounts, Divergence | None]]:
    """A schedule of that many steps, drawn as it goes. Some have many faults and some few, because
    members process and commit only if nothing disturbs them for some steps.
    """
    walk, seen = Walk(fitting, setup), StepCounts(schedules=1)
    yield from walk.begin()
    faults = dice.choice(FAULTS)
    for _ in range(steps):
        turn = possible(walk.look, faults, setup.max_size).drawn(dice)
        parted = yield from walk.take(turn)
        if parted:
            seen.differing += 1
            return seen, parted
        seen.steps += 1
        seen.kinds[turn.kind] += 1
        seen.kinds["something meanwhile"] += turn.meanwhile is not None
        seen.rules.update(walk.fired)
    return seen, None


def again(fitting: Fitting, setup: Setup, turns: Sequence[Turn]) -> Asking[Divergence | None]:
    """Carries out given steps; those that cannot happen are left out."""
    walk = Walk(fitting, setup)
    yield from walk.begin()
    for turn in turns:
        if turn not in possible(walk.look, most=setup.max_size):
            continue
        parted = yield from walk.take(turn)
        if parted:
            return parted
    return None


def shortened(fitting: Fitting, parted: Divergence) -> Asking[Divergence]:
    """A schedule in which the two disagree, too, and from which no step can be left out, nor
    anything that happens while a request is on its way.
    """
    best, size = parted, max(1, len(parted.turns) // 2)
    while size:
        before = best
        for turns in _shorter(best.turns, size):
            found = yield from again(fitting, best.setup, turns)
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
