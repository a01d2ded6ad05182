"""A real broker, a real library: what the request log of a join holds, and that nothing is left,
whether it ends by itself or is interrupted.

The broker and its clients run in processes of `groupcheck record`; what belongs to it is found by a
mark in the environment that they all inherit.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from groupcheck.oracles.record import answers

PATIENCE_S = 300  # the first use builds, on a busy machine
MARK = "GROUPCHECK_TEST_RECORDING"
COMMAND = [
    sys.executable,
    "-c",
    "import sys; from groupcheck.oracles.command_line.cli import main; main()",
    "record",
]


def marked(mark: str) -> list[str]:
    """The command lines of the running processes that inherited the mark."""
    if not Path(
        "/proc/self/environ"
    ).is_file():  # a BSD's ps shows the environment beside the command
        listed = subprocess.run(
            ["ps", "-AEwwo", "command"], capture_output=True, text=True, check=True
        ).stdout
        return [line for line in listed.splitlines() if mark in line]
    found = []
    for entry in Path("/proc").iterdir():
        try:
            if f"{MARK}={mark}\0".encode() in (entry / "environ").read_bytes() and (
                words := (entry / "cmdline").read_bytes()
            ):
                found.append(words.replace(b"\0", b" ").decode())
        except OSError:
            continue
    return found


@pytest.fixture
def environment(tmp_path: Path) -> Iterator[dict[str, str]]:
    yield os.environ | {MARK: str(tmp_path), "TMPDIR": str(tmp_path)}
    assert marked(str(tmp_path)) == []


def test_a_recorded_join_holds_the_requests_of_the_group_and_leaves_nothing_behind(
    tmp_path: Path, environment: dict[str, str], misfits
):
    out = tmp_path / "out"
    done = subprocess.run(
        [*COMMAND, "--scenario", "join", "--client", "kafka-python", "--out", str(out), "--json"],
        env=environment, capture_output=True, text=True, timeout=PATIENCE_S,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert misfits(told) == []
    assert (
        told["schema"] == "groupcheck.record/1"
        and told["exit_code"] == 0
        and told["scenario"] == "join"
    )
    assert {Path(path).name for path in told["files"].values()} == {p.name for p in out.iterdir()}

    requests = (out / "join.requests.log").read_text().splitlines(keepends=True)
    found = list(answers.exchanges(requests))
    assert len(found) == len(requests) == told["lines"]["requests"]
    granted = {(one.api, one.run) for one in found if not one.response.get("errorCode")}
    assert granted >= {
        (api, who) for api in ("JOIN_GROUP", "SYNC_GROUP", "LEAVE_GROUP") for who in ("a", "b")
    }
    # The library may join once more for nothing (its leader does, now and then), so the number of
    # the generation is not certain.
    assert re.search(
        r"Stabilized group g1 generation \d with 2 members", (out / "join.broker.log").read_text()
    )

    truth = json.loads((out / "join.truth.json").read_text())
    first, *later = [{run for run, _, _ in g["joins"]} for g in truth["facts"]["generations"]]
    assert first == {"a"} and {"a", "b"} in later
    assert truth["facts"]["two_owners"] == []
    for who in ("a", "b"):
        (member_id,) = truth["clients"][who]["member_ids"]
        assert member_id.startswith(f"{who}-") and truth["clients"][who]["owned"]
    assert [p.name for p in tmp_path.iterdir()] == ["out"]


def test_ctrl_c_ends_everything_that_the_recording_started_and_keeps_what_there_is(
    tmp_path: Path, environment: dict[str, str]
):
    out = tmp_path / "out"
    script = "echo $KAFKA_BOOTSTRAP_SERVERS; sleep 600 & wait"
    recorder = subprocess.Popen(
        [*COMMAND, "--out", str(out), "--", "sh", "-c", script],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    end = time.monotonic() + PATIENCE_S
    running: list[str] = []
    while (
        not any(line.startswith("sleep 600") for line in running)
        and recorder.poll() is None
        and time.monotonic() < end
    ):
        time.sleep(0.1)
        running = marked(str(tmp_path))
    recorder.send_signal(signal.SIGINT)
    said, progress = recorder.communicate(timeout=120)
    assert any("groupcheck.record.Broker" in line for line in running) and any(
        line.startswith("sleep 600") for line in running
    ), progress
    assert recorder.returncode == 130
    assert said.startswith("127.0.0.1:") and (out / "sh.command.log").read_text() == said
    assert {p.name for p in out.iterdir()} == {"sh.broker.log", "sh.requests.log", "sh.command.log"}
    assert {p.name for p in tmp_path.iterdir()} == {"out"}
