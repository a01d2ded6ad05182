"""Simulations as cells of a sweep: the grids under `[[simulate]]`."""

from __future__ import annotations

import hashlib
import json
import math
import time
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import attrs
from attrs import field, frozen

from groupcheck import __version__
from groupcheck.model.engine import UserError
from groupcheck.model.engine.errors import shown
from groupcheck.model.engine.fast.identity import identity
from groupcheck.model.engine.verdict import HOLDS, UNKNOWN, VIOLATED, Kind
from groupcheck.oracles import simulate
from groupcheck.oracles.explain.subject import variant_named
from groupcheck.oracles.explain.unknown import one_of
from groupcheck.oracles.printable import printable
from groupcheck.oracles.quantities import MOST_SEED
from groupcheck.oracles.simulate.assumptions import MOST
from groupcheck.oracles.simulate.clock import OutOfTime
from groupcheck.oracles.simulate.compare import compare
from groupcheck.oracles.simulate.document import number
from groupcheck.oracles.simulate.setup import MEASURES
from groupcheck.oracles.simulate.simulation import admitted
from groupcheck.oracles.sweep.choices import kept, listed
from groupcheck.oracles.sweep.document import SIMULATE_WORDS, LimitsGiven, Simulate
from groupcheck.oracles.sweep.outcome import Outcome

SETUP = ("scenario", "members", "partitions", "seed", "seconds")
"""Keys of a grid that are fields of `Setup`; all others are assumptions."""
LARGEST_BOUND = MOST  # of the measures that are bounded


@frozen
class Simulation:
    """The question of a simulation: names and numbers, from which any executor can simulate."""

    variant: str
    # Fields of `Setup` and assumptions that the file gives.
    fields: Mapping[str, Any]
    replications: int
    # Measure -> the most that its mean may be.
    at_most: Mapping[str, float] = field(factory=dict)
    # Wall clock of all replications together; None: no limit.
    max_seconds: float | None = None

    def setup(self) -> simulate.Setup:
        """The setup of the simulation. Raises `UserError` for what does not fit."""
        own = {name: v for name, v in self.fields.items() if name in SETUP}
        own.setdefault("partitions", own.get("members", simulate.Setup().members))
        settings = {name: v for name, v in self.fields.items() if name not in SETUP}
        assumed = simulate.with_settings(settings)
        return simulate.Setup(variant=self.variant, assumptions=assumed, **own)

    def words(self) -> str:
        """`simulate classic, scenario crash, members 100`: what the file says of it."""
        given = [f"{name} {value}" for name, value in self.fields.items()]
        bounds = [f"{name} at most {most:g}" for name, most in self.at_most.items()]
        return ", ".join([f"simulate {self.variant}", *given, *bounds])

    def answered(self) -> Outcome:
        """Simulates. The verdict is `violated` if the interval of some measure lies above its
        bound; else `unknown` if it contains the bound, if the measure is not known, if the group
        had not come to rest when a run ended, or at the limit of seconds.
        """
        began = time.perf_counter()
        setup = self.setup()
        deadline = time.monotonic() + (self.max_seconds or math.inf)
        try:
            comparison = compare([setup], self.replications, setup.seed, deadline)
        except OutOfTime:
            reason = f"stopped at the limit of {self.max_seconds:g} seconds"
            seconds = round(time.perf_counter() - began, 6)
            return Outcome(UNKNOWN, reason, seconds=seconds, task_seconds=seconds)
        (row,) = comparison.rows
        found = {name: row.interval(name) for name in MEASURES}
        measures = {
            name: (_finite(one.mean), _finite(one.low), _finite(one.high))
            for name, one in found.items()
        }
        over, open_ones = [], []
        for name, most in self.at_most.items():
            mean, low, high = measures[name]
            if mean is None:
                open_ones.append(name)
            elif (mean if low is None else low) > most:
                over.append(name)
            elif (mean if high is None else high) > most:
                open_ones.append(name)
        cut = comparison.reason.partition("; --")[0]
        verdict = VIOLATED if over else UNKNOWN if open_ones or cut else HOLDS
        told = [_why(name, measures[name], self.at_most) for name in over + open_ones]
        told += [f"{cut}; a larger value of seconds simulates longer"] if cut else []
        return Outcome(
            verdict=verdict,
            reason="; ".join(told),
            task_seconds=round(time.perf_counter() - began, 6),
            seconds=round(time.perf_counter() - began, 6),
            broken=tuple(over),
            complete=not open_ones and not cut,
            measures=measures,
        )


def _finite(value: float | None) -> float | None:
    return number(value) if value is not None else None


def _why(name: str, found: tuple[float | None, ...], at_most: Mapping[str, float]) -> str:
    mean, low, high = found
    if mean is None:
        most = f"{at_most[name]:g}"
        return f"{name} is unknown, so it may be more than {most}"
    spread = "" if low is None or high is None else f" ({low:,.6g} to {high:,.6g})"
    return f"{name} is {mean:,.6g}{spread}, at most {at_most[name]:,.6g} is asked"


@frozen
class SimulationCell:
    """A simulation with its place in the sweep."""

    # From 1, after the cells that are checks.
    number: int
    # From 0, among the grids of simulations.
    grid: int
    question: Simulation
    expect: Kind
    # 20 hexadecimal digits, the same for the same simulation by the same code.
    id: str

    @property
    def asked(self) -> str:
        """The question without its limit: of two cells that ask the same, one is superfluous."""
        question = attrs.evolve(self.question, max_seconds=None)
        return json.dumps(attrs.asdict(question), sort_keys=True)


@cache
def _code(variant: str) -> str:
    """A digest of the model's code and that of the simulator."""
    about = variant_named(variant)
    parts = [identity(about.spec(about.scope_type())).model]
    for file in sorted(Path(simulate.__file__).parent.glob("*.py")):
        parts.append(hashlib.blake2b(file.read_bytes(), digest_size=10).hexdigest())
    return "".join(parts)


def cells_of(
    one: Simulate,
    keys: Mapping[str, Any],
    max_seconds: float | None,
    index: int,
    start: int,
    place: str,
) -> list[SimulationCell]:
    """The cells of a grid, numbered from `start`. `max_seconds`: of those that the grid gives no
    limit of its own. Raises `UserError`.
    """
    axes = dict(_axes(one, keys, place))
    at_most = _bounds(one.at_most, f"{place}, at_most")
    max_seconds = _max_seconds(one.limits, f"{place}, limits") or max_seconds
    found: list[SimulationCell] = []
    for choice in kept(axes, one.only, one.without, place):
        question = Simulation(
            choice["variant"],
            {name: v for name, v in choice.items() if name != "variant"},
            one.replications,
            at_most,
            max_seconds,
        )
        try:
            admitted(question.setup())
        except UserError as error:
            where = printable(f"{place}, {question.words()}")[:200]
            raise UserError(error.what, where=where, do=error.do) from None
        parts = [__version__, _code(question.variant), attrs.asdict(question)]
        digest = hashlib.blake2b(json.dumps(parts, sort_keys=True).encode(), digest_size=10)
        number = start + len(found)
        found.append(SimulationCell(number, index, question, one.expect, digest.hexdigest()))
    if not found:
        raise UserError("no cell is left", where=place, do="look at its lists and filters")
    return found


def _bounds(given: Mapping[str, float], where: str) -> dict[str, float]:
    """Bounds of measures that can be kept and broken. Raises `UserError`."""
    for name, most in given.items():
        if name not in MEASURES:
            raise UserError(one_of("measure", name, MEASURES, None).args[0], where=where)
        if not 0 <= most <= LARGEST_BOUND:
            told = f"{name} is {shown(most)[:60]}, not a number from 0 to {LARGEST_BOUND:g}"
            raise UserError(told, where=where)
    return {name: float(most) + 0.0 for name, most in given.items()}  # no -0.0


def _max_seconds(limits: LimitsGiven, where: str) -> float | None:
    for name in ("max_states", "max_memory"):
        if getattr(limits, name) is not None:
            raise UserError(
                f"{name} is no limit of a simulation", where=where, do="give max_seconds alone"
            )
    return None if limits.max_seconds is None else float(limits.max_seconds)


def _axes(
    one: Simulate, keys: Mapping[str, Any], place: str
) -> Iterator[tuple[str, Sequence[Any]]]:
    for key, given in keys.items():
        if key != "variant" and key in SIMULATE_WORDS:
            continue
        values = list(one.variant) if key == "variant" else listed(given)
        if not values:
            raise UserError("an empty list leaves no cell", where=f"{place}, {key}")
        if key == "variant":
            for name in values:
                variant_named(name)
        elif key in SETUP:
            values = [_of_setup(key, value, f"{place}, {key}") for value in values]
        elif key not in simulate.documented():
            known = [*SIMULATE_WORDS, *SETUP, *simulate.documented()]
            raise UserError(one_of("key of a simulation", key, known, None).args[0], where=place)
        elif not all(type(value) in (int, float, str) for value in values):
            raise UserError("is neither a number nor a text", where=f"{place}, {key}")
        yield key, values


def _of_setup(key: str, value: Any, where: str) -> Any:
    kinds: tuple[type, ...] = (str,) if key == "scenario" else (int,)
    if key == "seconds":
        kinds = (float, int)
    if type(value) not in kinds:
        wanted = {str: "text", float: "a number", int: "a whole number"}[kinds[0]]
        raise UserError(f"{printable(str(value))[:60]} is not {wanted}", where=where)
    if type(value) is not str and abs(value) > MOST_SEED:
        raise UserError(f"{shown(value)[:60]} is not from -10^18 to 10^18", where=where)
    return float(value) if key == "seconds" else value
