"""The broker's classes are kept once for each Java machine; a Java that cannot keep them does
without. The Java here is a script.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from groupcheck.oracles.record import running
from groupcheck.oracles.record.processes import Interrupts, Processes

KEEPS = """
open(f"{HERE}/starts", "a").write("x")
print("> ok", flush=True)
for line in sys.stdin:
    print("> ok", flush=True)
for option in sys.argv:
    if option.startswith("-XX:ArchiveClassesAtExit="):
        open(option.partition("=")[2], "w").write("classes")
"""
REFUSES = """
open(f"{HERE}/starts", "a").write("x")
sys.exit("Unrecognized VM option")
"""


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the program is installed; `java` beside it is a script of the test's."""
    (tmp_path / "home").mkdir()
    monkeypatch.setattr(running.install, "java", lambda program: str(tmp_path / "java"))
    monkeypatch.setattr(running.install, "classpath", lambda version, say, program: "none")
    monkeypatch.setattr(running.install, "folder", lambda version, program: tmp_path / "home")
    return tmp_path / "home"


@pytest.fixture
def processes() -> Iterator[Processes]:
    with Interrupts() as interrupts, Processes(interrupts) as started:
        yield started


def java(home: Path, script: str) -> None:
    path = home.parent / "java"
    path.write_text(f"#!{sys.executable}\nimport sys\nHERE = {str(home.parent)!r}\n{script}")
    path.chmod(0o755)


def test_the_first_use_keeps_the_classes_and_says_so_and_the_second_finds_them(
    home: Path, processes: Processes
):
    java(home, KEEPS)
    said: list[str] = []
    (option,) = running.sharing("4.3.0", processes, said.append)
    assert running.sharing("4.3.0", processes, said.append) == (option,)
    assert Path(option.removeprefix("-XX:SharedArchiveFile=")).read_text() == "classes"
    assert len(said) == 1 and "first use only" in said[0]
    assert (home.parent / "starts").read_text() == "x"
    assert [p.suffix for p in home.iterdir()] == [".jsa"]


def test_a_java_that_cannot_keep_them_is_tried_once_and_used_without(
    home: Path, processes: Processes
):
    java(home, REFUSES)
    assert running.sharing("4.3.0", processes, lambda message: None) == ()
    assert running.sharing("4.3.0", processes, lambda message: None) == ()
    assert (home.parent / "starts").read_text() == "x"


def test_another_java_has_an_archive_of_its_own(home: Path, processes: Processes):
    java(home, KEEPS)
    first = running.sharing("4.3.0", processes, lambda message: None)
    os.utime(home.parent / "java", ns=(1, 1))
    assert running.sharing("4.3.0", processes, lambda message: None) != first
    assert len(list(home.glob("*.jsa"))) == 2
