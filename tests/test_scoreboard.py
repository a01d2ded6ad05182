"""The scoreboard of brokers and clients: which documents its page has."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
import scoreboard

from groupcheck.oracles.judge.broker.rules import RULES as OF_BROKERS


def test_a_later_commit_judges_anew_and_shows_the_newest_of_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, judged = tmp_path / "found", list[tuple[str, str]]()

    def judges(into: Path, side: str, name: str) -> str:
        judged.append((into.name, name))
        rule = {"name": "timers", "verdict": "breaks"}
        about = {"subject": name, "verdict": f"at {into.name}", "rules": [rule], "differs": []}
        verdict = json.dumps(about)
        scoreboard.place(into, side, name).write_text(verdict)
        return "keeps"

    monkeypatch.setattr(scoreboard, "PAGE", tmp_path / "page.md")
    monkeypatch.setattr(scoreboard, "judged", judges)
    monkeypatch.setattr(scoreboard, "BROKERS", ("kafka", "tansu"))
    monkeypatch.setattr(scoreboard, "LIBRARIES", ())

    def run(commit: str, *more: str) -> str:
        monkeypatch.setattr(scoreboard, "commit", lambda: commit)
        monkeypatch.setattr("sys.argv", ["scoreboard.py", "--folder", str(folder), *more])
        assert scoreboard.main() == 0
        return (tmp_path / "page.md").read_text()

    run("one")
    run("one")
    assert judged == [("one", "kafka"), ("one", "tansu")]
    os.utime(folder / "one" / "broker-tansu.json", (1, 1))
    page = run("two", "--only", "kafka")
    assert judged[2:] == [("two", "kafka")]
    # Rules that are newer than a document are not judged.
    older = (
        f"| tansu | tansu | 1970-01-01 | at one | 0 | 1 | 0 | {len(OF_BROKERS) - 1} | `timers` |"
    )
    assert "| at two |" in page and older in page
    run("two")
    assert judged[3:] == [("two", "tansu")]
    run("two-dirty")
    run("two-dirty")
    assert [at for at, _ in judged[4:]] == ["two-dirty"] * 4
    assert run("two-dirty", "--table").count("| at two-dirty |") == 2
    # In a new checkout there are no documents.
    assert run("three", "--table", "--folder", str(tmp_path / "new")).count("| at two-dirty |") == 2
