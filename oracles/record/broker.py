"""A real broker: one Java process with Apache Kafka's own server, an administrator and a producer
(java/src/.../Broker.java).
"""

from __future__ import annotations

import queue
import re
import subprocess
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from groupcheck.model.engine import OutageError, UserError
from groupcheck.oracles.kafka import install
from groupcheck.oracles.kafka.install import Program
from groupcheck.oracles.processes import process_groups
from groupcheck.oracles.processes.process_groups import became, is_from_outside
from groupcheck.oracles.record.processes import Processes
from groupcheck.oracles.record.settings import HOST, properties
from groupcheck.oracles.wire.sockets import free_ports

JAVA = Path(__file__).parent / "java"
RECORDER = Program("the broker that is recorded", JAVA, "recorder.jar", "broker")
# Short lives: the first compiler alone, one collector thread, little memory.
OPTIONS = (
    "-XX:+UseSerialGC",
    "-XX:TieredStopAtLevel=1",
    "-Xshare:auto",
    "-Duser.timezone=UTC",
    "-Djava.awt.headless=true",
)
BOOT_S, ANSWER_S, STOP_S, LAST_S = 120.0, 60.0, 30.0, 2.0
ATTEMPTS = 3  # to find ports that no other program takes before the broker does
TAIL = 20_000
_ERROR = re.compile(r"((?:\w+Exception|\w*Error): .*)|(?:\] (?:ERROR|FATAL) )(.*)")


class Broker:
    """One node in a folder of its own, where its logs are `broker.log` and `requests.log`.
    `options`: further options of the Java machine. `proxy_port`: the port of a proxy, which is told
    to those clients that come through it.
    """

    def __init__(
        self,
        place: Path,
        version: str,
        given: Mapping[str, str],
        processes: Processes,
        say: Callable[[str], None],
        options: Sequence[str] = (),
        proxy_port: int | None = None,
    ) -> None:
        self.place, self.version = place, version
        self._proxy_port, self._name = proxy_port, f"the JVM with the broker of Kafka {version}"
        # Where the proxy finds it.
        self.behind_proxy = 0
        self._given, self._processes = given, processes
        self._command = [
            *install.launcher(RECORDER),
            "-Xmx400m",
            *OPTIONS,
            *options,
            f"-Dlog4j2.configurationFile={JAVA / 'broker-log.properties'}",
            "-cp",
            install.classpath(version, say, RECORDER),
            "groupcheck.record.Broker",
        ]
        self._process: subprocess.Popen[bytes] | None = None
        self._answers: queue.Queue[str | None] = queue.Queue()
        self.address = ""

    def start(self) -> None:
        """Starts it and waits until it serves. Raises `UserError` with the reason that it wrote, if
        it does not start, and `OutageError` if it was killed or does not answer.
        """
        for attempt in range(1, ATTEMPTS + 1):
            fresh = not self.address
            if fresh:
                broker_port, controller_port, self.behind_proxy = free_ports(3)
                self.address = f"{HOST}:{broker_port}"
                proxied = (self.behind_proxy, self._proxy_port) if self._proxy_port else None
                (self.place / "server.properties").write_text(
                    properties(broker_port, controller_port, self._given, proxied)
                )
            self._launch()
            said = self._answer(BOOT_S)
            if said == "> ok":
                return
            outage, why = self._outage(), self._why()
            if self._process and is_from_outside(self._process):
                raise outage
            self._end()
            if not (
                fresh and ("BindException" in why or "already in use" in why) and attempt < ATTEMPTS
            ):
                break
            self.address = ""
            (self.place / "broker.log").unlink(missing_ok=True)
        raise UserError(
            f"the broker of Kafka {self.version} does not start:"
            f" {why or said or 'it gave no reason'}"
        )

    def _launch(self) -> None:
        with (self.place / "broker.out").open("ab") as output:
            self._process = self._processes.start(
                [*self._command, "server.properties", self.address],
                cwd=self.place,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=output,
            )
        self._answers = queue.Queue()
        threading.Thread(target=_read, args=(self._process, self._answers), daemon=True).start()

    def _answer(self, patience_s: float) -> str | None:
        """The answer of the broker; None if it ended. Raises `OutageError` if it does not answer in
        time.
        """
        try:
            return self._answers.get(timeout=patience_s)
        except queue.Empty:
            raise self._outage(f"no answer for {patience_s:.0f} s") from None

    def outage(self) -> OutageError | None:
        """The error, if somebody else has ended or stopped it."""
        return process_groups.outage(self._process, self._name) if self._process else None

    def _outage(self, why: str = "") -> OutageError:
        assert self._process
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(LAST_S)
        return OutageError(
            f"{self._name} {became(self._process)}" + (f": {why}" if why else ""),
            do="run it again",
        )

    def _why(self) -> str:
        """The first error in its logs, in one line; empty if there is none."""
        for name in ("broker.log", "broker.out"):
            path = self.place / name
            lines = (
                path.read_text("utf-8", "replace")[-TAIL:].splitlines() if path.is_file() else []
            )
            for line in lines:
                if match := _ERROR.search(line):
                    return (match[1] or match[2]).strip()[:300]
        return ""

    def ask(self, *words: str | int) -> None:
        """Has it carry out a command of Broker.java. Raises `UserError` with its answer if it
        cannot, and `OutageError` if it has ended or does not answer.
        """
        assert self._process and self._process.stdin
        try:
            self._process.stdin.write((" ".join(map(str, words)) + "\n").encode())
            self._process.stdin.flush()
        except OSError:
            said = None
        else:
            said = self._answer(ANSWER_S)
        if said is None:
            outage = self._outage(self._why())
            # What its log ends with is not why somebody has killed it.
            raise self._outage() if is_from_outside(self._process) else outage
        if said != "> ok":
            raise UserError(
                f"the broker could not carry out {words[0]}: {said.removeprefix('> error ')[:300]}"
            )

    def stop(self) -> None:
        """Shuts it down as an administrator does; it can be started again."""
        self._end(STOP_S)

    def end(self) -> None:
        """Ends it at once, as soon as all that it answered is in its log."""
        self.ask("flush")
        self._end()

    def leave(self, patience_s: float) -> None:
        """Ends its input and waits up to `patience_s` for it to end by itself."""
        assert self._process and self._process.stdin
        self._process.stdin.close()
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(patience_s)
        self._end()

    def _end(self, patience_s: float = 0.0) -> None:
        assert self._process
        self._processes.end(self._process, patience_s)
        self._process = None


def _read(process: subprocess.Popen[bytes], answers: queue.Queue[str | None]) -> None:
    assert process.stdout
    try:
        for line in process.stdout:
            if line.startswith(b"> "):
                answers.put(line.decode(errors="replace").strip())
    except (OSError, ValueError):  # closed while it was read
        pass
    answers.put(None)
