"""Known bugs found again: each falls to the invariant that it names, or the command says that it
did not.
"""

from __future__ import annotations

import json

import pytest
from attrs import evolve

from groupcheck.oracles.check import bugs
from groupcheck.oracles.command_line import cli
from groupcheck.oracles.processes import parallel
from groupcheck.oracles.show.text import as_plain

pytestmark = pytest.mark.usefixtures("small_world", "reference")


@pytest.fixture
def reference(monkeypatch: pytest.MonkeyPatch) -> None:
    """The command with the plain engine."""
    monkeypatch.setattr(bugs, "ENGINE", "reference")


def test_a_bug_is_found_with_its_shortest_story():
    [found] = bugs.find_all(["hasty"])
    assert found.fell
    told = found.shown()
    assert (told.invariant, told.broken, told.depth, told.scope["members"]) == (
        "consistent",
        ["consistent"],
        7,
        3,
    )
    assert told.prose.startswith("First manager 0: prepare.")


@pytest.mark.usefixtures("only_harmless")
def test_a_mutation_that_breaks_nothing_is_not_called_found():
    [found] = bugs.find_all()
    assert not found.fell
    assert (found.shown().verdict, found.shown().key) == ("holds", None)
    shown = as_plain(bugs.view([found], told_whole=False))
    assert "NOT FOUND  harmless" in shown
    assert "consistent is not broken: holds" in shown
    assert "0 of 1 bugs found" in shown


def test_a_bug_that_falls_to_another_invariant_is_not_called_found():
    [healthy] = bugs.find_all(["hasty"])
    other = evolve(healthy.mutation, invariant="another")
    assert not evolve(healthy, mutation=other).fell


def test_the_command_exits_with_0_if_all_fall(capsys):
    assert cli.run(["bugs", "--json"]) == 0
    assert [one["found"] for one in json.loads(capsys.readouterr().out)] == [True]
    assert cli.run(["bugs", "hasty"]) == 0
    shown = capsys.readouterr().out
    assert "found  hasty  EXAMPLE-1  commits too early" in shown
    assert "gc1-0.0.0.1.0.1.2.0" in shown


@pytest.mark.usefixtures("only_harmless")
def test_the_command_exits_with_1_if_one_does_not_fall(capsys):
    assert cli.run(["bugs"]) == 1
    assert "0 of 1 bugs found" in capsys.readouterr().out


@pytest.mark.parametrize("how", ["between searches", "in a search"])
def test_after_ctrl_c_the_bugs_that_were_looked_for_are_told(monkeypatch, capsys, tmp_path, how):
    [hasty] = bugs.find_all()
    stopped = evolve(hasty.result.verdict, verdict="unknown", reason="interrupted in level 3")
    asked = []

    def find(mutation):
        asked.append(mutation)
        if len(asked) == 1:
            return [hasty.result.verdict]
        if how == "between searches":
            raise KeyboardInterrupt
        return [stopped]

    monkeypatch.setattr(bugs, "_verdicts", find)
    command = ["bugs", "hasty", "hasty", "hasty", "--score", "--html", str(tmp_path / "page.html")]
    command += ["--workers", "1"]
    assert cli.run(command) == 3
    told = capsys.readouterr()
    assert "found  hasty" in told.out and "1 of 1 bugs found" in told.out
    assert "interrupted: 2 of 3 bugs were not looked for" in told.err
    assert len(asked) == 2 and not (tmp_path / "page.html").exists()


def test_the_number_of_processes_changes_no_byte(monkeypatch, capsys):
    monkeypatch.setattr(parallel, "WORTH_S", 0.0)
    told = []
    for workers in ("1", "2"):
        command = ["bugs", "hasty", "hasty", "hasty", "--json", "--workers", workers]
        assert cli.run(command) == 0
        found = json.loads(capsys.readouterr().out)
        assert all(one.pop("seconds") >= 0 for one in found)
        told.append(found)
    assert told[0] == told[1] and len(told[0]) == 3
