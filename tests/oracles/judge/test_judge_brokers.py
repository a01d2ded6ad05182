"""Brokers that are started: what can be chosen, what is refused, and how one ends."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest
from attrs import evolve

from groupcheck.model.engine import UserError
from groupcheck.oracles.judge import brokers
from groupcheck.oracles.judge.brokers import KINDS, starting
from groupcheck.oracles.judge.installing.toolchains import TOOLCHAINS
from groupcheck.oracles.wire.connections import Connections, announced

SERVES = """
import json, os, sys
told = json.loads(sys.argv[1])
print(json.dumps({"address": "127.0.0.1:%d" % os.getpid(), "version": sorted(told["settings"])}),
      flush=True)
sys.stdin.read()
"""


def programmed(name: str, text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Has this program of Python stand for the broker `name`."""
    (tmp_path / "source").mkdir()
    (tmp_path / "source/program.py").write_text(text)
    own = evolve(TOOLCHAINS["python"], pinned=(), command=("python3", "{home}/program.py"))
    recipe = KINDS[name].recipe
    assert recipe
    kind = evolve(KINDS[name], recipe=evolve(recipe, sources=(tmp_path / "source",)))
    monkeypatch.setenv("GROUPCHECK_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setitem(TOOLCHAINS, recipe.language, own)  # type: ignore[arg-type]
    monkeypatch.setitem(KINDS, name, kind)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("name", "settings", "why"),
    [
        ("redpanda", {}, "no broker 'redpanda' can be started"),
        ("tansu", {"group.max.size": "2"}, "Tansu's broker, in memory has no setting group.max"),
        ("kfake", {"group.x": "2"}, "franz-go's broker for tests has no setting group.x"),
        ("librdkafka-mock", {"group.max.size": "2"}, "has no setting group.max.size"),
        ("kafka", {"listeners": "x"}, "listeners belongs to the recorder"),
        ("kafka", {"a b": "x"}, "is not the name of a broker's property"),
    ],
)
def test_what_cannot_be_started_is_refused(name: str, settings: dict[str, str], why: str) -> None:
    with pytest.raises(UserError, match=why), brokers.start(name, settings, say=print):
        pass


def test_a_broker_runs_until_the_end_of_the_block(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    programmed("kfake", SERVES, tmp_path, monkeypatch)
    with brokers.start("kfake", {"group.max.size": "2"}, say=print) as broker:
        # SERVES says which settings it got as its version.
        assert broker.version == "['group.max.size', 'group.min.session.timeout.ms']"
        process = int(broker.address.rpartition(":")[2])
        assert broker.outage() is None
    with pytest.raises(ProcessLookupError):
        os.kill(process, 0)


def test_a_broker_that_dies_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    programmed("kfake", SERVES, tmp_path, monkeypatch)
    with brokers.start("kfake", say=print) as broker:
        os.kill(int(broker.address.rpartition(":")[2]), signal.SIGKILL)
        until = time.monotonic() + 20
        while (outage := broker.outage()) is None and time.monotonic() < until:
            time.sleep(0.01)
        assert "franz-go's broker for tests was ended by SIGKILL" in str(outage)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("import sys; sys.exit('the port is taken')", "does not start: the port is taken"),
        ("print('[]')", "does not start: no answer"),
        ("import time; time.sleep(60)", "does not start: no answer within 0 s"),
    ],
)
def test_a_broker_that_does_not_start_says_why(
    text: str, why: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    programmed("tansu", text, tmp_path, monkeypatch)
    monkeypatch.setattr(starting, "START_S", 0.3 if "sleep" in text else 20.0)
    with pytest.raises(UserError, match=why), brokers.start("tansu", say=print):
        pass


JOIN, HEARTBEAT, LEAVE, SYNC = 11, 12, 13, 14  # API -> the versions
ANNOUNCED = {
    "kafka": {JOIN: range(10), SYNC: range(6), HEARTBEAT: range(5), LEAVE: range(6)},
    "kfake": {JOIN: range(10), SYNC: range(6), HEARTBEAT: range(5), LEAVE: range(6)},
    "librdkafka-mock": {JOIN: range(7), SYNC: range(5), HEARTBEAT: range(6), LEAVE: range(5)},
    "tansu": {JOIN: range(10), SYNC: range(6), HEARTBEAT: range(5), LEAVE: range(6)},
}


@pytest.mark.night
@pytest.mark.timeout(2000)  # the first use of a broker compiles it
@pytest.mark.parametrize("name", KINDS)
def test_each_broker_starts_and_announces_the_group_apis(name: str) -> None:
    with brokers.start(name, topics={"t": 2}, say=print) as broker:
        assert broker.version
        connections = Connections(broker.address)
        assert announced(connections, 10.0).items() >= ANNOUNCED[name].items()
        connections.close()
        assert broker.outage() is None
