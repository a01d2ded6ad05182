"""The driver's process: lines in, lines out, without deadlocks and endless waits."""

from __future__ import annotations

import contextlib
import os
import select
import subprocess
import tempfile
import time
from collections import deque
from collections.abc import Sequence
from pathlib import Path

from groupcheck.model.engine import UserError

CHUNK = 1 << 18
TAIL = 2000  # characters of stderr that a report quotes


class Broken(Exception):
    """The process died, or hung and was killed. The text says which, with the end of its stderr."""


class Jvm:
    """A running driver. Lines may be sent ahead of their answers: `receive` goes on writing while
    it waits, so that neither side can block the other.
    """

    def __init__(self, command: Sequence[str], silence_s: float) -> None:
        """Starts `command`, which has hung if no byte comes for `silence_s` seconds. Raises
        `UserError` if it cannot be started.
        """
        self._silence_s = silence_s
        self._stderr = tempfile.TemporaryFile()  # noqa: SIM115 (open as long as the process)
        try:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._stderr,
                bufsize=0,
                start_new_session=True,
            )
        except OSError as error:
            raise UserError(
                f"cannot start {Path(command[0]).name}: {error.strerror}",
                do="install a JDK 17 or newer",
            ) from None
        assert self._process.stdin and self._process.stdout
        self._in, self._out = self._process.stdin.fileno(), self._process.stdout.fileno()
        os.set_blocking(self._in, False)
        os.set_blocking(self._out, False)
        self._unsent = bytearray()
        self._lines: deque[bytes] = deque()
        self._rest = b""

    def send(self, line: bytes) -> None:
        """Sends a line, or as much of it as the pipe takes now."""
        self._unsent += line
        self._write()

    @property
    def answered(self) -> bool:
        """Has an answer been read that `receive` would give without waiting?"""
        return bool(self._lines)

    def receive(self) -> bytes:
        """The next line of the answer; raises `Broken`."""
        until = time.monotonic() + self._silence_s
        while not self._lines:
            left = until - time.monotonic()
            poll = select.poll()
            poll.register(self._out, select.POLLIN)
            if self._unsent:
                poll.register(self._in, select.POLLOUT)
            ready = dict(poll.poll(max(0.0, left) * 1000))
            if not ready:
                raise self._broken(f"the driver hung: no answer for {self._silence_s:g} s")
            if self._in in ready:
                self._write()
            if self._out in ready and self._read():
                until = time.monotonic() + self._silence_s
        return self._lines.popleft()

    def _write(self) -> None:
        try:
            while self._unsent:
                del self._unsent[: os.write(self._in, self._unsent[:CHUNK])]
        except BlockingIOError:
            pass
        except BrokenPipeError:
            self._unsent.clear()  # `_read` finds out why nobody reads any more

    def _read(self) -> bool:
        try:
            chunk = os.read(self._out, CHUNK)
        except BlockingIOError:
            return False
        if not chunk:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(2)
            raise self._broken(f"the driver died (exit code {self._process.poll()})")
        *whole, self._rest = (self._rest + chunk).split(b"\n")
        self._lines.extend(whole)
        return True

    def _broken(self, what: str) -> Broken:
        self.kill()
        self._stderr.seek(0)
        said = self._stderr.read().decode(errors="replace").strip()[-TAIL:]
        self._stderr.close()
        return Broken(f"{what}: {said}" if said else what)

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe:
                with contextlib.suppress(OSError):
                    pipe.close()

    def close(self, wait_s: float = 2.0) -> None:
        """Ends it by ending its input, and kills it if that takes longer than `wait_s` seconds."""
        if self._process.stdin:
            with contextlib.suppress(OSError):
                self._process.stdin.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(wait_s)
        self.kill()
        self._stderr.close()
