"""The scoreboard of brokers and clients: which documents its page has."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import scoreboard


def test_a_later_commit_judges_anew_and_shows_the_newest_of_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, judged = tmp_path / "found", list[tuple[str, str]]()

    def judges(into: Path, side: str, name: str) -> str:
        judged.append((into.name, name))
        verdict = (
            f'{{"subject": "{name}", "verdict": "at {into.name}", "rules": [], "differs": []}}'
        )
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
    assert "| kafka | kafka | at two |" in page and "| tansu | tansu | at one |" in page
    run("two")
    assert judged[3:] == [("two", "tansu")]
    run("two-dirty")
    run("two-dirty")
    assert [at for at, _ in judged[4:]] == ["two-dirty"] * 4
    assert "| tansu | tansu | at two-dirty |" in run("two-dirty", "--table")
