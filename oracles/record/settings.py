"""The settings of the recorded broker (one node on loopback, and whatever the user sets), and of
the members of a scenario.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from attrs import frozen

from groupcheck.model.engine import UserError

HOST = "127.0.0.1"

# One replica of everything, and as few threads as possible. A single network thread answers all
# connections in turn (see Broker.java).
SINGLE = {
    "offsets.topic.num.partitions": "5",
    "offsets.topic.replication.factor": "1",
    "transaction.state.log.num.partitions": "1",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "share.coordinator.state.topic.num.partitions": "1",
    "share.coordinator.state.topic.replication.factor": "1",
    "share.coordinator.state.topic.min.isr": "1",
    "log.cleaner.enable": "false",
    "num.io.threads": "2",
    "num.network.threads": "1",
}

# A group's timers, as short as a scenario needs them. All others are Kafka's own.
HASTY = {
    "auto.create.topics.enable": "false",
    "group.initial.rebalance.delay.ms": "200",
    "group.min.session.timeout.ms": "100",
    "group.consumer.min.session.timeout.ms": "200",
    "group.consumer.session.timeout.ms": "3000",
    "group.consumer.min.heartbeat.interval.ms": "50",
    "group.consumer.heartbeat.interval.ms": "500",
}

OURS = (
    "process.roles",
    "node.id",
    "broker.id",
    "controller.",
    "listener",
    "advertised.listeners",
    "inter.broker",
    "log.dir",
    "num.network.threads",
)


@frozen
class Setup:
    """How a member of a scenario is started. Times are in ms."""

    # Its timers.
    session: int = 3000
    heartbeat: int = 500
    # How long it may not poll.
    max_poll: int = 10_000
    # How often it looks for new partitions.
    metadata: int = 300_000
    # range or roundrobin.
    assignor: str = "range"
    # Its group.instance.id; empty for a dynamic member.
    instance: str = ""
    # Does it commit in its revoked callback?
    commit_on_revoke: bool = True
    # How long its revoked callback takes.
    revoke_ms: int = 0
    # Does it subscribe by a regular expression?
    pattern: bool = False
    # Does it use the classic protocol, whatever the others use?
    classic: bool = False
    # Does it connect through the proxy that cuts idle connections?
    proxied: bool = False


def properties(
    broker_port: int,
    controller_port: int,
    given: Mapping[str, str],
    proxied: tuple[int, int] | None = None,
) -> str:
    """The text of the broker's properties file. `given`: the user's settings, as `checked` returns
    them. `proxied`: the port of a second listener, and that of the proxy before it, which the
    broker names to clients of this listener.
    """
    own = {
        "process.roles": "broker,controller",
        "node.id": "1",
        "controller.quorum.voters": f"1@{HOST}:{controller_port}",
        "listeners": f"PLAINTEXT://{HOST}:{broker_port},CONTROLLER://{HOST}:{controller_port}",
        "advertised.listeners": f"PLAINTEXT://{HOST}:{broker_port}",
        "controller.listener.names": "CONTROLLER",
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
        "log.dirs": "data",
    }
    if proxied:
        port, proxy_port = proxied
        own["listeners"] += f",PROXIED://{HOST}:{port}"
        own["advertised.listeners"] += f",PROXIED://{HOST}:{proxy_port}"
        own["listener.security.protocol.map"] += ",PROXIED:PLAINTEXT"
    return "".join(f"{name}={value}\n" for name, value in (SINGLE | dict(given) | own).items())


def checked(given: Mapping[str, str]) -> dict[str, str]:
    """The user's own settings. Raises `UserError` for what is not a property, or belongs to the
    recorder.
    """
    for name, value in given.items():
        if not re.fullmatch(r"[a-z0-9][a-z0-9._-]{0,99}", name):
            raise UserError(f"{name[:40]!r} is not the name of a broker's property", where="--set")
        if not value.isascii() or not value.isprintable() or "\\" in value or len(value) > 200:
            raise UserError(f"the value of {name} is not plain text", where="--set")
        if name.startswith(OURS):
            raise UserError(
                f"{name} belongs to the recorder",
                where="--set",
                do="the recorder runs one node on loopback; leave this setting out",
            )
    return dict(given)
