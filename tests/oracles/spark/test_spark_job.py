"""A job of Spark's that is watched."""

from __future__ import annotations

import signal
import threading
import time

import pytest

from groupcheck.oracles.spark.job import watched


def test_an_interrupt_waits_until_the_cancelled_job_has_ended():
    """Also where it falls into the wait for the job: whoever goes on then finds nothing at work in the session."""
    cancelled, ended = threading.Event(), []

    class Context:
        def cancelAllJobs(self):
            cancelled.set()

    def job():
        threading.Timer(0.05, signal.pthread_kill, [threading.main_thread().ident, signal.SIGINT]).start()
        assert cancelled.wait(10)
        time.sleep(0.2)
        ended.append(True)

    with pytest.raises(KeyboardInterrupt):
        watched(Context(), job, lambda: None)
    assert ended
