"""One cell checked, wherever that is: from a question to an outcome and the page of its
counterexample.
"""

from __future__ import annotations

import time

from attrs import frozen

from groupcheck.model.engine.verdict import UNKNOWN
from groupcheck.oracles.check.free_memory import bounded
from groupcheck.oracles.check.run import run
from groupcheck.oracles.printable import printable
from groupcheck.oracles.sweep.cells import Question

TRIES = 3  # before a cell that fails is `unknown`
LONGEST_REASON = 600
INTERRUPTED = "interrupted "  # how the engine's reason begins after Ctrl-C


@frozen
class Outcome:
    """What became of a cell."""

    verdict: str
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


def failure(reason: str, tries: int) -> Outcome:
    """The outcome of a cell that could not be checked."""
    told = printable(" ".join(reason.split()))[:LONGEST_REASON]
    return Outcome(UNKNOWN, told, failed=True, tries=tries)


def checked(question: Question, slots: int = 1, workers: int = 1) -> tuple[Outcome, str]:
    """Checks a question. Returns the outcome, and the HTML page that explains the counterexample
    ("" without one).

    Without a memory limit of its own the check may take four fifths of what is free, divided by
    `slots`, the number of checks that run at once. Raises whatever the check raises, and
    `KeyboardInterrupt` if it was interrupted.
    """
    began = time.perf_counter()
    result = run(question.subject(), bounded(question.limits, slots=slots), workers=workers)
    v = result.verdict
    if v.reason.startswith(INTERRUPTED):
        raise KeyboardInterrupt
    first = v.violations[0] if v.violations else None
    page = result.html() if first else ""
    return Outcome(
        verdict=v.verdict,
        reason=v.reason,
        states=v.states,
        transitions=v.transitions,
        depth=v.depth,
        seconds=round(v.seconds, 6),
        task_seconds=round(time.perf_counter() - began, 6),
        rule_calls=v.rule_calls,
        bytes_per_state=round(v.bytes_per_state, 2),
        broken=tuple(violation.invariant for violation in v.violations),
        steps=first.depth if first else None,
        key=first.key if first else None,
        complete=v.complete,
    ), page


def told(error: BaseException) -> str:
    """What a check raised, on one line."""
    return " ".join(f"{type(error).__name__}: {error}".split()).removesuffix(":")
