"""What a newcomer reads when something is missing: one line that names it and says what
to install.
"""

from __future__ import annotations

import re
import subprocess
import tomllib
from pathlib import Path

ROOT = Path(__file__).parent.parent


def said(*command: str | Path) -> tuple[int, list[str]]:
    """Exit code and the lines of a command's output."""
    done = subprocess.run(
        command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=60
    )
    return done.returncode, done.stdout.splitlines()


def test_a_python_that_is_too_old_is_refused_in_one_line_before_anything_is_changed(tmp_path: Path):
    old = tmp_path / "python3.10"
    old.write_text("#!/bin/sh\nexit 1\n")
    old.chmod(0o755)
    before = (ROOT / ".venv/pyvenv.cfg").stat().st_mtime_ns if (ROOT / ".venv").exists() else None
    code, (line,) = said(ROOT / ".ci/setup", old)
    assert code == 1
    assert "needs Python 3.11 or newer" in line and str(old) in line and "apt-get install" in line
    assert before is None or before == (ROOT / ".venv/pyvenv.cfg").stat().st_mtime_ns


def test_all_missing_tools_are_named_in_one_line_with_what_to_install():
    code, (line,) = said(ROOT / ".ci/need", "make nothing", "sh", "no_such_tool", "no_such_other")
    assert code == 1
    assert (
        line == "error: make nothing needs no_such_tool no_such_other (on Debian: apt-get install"
        " no_such_tool no_such_other)"
    )


def test_tools_that_are_there_are_not_talked_about():
    assert said(ROOT / ".ci/need", "make nothing", "sh", "bash") == (0, [])


def pinned(name: str) -> dict[str, str]:
    """The entry of each package of a file with pins, whole with its hashes."""
    entries = (ROOT / name).read_text("utf-8").replace("\\\n", " ").splitlines()
    return {entry.partition("==")[0]: entry for entry in entries}


def test_the_demo_installs_what_the_package_needs_in_the_versions_of_the_tests():
    slim, everything = pinned("requirements-slim.txt"), pinned("requirements.txt")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    needed = {re.split(r"[^\w-]", one)[0] for one in project["dependencies"]}
    assert needed | {"setuptools"} <= set(slim)
    assert not {"numpy", "numba", "llvmlite", "pytest", "z3-solver", "pyspark"} & set(slim)
    assert slim.items() <= everything.items()
