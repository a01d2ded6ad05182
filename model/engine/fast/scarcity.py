"""Where memory runs out: a search ends as `unknown`, and something is left to say so."""

from __future__ import annotations

import contextlib
import mmap

from groupcheck.model.engine.fast.store import has_limited_address_space

SPARE = 24 << 20  # bytes: paths and a verdict's document take less


class Spare:
    """Address space put aside until memory has run out; none where there is no limit on it."""

    def __init__(self) -> None:
        self._space: mmap.mmap | None = None
        if has_limited_address_space():
            with contextlib.suppress(OSError):
                self._space = mmap.mmap(-1, SPARE)

    def __enter__(self) -> Spare:
        return self

    def __exit__(self, kind: object, error: BaseException | None, where: object) -> bool:
        """Suppresses that memory ran out, and nothing else."""
        self.give_back()
        return error is not None and ran_out(error)

    def give_back(self) -> None:
        """Lets others have it."""
        if self._space is not None:
            self._space.close()
            self._space = None


def ran_out(error: BaseException) -> bool:
    """Is it that memory ran out, perhaps inside a rule, which then seemed to be at fault?"""
    cause: BaseException | None = error
    while cause is not None and not isinstance(cause, MemoryError):
        cause = cause.__cause__
    return cause is not None


def no_room(purpose: str) -> str:
    """Why a search stopped."""
    whose = (
        "the limit on address space (ulimit -v) left no room"
        if has_limited_address_space()
        else "the system gave no memory"
    )
    return f"stopped: {whose} {purpose}"
