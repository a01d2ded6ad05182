"""One cell checked, wherever that is: the question in, an outcome and the page of its
counterexample out.
"""

from __future__ import annotations

import time

import attrs
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
    """What became of a cell. `broken`: invariants (or `deadlock`) that fall, `steps` and `key` of
    the first of them.

    `complete`: every state of the scope was seen. `seconds` of the search alone, `task_seconds` of
    the whole task: spec, search, story and page. `failed`: nothing was found out, because the check
    itself failed `tries` times; the verdict is `unknown` then, with the reason.
    """

    verdict: str
    reason: str
    states: int = 0
    transitions: int = 0
    depth: int = 0
    seconds: float = 0.0
    task_seconds: float = 0.0
    rule_calls: int = 0
    bytes_per_state: float = 0.0
    broken: tuple[str, ...] = ()
    steps: int | None = None
    key: str | None = None
    complete: bool = False
    failed: bool = False
    tries: int = 1


def failure(reason: str, tries: int) -> Outcome:
    """The outcome of a cell that could not be checked."""
    return Outcome(
        UNKNOWN, printable(" ".join(reason.split()))[:LONGEST_REASON], failed=True, tries=tries
    )


def checked(question: Question, slots: int = 1, workers: int = 1) -> tuple[Outcome, str]:
    """Checks a question; answers with the outcome and, where an invariant falls, the HTML page that
    tells how.

    Without a memory limit of its own the check may take four fifths of what is free, divided by
    `slots`, the checks that run at once. Raises whatever the check raises, and `KeyboardInterrupt`
    where it was interrupted.
    """
    began = time.perf_counter()
    about = question.subject()
    result = run(about, bounded(question.limits, slots=slots), workers=workers)
    v = result.verdict
    if v.reason.startswith(INTERRUPTED):
        raise KeyboardInterrupt
    first = v.violations[0] if v.violations else None
    page = result.html() if first else ""
    outcome = Outcome(
        verdict=v.verdict,
        reason=v.reason,
        states=v.states,
        transitions=v.transitions,
        depth=v.depth,
        seconds=round(v.seconds, 6),
        task_seconds=0.0,
        rule_calls=v.rule_calls,
        bytes_per_state=round(v.bytes_per_state, 2),
        broken=tuple(violation.invariant for violation in v.violations),
        steps=first.depth if first else None,
        key=first.key if first else None,
        complete=v.complete,
    )
    return attrs.evolve(outcome, task_seconds=round(time.perf_counter() - began, 6)), page


def told(error: BaseException) -> str:
    """What a check raised, in a line."""
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
