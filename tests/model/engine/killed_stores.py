"""A search of 8.4 million states whose log lies on disk, killed and interrupted again and again,
and one on a full disk. `make nightly` runs this file: three minutes.
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

PROGRAM = Path(sys.executable).parent / "groupcheck"
SCOPE = ["check", "classic", "--members", "3", "--any-faults", "2", "--no-symmetry", "--json"]
STATES, TRANSITIONS, DEPTH = 8_412_787, 41_617_329, 42
KILLS = (signal.SIGKILL, signal.SIGINT, signal.SIGKILL, signal.SIGTERM)
PAUSE = 3.0  # seconds that a run has from when there is something to go on from


def command(store: Path, workers: int) -> list[str | Path]:
    is_there = (store / "groupcheck.checkpoint").exists()
    more = ["--resume", str(store)] if is_there else []
    return [PROGRAM, *SCOPE, "--store", str(store), "--workers", str(workers), *more]


def killed(store: Path, workers: int, number: signal.Signals) -> bool:
    """A run that ends so; False if it had its answer before."""
    run = subprocess.Popen(
        command(store, workers),
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    while run.poll() is None and not (store / "groupcheck.checkpoint").exists():
        time.sleep(0.1)
    time.sleep(PAUSE)
    for process in (*children(run.pid), run.pid) if number == signal.SIGKILL else (run.pid,):
        subprocess.run(["kill", f"-{int(number)}", str(process)], check=False)
    out, _ = run.communicate(timeout=300)
    print(f"{number.name} after {PAUSE:g} s: exit {run.returncode}, {len(out)} bytes of answer")
    return b'"holds"' not in out


def children(process: int) -> Iterator[int]:
    """All processes below one."""
    found = subprocess.run(
        ["ps", "-o", "pid=", "--ppid", str(process)], capture_output=True, text=True, check=False
    )
    for child in map(int, found.stdout.split()):
        yield from children(child)
        yield child


def answer(store: Path, workers: int) -> dict[str, Any]:
    out = subprocess.run(command(store, workers), capture_output=True, check=False, timeout=1800)
    found: dict[str, Any] = json.loads(out.stdout)
    return found


def check(found: dict[str, Any]) -> None:
    counts = found["verdict"], found["states"], found["transitions"], found["depth"]
    print(counts)
    assert counts == ("holds", STATES, TRANSITIONS, DEPTH), counts


def on_a_full_disk(folder: Path) -> None:
    """On a file system of 320 MiB, of which 256 stay free, the log ends at some 64 MiB."""
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=320m", "tmpfs", str(folder)], check=True)
    try:
        found = answer(folder / "store", 2)
        print(found["verdict"], found["reason"])
        assert found["verdict"] == "unknown" and "No space left on device" in found["reason"]
        subprocess.run(["mount", "-o", "remount,size=900m", str(folder)], check=True)
        check(answer(folder / "store", 2))
    finally:
        subprocess.run(["umount", str(folder)], check=True)


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        for workers in (1, 2):
            store = Path(folder) / str(workers)
            ends = [killed(store, workers, number) for number in KILLS]
            assert sum(ends) >= 2, "the search was over before it could be killed"
            check(answer(store, workers))
        full = Path(folder) / "full"
        full.mkdir()
        try:
            on_a_full_disk(full)
        except subprocess.CalledProcessError:
            print("a full disk: not done, only root may mount one")


if __name__ == "__main__":
    main()
