"""A job of Spark's that somebody watches: it runs in a thread of its own, so that limits, progress and Ctrl-C are seen to meanwhile."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from pyspark import SparkContext

T = TypeVar("T")
GLANCE = 0.1  # seconds between two looks
PATIENCE = 30.0  # seconds that a cancelled job may take to end


def watched(context: SparkContext, job: Callable[[], T], look: Callable[[], None]) -> T:
    """The job's answer, or what it raised. `look` is called in this thread now and then; what it raises cancels all jobs."""
    answers: list[T] = []
    errors: list[BaseException] = []

    def work() -> None:
        try:
            answers.append(job())
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=work, name="spark job", daemon=True)
    thread.start()
    try:
        while thread.is_alive():
            thread.join(GLANCE)
            look()
    except BaseException:
        context.cancelAllJobs()
        thread.join(PATIENCE)
        raise
    if errors:
        raise errors[0]
    return answers[0]
