"""A job of Spark's that somebody watches: it runs in a thread of its own, so that limits, progress
and Ctrl-C are seen to meanwhile.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from groupcheck.oracles.spark.session import error_text

if TYPE_CHECKING:
    from pyspark import SparkContext

T = TypeVar("T")
GLANCE = 0.1  # seconds between two looks
CANCEL_TIMEOUT_S = 30.0  # seconds that a cancelled job may take to end


class JobError(Exception):
    """A job failed, of a task or of Spark itself; says what of, in one line."""


def has_gone(context: SparkContext) -> bool:
    """Has Spark itself ended, and not only a task?"""
    from py4j.protocol import Py4JError

    try:
        return bool(context._jsc.sc().isStopped())
    except (Py4JError, OSError):  # not even the JVM answers
        return True


def watched(context: SparkContext, job: Callable[[], T], look: Callable[[], None]) -> T:
    """The job's answer. Raises `JobError`.

    `look` is called in this thread now and then; what it raises cancels all jobs, and so does
    Ctrl-C. `Thread.join` would not serve: an interrupt in the middle of it marks a thread as ended
    that is not.
    """
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    answers: list[T] = []
    errors: list[BaseException] = []
    ended = threading.Event()

    def work() -> None:
        try:
            answers.append(job())
        except (
            PySparkException,
            Py4JError,
            OSError,
        ) as error:  # the last: the JVM is gone in the middle of an answer
            errors.append(JobError(error_text(error)))
        except BaseException as error:
            errors.append(error)
        finally:
            ended.set()

    threading.Thread(target=work, name="spark job", daemon=True).start()
    try:
        while not ended.wait(GLANCE):
            look()
        look()
    except BaseException:
        context.cancelAllJobs()
        ended.wait(CANCEL_TIMEOUT_S)
        raise
    if errors:
        raise errors[0]
    return answers[0]
