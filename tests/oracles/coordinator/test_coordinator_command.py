"""`groupcheck coordinator` at the terminal."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys

import jsonschema
import pytest
from node_asker import Asker

from groupcheck.oracles.command_line import cli, documents
from groupcheck.oracles.coordinator import command
from groupcheck.oracles.coordinator.model import every_served
from groupcheck.oracles.coordinator.served import coordinator
from groupcheck.oracles.wire.serving import Bounds


def test_it_prints_its_address_serves_and_ends_with_a_summary(tmp_path):
    log = tmp_path / "log.ndjson"
    command = [sys.executable, "-m", "groupcheck", "coordinator", "--topic", "t=2", "--log", log]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None and process.stderr is not None
        ask = Asker(process.stdout.readline().strip())
        asked = {"groupId": "g", "memberId": "nobody", "generationId": 1}
        assert ask("Heartbeat", 4, **asked)["errorCode"] == 25
        assert ask("Heartbeat", 77) == {}
        process.send_signal(signal.SIGINT)
        summary = process.stdout.read()
        assert "the model's coordinator; topics: t (2)" in process.stderr.read()
    assert process.returncode == 0
    assert summary.splitlines() == [
        "1 requests: Heartbeat 1",
        "refused 1: version 77 of API 12 is not offered",
    ]
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    (schema,) = (d.schema for d in documents.documents() if d.name == "served")
    for line in lines:
        jsonschema.validate(line, schema)
    told = [(line["what"], line["api"], line["number"]) for line in lines if line["api"]]
    assert told == [("request", "Heartbeat", 1), ("answer", "Heartbeat", 1)]


def test_a_log_that_cannot_be_written_ends_no_server(monkeypatch, capsys):
    monkeypatch.setattr(command, "_serve", lambda served, move, seconds: asked(served))
    assert cli.run(["coordinator", "--log", "/dev/full"]) == 0
    printed = capsys.readouterr()
    assert "lines are not in the log: cannot write it: No space left on device" in printed.out
    assert "the log ends here" in printed.err


def asked(served):
    with socket.create_connection(("127.0.0.1", next(iter(served.server.ports.values())))):
        served.server.turn(0.2)


def test_the_summary_says_that_it_does_not_count_all():
    with coordinator() as served:
        served.server.bounds = Bounds(noted=2)
        ask = Asker(served.address)
        for _ in range(2):
            ask("Heartbeat", 4, groupId="g", memberId="nobody", generationId=1)
        told = list(command.summary(served, None))
    assert told == [
        "2 requests: Heartbeat 1",
        "what is counted here is without the first 3 entries of the log",
    ]


def test_it_lists_the_bugs_that_it_can_be_served_with(capsys):
    assert cli.run(["coordinator", "--list"]) == 0
    listed = capsys.readouterr().out.splitlines()
    assert len(listed) == len(every_served()) > 40
    assert any(line.startswith("commit_ignores_generation  ") for line in listed)


WRONG = {
    "--mutation nothing": "nothing is no known bug",
    "--mutation keeps_partitions_when_lost": "is no bug of the coordinator that is served",
    "--move 1": "there is nowhere to move to",
    "--nodes 12": "--nodes: 12 is not from 1 to 9",
    "--topic a/b=1": "--topic: 'a/b' cannot be the name of a topic",
    "--topic t=0": "--topic t: 0 is not from 1 to 1000",
    "--min-session 2h": "--min-session: 7200000 is not from 1 to 1800000",
}


@pytest.mark.parametrize(("options", "says"), WRONG.items())
def test_options_that_do_not_fit_are_refused(options, says, capsys):
    assert cli.run(["coordinator", "--seconds", "0.01", *options.split()]) == 2
    assert says in capsys.readouterr().err
