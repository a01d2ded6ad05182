"""A real broker of an old release, with its ZooKeeper, in one process
(broker/src/.../Broker.java).
"""

from __future__ import annotations

import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

from groupcheck.model.engine import UserError
from groupcheck.oracles.kafka import install
from groupcheck.oracles.kafka.install import Program
from groupcheck.oracles.museum.exhibits import EXHIBITS, releases
from groupcheck.oracles.museum.network import HOST
from groupcheck.oracles.record.broker import free_ports

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
        self._command = (install.java(BROKERS), *OPTIONS, "-cp", jars, "groupcheck.museum.Broker")
        self._release, self._settings = release, settings
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> OldBroker:
        self._place = tempfile.TemporaryDirectory(prefix="groupcheck-museum-")
        place = Path(self._place.name)
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
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._end(signal.SIGKILL)
        self._place.cleanup()

    @property
    def address(self) -> str:
        return f"{HOST}:{self._port}"

    def start(self) -> None:
        place = Path(self._place.name)
        with (place / "said").open("ab") as said:
            self._process = subprocess.Popen(
                [*self._command, "keeper.properties", "broker.properties"],
                cwd=place,
                stdin=subprocess.PIPE,
                stdout=said,
                stderr=said,
                start_new_session=True,
            )
        until = time.monotonic() + BOOT_S
        while time.monotonic() < until and self._process.poll() is None:
            with suppress(OSError), socket.create_connection((HOST, self._port), 1.0):
                return
            time.sleep(0.05)
        words = (place / "said").read_text(errors="replace").strip()[-400:]
        raise UserError(f"the broker of Kafka {self._release} does not start: {words}")

    def restart(self) -> None:
        """Stops in order and starts again, so that another coordinator loads the group."""
        self._end(signal.SIGTERM)
        self.start()

    def _end(self, how: signal.Signals) -> None:
        process = self._process
        if process is None:
            return
        process.send_signal(how)
        try:
            process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        if process.stdin:
            with suppress(OSError):
                process.stdin.close()
        self._process = None
