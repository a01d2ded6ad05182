"""Ctrl-C and requests to end: raised as `KeyboardInterrupt`, but never between the start of a
process and the moment somebody answers for it.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType, TracebackType
from typing import Any, Self

SIGNALS = ("SIGINT", "SIGTERM", "SIGHUP")


class Interrupts:
    """While entered, SIGINT, SIGTERM and SIGHUP raise `KeyboardInterrupt` in the main thread;
    inside `held` they wait until its end.
    """

    def __init__(self) -> None:
        self._before: dict[signal.Signals, Any] = {}
        self._held = 0
        self._pending = False

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            for name in SIGNALS:
                with suppress(AttributeError):  # a system without that signal
                    number = getattr(signal, name)
                    self._before[number] = signal.signal(number, self._arrived)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
        self._before.clear()

    def _arrived(self, number: int, frame: FrameType | None) -> None:
        if self._held:
            self._pending = True
        else:
            raise KeyboardInterrupt

    @contextmanager
    def held(self) -> Iterator[None]:
        """What is inside runs to its end; it must be bounded in time. What arrived meanwhile is
        raised after it, unless an error is on its way.
        """
        self._held += 1
        try:
            yield
        finally:
            self._held -= 1
        if self._pending and not self._held:
            self._pending = False
            raise KeyboardInterrupt
