"""The fixture, as somebody's own test suite meets it: a pytest run of its own on a file
of its own.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from groupcheck.oracles.pytest_plugin import Checker

EXAMPLES = Path(__file__).parent.parent / "examples"

SUITE = """
import sys

import attrs
import pytest
from two_phase_commit import decide, prepare, two_phase_commit

from groupcheck.model.engine import evolve, eventually, rule, weak


@rule("commit", "abort")
def hasty(coordinator, network, scope):
    if coordinator.phase == "init":
        decided = evolve(network, decision="committed")
        yield "commit", evolve(coordinator, phase="committed"), decided
        yield "abort", evolve(coordinator, phase="aborted"), evolve(network, decision="aborted")


BROKEN = two_phase_commit(2).replaced(attrs.evolve(hasty, name="decide"))


def test_holds(groupcheck):
    assert groupcheck.check(two_phase_commit(3), engine="reference").verdict.states == 288


@eventually
def ends(manager):
    return manager.phase in ("committed", "aborted")


def test_progress_is_left_aside(groupcheck):
    live = attrs.evolve(two_phase_commit(2), fair=[weak(decide)], progress=[ends])
    groupcheck.check(live, engine="reference")


def test_violated(groupcheck):
    groupcheck.check(BROKEN, engine="reference")


def test_unknown(groupcheck):
    groupcheck.check(two_phase_commit(3), engine="reference", max_states=10)


def test_unknown_is_allowed(groupcheck):
    limited = {"engine": "reference", "max_states": 10}
    assert groupcheck.check(two_phase_commit(3), allow_unknown=True, **limited).unknown


def test_violated_stays_a_failure_where_unknown_is_allowed(groupcheck):
    with pytest.raises(AssertionError, match="consistent is broken"):
        groupcheck.check(BROKEN, engine="reference", allow_unknown=True)


def test_a_mistake_is_an_error_of_its_own(groupcheck):
    import groupcheck as library

    with pytest.raises(library.UserError, match="did you mean consistent"):
        groupcheck.check(BROKEN, engine="reference", invariants=["consistant"])
"""


def run_pytest(directory: Path, *arguments: str) -> str:
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-p",
        "no:cacheprovider",
        "-q",
        "--rootdir",
        str(directory),
        *arguments,
        str(directory),
    ]
    done = subprocess.run(
        command,
        cwd=directory,
        env={"PYTHONPATH": str(EXAMPLES), "PATH": "", "COLUMNS": "150"},
        capture_output=True,
        text=True,
        timeout=60,
    )
    return done.stdout + done.stderr


def test_a_suite_passes_where_the_promises_hold_and_fails_with_the_story_where_not(tmp_path):
    (tmp_path / "test_own.py").write_text(SUITE)
    shown = run_pytest(tmp_path, "--groupcheck-html", str(tmp_path / "pictures"))
    assert "2 failed, 5 passed" in shown
    left_aside = "progress: not judged (--progress): test_own.py::test_progress_is_left_aside\n"
    assert left_aside in shown and shown.count("not judged") == 1
    assert "FAILED test_own.py::test_violated" in shown
    assert "FAILED test_own.py::test_unknown -" in shown
    assert "test_violated - AssertionError: violated  two-phase commit  consistent" in shown
    assert "consistent is broken by manager 0 and manager 1" in shown
    assert "gc1-0." in shown
    assert "stopped at the limit of 10 states" in shown
    assert (
        "pytest_plugin.py" not in shown.partition("short test summary")[0]
    )  # the traceback ends in the user's own line
    pictures = sorted(path.name for path in (tmp_path / "pictures").iterdir())
    assert {"test_own.py-test_unknown.html", "test_own.py-test_violated.html"} <= set(pictures)


def test_pytest_starts_without_anything_heavy(tmp_path):
    (tmp_path / "test_light.py").write_text(
        "import sys\n\nHEAVY = {'numpy', 'numba', 'rich', 'jinja2', 'click', 'cattrs',"
        " 'groupcheck.model', 'groupcheck.oracles.check.run'}\n\ndef test_light(groupcheck):\n   "
        " assert not HEAVY & set(sys.modules)\n"
    )
    assert "1 passed" in run_pytest(tmp_path, "-p", "no:hypothesispytest")


def test_a_picture_of_a_test_with_a_strange_name_stays_in_its_directory(tmp_path):
    class Result:
        def save(self, path: Path) -> None:
            path.write_text("page")

    checker = Checker("tests/../../x.py::test[../../etc<b>]", tmp_path / "pictures")
    path = checker._save(Result())  # type: ignore[arg-type]
    assert path.resolve().parent == (tmp_path / "pictures").resolve()


@pytest.mark.usefixtures("small_world")
def test_a_picture_that_cannot_be_kept_does_not_cost_the_counterexample(tmp_path):
    (tmp_path / "file").write_text("")
    for place in (tmp_path / "file", tmp_path / "file" / "pictures"):
        with pytest.raises(
            AssertionError, match=r"(?s)consistent breaks after 7 steps.*picture: none, .*file"
        ):
            Checker("test", place).check("twophase", mutation="hasty", engine="reference")


@pytest.mark.usefixtures("small_world")
def test_a_variant_is_checked_by_name(groupcheck):
    assert groupcheck.check("twophase", members=2, engine="reference").holds
    with pytest.raises(AssertionError, match="consistent breaks after 7 steps"):
        groupcheck.check("twophase", mutation="hasty", engine="reference")
