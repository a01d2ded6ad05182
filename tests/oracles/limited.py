"""Runs of the command line in a limited address space (`ulimit -v`): right counts, or `unknown` and
why; never a signal, never a traceback. `make nightly` runs this file: limits from 400 MB to 4 GB.
Arguments choose other limits, in thousands of KB.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
from collections.abc import Sequence

LIMITS = (400, 450, 500, 600, 700, 900, 1200, 1600, 2000, 3000, 4000)  # thousands of KB
SMALL = ("--members", "2", "--any-faults", "1")
SMALL_COUNTS = (6_684, 19_072)
LARGE = ("--members", "3", "--any-faults", "2")
COUNTS = (8_412_787, 41_617_329)  # states, transitions
VARIATIONS = ((), ("--workers", "2"), ("--max-memory", "300M"))
SECONDS = 900


def run(space: int, arguments: Sequence[str]) -> subprocess.CompletedProcess[str]:
    """`groupcheck check classic ... --json` with `space` bytes of addresses."""

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (space, space))

    return subprocess.run(
        [sys.executable, "-m", "groupcheck", "check", "classic", *arguments, "--json"],
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
        preexec_fn=limit,
    )


def verdict_of(done: subprocess.CompletedProcess[str], counts: tuple[int, int]) -> str:
    """The verdict, after a look at whether the run ended as it must."""
    assert done.returncode in (0, 3), f"exit code {done.returncode}: {done.stderr}"
    assert "Traceback" not in done.stderr, done.stderr
    if not done.stdout:  # too little for Python and its libraries
        assert done.returncode == 3 and "groupcheck: error: out of memory" in done.stderr, (
            done.stderr
        )
        return f"no verdict ({done.stderr.strip()})"
    document = json.loads(done.stdout)
    found = (document["states"], document["transitions"])
    if done.returncode == 0:
        assert (document["verdict"], found) == ("holds", counts), found
        return "holds"
    assert document["verdict"] == "unknown", document["verdict"]
    assert document["reason"].startswith("stopped"), document["reason"]
    assert found[0] <= counts[0], found
    return f"unknown ({document['reason']})"


def main(limits: Sequence[int]) -> None:
    """Each limit alone, with two threads, and with a limit on memory."""
    # Compiling kernels takes more address space than running them: the first run fills the cache.
    assert verdict_of(run(resource.RLIM_INFINITY, SMALL), SMALL_COUNTS) == "holds"
    for thousands in limits:
        for more in VARIATIONS:
            answer = verdict_of(run(1_024_000 * thousands, (*LARGE, *more)), COUNTS)
            print(f"ulimit -v {1000 * thousands} {' '.join(more)}: {answer}", flush=True)


if __name__ == "__main__":
    main([int(thousands) for thousands in sys.argv[1:]] or LIMITS)
