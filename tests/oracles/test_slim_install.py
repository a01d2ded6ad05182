"""What works without numpy, llvmlite and numba, which only the extra `fast` brings, and what the
rest says.
"""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest

from groupcheck.model.engine import UserError, compiler, staged, symmetry
from groupcheck.oracles.check.run import check
from groupcheck.oracles.command_line import failures

# What is None in `sys.modules` cannot be imported and is not found.
RUN = """
import contextlib, io, json, sys
sys.modules |= dict.fromkeys(("numpy", "llvmlite", "numba"))
from groupcheck.oracles.command_line.cli import run
ended = []
for line in json.loads(sys.argv[1]):
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = run(line.split())
    ended.append((code, out.getvalue(), err.getvalue()))
print(json.dumps(ended))
"""
WORKS = {
    "replay sample:console-group": 0,
    "assign sample:printed-range": 1,
    "simulate --compare classic,async_server --members 2 --replications 2": 0,
    "check classic --members 1 --json": 0,
    "check classic --members 2 --partitions 2 --any-faults 1 --json": 0,
}
REFUSED = {
    "check classic --symmetry": "",
    "check classic --random-walks 3": "--random-walks: ",
    "check classic --resume here": "--resume: ",
    "check classic --spark local[1]": "--spark: ",
}


@pytest.fixture(scope="module")
def ended() -> dict[str, Any]:
    """Exit code, stdout and stderr of each command."""
    lines = [*WORKS, *REFUSED]
    command = [sys.executable, "-c", RUN, json.dumps(lines)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
    return dict(zip(lines, json.loads(done.stdout), strict=True))


def test_what_needs_no_compiler_works_without_one(ended: dict[str, Any]):
    assert {line: (ended[line][0], ended[line][2]) for line in WORKS} == {
        line: (code, "") for line, code in WORKS.items()
    }


def test_a_small_scope_is_answered_as_with_one(ended: dict[str, Any]):
    answered = [json.loads(ended[line][1]) for line in WORKS if line.endswith("--json")]
    assert [(x["verdict"], x["notes"]) for x in answered] == [("holds", [])] * 2


def test_the_reason_of_the_spec_against_symmetry_comes_before_that_of_plain_python(
    ended: dict[str, Any],
):
    line = "check classic --members 2 --partitions 2 --any-faults 1 --json"
    assert json.loads(ended[line][1])["symmetry"]["reason"] == symmetry.FEW


def test_what_needs_one_names_the_extra_in_one_line(ended: dict[str, Any]):
    told = "numpy is not installed (pip install 'groupcheck[fast]')"
    assert {line: ended[line] for line in REFUSED} == {
        line: [2, "", f"groupcheck: error: {where}{told}\n"] for line, where in REFUSED.items()
    }


def test_an_import_that_nobody_asked_about_before_says_the_same(capsys: pytest.CaptureFixture[str]):
    missing = ModuleNotFoundError("No module named 'numba.core'", name="numba.core")
    assert failures.failed(missing, False, []) == 2
    told = "groupcheck: error: numba is not installed (pip install 'groupcheck[fast]')\n"
    assert capsys.readouterr().err == told
    other = ModuleNotFoundError("No module named 'numbat'", name="numbat")
    assert failures.failed(other, False, []) == 3


@pytest.mark.parametrize("package", compiler.PACKAGES)
def test_the_compiled_search_needs_all_of_them(package: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, package, None)
    monkeypatch.setattr(staged, "ENOUGH", 1)
    told = f"plain Python searched: {package} is not installed (pip install 'groupcheck[fast]')"
    assert check("classic", members=1).verdict.notes == (told,)
    with pytest.raises(UserError, match=rf"{package} is not installed .*groupcheck\[fast\]"):
        check("classic", members=1, symmetry=True)
