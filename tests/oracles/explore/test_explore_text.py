"""`explore --text`: commands on standard input, and the files that it saves. What it prints stands
in `tests/transcripts/explore.txt`.
"""

from __future__ import annotations

import io
import json
import runpy
import sys
from pathlib import Path

import pytest

from groupcheck.oracles.command_line import cli

BUG = "keeps_partitions_when_lost"
KEY = "gc1-0.0.2.2.0.3.0.0.2.1.2.0.1.0"


def test_commands_come_from_standard_input_until_it_ends_or_quit(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("# a comment\n\n1\nquit\nno command\n"))
    assert cli.run(["explore", "classic", "--text"]) == 0
    told = capsys.readouterr().out
    assert "> 1\n" in told and "after 1 step\n" in told and "no command" not in told


def test_a_wrong_command_ends_a_script_and_not_a_person(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    typed = iter(["99", "goal nobody == 1", "1"])

    def asked(prompt: str) -> str:
        try:
            return next(typed)
        except StopIteration:
            raise EOFError from None

    monkeypatch.setattr(sys, "stdin", Terminal())
    monkeypatch.setattr("builtins.input", asked)
    assert cli.run(["explore", "classic", "--text"]) == 0
    told = capsys.readouterr().out
    assert "there is no step 99 here" in told and "after 1 step\n" in told
    assert cli.run(["explore", "classic", "--do", "99; 1"]) == 2
    assert "after 1 step" not in capsys.readouterr().out


def test_a_saved_test_passes_and_each_other_file_holds_the_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    endings = "py svg json md html link".split()
    saves = "; ".join(f"save test_walk.{ending}" for ending in endings)
    asked = ["explore", "classic", "--mutation", BUG, "--from", KEY]
    assert cli.run([*asked, "--do", f"{saves}; back 3; save test_short.py"]) == 0
    for name, test in (("walk", "hand_off_breaks"), ("short", "walk_breaks_nothing")):
        runpy.run_path(f"test_{name}.py")[f"test_{test}"]()
    assert 'followed.broken["hand_off"] == 13' in Path("test_walk.py").read_text()
    assert "not followed.broken" in Path("test_short.py").read_text()
    trace = json.loads(Path("test_walk.json").read_text())
    assert len(trace["states"]) == 14 and trace["#meta"]["status"] == "violation"
    assert "Member A still owns p0" in Path("test_walk.md").read_text()
    assert "still owns p0" in Path("test_walk.svg").read_text()
    assert "still owns p0" in Path("test_walk.html").read_text()
    assert cli.run(["explore", "--from", "test_walk.link", "--do", "why"]) == 0


def test_a_ticket_shows_hostile_names_as_they_are(tmp_path: Path) -> None:
    file = tmp_path / "hostile.py"
    file.write_text(
        "from groupcheck.model.engine import Spec, rule, single\n"
        "@rule\n"
        "def put(word):\n"
        "    '''Puts <script>alert(1)</script> | ![x](y).'''\n"
        "    if not word:\n"
        "        yield '<img src=x onerror=1>|`'\n"
        "spec = Spec('<b>', {'word': single('')}, [put], deadlock=False)\n"
    )
    target = tmp_path / "ticket.md"
    assert cli.run(["explore", f"{file}:spec", "--do", f"1; save {target}"]) == 0
    text = target.read_text()
    assert "\\<script\\>" in text and "<script" not in text.replace("\\<", "")
    assert "\\<img src=x onerror=1\\>\\|\\`" in text
