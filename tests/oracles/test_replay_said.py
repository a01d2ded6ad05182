"""What the answers say of logs, and what they must not: no absence that a later line denies, nobody
who is not there, and no sentence that says more than its line.
"""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest

from groupcheck.oracles.replay.report import replay

FILES = sorted((Path(__file__).parents[1] / "data").glob("replay_said*.toml"))
CASES: dict[str, dict[str, Any]] = {
    name: case for file in FILES for name, case in tomllib.loads(file.read_text("utf-8")).items()
}


@pytest.mark.parametrize("name", CASES)
def test_it_says_what_the_lines_show_and_no_more(tmp_path: Path, name: str) -> None:
    case = CASES[name]
    path = tmp_path / f"{name}.log"
    path.write_text(case["log"], "utf-8")
    found = replay([path])
    words = " ".join(str(found).split())
    assert [s for s in case.get("says", ()) if s not in words] == [], words
    assert [s for s in case.get("never", ()) if s in words] == [], words
    if "health" in case:
        assert {a.group: a.health for a in found.answers} == case["health"], words
