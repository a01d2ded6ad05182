"""Whatever code of a user's does to its process: the program ends with a verdict's exit code only
if there was a report, what was started ends with it, and signals arrive once.
"""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

PROGRAM = """
import atexit, os, signal, subprocess, sys, threading, time
from groupcheck.oracles.processes import supervisor
from groupcheck.oracles.processes.supervisor import (
    supervised, tell, temporary_folder, was_interrupted)

supervisor.GRACE_S = supervisor.PATIENCE_S = 0.2

def say(*words):
    print(*words, flush=True)

def await_one(heard):
    '''Until a signal has been heard; `signal.pause` would miss one that comes before it.'''
    while not heard:
        time.sleep(0.01)
    time.sleep(0.2)

def fled():
    '''The number of a process that has left its session, its parent and its good manners.'''
    reading, writing = os.pipe()
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            os.write(writing, str(os.getpid()).encode())
            os.execv(sys.executable, [sys.executable, "-c", "import time; time.sleep(600)"])
        os._exit(0)
    return int(os.read(reading, 20))

def work():
    tell("runs", "mine.py")
    WORK
    return 1

def complain(text, code):
    print(text, file=sys.stderr)
    return code

supervised(work, complain)
"""


def command(work: str, before: str = "") -> list[str]:
    """`before`: what the program does before it is in three processes."""
    program = PROGRAM.replace("WORK", work).replace("\nsupervised(", f"\n{before}\nsupervised(")
    return [sys.executable, "-c", program]


def within(seconds: float, so: Callable[[], bool]) -> bool:
    end = time.monotonic() + seconds
    while not so():
        if time.monotonic() > end:
            return False
        time.sleep(0.01)
    return True


def has_gone(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False


@pytest.mark.parametrize(
    ("work", "code", "told"),
    [
        ("pass", 1, ""),
        ("os._exit(0)", 2, "with exit code 0 before there was an answer"),
        ("os._exit(1)", 2, "with exit code 1 before"),
        ("sys.exit(0)", 2, "with exit code 0 before"),
        ("os.execv(sys.executable, [sys.executable, '-c', ''])", 2, "with exit code 0 before"),
        ("os.kill(os.getpid(), 9)", 2, "with SIGKILL (signal 9) before there was an answer (or"),
        ("os.kill(os.getpid(), 35)", 2, "with signal 35 before there was an answer"),
        ("signal.setitimer(signal.ITIMER_REAL, 0.01); signal.pause()", 2, "SIGALRM (signal 14)"),
        ("os.closerange(3, 100)", 2, "with exit code 1 before"),
        ("os.kill(os.getppid(), 9); signal.pause()", 2, "and the one that watches it"),
        ("atexit.register(os._exit, 0)", 1, ""),
        ("threading.Thread(target=signal.pause).start()", 1, "mine.py still ran 0.2 s after the"),
        ("if os.fork(): os.wait(); os._exit(0)\n    return 0", 2, "with exit code 0 before"),
    ],
)
def test_only_a_report_is_a_verdict(work: str, code: int, told: str):
    ended = subprocess.run(command(work), capture_output=True, text=True, timeout=60, check=False)
    assert (ended.returncode, ended.stdout) == (code, "")
    assert told in ended.stderr and bool(told) == bool(ended.stderr)
    assert code == 1 or "code of mine.py ended the process" in ended.stderr or "watches" in told


@pytest.mark.parametrize("refused", [1, 2])
def test_a_system_that_refuses_a_process_is_told(refused: int):
    """The first fork fails, or the second one."""
    fork = f"""
left, fork = [0, 1, 2][:{refused}], os.fork
def refusing():
    left.pop()
    if not left: raise OSError(11, "Resource temporarily unavailable")
    return fork()
os.fork = refusing
"""
    program = PROGRAM.replace("supervised(work", f"{fork}supervised(work").replace("WORK", "pass")
    ended = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False
    )
    assert (ended.returncode, ended.stdout) == (3, "")
    why = "[Errno 11] Resource temporarily unavailable"
    assert ended.stderr == f"the system refused a process: {why}\n"


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP"])
def test_a_signal_to_the_program_arrives_and_its_end_looks_as_if_it_were_one_process(name: str):
    work = "say('ready'); signal.pause()"
    with subprocess.Popen(command(work), stdout=-1, stderr=-1, text=True) as program:
        assert program.stdout and program.stdout.readline()
        number = getattr(signal, name)
        program.send_signal(number)
        _, errors = program.communicate(timeout=60)
    interrupted = number == signal.SIGINT
    assert program.returncode == (3 if interrupted else -number)
    assert errors.endswith("interrupted\n" if interrupted else "")


def test_a_signal_to_the_whole_group_arrives_once():
    work = (
        "heard = []; signal.signal(signal.SIGINT, lambda *_: heard.append(say('heard')));"
        " say('ready'); await_one(heard)"
    )
    with subprocess.Popen(command(work), stdout=-1, text=True, start_new_session=True) as program:
        assert program.stdout and program.stdout.readline()
        os.killpg(program.pid, signal.SIGINT)
        assert program.communicate(timeout=60)[0] == "heard\n"
    assert program.returncode == 1


def test_the_worker_reads_from_the_terminal_and_hears_its_ctrl_c_once():
    work = (
        "heard = []; signal.signal(signal.SIGINT, lambda *_: heard.append(say('heard')));"
        " say('ready'); say('read', input()); await_one(heard)"
    )
    child, terminal = pty.fork()
    if child == 0:
        os.execv(sys.executable, command(work))
    told = b""
    try:
        while b"ready" not in told:
            told += os.read(terminal, 1000)
        os.write(terminal, b"a line\n")
        while b"read a line" not in told:
            told += os.read(terminal, 1000)
        os.write(terminal, b"\x03")
        while part := os.read(terminal, 1000):
            told += part
    except OSError:  # Linux says so where others say that nothing more comes
        pass
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 1
    assert told.count(b"heard") == 1


def test_only_a_signal_interrupts():
    work = """
    say(was_interrupted())
    try: signal.raise_signal(signal.SIGINT)
    except KeyboardInterrupt: say(was_interrupted(), was_interrupted())
    """
    ended = subprocess.run(command(work), capture_output=True, text=True, timeout=60, check=False)
    assert ended.stdout == "False\nTrue False\n"


def test_who_has_fled_ends_with_the_program():
    ended = subprocess.run(
        command("say(fled())"), capture_output=True, text=True, timeout=60, check=False
    )
    assert ended.returncode == 1
    assert has_gone(int(ended.stdout))


def spared_and_other(work: str, told: Path) -> tuple[int, int, int]:
    """The exit code of a program, and two processes that it has started: the first is spared."""
    start = "pid = fled(); tell('spares', pid); say(pid, fled());"
    with told.open("w") as out:  # no pipe: its end would be that of all who hold it
        ended = subprocess.run(command(start + work), stdout=out, stderr=out, timeout=60)
    spared, other = told.read_text().split()[:2]
    return ended.returncode, int(spared), int(other)


def test_who_is_spared_goes_on_after_a_report_and_nobody_else(tmp_path: Path):
    code, spared, other = spared_and_other("", tmp_path / "told")
    assert (code, has_gone(spared), has_gone(other)) == (1, False, True)
    os.kill(spared, signal.SIGKILL)


@pytest.mark.parametrize(
    "work",
    [
        "os._exit(0)",
        "signal.signal(2, lambda *_: None); os.kill(os.getpid(), 2); say(was_interrupted())",
    ],
)
def test_who_is_spared_ends_with_a_program_that_is_interrupted_or_reports_nothing(
    work: str, tmp_path: Path
):
    _, spared, other = spared_and_other(work, tmp_path / "told")
    assert has_gone(spared) and has_gone(other)


SLOW_KEEPER = """
setpgid, front = os.setpgid, os.getpid()
os.setpgid = lambda *given: (time.sleep(0.5 * (os.getppid() == front)), setpgid(*given))
"""


@pytest.mark.parametrize(
    ("whom", "before"),
    [("the program", ""), ("its group", ""), ("its group", SLOW_KEEPER), ("the worker", "")],
    ids=["the program", "its group", "its group, with a slow keeper", "the worker"],
)
def test_nothing_is_left_of_a_program_that_is_killed(tmp_path: Path, whom: str, before: str):
    work = """
    with temporary_folder("kept-") as place:
        (place / "file").touch()
        say(os.getpid(), fled())
        signal.pause()
    """
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    with subprocess.Popen(
        command(work, before),
        stdout=-1,
        stderr=-1,
        text=True,
        start_new_session=True,
        env=environment,
    ) as program:
        assert program.stdout
        worker, away = map(int, program.stdout.readline().split())
        assert [p.name for p in tmp_path.glob("*/*")] == ["file"]
        if whom == "its group":
            os.killpg(program.pid, signal.SIGKILL)
        else:
            os.kill(worker if whom == "the worker" else program.pid, signal.SIGKILL)
        _, errors = program.communicate(timeout=60)
    assert program.returncode == (2 if whom == "the worker" else -signal.SIGKILL)
    assert ("SIGKILL" in errors) == (whom == "the worker")
    assert within(30, lambda: has_gone(worker) and has_gone(away) and not [*tmp_path.iterdir()])
