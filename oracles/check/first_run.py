"""The first run on a machine, before the fast engine is compiled: small scopes are answered by
plain Python, and compiling is announced.
"""

from __future__ import annotations

import sys
from pathlib import Path

import attrs

from groupcheck.model.engine import Limits
from groupcheck.model.engine.fast.cache import why_not_kept
from groupcheck.model.engine.fast.explore import hear_of_compiling, is_compiled
from groupcheck.oracles.check.run import CheckResult, run
from groupcheck.oracles.explain.subject import Subject
from groupcheck.oracles.printable import printable

FIRST_S = 3.0


def announce_compiling() -> None:
    """Has stderr told, once, before kernels are compiled: how long, and where they will be kept."""

    def told(folder: Path | None) -> None:
        kept = f"kept in {folder}" if folder else f"for this run only: {why_not_kept()}"
        text = f"groupcheck: compiling the search for this machine, 10 to 40 seconds, {kept}"
        print(printable(text), file=sys.stderr, flush=True)

    hear_of_compiling(told)


def first_answer(about: Subject, limits: Limits) -> CheckResult | None:
    """The answer of the plain Python engine, where the fast one is not compiled yet on this machine
    and the scope is so small that plain Python is done within `FIRST_S` seconds; otherwise None.

    Compiling takes some 10 to 40 seconds, once.
    """
    if is_compiled() or (limits.seconds is not None and limits.seconds < FIRST_S):
        return None
    result = run(about, Limits(limits.states, FIRST_S, depth=limits.depth), engine="reference")
    if result.verdict.reason.startswith("stopped at the limit"):
        return None
    note = "plain Python answered: the fast engine is not compiled on this machine yet"
    notes = (*result.verdict.notes, note)
    return attrs.evolve(result, verdict=attrs.evolve(result.verdict, notes=notes))
