"""The CPU time of a distributed search, beside an estimate of what one process would have taken.

One process would do the levels before the hand-over as the driver did them, expand each state once
as executors do, and call the rules as the driver does. These parts are measured while the search
runs, so the estimate needs no other run. It knows nothing of one index for all states: it was 15 %
too low on an idle machine, and 21 % too high on a shared one (docs/spark.md).
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from typing import Any

from attrs import asdict, define


@define
class Cpu:
    """Seconds, user and system."""

    # The driver's process.
    driver: float = 0.0
    # The Python workers of executors.
    executors: float = 0.0
    # Spark's own processes.
    spark: float = 0.0
    # The estimate of what one process would have taken.
    one_process: float = 0.0

    def __add__(self, other: Cpu) -> Cpu:
        return Cpu(*(getattr(self, k) + getattr(other, k) for k in asdict(self)))

    @contextlib.contextmanager
    def as_one_process(self) -> Iterator[None]:
        """What this process does meanwhile, one process would do, too."""
        began = time.process_time()
        try:
            yield
        finally:
            self.one_process += time.process_time() - began

    @property
    def whole(self) -> float:
        """All that it took."""
        return self.driver + self.executors + self.spark

    @property
    def ratio(self) -> float:
        """How many times the CPU time of one process."""
        return self.whole / max(self.one_process, 1e-3)

    def document(self) -> dict[str, Any]:
        """As plain JSON."""
        return {**asdict(self), "ratio": self.ratio}


def in_words(cpu: dict[str, Any]) -> str:
    """A document in words."""
    whole = cpu["driver"] + cpu["executors"] + cpu["spark"]
    return (
        f"CPU {whole:,.1f} s (driver {cpu['driver']:,.1f}, executors {cpu['executors']:,.1f}, Spark"
        f" itself {cpu['spark']:,.1f}), {cpu['ratio']:.1f} times that of one process"
        f" ({cpu['one_process']:,.1f} s, estimated from the parts that it would do, too)"
    )
