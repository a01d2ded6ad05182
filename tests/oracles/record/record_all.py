"""Records every scenario and replays its logs together: the causes must be the true one or what
follows from it. `make nightly` runs it; half a minute for each scenario.

A scenario plays in real time: sessions of some seconds, heartbeats twice a second. Where the
machine is so busy that programs stand still for that long, the logs show it (pauses, expired
sessions), and rightly so. So a recording with other causes is made again if the machine was too
busy for it, and counts as not judged if it always was.

    python tests/oracles/record/record_all.py [CLIENT[:PROTOCOL]] [SCENARIO...]
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterable
from pathlib import Path

from groupcheck.oracles.record.scenarios import SCENARIOS

COMMAND = [sys.executable, "-m", "groupcheck"]
NORMAL = {"join_restarts", "rolling_deploy", "new_group"}
ATTEMPTS = 3
WORK_S, EACH_S = 0.01, 0.5  # so much work, so often
NOT_STAGED = "the scenario did not take place"
BUSY = 4.0  # sessions of 3 s may then expire between heartbeats that come twice a second


class Slowness:
    """How many times longer some work takes than on a processor of its own, on average."""

    def __init__(self) -> None:
        self._ended, self._taken, self._times = threading.Event(), 0.0, 0
        self._thread = threading.Thread(target=self._measure)

    def _measure(self) -> None:
        while not self._ended.wait(EACH_S):
            began, end = time.monotonic(), time.thread_time() + WORK_S
            while time.thread_time() < end:
                pass
            self._taken += time.monotonic() - began
            self._times += 1

    @property
    def mean(self) -> float:
        """1 of a machine that had nothing else to do."""
        return self._taken / self._times / WORK_S if self._times else 1.0

    def __enter__(self) -> Slowness:
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._ended.set()
        self._thread.join()


def wrong(client: str, name: str, folder: Path) -> str:
    """What is wrong with the recording or with what is said about it; empty if nothing is."""
    client, _, protocol = client.partition(":")
    record = ["record", "--scenario", name, "--client", client, "--out", str(folder)]
    record += ["--group-protocol", protocol] if protocol else []
    done = subprocess.run([*COMMAND, *record], capture_output=True, text=True, check=False)
    if done.returncode:
        return f"was not recorded: {done.stdout.splitlines()[:1]} {done.stderr.splitlines()[-1:]}"
    cause = json.loads((folder / f"{name}.truth.json").read_text())["cause"]
    replay = ["replay", *map(str, sorted(folder.glob("*.log"))), "--json"]
    said = subprocess.run([*COMMAND, *replay], capture_output=True, text=True, check=False)
    found = {c["kind"] for group in json.loads(said.stdout)["groups"] for c in group["causes"]}
    true = {cause["kind"], *cause["or"]} if cause else set()
    others = found - true - NORMAL
    return f"shows {', '.join(sorted(others))}" if others else ""


def attempt(client: str, name: str) -> tuple[str, float]:
    """What is wrong with a new recording, and how slow the machine was meanwhile."""
    with tempfile.TemporaryDirectory() as place, Slowness() as slowness:
        problem = wrong(client, name, Path(place))
    return problem, slowness.mean


def judged(attempts: Iterable[tuple[str, float]]) -> str:
    """What is wrong, of attempts of which the next is made only if this one cannot be judged: the
    machine was too slow, or the scenario did not take place (kafka-python hangs now and then).
    """
    for problem, slowness in attempts:
        if not problem or (slowness < BUSY and NOT_STAGED not in problem):
            return problem
    if NOT_STAGED in problem:
        return problem
    return f"not judged, the machine was {slowness:.0f} times slower than an idle one: {problem}"


def main() -> None:
    client, *names = sys.argv[1:] or ["kafka-python"]
    failed = 0
    consumer = client.endswith(":consumer")
    every = [
        name
        for name, scenario in SCENARIOS.items()
        if not (scenario.classic if consumer else scenario.upgrade)
    ]
    for name in names or every:
        problem = judged(attempt(client, name) for _ in range(ATTEMPTS))
        print(f"{name}: {problem or 'right'}", flush=True)
        failed += bool(problem)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
