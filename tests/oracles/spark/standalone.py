"""A Spark cluster of separate processes on loopback: a master and two workers, from the installed
PySpark.
"""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pyspark
from attrs import frozen

PATIENCE = 60.0  # seconds for a process to say that it is there


@frozen
class Cluster:
    """`master`: its URL. Everything that its processes write lies in `folder`; by it their
    executors are known.
    """

    master: str
    folder: Path

    def executors(self) -> list[int]:
        """Process ids of the executors' JVMs."""
        return [
            pid
            for pid, told in _processes()
            if "CoarseGrainedExecutorBackend" in told and str(self.folder) in told
        ]

    def kill_executor(self, number: int) -> int:
        """Kills one executor, as a crash would; returns its process id. There must be one."""
        until = time.monotonic() + PATIENCE
        while not (there := sorted(self.executors())):
            assert time.monotonic() < until, "no executor is running"
            time.sleep(0.05)
        pid = there[number % len(there)]
        os.kill(pid, signal.SIGKILL)
        return pid


def _processes() -> Iterator[tuple[int, str]]:
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                told = (
                    (entry / "cmdline").read_bytes()
                    + b" "
                    + os.fsencode((entry / "cwd").readlink())
                )
                yield int(entry.name), told.decode(errors="replace").replace("\0", " ")


@contextlib.contextmanager
def standalone(folder: Path, workers: int = 2) -> Iterator[Cluster]:
    """A cluster that keeps everything in a folder; every process of it has ended afterwards."""
    with contextlib.ExitStack() as stack:
        log = _started(
            stack,
            folder,
            "master",
            [
                "org.apache.spark.deploy.master.Master",
                "--host",
                "127.0.0.1",
                "--port",
                "0",
                "--webui-port",
                "0",
            ],
        )
        master = _told(log, r"Starting Spark master at (spark://\S+)")
        logs = []
        for k in range(workers):
            arguments = [
                "--host",
                "127.0.0.1",
                "--webui-port",
                "0",
                "-c",
                "1",
                "-m",
                "1g",
                "-d",
                str(folder / f"work-{k}"),
                master,
            ]
            logs.append(
                _started(
                    stack,
                    folder,
                    f"worker-{k}",
                    ["org.apache.spark.deploy.worker.Worker", *arguments],
                )
            )
        for log in logs:
            _told(log, r"(Successfully registered with master)")
        yield Cluster(master, folder)


def _started(stack: contextlib.ExitStack, folder: Path, name: str, command: list[str]) -> Path:
    log = folder / f"{name}.log"
    home = Path(pyspark.__file__).parent
    environment = {
        **os.environ,
        "SPARK_HOME": str(home),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_DAEMON_MEMORY": "256m",
        "SPARK_LOCAL_DIRS": str(folder / "local"),
        "PYSPARK_PYTHON": sys.executable,
    }
    with log.open("wb") as out:
        process = subprocess.Popen(
            [str(home / "bin" / "spark-class"), *command],
            stdout=out,
            stderr=out,
            env=environment,
            cwd=folder,
            start_new_session=True,
        )
    stack.callback(_end, process)
    return log


def _told(log: Path, pattern: str) -> str:
    """Waits for a line in a process's log."""
    until = time.monotonic() + PATIENCE
    while not (found := re.search(pattern, log.read_text(errors="replace"))):
        assert time.monotonic() < until, log.read_text(errors="replace")[-2000:]
        time.sleep(0.05)
    return found[1]


def _end(process: subprocess.Popen[bytes]) -> None:
    """Ends a process and all that it started."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait(30)
