"""Starting and asking the broker: ports that somebody took, settings that it refuses, a Java that
is not there. The Java here is a script.
"""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from groupcheck.model.engine import OutageError, UserError
from groupcheck.oracles.command_line import cli
from groupcheck.oracles.record import broker as brokers
from groupcheck.oracles.record.broker import Broker
from groupcheck.oracles.record.processes import Interrupts, Processes
from groupcheck.oracles.wire.sockets import free_ports

SERVES = """
print("> ok", flush=True)
for line in sys.stdin:
    print("noise", flush=True)
    print("> error Odd: no such topic" if "bad" in line else "> ok", flush=True)
"""
TAKEN = (
    """
seen = open("tried", "a+"); print("x", file=seen); seen.seek(0)
if len(seen.readlines()) < 3:
    log = open("broker.log", "a")
    log.write("[t] INFO on\\nCaused by: java.net.BindException: Address already in use\\n")
    log.close()
    sys.exit(1)
"""
    + SERVES
)
REFUSES = """
open("broker.log", "w").write(
    "[t] INFO on\\n"
    "Exception in thread x org.apache.kafka.ConfigException: Invalid value 7\\n\\tat y\\n"
)
sys.exit(1)
"""


@pytest.fixture
def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], Broker]]:
    """A broker in a folder, whose Java is the script that is given."""
    with Interrupts() as interrupts, Processes(interrupts) as processes:

        def make(script: str) -> Broker:
            java = tmp_path / "java"
            java.write_text(f"#!{sys.executable}\nimport sys\n{script}")
            java.chmod(0o755)
            monkeypatch.setattr(brokers.install, "java", lambda program: str(java))
            monkeypatch.setattr(brokers.install, "classpath", lambda version, say, program: "none")
            (tmp_path / "place").mkdir()
            return Broker(
                tmp_path / "place",
                "4.3.0",
                {"num.io.threads": "3"},
                processes,
                lambda message: None,
            )

        yield make


def test_a_broker_that_serves_has_an_address_on_loopback_and_carries_out_what_it_is_asked(
    made: Callable[[str], Broker],
):
    broker = made(SERVES)
    broker.start()
    host, port = broker.address.split(":")
    assert (
        host == "127.0.0.1"
        and f"PLAINTEXT://127.0.0.1:{port}" in (broker.place / "server.properties").read_text()
    )
    assert "num.io.threads=3" in (broker.place / "server.properties").read_text()
    broker.ask("topic", "good", 2)
    with pytest.raises(UserError, match="the broker could not carry out topic: Odd: no such topic"):
        broker.ask("topic", "bad", 2)
    broker.end()


def test_a_broker_that_is_stopped_comes_back_at_the_same_address(made: Callable[[str], Broker]):
    broker = made(SERVES)
    broker.start()
    before = broker.address
    broker.stop()
    broker.start()
    assert broker.address == before
    broker.ask("flush")


def test_ports_that_somebody_took_meanwhile_are_left_to_him(made: Callable[[str], Broker]):
    broker = made(TAKEN)
    broker.start()
    broker.ask("flush")
    assert len((broker.place / "tried").read_text().splitlines()) == 3


def test_a_broker_that_refuses_its_settings_is_quoted(made: Callable[[str], Broker]):
    with pytest.raises(
        UserError,
        match=r"the broker of Kafka 4.3.0 does not start: ConfigException: Invalid value 7$",
    ):
        made(REFUSES).start()


def test_a_broker_that_has_gone_is_not_waited_for(made: Callable[[str], Broker]):
    broker = made(
        'print("> ok", flush=True)\nsys.stdin.readline()\nopen("broker.out", "w").write("Error:'
        ' gone\\n")\n'
    )
    broker.start()
    with pytest.raises(OutageError, match=r"4.3.0 has ended \(exit code 0\): Error: gone"):
        broker.ask("flush")


@pytest.mark.parametrize(
    ("number", "became"),
    [("SIGKILL", r"was ended by SIGKILL \(signal 9\)"), ("SIGSTOP", "SIGSTOP")],
)
def test_a_broker_that_somebody_kills_or_stops_is_an_outage(
    made: Callable[[str], Broker], monkeypatch: pytest.MonkeyPatch, number: str, became: str
):
    monkeypatch.setattr(brokers, "ANSWER_S", 0.2)
    broker = made('print("> ok", flush=True)\nsys.stdin.readline()\n')
    broker.start()
    assert broker._process
    broker._process.send_signal(getattr(signal, number))
    with pytest.raises(OutageError, match=f"the JVM with the broker of Kafka 4.3.0 .*{became}"):
        broker.ask("flush")


def test_free_ports_differ():
    assert len(set(free_ports(20))) == 20


@pytest.mark.parametrize(
    ("there", "missing"), [((), "java"), (("java",), "mvn"), (("java", "mvn"), "javac")]
)
def test_without_java_or_maven_one_line_says_what_to_install(
    there: tuple[str, ...],
    missing: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
):
    (tmp_path / "bin").mkdir()
    for name in (*there, "program"):
        (tmp_path / "bin" / name).write_text("#!/bin/false\n")
        (tmp_path / "bin" / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setenv("GROUPCHECK_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    assert cli.run(["record", "--out", str(tmp_path / "out"), "--", "program"]) == 2
    err = capsys.readouterr().err
    assert (
        err.startswith(
            f"groupcheck: error: {missing} is not installed: the broker that is recorded "
        )
        and err.count("\n") == 1
    )
    assert "install a JDK 17 or newer and Maven" in err
    assert not (tmp_path / "out").exists()
