"""The tool that measures the tests: what it changes, and that it says what a judge misses."""

from __future__ import annotations

import subprocess
from collections import Counter
from operator import itemgetter
from pathlib import Path
from typing import Any

import pytest
from mutants import STOPPED, Key, run
from mutate import mutants
from sampling import spread
from targets import ROOT, TARGETS, Target, equivalents
from trial import KILLED, TIMED_OUT, Outcome, outcome_of

LARGE = """
def large(x):
    return x > 9
"""
WEAK = "from large import large\ndef test_20_is_large():\n    assert large(20)\n"
STRONG = WEAK + "def test_9_is_not():\n    assert large(10) and not large(9)\n"
BEFORE = "return x > 9"


def equivalent(after: str) -> Key:
    return "src/large.py", "large", BEFORE, after, 1


def after(source: str) -> set[str]:
    """The changed lines of the mutants of a function with this body."""
    body = "".join(f"    {line}\n" for line in source.splitlines())
    return {m.after for m in mutants("a.py", f"def f(x, y):\n{body}")}


@pytest.mark.parametrize(
    ("source", "changed"),
    [
        ("y = x < y", {"y = x <= y", "pass"}),
        ("y = x is not y", {"y = x is y", "pass"}),
        ("z = x not in y", {"z = x in y"}),
        ("z = x + y", {"z = x - y"}),
        ("z = x << y", {"z = x >> y"}),
        ("z = (x) + (y)", {"z = (x) - (y)"}),
        ("z = x and y", {"z = x or y"}),
        ("z = -x", {"z = x"}),
        ("z = not x", {"z = x"}),
        ("z = 0", {"z = 1"}),
        ("z = 7", {"z = 8", "z = 6"}),
        ("z = True", {"z = False"}),
        ("z = all(x)", {"z = any(x)"}),
        ("x += y", {"x -= y", "pass"}),
        ("x[y] = y", {"pass"}),
        ("x.append(y)", {"pass"}),
        ("return x", {"pass"}),
        ("while x:\n    break", {"while (not (x)):", "pass"}),
        ("z = [i for i in x if i]", {"z = [i for i in x if (not (i))]"}),
        ("raise E(x + 1)", {"pass"}),
        ("assert x > 1", set()),
        ("z: (1 + 2) = x", set()),
        ("z = f'{x + 1}'", set()),
        ("'''Adds 1.'''", set()),
    ],
)
def test_each_token_that_counts_is_changed(source: str, changed: set[str]):
    assert after(source) == changed


def test_named_constants_of_kernels_are_changed_where_the_file_has_the_other():
    source = "ZERO, ONE = 0, 1\ndef f(k):\n    return k + {}\n"
    assert {m.after for m in mutants("a.py", source.format("ZERO"))} >= {"return k + ONE"}
    assert {m.after for m in mutants("a.py", source.format("TWO"))} >= {"return k + ONE"}
    assert {m.after for m in mutants("a.py", source.format("FOUR"))} == {"return k - FOUR", "pass"}


def test_a_mutant_is_named_by_its_line_and_not_by_its_number():
    first, second = mutants("a.py", LARGE), mutants("a.py", "import os\n\n" + LARGE)
    assert [m.key for m in first] == [m.key for m in second]
    assert [m.line + 2 for m in first] == [m.line for m in second]


def test_equal_changes_of_equal_lines_are_told_apart():
    found = mutants("a.py", "def f(x):\n    x += 1\n    x += 1\n")
    assert [m.nth for m in found if m.after == "x -= 1"] == [1, 2]
    assert len({m.source for m in found}) == len({m.key for m in found}) == len(found)


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A small project under version control, judged by what a test puts into tests."""
    (tmp_path / "src").mkdir()
    (tmp_path / "tests").mkdir()
    (tmp_path / "src" / "large.py").write_text(LARGE)
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    subprocess.run(["git", "init", "--quiet"], cwd=tmp_path, check=True)
    return tmp_path


def tried(
    checkout: Path, judge: str, known: dict[Key, str] | None = None, **more: Any
) -> tuple[int, list[str]]:
    """Exit code and what was said, of a run with these tests as the judge."""
    (checkout / "tests" / "test_large.py").write_text(judge)
    said: list[str] = []
    target = Target(("src/large.py",), ("tests/test_large.py",), (), "")
    results = checkout / "build" / "results"
    return run(target, checkout, known or {}, results, **{"say": said.append} | more), said


def test_a_weak_judge_lets_mutants_live_and_the_table_names_them(checkout: Path):
    code, said = tried(checkout, WEAK)
    assert code == 1 and said[-1].count("survived,") == 3
    assert f"src/large.py:3 large\n    {BEFORE}\n    return x > 10" in said[-1]


def test_a_strong_judge_kills_them_all_and_nothing_is_tried_twice(checkout: Path):
    assert tried(checkout, STRONG)[0] == 0
    code, said = tried(checkout, STRONG)
    assert code == 0 and len(said) == 1


@pytest.mark.night
def test_a_run_that_was_stopped_shows_what_it_knows_and_goes_on(checkout: Path):
    said: list[str] = []

    def stop_at_the_first(text: str) -> None:
        said.append(text)
        if text.startswith("1/"):
            raise KeyboardInterrupt

    assert tried(checkout, STRONG, say=stop_at_the_first)[0] == STOPPED
    assert said[-2] == "stopped; the same command goes on"
    killed, *_, untried = said[-1].splitlines()[-1].split()[1:]
    assert (killed, untried) == ("1", "3")
    assert tried(checkout, STRONG, only_table=True) == (0, said[-1:])
    code, more = tried(checkout, STRONG)
    assert code == 0 and [line[:4] for line in more[1:-1]] == ["1/3,", "2/3,", "3/3,"]


def test_a_sample_is_spread_and_a_larger_one_holds_it():
    found = [(file, kind, k) for file in "abc" for kind in "xyz" for k in range(9)]
    spread_ = spread([*found, ("d", "x", 0)], 1, itemgetter(0), itemgetter(1))
    assert Counter(file for file, _, _ in spread_[:13]) == {"a": 4, "b": 4, "c": 4, "d": 1}
    assert {part[:2] for part in spread_[:10]} >= {(f, k) for f in "abc" for k in "xyz"}
    assert spread_ == spread([*found, ("d", "x", 0)], 1, itemgetter(0), itemgetter(1))
    assert spread_[:13] != spread([*found, ("d", "x", 0)], 2, itemgetter(0), itemgetter(1))[:13]
    assert sorted(spread_) == [*found, ("d", "x", 0)]


@pytest.mark.night
def test_what_survived_is_tried_again_when_the_tests_change(checkout: Path):
    tried(checkout, STRONG.replace("not large(9)", "True"))  # lets `>=` and `> 8` live
    code, said = tried(checkout, STRONG)
    assert code == 0 and [line[:4] for line in said[1:-1]] == ["1/2,", "2/2,"]


@pytest.mark.night
def test_known_equivalents_may_survive_and_those_that_fit_no_mutant_are_an_error(checkout: Path):
    judge = STRONG.replace("not large(9)", "True")
    known = {equivalent("return x >= 9"): "why", equivalent("return x > 8"): "why"}
    assert tried(checkout, judge, known)[0] == 0
    code, said = tried(checkout, judge, known | {equivalent("return x > 7"): "why"})
    assert code == 1 and "no such mutant any more" in said[0] and "return x > 7" in said[0]


def test_a_judge_that_fails_without_a_mutant_ends_the_run(checkout: Path):
    with pytest.raises(SystemExit, match=r"fails without any mutant: tests/test_large\.py::test_9"):
        tried(checkout, STRONG.replace("not large(9)", "large(9)"))


@pytest.mark.night
def test_a_test_that_runs_for_ever_ends_by_the_processor_time_it_has(
    checkout: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("MUTANTS_MORE_S", "1")
    judge = "from large import large\ndef test_it_ends():\n    while large(9):\n        pass\n"
    code, said = tried(checkout, judge)
    assert code == 1
    assert [line for line in said if TIMED_OUT in line and "return x >= 9" in line] != []


def test_a_crash_is_a_kill_and_a_signal_of_ours_is_not():
    assert outcome_of(-11, "", 1.0) == Outcome(KILLED, "signal 11", 1.0)
    assert outcome_of(-24, "", 1.0).verdict == outcome_of(-9, "", 1.0).verdict == TIMED_OUT


def test_targets_name_files_that_are_there_and_equivalents_that_fit():
    for target in TARGETS.values():
        known = equivalents(Path(__file__).parent / target.equivalents)
        keys = {m.key for name in target.files for m in mutants(name, (ROOT / name).read_text())}
        assert known.keys() <= keys and all(known.values())
        for test in (*target.quick, *target.more):
            assert test.startswith("--") or (ROOT / test.partition("::")[0]).is_file()
