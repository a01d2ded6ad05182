"""A job of Spark's that is watched."""

from __future__ import annotations

import signal
import threading

import pytest

from groupcheck.oracles.spark.job import watched


def test_an_interrupt_waits_until_the_cancelled_job_has_ended():
    """Also where it falls into the wait for the job: whoever goes on then finds nothing at work in
    the session.
    """
    looked, cancelled, left, ended = threading.Event(), threading.Event(), threading.Event(), []

    class Context:
        def cancelAllJobs(self):
            cancelled.set()

    def job():
        assert looked.wait(60)
        signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)
        assert cancelled.wait(60)
        left.wait(0.1)  # who leaves early is gone by now
        ended.append(True)

    with pytest.raises(KeyboardInterrupt):
        watched(Context(), job, looked.set)
    assert ended
    left.set()
