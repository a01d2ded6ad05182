"""The clients that a scenario can have: how each is started, what it calls the options that all of
them have, and what to install for it.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from attrs import frozen

from groupcheck.model.engine import UserError
from groupcheck.oracles.kafka import install
from groupcheck.oracles.record.broker import JAVA, OPTIONS, RECORDER
from groupcheck.oracles.record.timing import Timing

DEFAULT = "kafka-python"
GROUP = "g1"


@frozen
class Client:
    """A library: `name`, the names of the four options of `Timing`, what else its members need, and
    whether it can commit in a revoked callback.
    """

    name: str
    session: str
    heartbeat: str
    max_poll: str
    metadata: str
    more: Mapping[str, Any] = {}
    commits_on_revoke: bool = True

    def options(self, timing: Timing) -> dict[str, Any]:
        """The library's own options for a timing."""
        timed = {
            self.session: timing.session,
            self.heartbeat: timing.heartbeat,
            self.max_poll: timing.max_poll,
            self.metadata: timing.metadata,
        }
        return timed | dict(self.more)

    @property
    def is_java(self) -> bool:
        """Does it come with the broker, through Maven?"""
        return self.name == "java"

    def installed(self, kafka: str) -> str:
        """Name and version. Raises `UserError` if the library is not installed."""
        if self.is_java:
            return f"kafka-clients {kafka}"
        try:
            return f"{self.name} {version(self.name)}"
        except PackageNotFoundError:
            raise UserError(
                f"{self.name} is not installed", do="pip install 'groupcheck[record]'"
            ) from None

    def command(
        self,
        address: str,
        kafka: str,
        topic: str,
        run: str,
        timing: Timing,
        program: Mapping[str, Any],
    ) -> list[str]:
        """What starts a member. `program` has commit_ms and commit_on_revoke."""
        options = self.options(timing)
        if not self.is_java:
            told = {
                "client": self.name,
                "bootstrap": address,
                "client_id": run,
                "group": GROUP,
                "topic": topic,
                "options": options,
                **program,
            }
            # -P: a folder of the user's that is called kafka is none of the library's.
            return [
                sys.executable,
                "-P",
                "-m",
                "groupcheck.oracles.record.member",
                json.dumps(told),
            ]
        given = {"bootstrap.servers": address, "client.id": run, "group.id": GROUP, **options}
        log = f"-Dlog4j2.configurationFile={JAVA / 'member-log.properties'}"
        classes = install.classpath(kafka, program=RECORDER)
        fixed = [
            install.java(RECORDER),
            "-Xmx200m",
            *OPTIONS,
            log,
            "-cp",
            classes,
            "groupcheck.record.Member",
        ]
        told_java = [topic, str(program["commit_ms"]), str(program["commit_on_revoke"]).lower()]
        return [*fixed, *told_java, *(f"{name}={value}" for name, value in given.items())]


_DOTTED = ("session.timeout.ms", "heartbeat.interval.ms", "max.poll.interval.ms")
_SCORED = (
    "session_timeout_ms",
    "heartbeat_interval_ms",
    "max_poll_interval_ms",
    "metadata_max_age_ms",
)
_JAVA = {
    "partition.assignment.strategy": "org.apache.kafka.clients.consumer.RangeAssignor",
    "enable.auto.commit": "false",
    "auto.offset.reset": "earliest",
    "fetch.max.wait.ms": 100,
}

CLIENTS: dict[str, Client] = {
    client.name: client
    for client in (
        Client("kafka-python", *_SCORED, commits_on_revoke=False),
        Client("aiokafka", *_SCORED),
        Client("confluent-kafka", *_DOTTED, "topic.metadata.refresh.interval.ms"),
        Client("java", *_DOTTED, "metadata.max.age.ms", _JAVA),
    )
}


def known(name: str) -> Client:
    """The client of that name. Raises `UserError` for one that there is not."""
    if name not in CLIENTS:
        raise UserError(
            f"no client {name[:40]!r}", where="--client", do=f"choose one of {', '.join(CLIENTS)}"
        )
    return CLIENTS[name]
