"""The program in three processes, so that it ends with a verdict's exit code only if there is a
verdict, and leaves nothing behind.

- The worker does what the command says. Code of users' runs there: rules, assignors, what their
  modules do when they are imported. It reports its exit code once the answer is written.
- The keeper is its parent. When the worker has ended, however it did, the keeper ends all that the
  worker has started, and removes the folders that it held. On Linux the keeper inherits every
  process that outlives its parent (PR_SET_CHILD_SUBREAPER), so that none escapes by a session of
  its own. Elsewhere it ends the process groups that it was told of.
- The front is the process that the user started. It passes signals on and waits. If it is killed,
  the keeper notices and ends everything; for that the keeper is in a process group of its own.

One kind of process may go on after a report: one that compiles for the next run, bounded in time
(`kernels/background.py`). The worker names it; after a signal to end it is ended like the others.

A forked copy of a program that has imported little costs a few milliseconds. Nothing of this goes
for the Python interface and the pytest plugin, whose process is not ours: `os._exit` in a rule ends
pytest.

Every command runs in this way, because code of users can end its process in ways that no handler
sees: `os._exit`, `execv`, a signal. A child only where code of users is imported would save
milliseconds and would have to know every way by which such code comes in. With a terminal the
worker stays in the front's group, so that it may read from it and hears Ctrl-C; without one it has
a group of its own. In both cases each signal arrives once.
"""

from __future__ import annotations

import contextlib
import gc
import json
import os
import select
import signal
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NoReturn

PASSED_ON = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
GRACE_S = 30.0  # for the worker to end, once it has reported; a busy machine is slow
PATIENCE_S = 5.0  # for what it has started, after SIGTERM, before SIGKILL
LAST_S = 10.0  # to kill what starts others while it is killed
POLL_S = 0.02
PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36  # <linux/prctl.h>

# Of the worker: where it tells the keeper things, where the numbers of signals arrive, and its
# process, because a copy that it forks must tell nothing.
_telling = _arriving = _worker = -1


def supervised(work: Callable[[], int], complain: Callable[[str, int], int]) -> NoReturn:
    """Does some work and ends the program with the exit code that it returns.

    If the worker ends without a report, `complain` gets a sentence and an exit code, and returns
    the exit code. If a signal that was passed on has ended the worker, it ends this process as
    well.
    """
    sys.stdout.flush()
    # Or each copy pays for the objects that the collector of garbage looks at.
    gc.freeze()
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, (*PASSED_ON, signal.SIGCHLD))
    alive, front = os.pipe()
    outcome, keeper = os.pipe()
    try:
        child = os.fork()
    except OSError as error:
        os._exit(_refused(str(error), complain))
    if child == 0:
        os.close(front)
        os.close(outcome)
        _kept(alive, keeper, mask)
        code = work()  # the worker alone comes here
        tell("code", code)
        sys.exit(code)
    try:
        os.close(alive)
        os.close(keeper)
        with os.fdopen(outcome, "rb") as told:
            heard = _waited_for(child, front)
            code = _ended(json.loads(told.read() or b"{}"), heard, complain)
    except BaseException:  # 1, the interpreter's own exit code, would say "violated"
        traceback.print_exc()
        code = 3
    sys.stderr.flush()
    os._exit(code)


def _refused(why: str, complain: Callable[[str, int], int]) -> int:
    return complain(f"the system refused a process: {why}", 3)


def _ended(
    answer: dict[str, Any], heard: set[signal.Signals], complain: Callable[[str, int], int]
) -> int:
    """The exit code for what the keeper told."""
    if "refused" in answer:
        return _refused(answer["refused"], complain)
    if "code" in answer:
        if answer["late"]:
            late = f"{_code_of(answer)} still ran {GRACE_S:g} s after the answer, and was ended"
            print(f"groupcheck: {late}", file=sys.stderr)
        return int(answer["code"])
    for number in heard - {signal.SIGINT}:
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, (number,))
    if heard:
        return complain("interrupted", 3)
    how, hint = os.waitstatus_to_exitcode(answer["status"]) if "status" in answer else None, ""
    if how is None:
        told = "and the one that watches it"
    elif how >= 0:
        told = f"with exit code {how}"
    else:
        told = f"with {signal_named(-how)}"
        if how == -signal.SIGKILL:
            hint = " (or the system did, for want of memory)"
    return complain(
        f"{_code_of(answer)} ended the process {told} before there was an answer{hint}", 2
    )


def signal_named(number: int) -> str:
    """`SIGKILL (signal 9)`; those of real time have no names."""
    try:
        return f"{signal.Signals(number).name} (signal {number})"
    except ValueError:
        return f"signal {number}"


def _code_of(answer: dict[str, Any]) -> str:
    """Whose code it may have been."""
    names = answer.get("runs", [])
    return f"code of {' or '.join(names)}" if names else "code that this command ran"


def tell(what: str, value: str | int) -> None:
    """Tells the keeper something; does nothing in a process that has none. `runs`: the name of
    code of users' that is imported. `holds`: a folder to remove if the worker cannot. `group`: a
    process group to end, where the keeper does not inherit processes. `spares`: a process that may
    go on after a report, unless somebody ends the program. `code`: the report.
    """
    if _worker == os.getpid():
        # Whoever has closed it gets no verdict.
        with contextlib.suppress(OSError):
            os.write(_telling, json.dumps([what, value]).encode() + b"\n")


@contextlib.contextmanager
def temporary_folder(prefix: str, place: Path | None = None) -> Iterator[Path]:
    """A new folder that is removed at the end of the block, or by the keeper if there is none.
    `place`: where it is, if not among temporary files.
    """
    import tempfile

    with tempfile.TemporaryDirectory(prefix=prefix, dir=place, ignore_cleanup_errors=True) as name:
        tell("holds", str(Path(name).resolve()))
        yield Path(name)


def was_interrupted() -> bool:
    """Has a signal to end arrived since this was last asked? Otherwise somebody else has raised
    `KeyboardInterrupt`. True in a process that no keeper watches.
    """
    if _worker != os.getpid():
        return True
    with contextlib.suppress(BlockingIOError):
        if any(number in PASSED_ON for number in os.read(_arriving, 1 << 16)):
            tell("heard", True)
            return True
    return False


INTERRUPTED = "interrupted"


@contextlib.contextmanager
def until_interrupted(note: Callable[[str], None]) -> Iterator[None]:
    """Ctrl-C ends the block, and `note` hears of it: what was done by then is the answer."""
    try:
        yield
    except KeyboardInterrupt:
        if not was_interrupted():
            raise
        note(INTERRUPTED)


# -- the front


def _waited_for(keeper: int, alive: int) -> set[signal.Signals]:
    """Passes on signals until the keeper has ended; those that arrived."""
    # A signal that is ignored by default is not kept for `sigwait` on every system.
    signal.signal(signal.SIGCHLD, _noted)
    heard: set[signal.Signals] = set()
    while True:
        number, is_of_terminal = _next_signal()
        if number == signal.SIGCHLD:
            with contextlib.suppress(ChildProcessError):
                if os.waitpid(keeper, os.WNOHANG) == (0, 0):
                    continue
            return heard
        heard.add(number)
        if not is_of_terminal:
            with contextlib.suppress(OSError):
                os.write(alive, bytes([number]))


def _next_signal() -> tuple[signal.Signals, bool]:
    """The next signal, and whether it was sent by the terminal, which sends it to the worker
    too.
    """
    numbers = (*PASSED_ON, signal.SIGCHLD)
    if hasattr(signal, "sigwaitinfo"):
        info = signal.sigwaitinfo(numbers)
        return signal.Signals(info.si_signo), info.si_code > 0 and _has_terminal()
    number = signal.Signals(signal.sigwait(numbers))
    return number, number == signal.SIGINT and _has_terminal()


def _has_terminal() -> bool:
    """Does the terminal send signals to this session?"""
    try:
        os.close(os.open("/dev/tty", os.O_RDONLY | os.O_NOCTTY))
    except OSError:
        return False
    return True


def _noted(number: int, frame: object) -> None:
    """A handler, so that the signal is not ignored."""


# -- the keeper


def _kept(alive: int, outcome: int, mask: set[int]) -> None:
    """Returns in the worker, and never in the keeper."""
    global _telling, _arriving, _worker
    said, _telling = os.pipe()
    begins, apart = os.pipe()
    inherits = _prctl(PR_SET_CHILD_SUBREAPER, 1)
    keeper = os.getpid()
    try:
        child = os.fork()
    except OSError as error:
        os.write(outcome, json.dumps({"refused": str(error)}).encode())
        os._exit(0)
    if child:
        try:
            os.close(_telling)
            os.close(begins)
            os.setpgid(0, 0)
            os.close(apart)
            Keeper(child, said, alive, inherits).keep(outcome)
        finally:
            os._exit(0)
    _prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != keeper:
        os._exit(0)
    # Whoever kills the front's group from now on leaves the keeper, which ends what was started.
    os.close(apart)
    os.read(begins, 1)
    for pipe in (begins, said, alive, outcome):
        os.close(pipe)
    if not _has_terminal():
        # Then a signal to the front's group is passed on like any other, and arrives once. With a
        # terminal the worker stays in the group that may read from it.
        os.setpgid(0, 0)
    _arriving, arriving = os.pipe()
    for pipe in (_arriving, arriving):
        os.set_blocking(pipe, False)
    signal.set_wakeup_fd(arriving, warn_on_full_buffer=False)
    _worker = os.getpid()
    signal.pthread_sigmask(signal.SIG_SETMASK, mask)


def _prctl(option: int, value: int) -> bool:
    """Sets an attribute of this process; False where there is no such thing."""
    if sys.platform != "linux":
        return False
    import ctypes

    return bool(ctypes.CDLL(None).prctl(option, value, 0, 0, 0) == 0)


def _group_lives(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except OSError:
        return False
    return True


class Keeper:
    """The parent of the worker."""

    def __init__(self, worker: int, said: int, alive: int, inherits: bool) -> None:
        """`said`: what the worker tells. `alive`: signals to pass on; closed when the front has
        ended. `inherits`: this process becomes the parent of those whose own parent ends.
        """
        self._worker, self._said, self._alive, self._inherits = worker, said, alive, inherits
        self._rest = b""
        self._told: dict[str, Any] = {"runs": [], "late": False}
        self._folders: list[str] = []
        self._groups: set[int] = set()
        self._spared: set[int] = set()
        self._is_to_end = False  # has a signal to end arrived?

    def keep(self, outcome: int) -> None:
        """Waits for the end of the worker or of the front, cleans up, and says how it went."""
        nothing = os.open(os.devnull, os.O_RDWR)
        for stream in range(3):  # whoever reads the answer waits for every copy to be closed
            os.dup2(nothing, stream)
        os.set_blocking(self._said, False)
        has_front = self._attended()
        if not has_front:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self._worker, signal.SIGKILL)
        self._hear()
        if self._is_to_end or not has_front or "code" not in self._told:
            self._spared.clear()
        self._end_all(PATIENCE_S if has_front else 0.0)
        self._hear()
        for name in filter(os.path.exists, self._folders):
            import shutil

            shutil.rmtree(name, ignore_errors=True)
        with contextlib.suppress(OSError):
            os.write(outcome, json.dumps(self._told).encode())

    def _attended(self) -> bool:
        """Waits until the worker has ended, or should have, or the front has ended (False)."""
        ended, wake = os.pipe()
        os.set_blocking(wake, False)
        signal.set_wakeup_fd(wake)
        signal.signal(signal.SIGCHLD, _noted)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, (signal.SIGCHLD,))
        poll, until = select.poll(), float("inf")
        for pipe in (ended, self._said, self._alive):
            poll.register(pipe, select.POLLIN)
        while self._reaped() and "status" not in self._told:
            left_ms = max(0.0, until - time.monotonic()) * 1000 if "code" in self._told else None
            ready = dict(poll.poll(left_ms))
            if ended in ready:
                os.read(ended, 1 << 10)
            if self._said in ready and not self._hear():
                poll.unregister(self._said)
            if self._alive in ready:
                numbers = os.read(self._alive, 1 << 10)
                if not numbers:
                    return False
                self._is_to_end = True
                for number in numbers:
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(self._worker, number)
            if "code" in self._told:
                until = min(until, time.monotonic() + GRACE_S)
            if time.monotonic() > until:
                self._told["late"] = True
                break
        return True

    def _hear(self) -> bool:
        """Takes in what the worker has told; False once nobody can tell anything more."""
        while True:
            try:
                part = os.read(self._said, 1 << 16)
            except BlockingIOError:
                return True
            if not part:
                return False
            *lines, self._rest = (self._rest + part).split(b"\n")
            for line in lines:
                what, value = json.loads(line)
                if what == "holds":
                    self._folders.append(value)
                elif what == "group" and not self._inherits:
                    self._groups.add(value)
                elif what == "ended":
                    self._groups.discard(value)
                elif what == "spares":
                    self._spared.add(value)
                elif what == "heard":
                    self._is_to_end = True
                elif what == "runs":
                    self._told["runs"].append(value)
                else:
                    self._told[what] = value

    def _reaped(self) -> bool:
        """Collects children that have ended. Are others left?"""
        with contextlib.suppress(ChildProcessError):
            while True:
                pid, status = os.waitpid(-1, os.WNOHANG)
                if pid == 0:
                    return True
                if pid == self._worker:
                    self._told["status"] = status
        return False

    def _end_all(self, patience_s: float) -> None:
        """Ends every process that descends from this one: SIGTERM (and SIGCONT, as it may be
        frozen), after `patience_s` SIGKILL.
        """
        until = time.monotonic() + patience_s
        if self._is_left() and patience_s:
            for number in (signal.SIGTERM, signal.SIGCONT):
                self._tell_all(number)
        while time.monotonic() < until and self._is_left():
            time.sleep(POLL_S)
        until = time.monotonic() + LAST_S
        while time.monotonic() < until and self._is_left():
            self._tell_all(signal.SIGKILL)
            time.sleep(POLL_S)

    def _is_left(self) -> bool:
        is_left = self._reaped() and (not self._spared or bool(self._descendants()))
        return is_left or any(_group_lives(group) for group in self._groups)

    def _descendants(self) -> list[Any]:
        """The processes that descend from this one, but those that are spared."""
        import psutil  # late: mostly nobody is left

        every = psutil.Process().children(recursive=True)
        return [process for process in every if process.pid not in self._spared]

    def _tell_all(self, number: signal.Signals) -> None:
        import psutil

        for process in self._descendants():
            with contextlib.suppress(psutil.Error):
                process.send_signal(number)
        for group in self._groups:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(group, number)
