"""Apache Kafka's broker with listeners that want a login, TLS, or both: `judge broker` keeps every
rule there. At night.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from groupcheck.model.engine import UserError
from groupcheck.oracles.judge.broker.exploring import Judging
from groupcheck.oracles.judge.broker.profiles import TWO_STEP
from groupcheck.oracles.judge.broker.surroundings import target
from groupcheck.oracles.judge.brokers.starting import QUICK
from groupcheck.oracles.kafka import install, versions
from groupcheck.oracles.record import broker as recorded
from groupcheck.oracles.record.broker import RECORDER
from groupcheck.oracles.record.running import running
from groupcheck.oracles.record.settings import HOST, properties
from groupcheck.oracles.wire.connections import Connections, announced
from groupcheck.oracles.wire.security import Security
from groupcheck.oracles.wire.sockets import free_ports

LOCALHOST = Path(__file__).parents[1] / "wire" / "localhost.pem"  # a certificate, and its key
USER, PASSWORD = "alice", "correct-horse-battery"
SCRAM = ("SCRAM-SHA-256", "SCRAM-SHA-512")
LISTENERS = {"TLS": "SSL", "LOGIN": "SASL_PLAINTEXT", "BOTH": "SASL_SSL"}
LOGIN_MODULE = "org.apache.kafka.common.security"


def with_listeners(ports: Mapping[str, int], text: str) -> str:
    """The broker's properties with these listeners besides its own."""
    added = ",".join(f"{name}://{HOST}:{port}" for name, port in ports.items())
    protocols = ",".join(f"{name}:{LISTENERS[name]}" for name in ports)
    lines = []
    for line in text.splitlines():
        more = {"listeners": added, "advertised.listeners": added}
        more["listener.security.protocol.map"] = protocols
        name = line.partition("=")[0]
        lines.append(f"{line},{more[name]}" if name in more else line)
    for name in ("tls", "both"):
        lines += [
            f"listener.name.{name}.ssl.keystore.type=PEM",
            f"listener.name.{name}.ssl.keystore.location={LOCALHOST}",
        ]
    for name in ("login", "both"):
        sasl = f"listener.name.{name}"
        plain = f'{LOGIN_MODULE}.plain.PlainLoginModule required user_{USER}="{PASSWORD}";'
        lines += [
            f"{sasl}.sasl.enabled.mechanisms=PLAIN,{','.join(SCRAM)}",
            f"{sasl}.plain.sasl.jaas.config={plain}",
            *(
                f"{sasl}.{one.lower()}.sasl.jaas.config={LOGIN_MODULE}.scram.ScramLoginModule"
                " required;"
                for one in SCRAM
            ),
        ]
    return "\n".join(lines) + "\n"


def formatted(place: Path, text: str) -> None:
    """The broker's folder, with a user of SCRAM."""
    (place / "format.properties").write_text(text)
    users = [f"{one}=[name={USER},password={PASSWORD}]" for one in SCRAM]
    asked = ["format", "-t", "Z3JvdXBjaGVja3JlY29yZA", "-c", "format.properties"]
    classpath = install.classpath(versions.DEFAULT, print, RECORDER)
    added = [word for user in users for word in ("--add-scram", user)]
    command = [*install.launcher(RECORDER), "-cp", classpath, "kafka.tools.StorageTool"]
    subprocess.run([*command, *asked, *added], cwd=place, check=True, capture_output=True)


@pytest.fixture(scope="module")
def listeners() -> Iterator[dict[str, str]]:
    """Listener -> its address."""
    ports = dict(zip(LISTENERS, free_ports(len(LISTENERS)), strict=True))
    with pytest.MonkeyPatch.context() as patch:
        launch = recorded.Broker._launch

        def secured(*given: Any) -> str:
            return with_listeners(ports, properties(*given))

        def launched(self: recorded.Broker) -> None:
            formatted(self.place, (self.place / "server.properties").read_text())
            launch(self)

        patch.setattr(recorded, "properties", secured)
        patch.setattr(recorded.Broker, "_launch", launched)
        with running(versions.DEFAULT, QUICK, print) as on:
            on.broker.ask("topic", "t", 1)
            on.broker.ask("group", "groupcheck")
            yield {name: f"localhost:{port}" for name, port in ports.items()}


def secured_by(listener: str, mechanism: str, password: str = PASSWORD) -> Security:
    is_tls = listener != "LOGIN"
    user = (USER, password) if mechanism else ("", "")
    return Security(is_tls, LOCALHOST if is_tls else None, True, mechanism, *user)


EVERY = [
    ("TLS", ""),
    *((listener, one) for listener in ("LOGIN", "BOTH") for one in ("PLAIN", *SCRAM)),
]


@pytest.mark.night
@pytest.mark.parametrize(("listener", "mechanism"), EVERY)
def test_kafka_keeps_every_rule_behind_a_login_and_tls(
    listeners: dict[str, str], listener: str, mechanism: str
) -> None:
    security = secured_by(listener, mechanism)
    aim, _ = target(listeners[listener], security, "t", {})
    judging = Judging(aim, security)
    judging.explore([TWO_STEP], 100.0, 2, lambda: None, 8)
    assert judging.ledger.found == {}
    assert judging.ledger.requests > 50


@pytest.mark.night
@pytest.mark.parametrize("mechanism", ["PLAIN", *SCRAM])
def test_kafka_lets_nobody_in_with_a_wrong_password(
    listeners: dict[str, str], mechanism: str
) -> None:
    connections = Connections(listeners["LOGIN"], secured_by("LOGIN", mechanism, "wrong"))
    with pytest.raises(UserError, match="does not let the user in"):
        announced(connections, 10.0)
