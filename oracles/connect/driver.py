"""Kafka Connect's own assignors, and its own worker as a member of a group, in a JVM
(java/src/.../Leader.java, Worker.java).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, Self

from groupcheck.model.engine import OutageError
from groupcheck.oracles.connect.rounds import Step
from groupcheck.oracles.kafka import install
from groupcheck.oracles.kafka.install import Program
from groupcheck.oracles.kafka.jvm import OPTIONS, Broken, Jvm
from groupcheck.oracles.kafka.versions import known
from groupcheck.oracles.show import terminal

VERSIONS = ("4.3.0", "4.0.0", "3.7.0", "3.4.0", "3.3.2", "2.8.0", "2.5.1", "2.4.0", "2.3.0")
"""Versions of Kafka whose assignor can be driven: the newest ones, and one of each behaviour."""

LEADERS = Program(
    "the driver of Kafka Connect",
    Path(__file__).parent / "java",
    "connect.jar",
    "connect",
    versions=VERSIONS,
)
MAIN = "groupcheck.connect.Main"
QUICK = ("-XX:TieredStopAtLevel=1",)
AHEAD = 4
SILENCE_S = 60.0

Script = Sequence[Step]
"""Steps one after the other, in processes that remember."""


class Leaders:
    """Processes that can be leader, and one worker, in one JVM of one version. A context manager.
    Starts nothing before it is asked.
    """

    def __init__(
        self,
        version: str,
        *,
        long_run: bool = False,
        say: Callable[[str], None] = terminal.say,
    ) -> None:
        """`long_run`: the JVM uses its second compiler, too."""
        self.version = known(version, VERSIONS)
        self._options = OPTIONS if long_run else (*QUICK, *OPTIONS)
        self._say = say
        self._jvm: Jvm | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._jvm is not None:
            self._jvm.close()

    def _running(self) -> Jvm:
        if self._jvm is None:
            path = install.classpath(self.version, self._say, LEADERS)
            command = (*install.launcher(LEADERS), *self._options, "-cp", path, MAIN)
            name = f"the JVM with the code of Kafka Connect {self.version}"
            self._jvm = Jvm(command, SILENCE_S, name, self._say)
        return self._jvm

    def _broken(self, broken: Broken) -> OutageError:
        """The next command starts another JVM."""
        self._jvm = None
        return OutageError(str(broken), do="run it again")

    def assign_all(self, scripts: Iterable[Script]) -> Iterator[list[dict[str, Any]]]:
        """The answers to each script's steps, script by script. Raises `OutageError` if the JVM
        dies or hangs.
        """
        lines = (f"[{','.join(step.text() for step in script)}]\n".encode() for script in scripts)
        try:
            with closing(self._running().answers(lines, AHEAD)) as answers:
                for answer in answers:
                    yield json.loads(answer)
        except Broken as broken:
            raise self._broken(broken) from None

    def tell(self, command: Mapping[str, Any]) -> dict[str, Any]:
        """Carries out a command to the one worker that is a member (java/src/.../Worker.java).
        Raises `OutageError` if the JVM dies or hangs.
        """
        jvm = self._running()
        try:
            jvm.send(f"[{json.dumps(command)}]\n".encode())
            (reply,) = json.loads(jvm.receive())
        except Broken as broken:
            raise self._broken(broken) from None
        return dict(reply)
