"""`make nightly`: its steps exist, and a stopped run goes on."""

from __future__ import annotations

import io
import os
from pathlib import Path

import pytest
from nightly import HERE, ROOT, Result, Results, Step, expected, main, programs, steps
from rich.console import Console

from groupcheck.model.variants import load, names

STEPS = steps((HERE / "steps.toml").read_text(), programs())


def test_every_file_that_a_step_names_exists() -> None:
    named = [part for step in STEPS for part in step.command if part.startswith("tests/")]
    assert len(named) >= 10
    assert [part for part in named if not (ROOT / part).is_file()] == []


def test_no_step_leaves_out_the_tests_of_the_night() -> None:
    asked = [step.command for step in STEPS if Path(step.command[0]).name == "pytest"]
    assert len(asked) >= 5
    assert [command for command in asked if "--night" not in command] == []


def test_the_member_of_every_variant_that_has_a_real_one_is_executed() -> None:
    executed = {s.command[2] for s in STEPS if "--side" in s.command}
    assert {name for name in names() if load(name).real_member} - executed == set()


def _ran(folder: Path, commit: str, *names: str) -> tuple[list[Result], str]:
    said = io.StringIO()
    results = Results(folder, commit)
    both = {"bad": Step("bad", ("bash", "-c", "echo '[red]why'; exit 3")), "good": GOOD}
    todo = results.todo(both[name] for name in names)
    ran = results.run_all(todo, 1, Console(file=said, width=80))
    return ran, said.getvalue()


GOOD = Step("good", ("true",))


def test_a_step_that_fails_is_shown_and_runs_again_and_one_that_passed_does_not(
    tmp_path: Path,
) -> None:
    first, said = _ran(tmp_path, "c1", "bad", "good")
    assert [(r.name, r.exit_code) for r in first] == [("bad", 3), ("good", 0)]
    assert "failed with 3" in said and "    [red]why" in said and "passed" in said
    second, _ = _ran(tmp_path, "c1", "bad", "good")
    assert [r.name for r in second] == ["bad"]


def test_two_steps_run_at_a_time(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)  # whoever opens one end waits for the other end
    writer = Step("writer", ("bash", "-c", f"echo met > {pipe}"))
    reader = Step("reader", ("timeout", "60", "grep", "met", str(pipe)))
    ran = Results(tmp_path, "c1").run_all([writer, reader], 2, Console(file=io.StringIO()))
    assert [(r.name, r.exit_code) for r in ran] == [("writer", 0), ("reader", 0)]


def test_a_step_runs_again_at_another_commit(tmp_path: Path) -> None:
    _ran(tmp_path, "c1", "good")
    again, _ = _ran(tmp_path, "c2", "good")
    assert [r.commit for r in again] == ["c2"]


def test_every_step_of_a_checkout_with_changes_runs_again(tmp_path: Path) -> None:
    _ran(tmp_path, "c1-dirty", "good")
    again, _ = _ran(tmp_path, "c1-dirty", "good")
    assert [r.name for r in again] == ["good"]


def test_the_time_that_steps_took_is_told_before_they_run():
    known = {"good": Result("good", "c1", 0, 600.0), "bad": Result("bad", "c1", 3, 60.0)}
    new = Step("new", ("true",))
    assert expected([GOOD, new], known) == "they took 10 minutes last time, 1 were never run here"
    assert expected([GOOD], known) == "they took 10 minutes last time"
    assert expected([new, new], known) == "2 were never run here"


def test_a_word_that_no_step_has_is_an_error(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["nightly.py", "--only", "tea"])
    with pytest.raises(SystemExit) as error:
        main()
    assert error.value.code == 2
    assert "no step has 'tea' in its name" in capsys.readouterr().err
