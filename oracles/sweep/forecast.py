"""Forecasts what the next larger scope of a family will cost, from its three next smaller ones, and
says which cells to start first.

A family is cells that differ in one number alone: members, generations, partitions, the budget of a
fault. From scope to scope the logarithm of the states grows by some amount, and with few exceptions
by ever less. With g1 and g2 the last two growths and q = g2 / g1 the next growth is estimated as:

    expected  g2 q^0.7, or 0.95 g2 where q is not below 1
    least     g2 q^2, at most 0.8 g2
    least     0 where q < 1/2 (the family comes to its end) or q > 2 (it grows in jumps)
    most      g2 max(q, 1), at most 1.5 g2

Seconds follow from transitions and rule calls, each grown like this. docs/sweep.md says how often
that held.
"""

from __future__ import annotations

import itertools
import json
import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import attrs
from attrs import define, frozen

from groupcheck.oracles.sweep.cells import Cell
from groupcheck.oracles.sweep.outcome import Outcome

NEEDED = 3  # smaller scopes
SPAN = 1.6  # seconds may be so many times more, or less, than the work says
# what a rule call, and the start of a search, cost in transitions (measured, docs/sweep.md)
CALL, START = 150, 150_000


@frozen
class Forecast:
    """The expected cost of a cell."""

    # the number that grows, and its value
    by: str
    # the ids of the cells that it rests on
    basis: tuple[str, ...]
    # with the interval
    states: int
    states_low: int
    states_high: int
    # of the search, with the interval
    seconds: float
    seconds_low: float
    seconds_high: float

    def states_held(self, outcome: Outcome) -> bool | None:
        """Whether the states that were found lie in the interval; None if the search did not see
        all of them.
        """
        return self.states_low <= outcome.states <= self.states_high if outcome.complete else None

    def seconds_held(self, outcome: Outcome) -> bool | None:
        """The same of the seconds."""
        return (
            self.seconds_low <= outcome.seconds <= self.seconds_high if outcome.complete else None
        )


@frozen
class _Grown:
    """Low, middle and high of a quantity of the next scope."""

    low: float
    middle: float
    high: float


def _grown(a: float, b: float, c: float) -> _Grown:
    """The next of a series of three, as the file's docstring says; what shrinks is taken to stay or
    to shrink as much again.
    """
    a, b, c = (max(x, 1.0) for x in (a, b, c))
    g1, g2 = math.log(b / a), math.log(c / b)
    if g2 <= 0:
        return _Grown(c * c / b, c, c)
    q = min(g2 / g1, 3.0) if g1 > 0 else 3.0
    low = min(q * q, 0.8) if 0.5 <= q <= 2 else 0.0
    q = min(q, 1.5)
    return _Grown(
        *(
            c * math.exp(min(g2 * share, 50.0))
            for share in (low, min(q, 1.0) ** 0.7 * (0.95 if q >= 1 else 1.0), max(q, 1.0))
        )
    )


def _work(outcome: Outcome) -> float:
    """Cost of a search in transitions."""
    return START + CALL * outcome.rule_calls + outcome.transitions


@define
class Families:
    """The cells of a sweep by what they have in common."""

    _faults: frozenset[str]
    _of: dict[tuple[str, str], list[tuple[int, Cell]]]

    @staticmethod
    def among(cells: Sequence[Cell]) -> Families:
        faults = frozenset(name for cell in cells for name in cell.faults)
        of: dict[tuple[str, str], list[tuple[int, Cell]]] = defaultdict(list)
        for cell in cells:
            for axis, value, rest in _axes(cell, faults):
                of[axis, rest].append((value, cell))
        for family in of.values():
            family.sort(key=lambda member: member[0])
        return Families(faults, dict(of))

    def below(self, cell: Cell) -> Iterator[tuple[str, list[tuple[int, Cell]]]]:
        """The next smaller cells for each number that grows, as many as are needed, with their
        values; nothing if there are fewer.
        """
        for axis, value, rest in _axes(cell, self._faults):
            smaller = [member for member in self._of.get((axis, rest), ()) if member[0] < value][
                -NEEDED:
            ]
            values = [x for x, _ in smaller] + [value]
            if len(smaller) == NEEDED and len({b - a for a, b in itertools.pairwise(values)}) == 1:
                yield f"{axis} {value}", smaller

    def is_next(self, cell: Cell) -> bool:
        """Whether there are enough smaller cells in the sweep for a forecast."""
        return any(True for _ in self.below(cell))

    def forecast(self, cell: Cell, known: Mapping[str, Outcome]) -> Forecast | None:
        """The forecast with the narrowest interval, from outcomes by the id of their cell; None if
        there is none.
        """
        made = []
        for by, smaller in self.below(cell):
            outcomes = [
                known[one.id] for _, one in smaller if one.id in known and known[one.id].complete
            ]
            if len(outcomes) == NEEDED:
                made.append(_forecast(by, tuple(one.id for _, one in smaller), outcomes))
        return min(made, key=lambda f: f.states_high / f.states_low, default=None)

    def longest_first(self, cells: Sequence[Cell], known: Mapping[str, Outcome]) -> list[Cell]:
        """Cells in the order in which to start them: first those without a forecast, by size, and
        then the others by forecast. Here forecasts may rest on forecasts.
        """
        guessed = dict(known)
        seconds: dict[str, float] = {}
        for cell in sorted(cells, key=_size):
            forecast = self.forecast(cell, guessed)
            if forecast:
                seconds[cell.id] = forecast.seconds
                last = guessed[forecast.basis[-1]]
                share = forecast.states / max(1, last.states)
                guessed[cell.id] = attrs.evolve(
                    last,
                    states=forecast.states,
                    transitions=int(last.transitions * share),
                    rule_calls=int(last.rule_calls * share**0.5),
                    seconds=forecast.seconds,
                    complete=True,
                )
        return sorted(cells, key=lambda c: (-seconds.get(c.id, math.inf), -_size(c), c.number))


def _forecast(by: str, basis: tuple[str, ...], outcomes: Sequence[Outcome]) -> Forecast:
    states, transitions, calls = (
        _grown(*(float(getattr(one, name)) for one in outcomes))
        for name in ("states", "transitions", "rule_calls")
    )
    per = max(outcomes[-1].seconds, 1e-6) / _work(outcomes[-1])
    low, middle, high = (
        per * (START + CALL * c + t)
        for c, t in (
            (calls.low, transitions.low),
            (calls.middle, transitions.middle),
            (calls.high, transitions.high),
        )
    )
    return Forecast(
        by=by,
        basis=basis,
        states=round(states.middle),
        states_low=math.floor(states.low),
        states_high=math.ceil(states.high),
        seconds=round(middle, 3),
        seconds_low=round(low / SPAN, 3),
        seconds_high=round(high * SPAN, 3),
    )


def _axes(cell: Cell, known: Iterable[str]) -> Iterator[tuple[str, int, str]]:
    """Every number of a cell: its name, its value, and all else as one text. A fault of which there
    is none has the budget 0.
    """
    q = cell.question
    fields = {k: v for k, v in cell.scope.items() if isinstance(v, int) and not isinstance(v, bool)}
    others: list[Any] = [
        q.variant,
        q.mutation,
        cell.checked,
        {k: v for k, v in cell.scope.items() if k not in fields and k != "faults"},
    ]
    budgets = {f"fault {name}": n for name, n in cell.faults.items()}
    numbers = {**fields, **budgets}
    for name in (*fields, *(f"fault {name}" for name in known)):
        rest = {k: v for k, v in numbers.items() if k != name}
        yield name, numbers.get(name, 0), json.dumps([others, rest], sort_keys=True)


def _size(cell: Cell) -> int:
    """A stand-in for the cost of a cell of which nothing is known: the sum of the numbers of its
    scope.
    """
    return sum(v for v in cell.scope.values() if isinstance(v, int)) + sum(cell.faults.values())
