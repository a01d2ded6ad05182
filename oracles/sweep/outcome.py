"""The result of a cell, whether it was a check or a simulation."""

from __future__ import annotations

from collections.abc import Mapping

from attrs import field, frozen

from groupcheck.model.engine.verdict import UNKNOWN, Kind
from groupcheck.oracles.printable import printable

TRIES = 3  # before a cell that fails is `unknown`
LONGEST_REASON = 600


@frozen
class Outcome:
    """The result of a cell."""

    verdict: Kind
    reason: str
    states: int = 0
    transitions: int = 0
    depth: int = 0
    # of the search alone
    seconds: float = 0.0
    # of the whole task: spec, search, story and page
    task_seconds: float = 0.0
    rule_calls: int = 0
    bytes_per_state: float = 0.0
    # the invariants that break, or `deadlock`
    broken: tuple[str, ...] = ()
    # of the first of them
    steps: int | None = None
    key: str | None = None
    # every state of the scope was seen
    complete: bool = False
    # the check itself failed `tries` times: the verdict is `unknown`, the reason says why
    failed: bool = False
    tries: int = 1
    # of a simulation: measure -> (mean, low, high); None for what is unknown, or has no interval
    measures: Mapping[str, tuple[float | None, float | None, float | None]] = field(factory=dict)


def failure(reason: str, tries: int) -> Outcome:
    """The outcome of a cell that could not be answered."""
    told = printable(" ".join(reason.split()))[:LONGEST_REASON]
    return Outcome(UNKNOWN, told, failed=True, tries=tries)


def error_line(error: BaseException) -> str:
    """The error that a check raised, on one line."""
    return " ".join(f"{type(error).__name__}: {error}".split()).removesuffix(":")
