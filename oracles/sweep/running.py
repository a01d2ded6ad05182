"""One cell checked or simulated, wherever that is: from a question to an outcome and the page of
its counterexample.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial

import attrs

from groupcheck.oracles.check.free_memory import bounded
from groupcheck.oracles.check.run import run
from groupcheck.oracles.processes.parallel import results
from groupcheck.oracles.sweep.cells import Cell, Question
from groupcheck.oracles.sweep.outcome import TRIES, Outcome, error_line, failure
from groupcheck.oracles.sweep.simulations import Simulation, SimulationCell

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


Finish = Callable[[Cell | SimulationCell, Outcome, str], None]


def check_here(cells: Sequence[Cell | SimulationCell], workers: int, finish: Finish) -> None:
    """Checks cells, started in their order, in up to `workers` processes, and calls `finish` for
    each when it ends; one that is alone may have as many threads. A cell that raises is tried
    again, and then reported, as is one whose process dies. Raises `KeyboardInterrupt`.
    """
    slots = max(1, min(workers, len(cells)))
    questions = [cell.question for cell in cells]
    answer = partial(_tried, slots=slots, workers=workers if slots == 1 else 1)
    for index, (outcome, page) in results(answer, questions, slots, lost=_lost):
        finish(cells[index], outcome, page)


def _lost(_: Question | Simulation) -> tuple[Outcome, str]:
    why = "the process that ran it died (too little memory? set max_memory)"
    return failure(why, 1), ""


def _tried(question: Question | Simulation, slots: int, workers: int) -> tuple[Outcome, str]:
    reason = ""
    for attempt in range(1, TRIES + 1):
        try:
            outcome, page = checked(question, slots, workers)
            return attrs.evolve(outcome, tries=attempt), page
        except Exception as error:  # whatever it is, it concerns this cell alone
            reason = error_line(error)
    return failure(f"the check failed {TRIES} times: {reason}", TRIES), ""
