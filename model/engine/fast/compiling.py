"""The time that compiling kernels costs, and who hears of it. Imports nothing that is compiled."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from attrs import define


@define
class Compiling:
    """The time that compiling costs this process, and the listener that hears of it."""

    # Seconds spent so far. No search counts them as its own.
    seconds: float = 0.0
    # Called once, before the first unit is compiled, with the folder in which object code will be
    # kept (None if there is no safe folder), and whether the search goes on meanwhile.
    listener: Callable[[Path | None, bool], None] | None = None
    # Called with the number of a process that compiles, and may outlive this one.
    started: Callable[[int], None] = lambda pid: None

    def announce(self, folder: Path | None, *, meanwhile: bool = False) -> None:
        """Tells the listener, once. `meanwhile`: the search goes on while kernels are compiled."""
        listener, self.listener = self.listener, None
        if listener:
            listener(folder, meanwhile)


compiling = Compiling()


def hear_of_compiling(listener: Callable[[Path | None, bool], None]) -> None:
    """Has `listener` called once, before kernels are compiled, with the folder that will keep them
    (None: there is no safe one), and whether a search goes on meanwhile.
    """
    compiling.listener = listener
