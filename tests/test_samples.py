"""The samples of the package are read wherever a command takes a file, and `groupcheck demo` runs
from them.
"""

from __future__ import annotations

import shlex
import subprocess
import sys
from pathlib import Path

import pytest

import groupcheck
from groupcheck.oracles.command_line import cli, demo
from groupcheck.oracles.command_line.listing import listing
from groupcheck.oracles.sweep.growing import grown
from groupcheck.oracles.sweep.reading import read_sweep
from groupcheck.traces.sample_files import FOLDER, SAMPLES

READ = [row["command"] for row in listing("samples") if "sweep" not in row["command"]]


def test_each_sample_is_a_file_that_the_tests_use_and_each_file_is_a_sample():
    assert {path.name for path in FOLDER.iterdir()} == {sample.file for sample in SAMPLES.values()}
    data = (Path(__file__).parent / "data").resolve()
    assert [p.name for p in FOLDER.iterdir() if not p.resolve().is_relative_to(data)] == []


@pytest.mark.parametrize("command", READ)
def test_a_sample_is_read_by_the_command_that_the_list_names(
    command, capsys, monkeypatch, tmp_path
):
    monkeypatch.chdir(tmp_path)
    troubled = ("printed", "ghost-members", "zombie", "consumer-protocol")
    trouble = any(word in command for word in troubled)
    assert cli.run(shlex.split(command)[1:]) == trouble
    said = capsys.readouterr()
    assert said.out and not said.err


def test_the_sample_of_a_sweep_has_as_many_checks_as_the_list_says():
    cells = grown(read_sweep(Path("sample:sweep")), "sample").cells
    (doc,) = (row["doc"] for row in listing("samples") if row["name"] == "sweep")
    assert doc.startswith(f"{len(cells)} checks")


def test_an_answer_names_the_sample_and_no_folder(capsys):
    (report,) = groupcheck.replay(["sample:zombie"])
    assert report.path == "sample:zombie"


def test_a_sample_that_does_not_exist_is_refused_with_the_names_of_those_that_do(capsys):
    for command in ("replay", "assign", "sweep"):
        assert cli.run([command, "sample:nothing"]) == 2
        said = capsys.readouterr().err
        assert "sample:nothing: there is no such sample" in said and "ghost-members" in said


def test_the_demo_types_a_proof_a_counterexample_and_a_log():
    said = subprocess.run(
        [sys.executable, "-m", "groupcheck", "demo"], capture_output=True, text=True, timeout=300
    )
    assert said.returncode == 0
    parts = said.stdout.split("\n$ groupcheck ")
    assert [part.split("\n")[1].split("  ")[0] for part in parts[1:]] == [
        "holds",
        "violated",
        "2 groups: 2 calm",
    ]


def test_the_demo_ends_at_the_first_command_that_ends_otherwise(capsys):
    seen = []
    assert demo.demo(lambda words: seen.append(words[0]) or 1) == 1
    assert seen == ["check"]
    assert demo.demo(lambda words: 0) == 3  # the known bug was not found
