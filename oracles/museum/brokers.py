"""A real broker of an old release, with its ZooKeeper, in one process
(broker/src/.../Broker.java).
"""

from __future__ import annotations

import socket
import subprocess
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

from groupcheck.model.engine import OutageError, UserError
from groupcheck.oracles.kafka import install
from groupcheck.oracles.kafka.install import Program
from groupcheck.oracles.museum.exhibits import EXHIBITS, releases
from groupcheck.oracles.museum.network import HOST
from groupcheck.oracles.processes import process_groups
from groupcheck.oracles.processes.supervisor import temporary_folder
from groupcheck.oracles.wire.sockets import free_ports

BROKERS = Program(
    "an old broker",
    Path(__file__).parent / "broker",
    "museum-broker.jar",
    "museum-broker",
    versions=releases(one for one in EXHIBITS if one.on_broker),
)
OPTIONS = ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:-UsePerfData", "-Xmx256m")
BOOT_S, STOP_S = 60.0, 20.0
SETTINGS: Mapping[str, object] = {
    "broker.id": 0,
    "offsets.topic.num.partitions": 1,
    "offsets.topic.replication.factor": 1,
    "group.initial.rebalance.delay.ms": 500,
    "group.min.session.timeout.ms": 100,
    "log.cleaner.enable": "false",
    "num.network.threads": 1,
    "num.io.threads": 2,
}


class OldBroker:
    """A broker in a folder of its own. A context manager."""

    def __init__(
        self, release: str, settings: Mapping[str, object], say: Callable[[str], None]
    ) -> None:
        """Raises `UserError` without a JDK or Maven."""
        jars = install.classpath(release, say, BROKERS)
        self._command = (
            *install.launcher(BROKERS),
            *OPTIONS,
            "-cp",
            jars,
            "groupcheck.museum.Broker",
        )
        self._release, self._settings = release, settings
        self._name = f"the JVM with the broker of Kafka {release}"
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> OldBroker:
        self._folder = temporary_folder("groupcheck-museum-")
        self._place = place = self._folder.__enter__()
        keeper, self._port = free_ports(2)
        address = f"{HOST}:{keeper}"
        of_keeper = {
            "dataDir": place / "keeper",
            "clientPortAddress": HOST,
            "clientPort": keeper,
            "admin.enableServer": "false",
        }
        of_broker = {
            **SETTINGS,
            **self._settings,
            "listeners": f"PLAINTEXT://{self.address}",
            "zookeeper.connect": address,
            "log.dirs": place / "data",
        }
        for name, settings in (("keeper", of_keeper), ("broker", of_broker)):
            lines = "".join(f"{key}={value}\n" for key, value in settings.items())
            (place / f"{name}.properties").write_text(lines)
        try:
            self.start()
        except BaseException as error:
            self.__exit__(type(error), error, None)
            raise
        return self

    def __exit__(self, kind: object, error: object, where: object) -> None:
        """Raises `OutageError` if the broker has ended or is stopped: then nothing is known of
        it.
        """
        outage = self._outage()
        self._end(0.0)
        self._folder.__exit__(None, None, None)
        if outage and not isinstance(error, UserError):
            raise outage from None

    @property
    def address(self) -> str:
        return f"{HOST}:{self._port}"

    def start(self) -> None:
        """Waits until it serves. Raises `UserError` with what it wrote, if it does not start, and
        `OutageError` if it was killed or takes too long.
        """
        place = self._place
        with (place / "said").open("ab") as said:
            self._process = process_groups.start(
                [*self._command, "keeper.properties", "broker.properties"],
                do="install a JDK 17 or newer",
                cwd=place,
                stdin=subprocess.PIPE,
                stdout=said,
                stderr=said,
            )
        until = time.monotonic() + BOOT_S
        while time.monotonic() < until and self._process.poll() is None:
            with suppress(OSError), socket.create_connection((HOST, self._port), 1.0):
                return
            time.sleep(0.05)
        if self._process.poll() is None or process_groups.is_from_outside(self._process):
            became = process_groups.became(self._process)
            raise OutageError(f"{self._name} {became} and does not serve", do="run it again")
        words = (place / "said").read_text(errors="replace").strip()[-400:]
        why = words or "it said nothing"
        raise UserError(f"the broker of Kafka {self._release} does not start: {why}")

    def restart(self) -> None:
        """Stops in order and starts again, so that another coordinator loads the group."""
        self._end(STOP_S)
        self.start()

    def _outage(self) -> OutageError | None:
        return process_groups.outage(self._process, self._name) if self._process else None

    def _end(self, patience_s: float) -> None:
        if self._process is not None:
            process_groups.end([self._process], patience_s)
            self._process = None
