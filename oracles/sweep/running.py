"""One cell checked or simulated, wherever that is: from a question to an outcome and the page of
its counterexample.
"""

from __future__ import annotations

import time

from groupcheck.oracles.check.free_memory import bounded
from groupcheck.oracles.check.run import run
from groupcheck.oracles.sweep.cells import Question
from groupcheck.oracles.sweep.outcome import Outcome
from groupcheck.oracles.sweep.simulations import Simulation

INTERRUPTED = "interrupted "  # how the engine's reason begins after Ctrl-C


def checked(
    question: Question | Simulation, slots: int = 1, workers: int = 1
) -> tuple[Outcome, str]:
    """Checks a question, or simulates. Returns the outcome, and the HTML page that explains the
    counterexample ("" without one).

    Without a memory limit of its own the check may take four fifths of what is free, divided by
    `slots`, the number of checks that run at once. Raises whatever the check raises, and
    `KeyboardInterrupt` if it was interrupted.
    """
    if isinstance(question, Simulation):
        return question.answered(), ""
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
