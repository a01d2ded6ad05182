"""Independent tasks in several processes of this machine. What each gives depends on the task
alone, so it is the same whatever the number of processes.

A pool of `multiprocessing` waits for ever for a worker that the system has killed, and
`concurrent.futures` cannot end one that is busy.
"""

from __future__ import annotations

import signal
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from typing import Any, TypeVar

from groupcheck.model.engine import OutageError

T = TypeVar("T")
R = TypeVar("R")

WORTH_S = 1.0  # of work that is left, from which on more processes are started
# A copy of this process has all that is imported. Elsewhere a copy of one is not safe.
HOW = "fork" if sys.platform == "linux" else "spawn"


def results(
    function: Callable[[T], R],
    tasks: Sequence[T],
    workers: int = 1,
    here: Callable[[T], R] | None = None,
    lost: Callable[[T], R] | None = None,
) -> Iterator[tuple[int, R]]:
    """Calls `function` for each task and gives (index of the task, result) in the order in which
    they are done. The first tasks run in this process (by `here`, if given); if what is left seems
    to take longer, up to `workers` processes do it. They end with the generator. Raises what
    `function` raises. If a process ends without a result, `lost` gives one in its place, and
    another process goes on; without it, `OutageError` is raised.
    """
    left = deque(enumerate(tasks))
    slowest = 0.0
    while left and (workers < 2 or len(left) < 2 or slowest * len(left) < WORTH_S):
        index, task = left.popleft()
        began = time.monotonic()
        result = (here or function)(task)
        slowest = max(slowest, time.monotonic() - began)
        yield index, result
    if left:
        yield from _spread(function, left, min(workers, len(left)), lost)


def _spread(
    function: Callable[[T], R],
    left: deque[tuple[int, T]],
    count: int,
    lost: Callable[[T], R] | None,
) -> Iterator[tuple[int, R]]:
    staff: dict[Connection, Any] = {}
    busy: dict[Connection, tuple[int, T]] = {}

    def give(pipe: Connection) -> None:
        busy[pipe] = left.popleft()
        pipe.send(busy[pipe])

    try:
        for _ in range(count):
            give(_started(function, staff))
        while busy:
            for pipe in [one for one in wait([*busy]) if isinstance(one, Connection)]:
                index, task = busy.pop(pipe)
                try:
                    _, result, error = pipe.recv()
                except (EOFError, ConnectionResetError):
                    if lost is None:
                        raise OutageError(
                            "a process that worked for this one has ended", do="run it again"
                        ) from None
                    if left:
                        give(_started(function, staff))
                    yield index, lost(task)
                    continue
                if error is not None:
                    raise error
                if left:
                    give(pipe)
                yield index, result
    finally:
        for process in staff.values():
            process.terminate()
        for pipe, process in staff.items():
            process.join()
            pipe.close()


def _started(function: Callable[[Any], Any], staff: dict[Connection, Any]) -> Connection:
    """One more process: the pipe to it."""
    context: Any = get_context(HOW)
    with _uninterrupted():
        mine: Connection
        mine, theirs = context.Pipe()
        process = context.Process(target=_work, args=(theirs, function), daemon=True)
        process.start()
        theirs.close()
        staff[mine] = process
    return mine


def _work(pipe: Connection, function: Callable[[Any], Any]) -> None:
    """The life of a worker: what ends it is that it is terminated, or that nobody asks any more."""
    signal.set_wakeup_fd(-1)  # that of the parent
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the terminal interrupts the parent, too
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, (signal.SIGINT,))
    while True:
        try:
            index, task = pipe.recv()
        except EOFError:
            return
        try:
            pipe.send((index, function(task), None))
        except Exception as error:
            pipe.send((index, None, error))


@contextmanager
def _uninterrupted() -> Iterator[None]:
    """Ctrl-C waits until the block is done, so that no worker hears it before it ignores it."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGINT,))
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
