"""One search over Spark whose driver or executor is killed in the middle. `make nightly` runs this
file: a minute for two kills.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from kills import FAULTS, alone, counted, search_with_kills
from standalone import Cluster, standalone

SCOPE = ["--members", "2", *(f"--fault={name}={n}" for name, n in FAULTS.items())]


@pytest.fixture(scope="module")
def expected() -> dict[str, Any]:
    return alone()


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> object:
    with standalone(tmp_path_factory.mktemp("cluster")) as there:
        yield there


def groupcheck(*arguments: str) -> subprocess.CompletedProcess[str]:
    program = Path(sys.executable).parent / "groupcheck"
    return subprocess.run([program, *arguments], capture_output=True, text=True, timeout=300)


def test_a_driver_that_is_killed_goes_on_from_its_store(
    expected: dict[str, Any], tmp_path: Path, misfits: Callable[[Any], list[str]]
) -> None:
    store = tmp_path / "store"
    command = [
        Path(sys.executable).parent / "groupcheck",
        "check",
        "classic",
        *SCOPE,
        "--spark",
        "local[2]",
        "--hand-over",
        "200",
        "--shards",
        "3",
    ]
    driver = subprocess.Popen(
        [*command, "--store", str(store)], stdout=subprocess.DEVNULL, start_new_session=True
    )
    until = time.monotonic() + 300
    while not list(store.glob("*/level-00012/dealt-*")):
        assert driver.poll() is None, "it has ended, and level 12 was not seen"
        assert time.monotonic() < until, "there is no level 12"
        time.sleep(0.005)
    os.killpg(driver.pid, signal.SIGKILL)
    driver.wait(30)
    told = groupcheck(
        "check", "classic", *SCOPE, "--spark", "local[2]", "--resume", str(store), "--json"
    )
    assert told.returncode == 0 and not told.stderr, told.stderr
    document = json.loads(told.stdout)
    assert counted(document) == expected and misfits(document) == []
    spread = document["distribution"]
    assert spread["levels"][0]["level"] < 12 < spread["levels"][-1]["level"] == expected["depth"]
    assert (
        spread["shards"] == 3
        and sum(spread["states_per_shard"]) == expected["states"]
        and spread["bytes_exchanged"] > 1_000_000
    )


def test_an_executor_that_is_killed_in_the_middle_changes_no_count(
    cluster: Cluster, tmp_path: Path, expected: dict[str, Any]
) -> None:
    found, _ = search_with_kills(cluster, tmp_path / "store", [14], seed=1)
    assert found == expected
