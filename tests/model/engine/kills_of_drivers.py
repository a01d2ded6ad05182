"""Kills searches at random moments, lets two of them drive one store, and fills their disk. `make
nightly` runs this file: 30 kills.

Each search ends with the right counts or a clear error, and can be resumed to the right counts.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from unittest.mock import patch

from in_process import InProcess

from groupcheck.model.engine import Limits, UserError
from groupcheck.model.engine.fast import explore
from groupcheck.model.engine.fast.segments import FILE, FOLDER, read_manifest
from groupcheck.model.engine.fast.shards import lease, manifests
from groupcheck.model.engine.fast.shards.distribute import distribute
from groupcheck.model.engine.fast.shards.store import Store
from groupcheck.oracles.explain.subject import subject

FAULTS = {"crash": 1, "session_timeout": 1, "fail_over": 1}
COUNTS = "holds 116305 353740 30"  # verdict, states, transitions, depth
WHERE = ("checkpoint", "store")
LONGEST = 300.0  # seconds of one search
ROOM = {"checkpoint": 0.5e6, "store": 2e6}  # bytes that are left on a disk


def search(where: str, folder: Path, states: int | None = None) -> str:
    """Begins a search in a folder, or goes on with the one there: its counts or its error."""
    spec = subject("classic", members=2, faults=FAULTS).spec
    limits = Limits(states=states)
    try:
        if where == "checkpoint":
            resume = folder if (folder / FILE).exists() else None
            v = explore.explore(spec, limits, checkpoint=folder, resume=resume)
        else:
            resumed = bool(manifests.runs_in(Store(str(folder))))
            v = distribute(spec, InProcess(2), str(folder), limits, widest=2000, resume=resumed)
    except UserError as error:
        return f"error: {error}"
    told = f"{v.verdict} {v.states} {v.transitions} {v.depth}"
    return told if v.unsaved is None else f"{told}, not saved: {v.unsaved}"


def begun(where: str, folder: Path) -> subprocess.Popen[str]:
    """The same in a process of its own, which takes silent drivers for dead at once."""
    command = [sys.executable, __file__, "--search", where, str(folder)]
    environment = {**os.environ, "SPARK_LOCAL_DIRS": f"{folder}-local"}
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)


def answer(process: subprocess.Popen[str]) -> str:
    out, _ = process.communicate(timeout=LONGEST)
    return out.strip() or f"nothing, exit code {process.returncode}"


def left_over(folder: Path) -> list[Path]:
    """Halves of files, and segments that no checkpoint lists."""
    saved = [read_manifest(file.parent) for file in folder.rglob(FILE)]
    listed = {segment["name"] for one in saved for segment in one["segments"]}
    unlisted = [x for x in folder.rglob(f"{FOLDER}/*") if x.name not in listed]
    return [*folder.rglob("*.new"), *unlisted]


def killed(where: str, folder: Path, chance: random.Random, kills: int) -> tuple[int, int]:
    """(kills, wrong answers) of searches that are killed and resumed until there were so many."""
    done = wrong = searches = 0
    while done < kills:
        process = begun(where, folder / str(searches))
        try:
            process.wait(chance.uniform(1.5, 7.0))
        except subprocess.TimeoutExpired:
            process.kill()
            done += 1
            process.communicate()
            continue
        wrong += answer(process) != COUNTS
        searches += 1
    wrong += answer(begun(where, folder / str(searches))) != COUNTS
    left = left_over(folder)
    print(f"{where}: {done} kills over {searches + 1} searches, {wrong} wrong, {len(left)} left")
    return done, wrong + len(left)


def two_drivers(folder: Path, chance: random.Random) -> int:
    """Wrong answers of two drivers at once on one store, and of a third after them."""
    first = begun("store", folder)
    while not (folder / manifests.FOLDER).exists() and first.poll() is None:
        time.sleep(0.05)
    time.sleep(chance.uniform(0.0, 1.0))
    answers = [answer(process) for process in (begun("store", folder), first)]
    last = answer(begun("store", folder))
    print(f"two drivers: {answers}, afterwards {last}")
    return (last != COUNTS) + sum(x != COUNTS and "another driver" not in x for x in answers)


@contextlib.contextmanager
def tiny_disk(folder: Path) -> Iterator[None]:
    """A file system of a few megabytes at a folder. Needs root."""
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", str(folder)], check=True)
    try:
        yield
    finally:
        subprocess.run(["umount", str(folder)], check=True)


def full_disk(where: str, folder: Path) -> int:
    """Wrong answers of a search whose disk fills up, and that is resumed with room."""
    folder.mkdir()
    with tiny_disk(folder):
        (folder / "ballast").write_bytes(bytes(int(8 * 2**20 - ROOM[where])))
        on_full = search(where, folder)
        (folder / "ballast").unlink()
        subprocess.run(["mount", "-o", "remount,size=200m", str(folder)], check=True)
        afterwards = search(where, folder)
    return judged(f"{where} on a full disk", on_full, afterwards)


def full_disk_of_an_executor(folder: Path) -> int:
    """The same where that disk is full on which executors keep their shards."""
    local = Path(os.environ["SPARK_LOCAL_DIRS"], "tiny")
    local.mkdir(parents=True)
    with tiny_disk(local), patch.dict(os.environ, SPARK_LOCAL_DIRS=str(local)):
        on_full = search("store", folder)
        subprocess.run(["mount", "-o", "remount,size=200m", str(local)], check=True)
        afterwards = search("store", folder)
    return judged("executors on a full disk", on_full, afterwards)


def judged(what: str, on_full: str, afterwards: str) -> int:
    """How many of two answers are wrong: that on a full disk, and that with room."""
    print(f"{what}: {on_full}; afterwards {afterwards}")
    return ("make room there, then --resume" not in on_full) + (afterwards != COUNTS)


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--kills", type=int, default=30)
    parser.add_argument("--drivers", type=int, default=5)
    parser.add_argument("--search", nargs=2)
    given = parser.parse_args()
    lease.FRESH = 0.0
    if given.search:
        print(search(given.search[0], Path(given.search[1])), flush=True)
        return 0
    chance, wrong = random.Random(time.time_ns()), 0
    with tempfile.TemporaryDirectory() as folder:
        os.environ["SPARK_LOCAL_DIRS"] = f"{folder}/local"
        for where in WHERE:
            wrong += killed(where, Path(folder, where), chance, given.kills // len(WHERE))[1]
        for run in range(given.drivers):
            wrong += two_drivers(Path(folder, f"drivers-{run}"), chance)
        for where in WHERE if os.geteuid() == 0 else ():
            wrong += full_disk(where, Path(folder, f"full-{where}"))
        if os.geteuid() == 0:
            wrong += full_disk_of_an_executor(Path(folder, "full-executor"))
        else:
            print("a full disk: not done, only root may mount one")
    print(f"{wrong} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
