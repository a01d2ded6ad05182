"""Nothing of a recording is left running: not what it started, not what that started, frozen or
deaf as it may be.
"""

from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from groupcheck.model.engine import UserError
from groupcheck.oracles.processes.process_groups import group_lives
from groupcheck.oracles.record.processes import Interrupts, Processes
from groupcheck.oracles.record.shown import run_command

DEAF = (
    "import signal, time; [signal.signal(s, signal.SIG_IGN) for s in (signal.SIGTERM,"
    " signal.SIGINT)]; print('deaf', flush=True); time.sleep(600)"
)
PARENT = (
    "import subprocess, sys; subprocess.Popen([sys.executable, '-c', 'import time;"
    " time.sleep(600)']); print('child', flush=True)"
)


@pytest.fixture
def processes() -> Iterator[Processes]:
    with Interrupts() as interrupts, Processes(interrupts) as running:
        yield running


def started(processes: Processes, program: str) -> subprocess.Popen[bytes]:
    process = processes.start([sys.executable, "-c", program], stdout=subprocess.PIPE)
    assert process.stdout and process.stdout.readline()
    return process


def within(seconds: float, so: Callable[[], bool]) -> bool:
    end = time.monotonic() + seconds
    while not so():
        if time.monotonic() > end:
            return False
        time.sleep(0.01)
    return True


def test_one_that_does_not_listen_is_killed(processes: Processes):
    process = started(processes, DEAF)
    processes.end(process, 0.2)
    assert process.returncode == -signal.SIGKILL


def test_one_that_is_frozen_is_woken_to_end(processes: Processes):
    process = started(processes, "import time; print('on', flush=True); time.sleep(600)")
    process.send_signal(signal.SIGSTOP)
    processes.end(process, 30)
    assert process.returncode == -signal.SIGTERM


def test_what_it_left_behind_in_its_group_is_ended_too(processes: Processes):
    process = started(processes, PARENT)
    process.wait(30)
    assert group_lives(process)
    processes.end(process, 0.2)
    assert within(30, lambda: not group_lives(process))


def test_leaving_the_recording_ends_everything_even_after_an_error():
    running: list[subprocess.Popen[bytes]] = []
    with (
        pytest.raises(RuntimeError, match="of the test"),
        Interrupts() as interrupts,
        Processes(interrupts) as processes,
    ):
        running += [started(processes, DEAF) for _ in range(2)]
        processes.end_all(0.1)
        running.append(started(processes, "import time; print('on', flush=True); time.sleep(600)"))
        raise RuntimeError("of the test")
    assert [process.poll() for process in running] == [
        -signal.SIGKILL,
        -signal.SIGKILL,
        -signal.SIGTERM,
    ]


def test_a_program_that_cannot_be_started_is_named(processes: Processes):
    with pytest.raises(UserError, match="cannot start no-such-thing"):
        processes.start(["no-such-thing"])


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP"])
def test_a_signal_waits_until_what_must_not_be_torn_is_done(name: str):
    done = False
    with pytest.raises(KeyboardInterrupt), Interrupts() as interrupts, interrupts.held():
        os.kill(os.getpid(), getattr(signal, name))
        done = True
    assert done


def test_afterwards_signals_are_what_they_were():
    before = signal.getsignal(signal.SIGTERM)
    with Interrupts():
        assert signal.getsignal(signal.SIGTERM) != before
    assert signal.getsignal(signal.SIGTERM) == before


def shell(processes: Processes, script: str, log: Path, echo: io.BytesIO | None = None) -> int:
    return run_command(["sh", "-c", script], "127.0.0.1:9", log, echo, processes)


def test_a_command_finds_the_broker_in_its_environment_and_all_that_it_prints_is_kept_and_shown(
    processes: Processes, tmp_path: Path
):
    echo = io.BytesIO()
    code = shell(
        processes,
        "echo $KAFKA_BOOTSTRAP_SERVERS; echo $GROUPCHECK_BOOTSTRAP >&2",
        tmp_path / "log",
        echo,
    )
    assert code == 0
    assert echo.getvalue() == (tmp_path / "log").read_bytes() == b"127.0.0.1:9\n127.0.0.1:9\n"


@pytest.mark.parametrize(("script", "code"), [("exit 7", 7), ("kill -9 $$", 137), ("exit 0", 0)])
def test_the_exit_code_is_the_commands(
    processes: Processes, tmp_path: Path, script: str, code: int
):
    assert shell(processes, script, tmp_path / "log") == code


def test_a_command_whose_output_nobody_reads_any_more_is_kept_all_the_same(
    processes: Processes, tmp_path: Path
):
    closed = io.BytesIO()
    closed.close()
    assert shell(processes, "echo still", tmp_path / "log", closed) == 0
    assert (tmp_path / "log").read_bytes() == b"still\n"


def test_what_a_command_leaves_in_the_background_neither_holds_the_recording_nor_survives_it(
    processes: Processes, tmp_path: Path
):
    began = time.monotonic()
    assert shell(processes, "sleep 600 & echo $!", tmp_path / "log") == 0
    background = int((tmp_path / "log").read_text())
    assert time.monotonic() - began < 60
    assert within(30, lambda: not alive(background))


def test_a_command_whose_output_cannot_be_kept_is_ended(processes: Processes):
    if sys.platform != "linux":  # only Linux has the device
        return
    echo = io.BytesIO()
    with pytest.raises(OSError, match=r"No space left on device: '/dev/full'"):
        shell(processes, "while :; do echo chatty; done", Path("/dev/full"), echo)
    assert echo.getvalue().startswith(b"chatty\n")  # it was shown all the same


FLED = (
    "import subprocess, sys; print(subprocess.Popen(['sleep', '600'], start_new_session=True).pid,"
    " flush=True)"
)


def test_one_that_fled_into_a_session_of_its_own_does_not_hold_the_recording(
    processes: Processes, tmp_path: Path
):
    log, codes = tmp_path / "log", list[int]()
    waits = threading.Thread(
        target=lambda: codes.append(
            run_command([sys.executable, "-c", FLED], "127.0.0.1:9", log, None, processes)
        ),
        daemon=True,
    )
    waits.start()
    waits.join(60)
    os.kill(int(log.read_text()), signal.SIGKILL)
    assert codes == [0]


def alive(pid: int) -> bool:
    try:
        return (
            "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text()
            if Path("/proc").is_dir()
            else os.kill(pid, 0) is None
        )
    except OSError:
        return False


def test_ctrl_c_goes_to_the_command_and_its_answer_is_its_exit_code(
    processes: Processes, tmp_path: Path
):
    log = tmp_path / "log"
    program = "trap 'echo caught; exit 5' INT; echo ready; while true; do sleep 0.05; done"

    def press() -> None:
        if within(60, lambda: log.is_file() and b"ready" in log.read_bytes()):
            os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=press, daemon=True).start()
    assert shell(processes, program, log) == 5
    assert log.read_bytes() == b"ready\ncaught\n"
