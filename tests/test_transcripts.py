"""What commands print, word for word: each file in `tests/transcripts` holds commands, each with
its output and exit code. `pytest tests/test_transcripts.py --rewrite` writes what they print now,
so that a change of the protocol or of a word shows as a readable diff. Those of known bugs are
compared in `tests/mutations`, beside what else is asked of each.
"""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from printed_text import TRANSCRIPTS, timeless

from groupcheck.oracles.command_line import cli

ROOT = Path(__file__).parent.parent
COMMAND = re.compile(r"^\$ (.+)$", re.M)


@pytest.mark.parametrize("name", sorted(path.name for path in TRANSCRIPTS.glob("*.txt")))
def test_commands_print_what_their_transcript_says(
    name: str,
    request: pytest.FixtureRequest,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    path = TRANSCRIPTS / name
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
