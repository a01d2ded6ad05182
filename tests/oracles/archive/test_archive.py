"""An archive without Spark: rows equal to the one-process replay, news only, and no half or double row whatever breaks off."""

from __future__ import annotations

import gzip
import os
import shutil
from pathlib import Path

import pytest
from archived import compared, in_process, table, tables

from groupcheck.oracles.archive.pipeline import Outcome, update

ROOT = Path(__file__).parents[3]
LINE = "[2024-10-25 17:25:16,582] INFO [GroupCoordinator 3]: Stabilized group {} generation 5 (__consumer_offsets-7) with 3 members\n"


def run(archive: Path, *paths: Path) -> Outcome:
    return update(str(archive), paths, in_process(str(archive)))


def log(path: Path, group: str, lines: int = 1) -> Path:
    path.write_text(LINE.format(group) * lines)
    return path


def test_rows_are_those_of_the_one_process_replay(tmp_path: Path) -> None:
    logs = sorted([*(ROOT / "tests/data/replay").iterdir(), *(ROOT / "tests/data/requests").glob("live-[sz]*.gz")])
    outcome = run(tmp_path / "a", *logs)
    assert compared(tmp_path / "a", logs) >= 15 and outcome.new == len(logs)
    assert {row["kind"] for row in table(tmp_path / "a", "events")} >= {"RebalanceStarted", "Stabilized", "HEARTBEAT", "JOIN_GROUP"}
