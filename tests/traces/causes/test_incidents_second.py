"""What the first screen says about the second and third set of excerpts of real problems
(tests/data/incidents2, incidents3): what a helpful answer must contain, and nothing that would be
wrong.
"""

from __future__ import annotations

import json
import tomllib
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from groupcheck.oracles.replay.report import ReplayReports, replay

DATA = Path(__file__).parents[2] / "data"
SETS = ("incidents2", "incidents3")
INDEX: dict[str, list[dict[str, Any]]] = {
    name: json.loads((DATA / name / "index.json").read_text("utf-8")) for name in SETS
}
FOUND: dict[str, dict[str, dict[str, Any]]] = {
    name: tomllib.loads((DATA / name / "found.toml").read_text("utf-8")) for name in SETS
}


@cache
def replayed(folder: str, name: str) -> ReplayReports:
    return replay([DATA / folder / f"{name}.log"])


def answer(folder: str, name: str) -> str:
    """What stands on the first screen about groups, without the figures of the log, as one line.
    The lines that it quotes are those of the excerpt.
    """
    quoted = (DATA / folder / f"{name}.log").read_text("utf-8")
    words = " ".join(str(replayed(folder, name)).split(f"\n{DATA}")[0].split())
    for line in quoted.splitlines():
        words = words.replace(" ".join(line.split()), "")
    return words


@pytest.mark.parametrize(("folder", "name"), [(f, name) for f in SETS for name in FOUND[f]])
def test_the_first_screen_says_what_helps_and_nothing_wrong(folder: str, name: str) -> None:
    table, words = FOUND[folder][name], answer(folder, name)
    causes = [f.cause.kind for a in replayed(folder, name).answers for f in a.diagnosis.causes]
    assert causes == table["causes"]
    assert [said for said in table["says"] if said not in words] == [], words
    assert [wrong for wrong in table["never"] if wrong in words] == [], words


@pytest.mark.parametrize("folder", SETS)
def test_the_table_holds_every_excerpt(folder: str) -> None:
    found, index = FOUND[folder], INDEX[folder]
    assert list(found) == [one["id"] for one in index]
    assert sum(bool(table["says"]) for table in found.values()) == len(index)
    assert all(one["must_not"] == [] or found[one["id"]]["never"] for one in index)
