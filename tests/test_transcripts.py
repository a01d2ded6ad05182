"""What commands print, word for word: each file in `tests/transcripts` holds commands, each with
its output and exit code. `pytest tests/test_transcripts.py --rewrite` writes what they print now,
so that a change of the protocol or of a word shows as a readable diff.
"""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import outputs
import pytest

from groupcheck.model.mutations import all_mutations
from groupcheck.oracles.command_line import cli

ROOT = Path(__file__).parent.parent
FOLDER = ROOT / "tests" / "transcripts"
COMMAND = re.compile(r"^\$ (.+)$", re.M)
SHARE = re.compile(r"\d+% of the time")


@pytest.mark.parametrize("name", sorted(str(p.relative_to(FOLDER)) for p in FOLDER.rglob("*.txt")))
def test_commands_print_what_their_transcript_says(
    name: str,
    request: pytest.FixtureRequest,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    path = FOLDER / name
    told = path.read_text("utf-8")
    monkeypatch.chdir(ROOT)
    now = "\n".join(printed(line, capsys, monkeypatch) for line in COMMAND.findall(told))
    if request.config.getoption("--rewrite"):
        path.write_text(now, "utf-8")
    else:
        assert now == told


def printed(line: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> str:
    """A command with its output (stdout, then stderr) and exit code, without times; escape
    characters are written as `\\e`. `NAME=VALUE` before the command sets a variable.
    """
    words = shlex.split(line)
    with monkeypatch.context() as here:
        while words[0] != "groupcheck":
            here.setenv(*words.pop(0).split("="))
        code = cli.run(words[1:])
    said = capsys.readouterr()
    return f"$ {line}\n{timeless(said.out + said.err)}[exit {code}]\n"


def timeless(text: str) -> str:
    """The text without seconds and shares of them."""
    text = SHARE.sub("SHARE of the time", text)
    return outputs.SPEED.sub(r"\1TIME", text).replace("\x1b", "\\e")


def test_every_mutation_has_its_transcript() -> None:
    told = {path.stem: path.read_text("utf-8") for path in (FOLDER / "mutations").iterdir()}
    assert set(told) == {m.id for m in all_mutations()}
    assert not [id for id, text in told.items() if not text.endswith("[exit 1]\n")]
