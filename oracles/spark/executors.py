"""Spark's executors as the cluster of a distributed search."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeVar

from groupcheck.model.engine import UserError
from groupcheck.oracles.spark.job import JobError, watched
from groupcheck.oracles.spark.session import OnDemand

A = TypeVar("A")
T = TypeVar("T")


class Executors:
    """A job of one task for each argument. Tasks of the same number go to the same executor where
    Spark can: there its states are cached.

    An RDD that is kept in memory says where: Spark prefers the executor that holds a partition, and
    takes another one if that is gone.
    """

    def __init__(self, spark: OnDemand, shards: int | None = None) -> None:
        self._spark, self._wanted = spark, shards
        self.retries = 0
        self._numbers: dict[
            int, Any
        ] = {}  # by how many: a search that is resumed has the shards that it was begun with

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
        """Calls the function for every argument that is not None, and answers in their order.
        Raises `UserError` where a task fails for good.
        """
        called = _Called(function, list(arguments))
        answers: list[T | None] = [None] * len(arguments)
        for number, attempt, answer in self._collected(called, pulse):
            answers[number] = answer
            self.retries += attempt
        return answers

    def _tasks(self, count: int) -> Any:
        """An RDD of so many numbers, each in a partition of its own, which stay where they are."""
        if count not in self._numbers:
            numbers = (
                self._context.parallelize(range(count), count).mapPartitions(lambda n: n).persist()
            )
            numbers.count()
            self._numbers[count] = numbers
        return self._numbers[count]

    def _collected(self, called: _Called, pulse: Callable[[], None]) -> list[tuple[int, int, Any]]:
        """The job's answers."""
        try:
            return watched(
                self._context,
                self._tasks(len(called.arguments)).mapPartitions(called).collect,
                pulse,
            )
        except JobError as error:
            raise _as_user_error(str(error)) from None


class _Called:
    """What a task does: the calls for its numbers, with the number of its attempt."""

    def __init__(self, function: Callable[[Any], Any], arguments: list[Any]) -> None:
        self.function, self.arguments = function, arguments

    def __call__(self, numbers: Iterable[int]) -> Iterator[tuple[int, int, Any]]:
        from pyspark import TaskContext

        context = TaskContext.get()
        attempt = context.attemptNumber() if context else 0
        for number in numbers:
            if self.arguments[number] is not None:
                yield number, attempt, self.function(self.arguments[number])


def _as_user_error(told: str) -> UserError:
    """What a job failed of: the executor's own words where it said any, else Spark's."""
    ours = re.match(r"groupcheck\.[\w.]*Error: (.*)", told)
    if ours:
        return UserError(ours[1])
    return UserError(
        f"executors failed: {told}",
        where="--spark",
        do="see the executors' logs; the store holds the levels before: --resume",
    )
