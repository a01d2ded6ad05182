"""A JVM with Kafka's own SharePartition, without a broker around it. A schedule is a line: the
limit of deliveries, the number of records, and commands. The answer is what came of the last
command, and the state after it.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable
from contextlib import closing
from pathlib import Path
from types import TracebackType
from typing import Self

from groupcheck.model.engine import OutageError
from groupcheck.oracles.kafka import install
from groupcheck.oracles.kafka.install import Program
from groupcheck.oracles.kafka.jvm import OPTIONS, Broken, Jvm
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
    """The JVM of one version of Kafka. A context manager. Starts nothing before it is asked."""

    build: OwnBuild | None = None

    def __init__(self, version: str) -> None:
        self.version = self.title = version
        self._jvm: Jvm | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._jvm is not None:
            self._jvm.close()

    def _running(self) -> Jvm:
        if self._jvm is None:
            path = install.classpath(self.version, program=LEADERS)
            command = (*install.launcher(LEADERS), *OPTIONS, "-cp", path, "kafka.server.share.Main")
            self._jvm = Jvm(command, SILENCE_S, f"{LEADERS.title} of Kafka {self.version}")
        return self._jvm

    def run_all(self, schedules: Iterable[str]) -> Generator[str]:
        """The answer to each, in order; one that begins with "!" is an exception. Raises
        `UserError` if the JVM cannot be built or started, and `OutageError` if it dies or hangs.
        """
        lines = (f"{schedule}\n".encode() for schedule in schedules)
        try:
            with closing(self._running().answers(lines, AHEAD)) as answers:
                for answer in answers:
                    yield answer.decode()
        except Broken as broken:
            self._jvm = None  # the next call starts another
            raise OutageError(str(broken), do="run it again") from None
