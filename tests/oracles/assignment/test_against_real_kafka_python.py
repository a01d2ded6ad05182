"""Real releases of kafka-python from the package index: before 3, and from 3 on."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

RELEASES = ["2.0.2", "2.3.0", "3.0.12"]
MINE = """
from kafka.coordinator.assignors.range import RangePartitionAssignor

class Weighted(RangePartitionAssignor):
    name = "range"

    def __init__(self, weight):
        self.weight = weight

def make():
    return Weighted(3)

one = Weighted(2)
"""


@pytest.fixture(scope="module", params=RELEASES)
def release(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the release, and with a module that has assignors of one's own."""
    folder = tmp_path_factory.mktemp("release")
    install = ["pip", "install", "-q", "--no-deps", "--target", str(folder)]
    wanted = f"kafka-python=={request.param}"
    subprocess.run([sys.executable, "-m", *install, wanted], check=True)
    (folder / "mine.py").write_text(MINE, "utf-8")
    return folder


def asked(release: Path, name: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [
            *(sys.executable, "-m", "groupcheck", "assign"),
            *("--against", name, "--examples", "8", "--json"),
        ],
        env={**os.environ, "PYTHONPATH": str(release)},
        cwd=release,
        capture_output=True,
        text=True,
    )


@pytest.mark.night
def test_each_release_is_asked_and_answers(release: Path) -> None:
    done = asked(release, "kafka-python")
    assert done.returncode in (0, 1), done.stderr
    found = json.loads(done.stdout)
    # None of ours: where an assignor raises, it is its own code that does.
    raised = [one for one in found["findings"] if "groupcheck" in (one.get("traceback") or "")]
    assert raised == []
    assert {"range", "roundrobin", "sticky"} <= {*found["assignors"]}


@pytest.mark.night
@pytest.mark.parametrize("name", ["make", "one"])
def test_an_object_and_a_function_that_makes_one_answer(release: Path, name: str) -> None:
    done = asked(release, f"mine:{name}")
    assert done.returncode in (0, 1), done.stderr
    # From 2.3 on, ranges leave members out where static and dynamic ones mix.
    broken = {one["promise"] for one in json.loads(done.stdout)["findings"]}
    assert broken <= {"balanced in topics", "static members keep"}, done.stdout


@pytest.mark.night
def test_a_class_that_needs_arguments_is_told_as_such(release: Path) -> None:
    done = asked(release, "mine:Weighted")
    assert done.returncode == 2 and "can be made without arguments" in done.stderr
