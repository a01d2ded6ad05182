"""A process that has loaded everything and forks for each trial: a mutant is put into its copy of
the checkout, a fork imports the protocol anew and asks a judge, and the mutant is taken out again.

forks.py COPY, with COPY/src first on the path. Reads trials from standard input and answers each on
standard output, both as lines of JSON. One JVM serves all forks; a fork that does not end well
takes it along.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import select
import signal
import sys
import time
import traceback
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

KEPT = "groupcheck.oracles.kafka.driver"  # imports nothing of the protocol
ALL = ("groupcheck.oracles.conform.conformance", "groupcheck.oracles.check.run", "pytest")
CRASHED, TIMED_OUT = "crashed", "timed out"
FAILED = "failed"  # the judge itself


def load() -> None:
    """Imports everything once, then forgets what could be mutated or depends on it."""
    importlib.import_module(KEPT)
    kept = {name for name in sys.modules if name.startswith("groupcheck")}
    assert not any(name.startswith("groupcheck.model.protocol") for name in kept), kept
    for name in ALL:
        importlib.import_module(name)
    for name in [n for n in sys.modules if n.startswith("groupcheck") and n not in kept]:
        del sys.modules[name]


@contextlib.contextmanager
def mutated(copy: Path, file: str, source: str | None) -> Iterator[None]:
    """The copy with this source in place of the file's."""
    if source is None:
        yield
        return
    place = copy / file
    good = place.read_text()
    for stale in place.parent.glob(f"__pycache__/{place.stem}.*.pyc"):
        stale.unlink()
    place.write_text(source)
    try:
        yield
    finally:
        place.write_text(good)


def tried(copy: Path, trial: Mapping[str, Any], driver: Any) -> dict[str, Any]:
    """What a fork says of the mutant."""
    began = time.monotonic()
    with mutated(copy, trial["file"], trial["source"]):
        reading, writing = os.pipe()
        pid = os.fork()
        if pid == 0:
            os.close(reading)
            _ask(writing, trial, driver)
        os.close(writing)
        told = _told(reading, pid, trial["seconds"])
    if told.get("verdict") in (None, CRASHED, TIMED_OUT) or told.pop("broken", False):
        driver._abandon()
    return told | {"seconds": round(time.monotonic() - began, 2)}


def _ask(writing: int, trial: Mapping[str, Any], driver: Any) -> None:
    """In the fork: asks the judge, writes its answer, and ends without any clean-up."""
    try:
        os.setpgid(0, 0)
        nowhere = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(nowhere, stream)
        sys.path.insert(0, str(Path(__file__).parent))
        before = driver.restarts
        try:
            judges = importlib.import_module("judges")
            told = judges.JUDGES[trial["judge"]](driver, trial["usual"], trial["scopes"])
        except BaseException as error:
            where = traceback.extract_tb(error.__traceback__)[-1]
            file = Path(where.filename).name
            by = f"{type(error).__name__}: {str(error)[:200]} ({file})"
            told = {"verdict": FAILED if file == "judges.py" else CRASHED, "by": by}
        told["broken"] = driver.restarts > before
        if told["broken"]:
            driver._abandon()
        with os.fdopen(writing, "w") as pipe:
            pipe.write(json.dumps(told))
    finally:
        os._exit(0)


def _told(reading: int, pid: int, seconds: float) -> dict[str, Any]:
    text = ""
    try:
        ready, _, _ = select.select([reading], [], [], seconds)
        if ready:
            with os.fdopen(reading, closefd=False) as pipe:
                text = pipe.read()
    finally:  # also of a run that is stopped
        os.close(reading)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    if not ready:
        return {"verdict": TIMED_OUT, "by": f"{seconds:.0f} s"}
    return json.loads(text) if text else {"verdict": CRASHED, "by": "died"}


def main() -> None:
    copy = Path(sys.argv[1])
    load()
    from groupcheck.oracles.kafka.driver import Driver

    driver = Driver()
    for line in sys.stdin:
        trial = json.loads(line)
        if trial["judge"] in ("conform", "member"):
            driver._running()  # forks share it
        print(json.dumps(tried(copy, trial, driver)), flush=True)
    driver.close()


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        main()
