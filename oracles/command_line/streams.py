"""Standard output and standard error of the program. Python loses the rest of a text where an
unbuffered stream takes only a part of it, as a disk does that is nearly full; these do not.
"""

from __future__ import annotations

import codecs
import contextlib
import io
import os
import select
import sys
from typing import Any

_ASCII = {"─": "-", "━": "-", "…": "...", "→": "->"}


class Unwritten(OSError):
    """Standard output cannot take the whole answer."""


class _Heard(io.FileIO):
    """The stream of the answer: all that is written arrives, or `Unwritten` is raised;
    `BrokenPipeError` if nobody reads any more.
    """

    def write(self, text: Any) -> int:
        left = memoryview(text).cast("B")
        while left:
            try:
                # None: a stream that does not block, as a terminal that another program has set so
                count = super().write(left)
            except BrokenPipeError:
                raise
            except OSError as error:
                raise Unwritten(error.errno, error.strerror) from error
            if count is None:
                select.select([], [self], [])
            left = left[count or 0 :]
        return len(text)


class _Unheard(io.FileIO):
    """The stream of errors and progress: if they cannot be written, the verdict stays the same."""

    def write(self, text: Any) -> int:
        with contextlib.suppress(OSError):
            super().write(text)
        return len(text)


def _speakable(error: UnicodeError) -> tuple[str, int]:
    """The replacement for a character that the encoding of a stream does not have: ASCII for lines
    and dots, an escape for all others.
    """
    assert isinstance(error, UnicodeEncodeError)
    text = error.object[error.start : error.end]
    return "".join(
        _ASCII.get(c) or c.encode("ascii", "backslashreplace").decode() for c in text
    ), error.end


def prepare_streams() -> None:
    """Makes the exit code independent of streams that are closed or full, or whose encoding lacks a
    character.
    """
    codecs.register_error("groupcheck", _speakable)
    kinds: dict[str, type[io.FileIO]] = {"stdout": _Heard, "stderr": _Unheard}
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        stream = getattr(sys, name)
        if stream is None:
            # The number is free, and a file or pipe that is opened later would take it. What is
            # written to this one fails.
            os.set_inheritable(os.open(os.devnull, os.O_RDONLY), True)
            stream = open(number, "w" if number else "r", closefd=False)  # noqa: SIM115
            setattr(sys, name, stream)
        if name in kinds and isinstance(stream, io.TextIOWrapper):
            stream.flush()
            raw = kinds[name](stream.fileno(), "w", closefd=False)
            at_once = name == "stderr" or stream.line_buffering or stream.write_through
            wrapped = io.TextIOWrapper(
                io.BufferedWriter(raw), stream.encoding, "groupcheck", line_buffering=at_once
            )
            setattr(sys, name, wrapped)


def end_answer() -> None:
    """Writes the last of the answer. Raises `OSError` if that cannot be; it is given up then."""
    try:
        sys.stdout.flush()
    except OSError:
        # The interpreter would try again at exit, and end with a code of its own.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise
