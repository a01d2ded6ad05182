"""CPU seconds of Spark's processes: those of executors are seen by their tasks, those that the
driver started by the driver.
"""

from __future__ import annotations

import contextlib
import os
import socket
import time
from collections.abc import Iterable
from pathlib import Path

# (is it a worker that runs tasks?, host, process)
Process = tuple[bool, str, int]


def above_this_one() -> dict[Process, float]:
    """Of the worker that asks, the process that it was forked from, and the executor's JVM; of the
    last two where the system tells (Linux).
    """
    host, pid, found = socket.gethostname(), os.getppid(), {}
    found[True, host, os.getpid()] = time.process_time()
    for _ in range(2):
        with contextlib.suppress(OSError, ValueError, IndexError):
            told = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            ticks = int(told[11]) + int(told[12])  # utime and stime, fields 14 and 15 of proc(5)
            found[False, host, pid] = ticks / os.sysconf("SC_CLK_TCK")
            pid = int(told[1])
    return found


def below_this_one(known: Iterable[Process]) -> dict[Process, float]:
    """Of the processes that this one started, and those that they started; but none of the workers
    in `known`.
    """
    import psutil

    host, found = socket.gethostname(), {}
    workers = {pid for is_worker, where, pid in known if is_worker and where == host}
    for child in psutil.Process().children(recursive=True):
        with contextlib.suppress(psutil.Error):  # it has ended
            used = child.cpu_times()
            if child.pid not in workers:
                found[False, host, child.pid] = used.user + used.system
    return found
