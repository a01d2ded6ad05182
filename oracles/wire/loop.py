"""A loop in one thread: sockets that are ready, timers, and what other threads ask it to do."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, wait
from contextlib import contextmanager, suppress
from heapq import heappop, heappush
from queue import Empty, SimpleQueue
from selectors import EVENT_READ, DefaultSelector
from typing import TypeVar

from attrs import define

CHUNK = 1 << 16
IDLE_S = 1.0  # the longest wait of a thread that serves
STOP_S = 10.0
R = TypeVar("R")
Ready = Callable[[int], None]  # is told the events for which a socket is ready


@define(eq=False)
class Timer:
    """Something to be done later."""

    at: float
    act: Callable[[], None] | None

    def cancel(self) -> None:
        self.act = None


class Loop:
    """One thread calls `turn` (or `in_background` does); the others use `post` and `call`."""

    def __init__(self) -> None:
        self.ready = DefaultSelector()
        self._due: list[tuple[float, int, Timer]] = []
        self._timers = 0
        self._posted: SimpleQueue[Callable[[], None]] = SimpleQueue()
        self._thread: threading.Thread | None = None
        self._alarm, self._heard = socket.socketpair()
        for end in (self._alarm, self._heard):
            end.setblocking(False)
        self.watch(self._heard, self._woken)

    def close(self) -> None:
        self.ready.close()
        self._alarm.close()
        self._heard.close()

    def __enter__(self) -> Loop:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def watch(self, source: socket.socket | int, heard: Callable[[], None]) -> None:
        """`heard` is called whenever there is something to read."""
        self.ready.register(source, EVENT_READ, lambda events: heard())

    def turn(self, wait_s: float) -> None:
        """Does what there is to do, and waits for it at most so long."""
        if self._due:
            wait_s = min(wait_s, self._due[0][0] - time.monotonic())
        for key, events in self.ready.select(max(0.0, wait_s)):
            key.data(events)
        self._act()

    def _act(self) -> None:
        with suppress(Empty):
            for _ in range(self._posted.qsize()):
                self._posted.get_nowait()()
        now = time.monotonic()
        while self._due and self._due[0][0] <= now:
            timer = heappop(self._due)[2]
            if timer.act is not None:
                timer.act()

    def later(self, seconds: float, act: Callable[[], None]) -> Timer:
        """Has something done after this time, by the thread that serves."""
        self._timers += 1
        timer = Timer(time.monotonic() + seconds, act)
        heappush(self._due, (timer.at, self._timers, timer))
        return timer

    def post(self, act: Callable[[], None]) -> None:
        """Has something done soon by the thread that serves. For other threads."""
        self._posted.put(act)
        with suppress(OSError):
            self._alarm.send(b"!")

    def call(self, act: Callable[[], R]) -> R:
        """What `act` returns or raises, done by the thread that serves."""
        serves = self._thread  # which the end of the context takes away
        if serves is None or threading.current_thread() is serves:
            return act()
        found: Future[R] = Future()

        def run() -> None:
            try:
                found.set_result(act())
            except BaseException as error:
                found.set_exception(error)

        self.post(run)
        while not wait([found], timeout=IDLE_S).done:
            if not serves.is_alive() and not found.done():
                raise RuntimeError("the server has ended")
        return found.result()

    def _woken(self) -> None:
        with suppress(OSError):
            self._heard.recv(CHUNK)


L = TypeVar("L", bound=Loop)


@contextmanager
def in_background(server: L) -> Iterator[L]:
    """The server in a thread of its own, as long as the context lasts. What its handler raises is
    raised at the end.
    """
    raised: list[BaseException] = []
    stopped = threading.Event()

    def serve() -> None:
        try:
            while not stopped.is_set():
                server.turn(IDLE_S)
        except BaseException as error:
            raised.append(error)

    thread = threading.Thread(target=serve, name="groupcheck-server", daemon=True)
    with server:
        server._thread = thread
        thread.start()
        try:
            yield server
        finally:
            stopped.set()
            server.post(lambda: None)
            thread.join(STOP_S)
            server._thread = None
    if raised:
        raise raised[0]
