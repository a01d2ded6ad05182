"""A JVM with Kafka's own SharePartition, without a broker around it. A schedule is a line: the
limit of deliveries, the number of records, and commands. The answer is what came of the last
command, and the state after it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from types import TracebackType
from typing import Self

from groupcheck.oracles.kafka import install
from groupcheck.oracles.kafka.install import Program
from groupcheck.oracles.kafka.jvm import Jvm
from groupcheck.oracles.kafka.own_build import OwnBuild

# Each has been executed.
VERSIONS = ("4.4.0", "4.3.1", "4.3.0", "4.2.0")
LEADERS = Program(
    "the leader of a share partition",
    Path(__file__).parent / "java",
    "shares.jar",
    "shares",
    versions=VERSIONS,
)
SILENCE_S = 60.0
AHEAD = 200  # schedules that are sent before their answers are read


class Leaders:
    """The JVM of one version of Kafka. Raises `UserError` if it cannot be built or started."""

    build: OwnBuild | None = None

    def __init__(self, version: str) -> None:
        self.version = self.title = version
        path = install.classpath(version, program=LEADERS)
        command = (*install.launcher(LEADERS), "-cp", path, "kafka.server.share.Main")
        self._jvm = Jvm(command, SILENCE_S, LEADERS.title)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._jvm.close()

    def run_all(self, schedules: Iterable[str]) -> Iterator[str]:
        """The answer to each, in order; one that begins with "!" is an exception."""
        waiting = 0
        try:
            for schedule in schedules:
                self._jvm.send(f"{schedule}\n".encode())
                waiting += 1
                if waiting >= AHEAD:
                    waiting -= 1
                    yield self._jvm.receive().decode()
            while waiting:
                waiting -= 1
                yield self._jvm.receive().decode()
        finally:  # whoever has heard enough leaves no answers behind
            for _ in range(waiting):
                self._jvm.receive()
