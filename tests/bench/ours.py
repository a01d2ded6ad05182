"""One whole run of groupcheck in a process of its own, as `bench.py` starts it; its numbers are a
JSON object on the last line.

ours.py [--workers N] [--tables FILE] [--symmetry] [--progress NAME,...] small_group MEMBERS
PARTITIONS GENERATIONS TIMEOUTS CRASHES | two_phase_commit MANAGERS | classic MEMBERS ANY_FAULTS |
consumer MEMBERS TOPICS PARTITIONS ANY_FAULTS

`consumer` is that of `check --progress` with messages and callbacks as steps. `--progress` judges
these promises; without it they are not looked at.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import sys
import time
from collections.abc import Callable, Sequence
from importlib import import_module
from inspect import signature
from pathlib import Path
from typing import Any

from groupcheck.model.engine.fast.kernels import compiled, registers

sys.path.insert(0, str(Path(__file__).parent.parent / "examples"))


class Clock:
    """CPU time spent in compiled code, by what it was for: `loops` (searching), `room` (a larger
    index, wider slots), `rows` (writing tables).

    The compiled functions are wrapped where they are loaded, so the engine is measured as it is;
    there are some hundred calls in a run.
    """

    ROOM = ("repack_log", "repack_outcomes", "respread")

    def __init__(self) -> None:
        self.spent = {"loops": 0.0, "room": 0.0, "rows": 0.0}
        self._load = compiled.load
        compiled.load = self.load

    def load(self, unit: compiled.Unit) -> dict[str, compiled.Kernel]:
        return {name: self._timed(name, kernel) for name, kernel in self._load(unit).items()}

    def _timed(self, name: str, kernel: compiled.Kernel) -> Callable[[int], None]:
        def timed(address: int) -> None:
            mode = ctypes.c_uint64.from_address(address + 8 * registers.MODE).value
            room = name in self.ROOM or (name == "search" and mode == registers.REINDEX)
            began = time.process_time()
            kernel(address)
            self.spent["room" if room else "rows" if name == "write_rows" else "loops"] += (
                time.process_time() - began
            )

        return timed


def spec_of(protocol: str, scope: Sequence[int]) -> Any:
    """The spec of a protocol at a scope."""
    if protocol == "classic":
        members, any_faults = scope
        subject = import_module("groupcheck.oracles.explain.subject").subject
        return subject("classic", members=members, any_faults=any_faults).spec
    if protocol == "consumer":
        names = ("members", "topics", "partitions", "any_faults")
        subject = import_module("groupcheck.oracles.explain.subject").subject
        steps = {"wire": "explicit", "callbacks": "phased"}
        return subject("consumer", progress=True, **dict(zip(names, scope)), **steps).spec
    return getattr(import_module(protocol), protocol)(*scope)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--tables", type=Path)
    parser.add_argument("--symmetry", action="store_true")
    parser.add_argument("--progress", type=lambda text: text.split(","))
    protocols = ("small_group", "two_phase_commit", "classic", "consumer")
    parser.add_argument("protocol", choices=protocols)
    parser.add_argument("scope", type=int, nargs="+")
    given = parser.parse_args()
    clock = Clock()
    spec = spec_of(given.protocol, given.scope)
    explore = import_module("groupcheck.model.engine.fast.explore").explore
    began = time.process_time()
    several = "workers" in signature(explore).parameters
    if given.tables:
        import tables

        record = tables.Record()
        verdict = explore(record.listening(spec))
        tables.write(given.tables, spec, record)
    else:
        more = {"symmetry": True} if given.symmetry else {}
        if given.progress:
            spec, more["liveness"] = spec.only(given.progress), True
        verdict = explore(spec, **({"workers": given.workers} if several else {}), **more)
    answer = {
        name: getattr(verdict, name)
        for name in (
            "verdict",
            "reason",
            "states",
            "transitions",
            "depth",
            "seconds",
            "rule_calls",
            "bytes_per_state",
        )
    }
    print(
        json.dumps(
            {
                **answer,
                **clock.spent,
                "cpu": time.process_time() - began,
                "workers": several,
                "exploration": clock.spent["loops"] + clock.spent["room"],
            }
        )
    )


if __name__ == "__main__":
    main()
