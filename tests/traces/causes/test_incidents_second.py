"""What the first screen says about the second set of excerpts of real problems
(tests/data/incidents2): all that a helpful answer must contain, and nothing that would be wrong.
"""

from __future__ import annotations

import json
import tomllib
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from groupcheck.oracles.replay.report import Replayed, replay

FOLDER = Path(__file__).parents[2] / "data/incidents2"
INDEX: list[dict[str, Any]] = json.loads((FOLDER / "index.json").read_text("utf-8"))
FOUND: dict[str, dict[str, Any]] = tomllib.loads((FOLDER / "found.toml").read_text("utf-8"))


@cache
def replayed(name: str) -> Replayed:
    return replay([FOLDER / f"{name}.log"])


def answer(name: str) -> str:
    """What stands on the first screen about groups, without the figures of the log, as one line.
    The lines that it quotes are those of the excerpt.
    """
    text, quoted = str(replayed(name)), (FOLDER / f"{name}.log").read_text("utf-8")
    words = " ".join(text.split(f"\n{FOLDER}")[0].split())
    for line in quoted.splitlines():
        words = words.replace(" ".join(line.split()), "")
    return words


@pytest.mark.parametrize("name", FOUND)
def test_the_first_screen_says_what_helps_and_nothing_wrong(name: str) -> None:
    table, words = FOUND[name], answer(name)
    causes = [f.cause.kind for a in replayed(name).answers for f in a.diagnosis.causes]
    assert causes == table["causes"]
    assert [said for said in table["says"] if said not in words] == [], words
    assert [wrong for wrong in table["never"] if wrong in words] == [], words


def test_the_table_holds_every_excerpt() -> None:
    assert list(FOUND) == [one["id"] for one in INDEX]
    told = sum(bool(table["says"]) for table in FOUND.values())
    assert told == len(INDEX)
    assert all(one["must_not"] == [] or FOUND[one["id"]]["never"] for one in INDEX)
