"""Compiling on a machine where nothing is compiled: a small scope needs none, a larger one is
announced, and no search counts it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from two_phase_commit import two_phase_commit

from groupcheck.model.engine import Limits, options
from groupcheck.model.engine.fast import explore as exploring
from groupcheck.model.engine.fast.kernels import compiled
from groupcheck.oracles.check import compile_notice


def test_a_small_scope_is_answered_without_compiling(tmp_path: Path):
    shown = subprocess.run(
        [sys.executable, "-m", "groupcheck", "check", "classic", "--members", "1", "--json"],
        env={**os.environ, "GROUPCHECK_CACHE_DIR": str(tmp_path / "cache")},
        capture_output=True,
        text=True,
        timeout=120,
    )
    document = json.loads(shown.stdout)
    assert shown.returncode == 0 and shown.stderr == ""
    assert document["verdict"] == "holds" and document["notes"] == []
    assert not list(tmp_path.rglob("*.o"))


@pytest.fixture
def not_compiled(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """A process that has to compile every kernel, which takes 1,000 s of a clock that stands still
    otherwise.
    """
    units = compiled.PACKING, compiled.Unit(1)
    there = {unit: list(compiled.load(unit).values()) for unit in units}
    now = SimpleNamespace(seconds=0.0)

    def compile_slowly(unit: compiled.Unit) -> list[compiled.Kernel]:
        now.seconds += 1000
        return there[unit]

    clock = SimpleNamespace(perf_counter=lambda: now.seconds)
    for module in (exploring, compiled, options):
        monkeypatch.setattr(module, "time", clock)
    monkeypatch.setattr(compiled, "_loaded", {})
    monkeypatch.setattr(compiled, "_read", lambda file: None)
    monkeypatch.setattr(compiled, "_write", lambda file, objects: None)
    monkeypatch.setattr(compiled, "compile_unit", compile_slowly)
    monkeypatch.setattr(compiled, "_link", lambda kernels: kernels)
    return now


def test_compiling_counts_neither_as_search_nor_against_the_limit(not_compiled):
    verdict = exploring.explore(two_phase_commit(3), Limits(seconds=5))
    assert not_compiled.seconds >= 2000
    assert verdict.verdict == "holds" and verdict.seconds == 0


def test_compiling_is_announced_once_with_the_folder(not_compiled, capsys):
    compile_notice.announce_compiling()
    exploring.explore(two_phase_commit(3))
    told = capsys.readouterr().err.splitlines()
    assert len(told) == 1 and told[0].startswith("groupcheck: compiling the search")
    assert str(compiled.cache_directory()) in told[0]


def test_a_folder_that_takes_no_file_is_not_said_to_keep_anything(
    not_compiled, monkeypatch, capsys, tmp_path, ordinary_user
):
    closed = tmp_path / "closed"
    monkeypatch.setenv("GROUPCHECK_CACHE_DIR", str(closed))
    closed.mkdir(mode=0o555)
    compile_notice.announce_compiling()
    with ordinary_user():
        assert not_compiled.seconds == 0 and compiled.load(compiled.PACKING)
    why = f"for this run only: {closed} takes no new file (set GROUPCHECK_CACHE_DIR"
    assert why in capsys.readouterr().err


def test_why_a_folder_is_refused_is_said_with_the_way_out(
    not_compiled, monkeypatch, capsys, tmp_path
):
    """As in a container, for a folder of the host's that is mounted."""
    monkeypatch.setenv("GROUPCHECK_CACHE_DIR", str(tmp_path))
    owner = os.getuid()
    monkeypatch.setattr(os, "getuid", lambda: owner + 1)
    compile_notice.announce_compiling()
    assert not_compiled.seconds == 0 and compiled.load(compiled.PACKING)
    (told,) = capsys.readouterr().err.splitlines()
    assert f"for this run only: nothing is executed from {tmp_path}" in told
    assert "belongs to another user" in told and "in a container: --user" in told


def test_a_search_that_goes_on_meanwhile_says_so(capsys):
    compile_notice.announce_compiling()
    compiled.compiling.announce(Path("cache"), meanwhile=True)
    told = capsys.readouterr().err
    assert "while plain Python searches on, kept in cache" in told
