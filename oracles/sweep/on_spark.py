"""Cells checked by Spark's executors, each in a task of its own. Results stream to the driver as
tasks end.

What an executor finds travels in an accumulator: Spark hands a task's share of it to the driver
when the task ends, once for each task that succeeded, even if it was retried or run twice. So only
the driver writes, and no disk needs to be shared.

A Spark job for each cell would cost more than a small cell. A task that finds itself at Spark's
last attempt does not run its cell but reports that its process died, so a cell that kills its
worker cannot end the job.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from functools import partial
from typing import TYPE_CHECKING, Any

import attrs

from groupcheck.oracles.spark.job import JobError, watched
from groupcheck.oracles.spark.session import ATTEMPTS, checked_master, is_local, session
from groupcheck.oracles.sweep.cells import Cell, Question
from groupcheck.oracles.sweep.outcome import TRIES, Outcome, error_line, failure
from groupcheck.oracles.sweep.running import Finish, checked
from groupcheck.oracles.sweep.simulations import Simulation, SimulationCell

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Task = tuple[int, Question | Simulation]  # with the number of the cell
# For an embedded JVM that lives for one sweep: compiling its code thoroughly took more of the
# processor (3 s) than it gave back.
SHORT_LIFE = {"spark.driver.defaultJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"}


def sweep_session(master: str) -> AbstractContextManager[SparkSession]:
    """A session set up for a sweep. Raises `UserError` as `session` does."""
    conf = SHORT_LIFE if is_local(checked_master(master)) else {}
    return session(master, name="groupcheck sweep", conf=conf)


def check_on(
    spark: SparkSession,
    master: str,
    cells: Sequence[Cell | SimulationCell],
    workers: int,
    finish: Finish,
) -> None:
    """Checks cells, started in their order, and calls `finish` for each when it ends. Raises
    `KeyboardInterrupt`.

    A cell that raises, or whose process dies, is retried, and then reported. If Spark gives up the
    whole job, the cells that are left are run once more, each in a job of its own, so that none can
    take others with it.
    """
    waiting = {cell.number: cell for cell in cells}
    runs = tries(master)

    def arrived(number: int, outcome: Outcome, page: str) -> None:
        if number in waiting:
            finish(waiting.pop(number), outcome, page)

    _job(spark, list(waiting.values()), runs, workers, arrived)
    for cell in list(waiting.values()):
        reason = _job(spark, [cell], runs, workers, arrived) or "no result came"
        arrived(cell.number, failure(f"Spark gave up the cell: {reason}", runs), "")


def tries(master: str) -> int:
    """How often a cell is run before it is given up: once less than Spark allows, so that the last
    attempt can say so instead of ending the job.
    """
    local = re.search(r",(\d+)\]$", checked_master(master)) if master.startswith("local[") else None
    return min(TRIES, max(1, (int(local[1]) if local else ATTEMPTS) - 1))


def _job(
    spark: SparkSession,
    cells: Sequence[Cell | SimulationCell],
    runs: int,
    workers: int,
    arrived: Callable[[int, Outcome, str], None],
) -> str:
    """Runs one job with a task for each cell. Returns why it failed, "" if it did not."""
    if not cells:
        return ""
    from pyspark.accumulators import AddingAccumulatorParam

    context = spark.sparkContext
    stream: Any = context.accumulator([], AddingAccumulatorParam([]))
    tasks = context.parallelize([(cell.number, cell.question) for cell in cells], len(cells))
    work = partial(
        run_tasks, stream=stream, runs=runs, slots=context.defaultParallelism, workers=workers
    )

    def drain() -> None:
        while taken[0] < len(stream.value):
            arrival = stream.value[taken[0]]
            stream.value[taken[0]] = None  # pages are large
            taken[0] += 1
            arrived(*arrival)

    taken = [0]
    try:
        watched(context, partial(tasks.foreachPartition, work), drain)
    except JobError as error:
        return str(error)
    finally:
        drain()
    return ""


def run_tasks(cells: Iterable[Task], stream: Any, runs: int, slots: int, workers: int) -> None:
    """Runs on an executor: checks the cells of a partition (there is one) and adds what it found to
    the stream.
    """
    from pyspark import TaskContext

    context = TaskContext.get()
    attempt = context.attemptNumber() if context else 0
    for number, question in cells:
        outcome, page = _tried(question, attempt, runs, min(slots, os.cpu_count() or 1), workers)
        stream.add([(number, outcome, page)])


def _tried(
    question: Question | Simulation, attempt: int, runs: int, slots: int, workers: int
) -> tuple[Outcome, str]:
    if attempt >= runs > 1:
        why = f"the process that ran it died or was lost {runs} times"
        return failure(f"{why} (too little memory? set max_memory)", runs), ""
    try:
        outcome, page = checked(question, slots, workers)
        return attrs.evolve(outcome, tries=attempt + 1), page
    except Exception as error:
        if attempt + 1 < runs:
            raise
        return failure(f"the check failed {runs} times: {error_line(error)}", runs), ""
