"""The driver's process: lines in, lines out, without deadlocks and endless waits."""

from __future__ import annotations

import contextlib
import os
import select
import subprocess
import tempfile
import time
from collections import deque
from collections.abc import Callable, Generator, Iterable, Sequence

from groupcheck.oracles.processes import process_groups
from groupcheck.oracles.processes.process_groups import became
from groupcheck.oracles.show import terminal

CHUNK = 1 << 18
REMARK_S = 10.0  # of silence
TAIL = 2000  # characters of stderr that a report quotes
# Of every driver's JVM: a small heap and one thread that collects, as several run side by side.
OPTIONS = ("-XX:+UseSerialGC", "-XX:-UsePerfData", "-Xms64m", "-Xmx512m")


class Broken(Exception):
    """The process died, or hung and was killed. The text says which, with the end of its stderr.
    `is_from_outside`: a signal has ended it that its own code does not cause.
    """

    def __init__(self, what: str, is_from_outside: bool) -> None:
        self.is_from_outside = is_from_outside
        super().__init__(what)


class Jvm:
    """A running driver. Lines may be sent ahead of their answers: `receive` goes on writing while
    it waits, so that neither side can block the other.
    """

    def __init__(
        self,
        command: Sequence[str],
        silence_s: float,
        name: str,
        say: Callable[[str], None] = terminal.say,
    ) -> None:
        """Starts `command`, which has hung if no byte comes for `silence_s` seconds; `say` is told
        when it is silent for long. Raises `UserError` if it cannot be started.
        """
        self._name, self._say = name, say
        self._silence_s, self._given = silence_s, 0
        self._stderr = tempfile.TemporaryFile()  # noqa: SIM115 (open as long as the process)
        self._process = process_groups.start(
            command,
            do="install a JDK 17 or newer",
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._stderr,
            bufsize=0,
        )
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
        """The next line of the answer. Raises `Broken` if the process ends or is silent."""
        began, is_told = time.monotonic(), False
        while not self._lines:
            poll = select.poll()
            poll.register(self._out, select.POLLIN)
            if self._unsent:
                poll.register(self._in, select.POLLOUT)
            patience_s = self._silence_s if is_told else min(REMARK_S, self._silence_s)
            ready = dict(poll.poll(max(0.0, began + patience_s - time.monotonic()) * 1000))
            if not ready and patience_s == self._silence_s:
                what = became(self._process)
                raise self._broken(f"{what}: no answer for {self._silence_s:g} s")
            if not ready:
                self._say(
                    f"{self._name} has not answered for {REMARK_S:g} s;"
                    f" it is ended after {self._silence_s:g} s"
                )
                is_told = True
            if self._in in ready:
                self._write()
            if self._out in ready and self._read():
                began = time.monotonic()
        self._given += 1
        return self._lines.popleft()

    def answers(self, lines: Iterable[bytes], ahead: int) -> Generator[bytes]:
        """The answer to each line, in order; `ahead` lines are sent before the first answer is
        read. Close it if you do not read it to its end: then it leaves no answers behind. Raises
        `Broken` if the process ends or is silent.
        """
        waiting = 0
        try:
            for line in lines:
                self.send(line)
                waiting += 1
                if waiting >= ahead:
                    waiting -= 1
                    yield self.receive()
            while waiting:
                waiting -= 1
                yield self.receive()
        except Broken:  # no answer will come
            raise
        except (Exception, GeneratorExit):
            for _ in range(waiting):
                self.receive()
            raise

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
            raise self._broken(became(self._process))
        *whole, self._rest = (self._rest + chunk).split(b"\n")
        self._lines.extend(whole)
        return True

    def _broken(self, what: str) -> Broken:
        is_from_outside = process_groups.is_from_outside(self._process)
        self.kill()
        self._stderr.seek(0)
        said = self._stderr.read().decode(errors="replace").strip()[-TAIL:]
        self._stderr.close()
        answers = "1 answer" if self._given == 1 else f"{self._given:,} answers"
        whole = f"{self._name} {what}, after {answers}"
        return Broken(f"{whole}: {said}" if said else whole, is_from_outside)

    def kill(self) -> None:
        process_groups.end([self._process])

    def close(self, wait_s: float = 2.0) -> None:
        """Ends it by ending its input, and kills it if that takes longer than `wait_s` seconds."""
        if self._process.stdin:
            with contextlib.suppress(OSError):
                self._process.stdin.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(wait_s)
        self.kill()
        self._stderr.close()
