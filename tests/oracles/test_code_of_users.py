"""Code of users' that would end the program, or takes its output away, is told apart from a
verdict: exit code 2, and one line that says whose code it was.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from groupcheck.oracles.command_line import cli

SPEC = """
import os, sys
from groupcheck.model.engine import Spec, invariant, rule, single

class Value:
    def __init__(self, n):
        self.n = n

    def __eq__(self, other):
        if self.n == 1 and ready: AT_EQ
        return self.n == other.n

    def __hash__(self):
        if self.n == 1 and ready: AT_HASH
        return 0

ready = False

@rule
def flip(n):
    AT_RULE
    yield Value(1 - n.n)

@invariant
def fine(n):
    AT_INVARIANT
    return True

AT_IMPORT
spec = Spec("own", {"n": single(Value(0))}, [flip], None, [fine])
ready = True
"""
ASSIGNOR = """
import os, sys
import click

class Odd(Exception):
    def __str__(self):
        raise click.exceptions.Exit(0)

def odd(group):
    raise Odd

def leaves(group):
    sys.exit(0)

def ends(group):
    os._exit(0)
"""


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder with the user's files, as the current one."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    return tmp_path


def written(folder: Path, place: str, code: str) -> str:
    text = SPEC.replace(f"AT_{place}", code)
    for other in ("EQ", "HASH", "RULE", "INVARIANT", "IMPORT"):
        text = text.replace(f"AT_{other}", "pass")
    name = f"own_{folder.name}".replace("-", "_")
    (folder / f"{name}.py").write_text(text, "utf-8")
    return name


CHECK = ("--engine", "reference", "--json")


@pytest.mark.parametrize(
    ("place", "code", "told"),
    [
        ("EQ", "sys.exit(0)", "OWN.py, line 10: would end the program: SystemExit: 0"),
        ("HASH", "raise GeneratorExit", "OWN.py, line 14: would end the program: GeneratorExit"),
        ("RULE", "sys.exit(0)", "raised SystemExit: 0"),
        ("RULE", "sys.stdout = open(os.devnull, 'w')", "standard output: code that ran has closed"),
        ("IMPORT", "sys.exit(0)", "OWN.py, line 29: cannot be imported: SystemExit: 0"),
    ],
)
def test_what_code_of_users_raises_is_no_verdict(
    own: Path, capsys: pytest.CaptureFixture[str], place: str, code: str, told: str
):
    name = written(own, place, code)
    assert cli.run(["check", f"{name}.py:spec", *CHECK]) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert told.replace("OWN", name) in err


def program(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "groupcheck", *arguments, "--junit", "suite.xml"]
    ended = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, timeout=120, check=False
    )
    assert ended.stdout == "" and not (folder / "suite.xml").exists()
    return ended


@pytest.mark.parametrize(
    ("place", "code", "told"),
    [
        ("IMPORT", "os._exit(0)", "code of OWN.py ended the process with exit code 0 before"),
        ("RULE", "raise KeyboardInterrupt", "a rule or promise raised KeyboardInterrupt"),
        ("IMPORT", "raise KeyboardInterrupt", "line 29: would end the program: KeyboardInterrupt"),
        ("INVARIANT", "sys.stdout.close()", "standard output: code that ran has closed"),
    ],
)
def test_what_code_of_users_does_to_the_process_is_no_verdict(
    own: Path, place: str, code: str, told: str
):
    name = written(own, place, code)
    ended = program(own, "check", f"{name}.py:spec", *CHECK)
    assert ended.returncode == 2
    assert told.replace("OWN", name) in ended.stderr.strip() and "Traceback" not in ended.stderr


def test_an_assignor_that_would_end_the_program_gives_no_answer(
    own: Path, capsys: pytest.CaptureFixture[str]
):
    (own / "assignors_that_leave.py").write_text(ASSIGNOR, "utf-8")
    against = ("assign", "--against", "assignors_that_leave:leaves", "--examples", "2")
    assert cli.run([*against, "--junit", "suite.xml"]) == 1
    assert (
        "leaves of assignors_that_leave:leaves, answers: SystemExit: 0" in capsys.readouterr().out
    )
    assert 'failures="0"' not in (own / "suite.xml").read_text("utf-8")
    (own / "suite.xml").unlink()
    assert cli.run(["assign", "--against", "assignors_that_leave:odd"]) == 2
    assert "line 7: would end the program: SystemExit: 0" in capsys.readouterr().err
    ended = program(own, *against[:2], "assignors_that_leave:ends", "--json")
    assert ended.returncode == 2
    assert "code of assignors_that_leave ended the process with exit code 0" in ended.stderr
