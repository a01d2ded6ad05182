"""`groupcheck demo`: a proof, a known bug with its shortest counterexample, and a real broker's log
explained, each as a user would type it.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence

SHOWN = (  # each command, and the exit code that it must end with
    ("check classic --members 2 --partitions 2 --any-faults 1", 0),
    ("check classic --mutation keeps_partitions_when_lost", 1),
    ("replay sample:console-group", 0),
)


def demo(run: Callable[[Sequence[str]], int]) -> int:
    """Runs the commands one after the other; `run` takes arguments and gives an exit code. Ends
    early, with the code of the command that did not end as expected.
    """
    for command, expected in SHOWN:
        print(f"\n$ groupcheck {command}", flush=True)
        code = run(shlex.split(command))
        if code != expected:
            return code or 3
    return 0
