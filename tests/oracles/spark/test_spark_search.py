"""One search over Spark: embedded and on a cluster of separate processes, with executors and drivers killed in the middle."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from standalone import Cluster, standalone

from groupcheck import check
from groupcheck.model.engine import UserError
from groupcheck.model.engine.verdict import Progress

FAULTS = {"crash": 1, "session_timeout": 1, "fail_over": 1}
SCOPE = ["--members", "2", *(f"--fault={name}={n}" for name, n in FAULTS.items())]
COUNTS = (116_305, 353_740, 30)  # states, transitions, depth
NOT_COUNTS = {"seconds", "bytes_per_state", "distribution", "notes"}


@pytest.fixture(scope="module")
def alone() -> dict[str, object]:
    """The document of one process."""
    document = check("classic", members=2, faults=FAULTS).document()
    assert (document["states"], document["transitions"], document["depth"]) == COUNTS
    return document


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> object:
    with standalone(tmp_path_factory.mktemp("cluster")) as there:
        yield there


def counted(document: dict[str, object]) -> dict[str, object]:
    return {name: value for name, value in document.items() if name not in NOT_COUNTS}


def groupcheck(*arguments: str, **more: object) -> subprocess.CompletedProcess[str]:
    program = Path(sys.executable).parent / "groupcheck"
    return subprocess.run([program, *arguments], capture_output=True, text=True, timeout=200, **more)


def test_a_driver_that_is_killed_goes_on_from_its_store(alone: dict[str, object], tmp_path: Path) -> None:
    store = tmp_path / "store"
    command = [Path(sys.executable).parent / "groupcheck", "check", "classic", *SCOPE, "--spark", "local[2]", "--hand-over", "200"]
    driver = subprocess.Popen([*command, "--store", str(store)], stdout=subprocess.DEVNULL, start_new_session=True)
    until = time.monotonic() + 100
    while not list(store.glob("level-00012/dealt-*")):
        assert driver.poll() is None and time.monotonic() < until
        time.sleep(0.02)
    os.killpg(driver.pid, signal.SIGKILL)
    driver.wait(30)
    told = groupcheck("check", "classic", *SCOPE, "--spark", "local[2]", "--resume", str(store), "--json")
    assert told.returncode == 0 and not told.stderr, told.stderr
    document = json.loads(told.stdout)
    assert counted(document) == counted(alone)
    spread = document["distribution"]
    assert spread["levels"][0]["level"] < 12 < spread["levels"][-1]["level"] == alone["depth"]
    assert spread["shards"] == 2 and sum(spread["states_per_shard"]) == alone["states"] and spread["bytes_exchanged"] > 1_000_000


class Killer:
    """Kills executors at some levels of a search."""

    def __init__(self, cluster: Cluster, levels: list[int], seed: int) -> None:
        self.cluster, self.levels, self.chance = cluster, sorted(levels), random.Random(seed)
        self.killed: list[int] = []

    def __call__(self, progress: Progress) -> None:
        while self.levels and progress.level >= self.levels[0]:
            self.levels.pop(0)
            self.killed.append(self.cluster.kill_executor(self.chance.randrange(2)))


def survives(cluster: Cluster, tmp_path: Path, alone: dict[str, object], levels: list[int], seed: int) -> None:
    killer = Killer(cluster, levels, seed)
    found = check(
        "classic", members=2, faults=FAULTS, spark=cluster.master, store=str(tmp_path / "store"), shards=3, hand_over=200, progress=killer
    )
    assert counted(found.document()) == counted(alone)
    assert len(killer.killed) == len(levels) and not killer.levels


def test_executors_that_are_killed_in_the_middle_change_no_count(cluster: Cluster, tmp_path: Path, alone: dict[str, object]) -> None:
    survives(cluster, tmp_path, alone, [9, 17], seed=1)


def test_a_cluster_without_a_store_is_refused_at_once() -> None:
    with pytest.raises(UserError, match=r"need a store that they all reach .*--store"):
        check("classic", members=1, spark="spark://127.0.0.1:7077")


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ({"workers": 2}, "the store keeps a search"),
        ({"engine": "reference"}, "the store keeps a search"),
        ({"max_memory": 1 << 30}, "bounds one process"),
        ({"shards": 0}, "shards is 0"),
    ],
)
def test_options_of_one_process_are_refused(more: dict[str, object], told: str) -> None:
    with pytest.raises(UserError, match=told):
        check("classic", members=1, spark="local[2]", **more)


def test_options_of_a_cluster_need_one() -> None:
    with pytest.raises(UserError, match="give --spark MASTER too"):
        check("classic", members=1, store="x")


def test_a_store_that_cannot_be_written_is_one_clear_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match=r"cannot be (listed|written)"):
        check("classic", members=2, faults=FAULTS, spark="local[2]", hand_over=200, store=str(tmp_path / "file" / "x"))


def test_a_store_that_vanishes_under_the_executors_is_one_clear_error(tmp_path: Path) -> None:
    store = tmp_path / "store"

    def vanish(progress: Progress) -> None:
        if progress.level >= 12:
            for block in store.glob("level-*/dealt-*"):
                block.unlink()

    with pytest.raises(UserError, match=r"dealt-\S+ is missing"):
        check("classic", members=2, faults=FAULTS, spark="local[2]", hand_over=200, store=str(store), progress=vanish)
