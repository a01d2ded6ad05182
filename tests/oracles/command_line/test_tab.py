"""What a page in a browser tab gets is what the command line prints."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from groupcheck.oracles.command_line import cli
from groupcheck.oracles.command_line.tab import answered, digest, walked
from groupcheck.oracles.show import meter

SPEC = Path(__file__).parents[2] / "examples/two_phase_commit.py"
CHECK = ["check", "two_phase.py:two_phase_commit", "--set", "managers=3", "--engine", "plain"]


def test_a_log_is_answered_as_on_the_command_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code = cli.run(["replay", "sample:ghost-members"])
    printed = capsys.readouterr()
    told = answered(["replay", "sample:ghost-members"], tmp_path)
    assert (told.code, told.out, told.err) == (code, printed.out, printed.err)
    assert told.code == 1 and "198 members were removed together" in told.out
    assert capsys.readouterr() == ("", "")


def test_a_spec_that_was_changed_is_read_anew(tmp_path: Path) -> None:
    spec, text = tmp_path / "two_phase.py", SPEC.read_text("utf-8")
    broken = text.replace("{a.phase, b.phase}", "{a.phase, b.phasf}")
    codes, said = [], []
    for content in (broken, text, broken):  # each within the same second, and of one size
        spec.write_text(content, "utf-8")
        told = answered(CHECK, tmp_path)
        codes.append(told.code)
        said.append(told.err)
    assert codes == [2, 0, 2]
    assert "in two_phase.py, line 66" in said[0] and said[1] == "" and said[2] == said[0]


def test_the_page_hears_how_far_a_command_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(meter, "DRAWN_S", 0.0)
    heard: list[str] = []
    answered(["replay", "sample:ghost-members"], tmp_path, heard.append)
    assert any("sample:ghost-members" in text for text in heard)
    heard.clear()
    (tmp_path / "two_phase.py").write_text(SPEC.read_text("utf-8"), "utf-8")
    answered(CHECK, tmp_path, heard.append)
    assert any("states" in text and "frontier" in text for text in heard)
    assert meter.PAGE.get() is None


def test_bad_input_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "picture.png").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(2000))
    told = answered(["replay", "picture.png"], tmp_path)
    assert (told.code, told.out) == (2, "")
    assert told.err == "groupcheck: error: picture.png: is binary, not a text log\n"


def test_a_walk_answers_the_page_in_its_frame(tmp_path: Path) -> None:
    (tmp_path / "two_phase.py").write_text(SPEC.read_text("utf-8"), "utf-8")
    walk = walked(["two_phase.py:two_phase_commit", "--set", "managers=2"], tmp_path)
    assert (walk.told.code, walk.told.out, walk.told.err) == (0, "", "")
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', walk.page)
    scripts = re.findall(r"<script>(.*?)</script>", walk.page, re.S)
    assert policy and len(scripts) == 2 and "groupcheckAsk" in scripts[0]
    assert all(digest(text) in policy[1].replace("&#39;", "'") for text in scripts)
    first = json.loads(walk.ask(json.dumps({"ask": "state", "key": "gc1-0"})))
    assert len(first["choices"]) == 5
    wrong = json.loads(walk.ask(json.dumps({"ask": "state", "key": "gc1-0.99"})))
    assert "the key does not fit at step 1" in wrong["error"]


def test_a_walk_that_cannot_begin_says_why(tmp_path: Path) -> None:
    walk = walked(["clasic"], tmp_path)
    assert (walk.told.code, walk.page) == (2, "")
    assert "clasic" in walk.told.err and "classic" in walk.told.err
    assert "error" in json.loads(walk.ask("{}"))
