"""One mutant on trial: a copy of the checkout with the mutant in it, and the judge, pytest with a
selection of tests, run on the copy. The first test that fails kills the mutant; so do a crash and
a test that takes too long.
"""

from __future__ import annotations

import contextlib
import os
import re
import resource
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from attrs import frozen
from mutate import Mutant

KILLED, SURVIVED, TIMED_OUT = "killed", "survived", "timed out"
# in packing.py stand all kernels of its unit; the units of the search take nothing from it
KERNELS, PACKING = "kernels", "packing"
HERE, PLUGIN = Path(__file__).parent, "bounds_of_trials"
LARGEST_FILE = 1 << 30  # bytes
WALL_S = 3600  # of a whole trial: a judge that sleeps for ever
_FAILED = re.compile(r"^(?:FAILED|ERROR) (\S+)", re.MULTILINE)


@frozen
class Outcome:
    """What became of a mutant, by which test or signal, after how many seconds."""

    verdict: str
    by: str
    seconds: float


class Court:
    """A copy of a checkout in `place`, for one trial after the other."""

    def __init__(self, place: Path, judge: Sequence[str]) -> None:
        self.place, self.judge = place, judge
        self._process: subprocess.Popen[str] | None = None

    def begin(self, root: Path) -> Outcome:
        """Copies the checkout and runs the judge on the code as it is, which it must find good;
        notes how long each test takes, and keeps what was compiled.
        """
        copy_checkout(root, self.place)
        shutil.copy(HERE / f"{PLUGIN}.py", self.place)
        return self._judged({})

    def another(self, place: Path) -> Court:
        """The same in another place, with what was compiled."""
        shutil.copytree(self.place, place, symlinks=True)
        return Court(place, self.judge)

    def put_on_trial(self, mutant: Mutant) -> Outcome:
        """Puts the mutant in, asks the judge, and takes it out again."""
        file = self.place / mutant.file
        good = file.read_text()
        file.write_text(mutant.source)
        for stale in file.parent.glob(f"__pycache__/{file.stem}.*.pyc"):
            stale.unlink()  # one of the same size and second would be taken for this one's
        try:
            settings = {"PYTHONDONTWRITEBYTECODE": "1"}
            if (changed := Path(mutant.file)).parent.name == KERNELS:
                settings["MUTANTS_UNTOUCHED"] = "search" if changed.stem == PACKING else PACKING
            return self._judged(settings)
        finally:
            file.write_text(good)

    def stop(self) -> None:
        """Ends the trial that is under way in another thread."""
        if self._process and self._process.poll() is None:
            os.killpg(self._process.pid, 9)

    def _judged(self, settings: Mapping[str, str]) -> Outcome:
        began = time.monotonic()
        cache = self.place / "cache"  # a mutant of a kernel is compiled, the others stay
        environment = os.environ | {
            "PYTHONPATH": os.pathsep.join([str(self.place / "src"), str(self.place)]),
            "GROUPCHECK_CACHE_DIR": str(cache),
            "MUTANTS_TIMES": str(self.place.parent / "times.json"),
            **settings,
        }
        command = [sys.executable, "-m", "pytest", "-x", "-q", "--tb=no", "-p", PLUGIN]
        kept = {path.name for path in cache.iterdir()} if cache.is_dir() else None
        process = self._process = subprocess.Popen(
            [*command, "-p", "no:cacheprovider", *self.judge],
            cwd=self.place,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            start_new_session=True,
            preexec_fn=_bounded,
        )
        try:
            said, _ = process.communicate(timeout=WALL_S)
        except subprocess.TimeoutExpired:
            said = ""
        finally:
            _end_session(process)
        for path in cache.iterdir() if kept is not None else ():
            if path.name not in kept:
                path.unlink()
        return outcome_of(process.returncode, said, time.monotonic() - began)


def tracked(root: Path) -> list[str]:
    """The files of a checkout that are or would be in a commit."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=root, capture_output=True, check=True).stdout.decode()
    return sorted({n for n in listed.split("\0") if n and os.path.lexists(root / n)})


def copy_checkout(root: Path, place: Path) -> None:
    """Copies all its files: tests read documents and data, too."""
    for name in tracked(root):
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(root / name, place / name, follow_symlinks=False)


def _bounded() -> None:
    """Not the address space: the log reserves far more of it than it takes memory."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (LARGEST_FILE, LARGEST_FILE))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _end_session(process: subprocess.Popen[str]) -> None:
    """Ends the judge and what it started."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, 9)
    process.communicate()


def outcome_of(code: int, said: str, seconds: float) -> Outcome:
    if code == 0:
        return Outcome(SURVIVED, "", seconds)
    if code in (-9, -24):  # SIGKILL by us, SIGXCPU
        return Outcome(TIMED_OUT, "", seconds)
    failed = _FAILED.search(said)
    if code < 0:
        return Outcome(KILLED, f"signal {-code}", seconds)
    return Outcome(KILLED, failed[1] if failed else " ".join(said.split())[-200:], seconds)
