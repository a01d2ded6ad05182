"""The clients that a scenario can use: how each is started, its names for the options that all of
them have, and what to install.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from attrs import evolve, frozen

from groupcheck.model.engine import UserError
from groupcheck.oracles.kafka import install
from groupcheck.oracles.record.broker import JAVA, OPTIONS, RECORDER
from groupcheck.oracles.record.settings import Setup

DEFAULT = "kafka-python"
PROTOCOL = "group.protocol"
GROUP = "g1"


@frozen
class Client:
    name: str
    # Its names for the timers of `Setup`, and for group.instance.id.
    session: str
    heartbeat: str
    max_poll: str
    metadata: str
    instance: str
    # Its name for the setting of the assignor, and the assignors.
    assignor: str
    assignors: Mapping[str, str]
    # Further options that its members need.
    more: Mapping[str, Any] = {}
    # Can it commit in a revoked callback?
    commits_on_revoke: bool = True
    # Does it have KIP-848? And do its members use it?
    has_consumer: bool = False
    consumer: bool = False

    def options(self, setup: Setup) -> dict[str, Any]:
        """The library's own options for a member. With KIP-848 the session, the heartbeats and the
        assignor are the broker's, and a client refuses its own settings for them.
        """
        own: dict[str, Any] = {
            self.session: setup.session,
            self.heartbeat: setup.heartbeat,
            self.assignor: self.assignors[setup.assignor],
        }
        if self.consumer and not setup.classic:
            own = {PROTOCOL: "consumer"}
        own |= {self.max_poll: setup.max_poll, self.metadata: setup.metadata}
        return own | ({self.instance: setup.instance} if setup.instance else {}) | dict(self.more)

    def with_consumer(self) -> Client:
        """It with members that use KIP-848. Raises `UserError` if it does not have that."""
        if not self.has_consumer:
            able = ", ".join(client.name for client in CLIENTS.values() if client.has_consumer)
            raise UserError(
                f"{self.name} has no {PROTOCOL}=consumer",
                where="--group-protocol",
                do=f"add --client with one of {able}",
            )
        return evolve(self, consumer=True)

    @property
    def is_java(self) -> bool:
        """Does Maven fetch it together with the broker?"""
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
        setup: Setup,
        program: Mapping[str, Any],
    ) -> list[str]:
        """The command that starts a member. `program`: what member.py is told."""
        options = self.options(setup)
        topic = f"^{topic}.*" if setup.pattern else topic
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
            # -P: a folder `kafka` of the user's must not be imported in place of the library.
            return [
                sys.executable,
                "-P",
                "-m",
                "groupcheck.oracles.record.member",
                json.dumps(told),
            ]
        given = {"bootstrap.servers": address, "client.id": run, "group.id": GROUP, **options}
        return [
            *install.launcher(RECORDER),
            "-Xmx200m",
            *OPTIONS,
            f"-Dlog4j2.configurationFile={JAVA / 'member-log.properties'}",
            "-cp",
            install.classpath(kafka, program=RECORDER),
            "groupcheck.record.Member",
            topic,
            str(program["commit_ms"]),
            str(program["commit_on_revoke"]).lower(),
            str(program["revoke_ms"]),
            *(f"{name}={value}" for name, value in given.items()),
        ]


_DOTTED = ("session.timeout.ms", "heartbeat.interval.ms", "max.poll.interval.ms")
_STATIC = ("group.instance.id", "partition.assignment.strategy")
_BY_NAME = {"range": "range", "roundrobin": "roundrobin"}
_SCORED = (
    "session_timeout_ms",
    "heartbeat_interval_ms",
    "max_poll_interval_ms",
    "metadata_max_age_ms",
    "group_instance_id",
    "partition_assignment_strategy",
    _BY_NAME,
)
_BY_CLASS = {
    "range": "org.apache.kafka.clients.consumer.RangeAssignor",
    "roundrobin": "org.apache.kafka.clients.consumer.RoundRobinAssignor",
}
_JAVA = {
    "enable.auto.commit": "false",
    "auto.offset.reset": "earliest",
    "fetch.max.wait.ms": 100,
}

CLIENTS: dict[str, Client] = {
    client.name: client
    for client in (
        Client("kafka-python", *_SCORED, commits_on_revoke=False),
        Client("aiokafka", *_SCORED),
        Client(
            "confluent-kafka",
            *_DOTTED,
            "topic.metadata.refresh.interval.ms",
            *_STATIC,
            _BY_NAME,
            has_consumer=True,
        ),
        Client(
            "java",
            *_DOTTED,
            "metadata.max.age.ms",
            *_STATIC,
            _BY_CLASS,
            _JAVA,
            has_consumer=True,
        ),
    )
}


def known(name: str) -> Client:
    """The client of that name. Raises `UserError` if there is none."""
    if name not in CLIENTS:
        raise UserError(
            f"no client {name[:40]!r}", where="--client", do=f"choose one of {', '.join(CLIENTS)}"
        )
    return CLIENTS[name]
