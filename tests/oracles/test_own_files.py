"""Protocols and promises in files of the user's: FILE.py:NAME, and entry points."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

import groupcheck
from groupcheck.model.engine import Rule
from groupcheck.model.variants import registry
from groupcheck.oracles.command_line import cli
from groupcheck.oracles.explain import own

EXAMPLES = Path(__file__).parents[1] / "examples"
TWO_PHASES = f"{EXAMPLES / 'two_phase_commit.py'}:two_phase_commit"
RING = f"{EXAMPLES / 'ring_election.py'}:ring_election"
MINE = '''
import neighbour
from attrs import frozen
from groupcheck.model.engine import Spec, end, goal, invariant, rule, single
from groupcheck.model.protocol.classic.client import heartbeat_answer
from groupcheck.model.variants import load
VARIANT = load('classic')

@rule
def count(n, scope):
    if n < neighbour.MOST:
        yield n + 1

@invariant
def small(n):
    """n stays small."""
    return n < 3

@end
def done(n):
    return n == neighbour.MOST

def counting(begin: int = 0, fast: bool = True, title=None, step=1):
    return Spec("counting", {"n": single(begin)}, [count], None, [small], ends=[done])

@frozen
class Scope:
    begin: int
    fast: bool = False

def scoped(scope: Scope):
    return Spec("scoped", {"n": single(scope.begin)}, [count], scope, [small], ends=[done])

ready = counting(1)

@invariant
def never_alone(seats):
    """Somebody else is there."""
    return False

@goal
def never(core):
    return False

def raises():
    raise ValueError("boom")

def another():
    return 3
'''
RAISING = """
from groupcheck.model.engine import Spec, eventually, rule, single

@rule
def divide(n):
    yield 1 // n

@rule
def flip(n):
    yield 1 - n

@eventually
def far(n):
    return 1 / n > 5

@eventually
def near(n):
    return n == 1

wrong_rule = Spec("a", {"n": single(0)}, [divide], progress=[near])
wrong_promise = Spec("b", {"n": single(0)}, [flip], progress=[far])
"""


@pytest.fixture
def mine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder with the user's file, as the current one."""
    name = f"mine_{tmp_path.name.replace('-', '_')}"
    (tmp_path / f"{name}.py").write_text(MINE.replace("neighbour", f"{name}_neighbour"), "utf-8")
    (tmp_path / f"{name}_neighbour.py").write_text("MOST = 5\n", "utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    return tmp_path / f"{name}.py"


def checked(capsys: pytest.CaptureFixture[str], code: int, *arguments: str) -> dict:
    """The document of `check` with the reference engine."""
    assert cli.run(["check", *arguments, "--engine", "reference", "--json"]) == code
    return json.loads(capsys.readouterr().out)


def test_a_function_makes_a_spec_with_the_settings(capsys: pytest.CaptureFixture[str]):
    told = checked(capsys, 0, TWO_PHASES, "--set", "managers=3")
    assert (told["states"], told["scope"]) == (288, {"managers": 3})
    assert groupcheck.check(TWO_PHASES, managers=2, engine="reference").verdict.states == 56


def test_the_elements_of_a_tuple_are_separated_by_commas(capsys: pytest.CaptureFixture[str]):
    told = checked(capsys, 0, RING, "--set", "identities=1,2,3")
    assert (told["states"], told["scope"]) == (137, {"identities": [1, 2, 3]})


def test_a_counterexample_is_explained_and_exported(mine, capsys: pytest.CaptureFixture[str]):
    spec = f"{mine.name}:counting"
    told = checked(capsys, 1, spec, "--set", "begin=1", "--pytest", "test_it.py")
    (broken,) = told["violations"]
    assert (broken["invariant"], broken["depth"]) == ("small", 2)
    capsys.readouterr()
    assert cli.run(["explain", f"{mine.name}:ready", "gc1-0"]) == 0
    assert capsys.readouterr().out.startswith("counting  key gc1-0\n\n0 steps")  # it has no scope
    assert cli.run(["explain", spec, broken["key"], "--set", "begin=1", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["broken"] == {"small": 2}
    run = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_it.py"]
    assert subprocess.run(run, cwd=mine.parent, check=False).returncode == 0


def test_a_spec_and_a_scope_of_an_attrs_class(mine, capsys: pytest.CaptureFixture[str]):
    assert checked(capsys, 1, f"{mine.name}:ready")["depth"] == 2
    told = checked(capsys, 1, f"{mine.name}:scoped", "--set", "begin=2", "--set", "fast=yes")
    assert (told["depth"], told["scope"]) == (1, {"begin": 2, "fast": True})


def test_a_search_of_an_own_file_is_resumed(mine):
    spec, kept = f"{mine.name}:counting", mine.parent / "kept"
    first = groupcheck.check(spec, checkpoint=kept, max_states=2)
    assert first.verdict.verdict == "unknown"
    assert groupcheck.check(spec, checkpoint=kept, resume=kept).verdict.depth == 3


def test_own_promises_of_a_variant(mine, capsys: pytest.CaptureFixture[str]):
    scope = ["classic", "--members", "1", "--generations", "1"]
    own = f"{mine.name}:never_alone"
    told = checked(capsys, 1, *scope, "--invariant", own, "--pytest", "test_own.py")
    assert told["invariants"] == ["never_alone"]
    assert f'invariants=[HERE + "{own}"],' in (mine.parent / "test_own.py").read_text("utf-8")
    told = checked(capsys, 3, *scope, "--goal", f"{mine.name}:never")
    assert told["goals"]["never"] is None
    assert len(told["invariants"]) > 20


def test_a_predicate_is_an_invariant_of_check():
    from groupcheck.model.engine import invariant

    @invariant
    def empty(core):
        """Nobody joins."""
        return core.generation == 0

    found = groupcheck.check(
        "classic", members=1, generations=1, invariants=[empty, "hand_off"], engine="reference"
    )
    assert [v.invariant for v in found.verdict.violations] == ["empty"]
    assert [p.name for p in found.subject.spec.invariants] == ["hand_off", "empty"]


def test_a_whole_variant_and_a_rule_with_a_bug(mine, capsys: pytest.CaptureFixture[str]):
    scope = ["--members", "1", "--generations", "1"]
    usual = checked(capsys, 0, "classic", *scope)
    told = checked(capsys, 0, f"{mine.name}:VARIANT", *scope)
    assert told["states"] == usual["states"]
    found = groupcheck.check("classic", members=1, generations=1, engine="reference")
    healthy = {r.name: r for r in found.subject.spec.rules}["heartbeat_answer"]
    assert isinstance(healthy, Rule)
    bug = f"{mine.name}:heartbeat_answer"
    told = checked(capsys, 0, "classic", *scope, "--mutation", bug)
    assert (told["mutation"], told["states"]) == (bug, usual["states"])


def test_files_with_one_name_are_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    # A child of a later test would import this json.py.
    monkeypatch.setattr(sys, "path", [*sys.path])
    files = [tmp_path / folder / "json.py" for folder in "ab"]  # a name of the library's, too
    for number, file in enumerate(files):
        file.parent.mkdir()
        file.write_text(f"here = {number}")
    assert [own.named(f"{file}:here", (int,), "a number") for file in files] == [0, 1]
    modules = {getattr(m, "__file__", None): name for name, m in sys.modules.items()}
    assert len({modules[str(file.resolve())] for file in files}) == 2


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["mine.py"], "mine.py: does not say what to check (name it: mine.py:NAME)"),
        (["classic", "--constraint", "near"], "'near' is not a constraint of your own"),
        (["nowhere.py:x"], "nowhere.py: there is no such file"),
        (["MINE:countin"], "there is no countin (did you mean counting?)"),
        (["MINE:xyz"], "(it has VARIANT, counting, Scope, scoped, ready, raises, another)"),
        (["MINE:small"], "small is of type Predicate, not a Spec, a function or a Variant"),
        (["MINE:raises"], "line 46: the spec cannot be made: ValueError: boom"),
        (["MINE:another"], "it returns int, not Spec"),
        (["MINE:scoped"], "begin is not given (add --set begin=VALUE)"),
        (["MINE:counting", "--set", "fast=7"], "'7' is not a valid value for fast"),
        (["MINE:counting", "--members", "3"], "it does not take members (it takes begin,"),
        (["MINE:ready", "--set", "n=3"], "a spec has its own scope: 'n' cannot be changed"),
        (["MINE:counting", "--fault", "crash=1"], "it does not take faults (it takes begin,"),
        (["classic", "--invariant", "MINE:never"], "never is decorated with @goal, not with"),
        (["classic", "--goal", "MINE:counting"], "counting is of type function, not a goal"),
        (["classic", "--mutation", "MINE:count"], "unknown rule 'count'"),
        (["torn.py:x"], "torn.py, line 1: cannot be imported: SyntaxError"),
        (["leaves.py:x"], "leaves.py, line 1: cannot be imported: SystemExit: 7"),
    ],
)
def test_mistakes_are_told_in_one_line(
    mine: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], said: str
):
    (mine.parent / "torn.py").write_text("x = (", "utf-8")
    (mine.parent / "leaves.py").write_text("raise SystemExit(7)", "utf-8")
    given = [argument.replace("MINE", mine.name) for argument in arguments]
    assert cli.run(["check", *given]) == 2
    told = capsys.readouterr().err
    assert said in told
    assert told.count("\n") == 1


@pytest.mark.parametrize(
    ("name", "said"),
    [
        (
            "wrong_rule",
            "rule divide(n=0): raised ZeroDivisionError: integer division or modulo by zero"
            " (in wrong_rule.py, line 6: yield 1 // n) (reproduce with key gc1-0)",
        ),
        ("wrong_promise", "progress promise far(n=0): raised ZeroDivisionError"),
    ],
)
def test_a_function_of_the_users_that_raises_is_no_bug_of_groupcheck(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, said: str
):
    """`wrong_promise` raises where it is judged, when the search has ended."""
    (tmp_path / f"{name}.py").write_text(RAISING, "utf-8")
    assert cli.run(["check", f"{tmp_path / name}.py:{name}", "--progress"]) == 2
    told = capsys.readouterr().err
    assert said in told
    assert "please report" not in told
    assert told.count("\n") == 1


def test_a_sweep_runs_no_code_that_its_file_names(mine, capsys: pytest.CaptureFixture[str]):
    sweep = mine.parent / "sweep.toml"
    sweep.write_text(f'[[grid]]\nvariant = "{mine.name}:counting"\n', "utf-8")
    assert cli.run(["sweep", str(sweep), "--out", "out"]) == 2
    told = capsys.readouterr().err
    assert f"add --specs {mine.name} if you trust that file" in told
    assert mine.stem not in sys.modules
    assert cli.run(["sweep", str(sweep), "--specs", "nobody.py"]) == 2
    assert "--specs: nobody.py is no Python file" in capsys.readouterr().err


def test_a_sweep_of_own_specs_is_allowed_on_the_command_line(
    mine, capsys: pytest.CaptureFixture[str]
):
    sweep = mine.parent / "sweep.toml"
    grids = f'''
        [[grid]]
        variant = "{mine.name}:counting"
        begin = [1, 2]
        fast = [true, false]
        expect = "violated"
        [[grid]]
        variant = "{mine.name}:counting"
        begin = 5
        invariants = ["small"]
        expect = "violated"
        [[grid]]
        variant = "classic"
        members = 1
        generations = 1
        invariants = ["{mine.name}:never_alone"]
        expect = "violated"
    '''
    sweep.write_text(grids, "utf-8")
    arguments = ["sweep", str(sweep), "--specs", f"./{mine.name}", "--out", "out", "--json"]
    assert cli.run(arguments) == 0
    told = json.loads(capsys.readouterr().out)["cells"]
    assert [cell["steps"] for cell in told] == [2, 2, 1, 1, 0, 0]
    assert json.loads(told[0]["scope"]) == {"begin": 1, "fast": True}
    assert [cell["members"] for cell in told] == [None] * 5 + [1]
    assert "counting" in (mine.parent / "out" / told[0]["page"]).read_text("utf-8")


def test_a_package_offers_a_variant_by_an_entry_point(
    mine, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    offered = mine.parent / "offers-1.0.dist-info"
    offered.mkdir()
    (offered / "METADATA").write_text("Metadata-Version: 2.1\nName: offers\nVersion: 1.0\n")
    lines = [f"theirs = {mine.stem}:VARIANT", "gone = nowhere:X", f"other = {mine.stem}:ready"]
    (offered / "entry_points.txt").write_text("[groupcheck.variants]\n" + "\n".join(lines) + "\n")
    monkeypatch.syspath_prepend(str(mine.parent))
    registry._offered.cache_clear()
    try:
        assert {"classic", "theirs", "gone", "other"} <= {*registry.names()}
        scope = ["--members", "1", "--generations", "1"]
        assert checked(capsys, 0, "theirs", *scope)["states"] > 5
        assert cli.run(["check", "gone"]) == 2
        assert "cannot be imported: ModuleNotFoundError" in capsys.readouterr().err
        assert cli.run(["check", "other"]) == 2
        assert "is of type Spec, not Variant" in capsys.readouterr().err
    finally:
        registry._offered.cache_clear()


def test_a_search_is_bounded_from_the_command_line(mine, capsys: pytest.CaptureFixture[str]):
    with mine.open("a", encoding="utf-8") as file:
        file.write(
            "from groupcheck.model.engine import constraint\n"
            "@constraint\ndef few(n):\n    return n < 2\n"
            "def endless():\n    return Spec('endless', {'n': single(0)}, [count])\n"
        )
    spec, few = f"{mine.name}:endless", f"{mine.name}:few"
    told = checked(capsys, 0, spec, "--constraint", few)
    assert (told["states"], told["border_states"], told["constraints"]) == (2, 1, ["few"])
    told = checked(capsys, 3, spec, "--max-depth", "2")
    assert "the limit of depth 2" in told["reason"]
    told = checked(capsys, 0, spec, "--no-deadlock")
    assert (told["states"], told["deadlock"]) == (6, False)
    key = checked(capsys, 1, spec)["violations"][0]["key"]
    for option, broken in (([], {"deadlock": 5}), (["--no-deadlock"], {})):
        assert cli.run(["explain", spec, key, "--json", *option]) == 0
        assert json.loads(capsys.readouterr().out)["broken"] == broken
    assert cli.run(["check", spec, "--constraint", f"{mine.name}:small"]) == 2
    assert "decorated with @invariant, not with @constraint" in capsys.readouterr().err


def test_random_walks_from_the_command_line(mine, capsys: pytest.CaptureFixture[str]):
    walks = ["--random-walks", "3", "--walk-length", "9", "--seed", "5"]
    assert cli.run(["check", TWO_PHASES, "--set", "managers=3", *walks, "--json"]) == 3
    told = json.loads(capsys.readouterr().out)
    assert told["random_walks"] == {"number": 3, "length": 9, "seed": 5}
    assert (told["engine"], told["verdict"], told["transitions"]) == ("walks", "unknown", 93)
    assert cli.run(["check", f"{mine.name}:counting", *walks, "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["violations"][0]["depth"] == 3
    for wrong in (
        ["--walk-length", "3"],
        ["--seed", "0"],
        [*walks, "--max-depth", "3"],
        [*walks, "--engine", "reference"],
        [*walks, "--walks"],
    ):
        assert cli.run(["check", TWO_PHASES, "--set", "managers=2", *wrong]) == 2
        assert "random-walks" in capsys.readouterr().err


def test_walks_without_a_number(capsys: pytest.CaptureFixture[str]):
    walks = ["check", TWO_PHASES, "--set", "managers=3", "--walks", "--workers", "2"]
    assert cli.run([*walks, "--json"]) == 3
    told = json.loads(capsys.readouterr().out)
    assert told["random_walks"] == {"number": None, "length": 100, "seed": 0}
    assert told["reason"].endswith("met nothing wrong; the last of them met no new state")
    assert told["notes"][0].startswith("covered: 6 of 6 outcomes; rows of rules, by file: two_ph")


def test_a_refinement_is_told_with_the_states_of_the_smaller_spec():
    from groupcheck.model.engine import Spec, refines, rule, single

    @rule
    def by_one(n):
        if n < 3:
            yield n + 1

    @rule
    def leap(n):
        if n == 2:
            yield 4

    smaller = Spec("by one", {"n": single(0)}, [by_one], deadlock=False)
    spec = Spec("leaps", {"n": single(0)}, [by_one, leap], deadlock=False)
    claim = refines(smaller, {"n": lambda n: n})
    told = groupcheck.check(spec, refines=claim, engine="reference").document()
    assert (told["refinements"], told["verdict"]) == (["refines by one"], "violated")
    (broken,) = told["violations"]
    assert (broken["invariant"], broken["depth"]) == ("refines by one", 3)
    assert broken["evidence"] == ["by one n: 2 -> 4"]
    assert broken["path"][-1]["rule"] == "leap"
    late = Spec("late", {"n": single(1)}, [by_one], deadlock=False, refinements=[claim])
    found = groupcheck.follow(late, "gc1-0")
    assert found.broken == {"refines by one": 0}
    assert groupcheck.check(late, invariants=["refines by one"], engine="reference").violated


HEALTHY = '''
from attrs import evolve, frozen
from groupcheck.model.engine import Spec, array, invariant, rule

@frozen
class Node:
    phase: str = "a"

@rule
def step(node):
    yield node

@rule(name="step")
def wrong(node):
    yield evolve(node, phase="b")

@rule(name="leap")
def elsewhere(node):
    yield node

@invariant
def stays(node):
    """Always."""
    return node.phase == "a"

def nodes(n: int):
    return Spec("nodes", {"node": array(n, Node())}, [step], None, [stays], deadlock=False)
'''


def test_a_rule_of_the_users_takes_the_place_of_one_in_a_spec_of_the_users(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    file = tmp_path / "healthy.py"
    file.write_text(HEALTHY, "utf-8")
    command = ["check", f"{file}:nodes", "--set", "n=2", "--engine", "reference"]
    assert cli.run(command) == 0
    assert cli.run([*command, "--mutation", f"{file}:wrong"]) == 1
    assert f"nodes with {file}:wrong" in " ".join(capsys.readouterr().out.split())
    for mutation, problem in (
        ("elsewhere", "unknown rule 'leap' (choose one of step)"),
        ("stays", "stays is of type Predicate, not a rule with a bug"),
    ):
        assert cli.run([*command, "--mutation", f"{file}:{mutation}"]) == 2
        assert problem in capsys.readouterr().err


def test_a_written_test_finds_the_files_of_the_users_from_any_folder(tmp_path: Path):
    (tmp_path / "healthy.py").write_text(HEALTHY, "utf-8")
    (tmp_path / "tests").mkdir()
    (tmp_path / "elsewhere").mkdir()
    command = [sys.executable, "-m", "groupcheck", "check", "healthy.py:nodes", "--set", "n=2"]
    command += ["--mutation", "healthy.py:wrong", "--invariant", "healthy.py:stays"]
    command += ["--engine", "reference", "--pytest", "tests/test_written.py"]
    assert subprocess.run(command, cwd=tmp_path, check=False, capture_output=True).returncode == 1
    tmp_path = tmp_path.rename(tmp_path.with_name("moved"))
    subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "../tests/test_written.py"],
        cwd=tmp_path / "elsewhere",
        check=True,
        capture_output=True,
    )
