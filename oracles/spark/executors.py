"""Spark's executors as the cluster of a distributed search."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any, TypeVar

from groupcheck.model.engine import OutageError, UserError
from groupcheck.model.engine.fast.shards.store import UnwrittenError
from groupcheck.oracles.spark import processes
from groupcheck.oracles.spark.job import JobError, has_gone, watched
from groupcheck.oracles.spark.session import OnDemand

GO_ON = "the store holds the levels before: --resume"
A = TypeVar("A")
T = TypeVar("T")


class Executors:
    """Runs jobs with one task for each argument. If it can, Spark gives tasks of the same number to
    the same executor, which has the states cached.

    It does so because of an RDD that is kept in memory: Spark prefers the executor that holds a
    partition, and takes another one if that is gone.
    """

    def __init__(self, spark: OnDemand, shards: int | None = None) -> None:
        self._spark, self._wanted = spark, shards
        self.retries = 0
        # (of a worker?, host, process) -> its CPU seconds, as far as a task or this process saw it.
        self._cpu: dict[tuple[bool, str, int], float] = {}
        # number of tasks -> the RDD; a resumed search has as many shards as it began with
        self._numbers: dict[int, Any] = {}

    @property
    def shards(self) -> int:
        """As many as wanted, or one for each core."""
        return self._wanted or max(2, self._context.defaultParallelism)

    @property
    def _context(self) -> Any:
        return self._spark.session().sparkContext

    def run(
        self, function: Callable[[A], T], arguments: Sequence[A | None], pulse: Callable[[], None]
    ) -> list[T | None]:
        """Calls the function for every argument that is not None. Returns the answers in the order
        of the arguments. Raises `UserError` if a task fails for good, `UnwrittenError` if it could
        not write to the store, and `OutageError` if Spark ends.
        """
        answers: list[T | None] = [None] * len(arguments)
        job = self._tasks(len(arguments)).mapPartitions(partial(_called, function, list(arguments)))
        try:
            found = watched(self._context, job.collect, pulse)
        except JobError as error:
            if has_gone(self._context):
                why = f"Spark has gone away: {error}"
                raise OutageError(why, where="--spark", do=GO_ON) from None
            raise _as_user_error(str(error)) from None
        for number, attempt, answer, seconds in found:
            answers[number] = answer
            self.retries += attempt
            self._cpu.update(seconds)
        return answers

    @property
    def cpu(self) -> tuple[float, float]:
        """CPU seconds of Python's workers, and of the other processes: JVMs, and those from which
        workers are forked.
        """
        if self._spark.started:
            self._cpu |= processes.below_this_one(known=self._cpu)
        workers = sum(seconds for (is_worker, *_), seconds in self._cpu.items() if is_worker)
        return workers, sum(self._cpu.values()) - workers

    def _tasks(self, count: int) -> Any:
        """An RDD of so many numbers, each in a partition of its own, which stay where they are."""
        if count not in self._numbers:
            numbers = self._context.parallelize(range(count), count)
            self._numbers[count] = numbers.mapPartitions(lambda n: n).persist()
            self._numbers[count].count()
        return self._numbers[count]


def _called(
    function: Callable[[Any], Any], arguments: list[Any], numbers: Iterable[int]
) -> Iterator[tuple[int, int, Any, dict[tuple[bool, str, int], float]]]:
    """The work of a task: the calls for its numbers. Yields the number, that of the attempt, the
    answer, and CPU seconds of processes.
    """
    from pyspark import TaskContext

    context = TaskContext.get()
    attempt = context.attemptNumber() if context else 0
    for number in numbers:
        if arguments[number] is not None:
            yield number, attempt, function(arguments[number]), processes.above_this_one()


def _as_user_error(told: str) -> UserError:
    """Why a job failed: in the words of the executor if there are any, otherwise of Spark."""
    ours = re.match(r"groupcheck\.[\w.]*?(\w*Error): (.*)", told)
    if ours:
        # An answer may be lost with a block that cannot be read, but not for want of room.
        kind = UnwrittenError if ours[1] == UnwrittenError.__name__ else UserError
        return kind(ours[2])
    return UserError(
        f"executors failed: {told}",
        where="--spark",
        do=f"see the executors' logs; {GO_ON}",
    )
