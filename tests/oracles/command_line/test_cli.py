"""The command line as scripts see it: exit codes, one JSON document, one line for each mistake."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from groupcheck.oracles.command_line import cli

pytestmark = pytest.mark.usefixtures("small_world")
REFERENCE = ("--engine", "reference")


def call(*arguments: object) -> int:
    return cli.run([str(a) for a in arguments])


def document(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, dict]:
    code = call(*arguments, "--json")
    return code, json.loads(capsys.readouterr().out)


def complaint(capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    """The one line on stderr of a command that must end with 2 and print nothing else."""
    assert call(*arguments) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.count("\n") == 1
    assert shown.err.startswith("groupcheck: error: ")
    return shown.err.removeprefix("groupcheck: error: ").strip()


def test_what_holds_exits_with_0_and_prints_one_json_document(capsys):
    code, told = document(capsys, "check", "twophase", "--members", 3, *REFERENCE)
    assert code == 0
    assert (told["schema"], told["verdict"], told["variant"]) == (
        "groupcheck.verdict/2",
        "holds",
        "twophase",
    )
    assert (told["states"], told["transitions"], told["depth"]) == (288, 1145, 11)
    assert told["rules"]["prepare"] > 0
    assert told["goals"] == {"committed": 8}
    assert told["scope"]["members"] == 3
    assert told["violations"] == []


def test_what_is_violated_exits_with_1_and_gives_a_path_and_a_key(capsys):
    code, told = document(capsys, "check", "twophase", "--mutation", "hasty", *REFERENCE)
    assert code == 1
    assert (told["verdict"], told["mutation"]) == ("violated", "hasty")
    [violation] = told["violations"]
    assert (violation["invariant"], violation["depth"]) == ("consistent", 7)
    last = violation["path"][-1]
    assert (last["step"], last["rule"], last["me"]) == (7, "obey", 0)
    assert last["changes"] == [
        {"slot": "manager[0]", "before": {"phase": "prepared"}, "after": {"phase": "committed"}}
    ]
    assert violation["initial"]["network"] == {"prepared": [], "decision": ""}


def test_a_cut_off_search_is_unknown_and_exits_with_3(capsys):
    code, told = document(
        capsys, "check", "twophase", "--members", 3, "--max-states", 100, *REFERENCE
    )
    assert code == 3
    assert told["verdict"] == "unknown"
    assert "100 states" in told["reason"]


def test_a_mutation_brings_its_own_scope_and_the_user_may_change_it(capsys):
    assert (
        document(capsys, "check", "twophase", "--mutation", "hasty", *REFERENCE)[1]["scope"][
            "members"
        ]
        == 3
    )
    assert (
        document(capsys, "check", "twophase", "--mutation", "hasty", "--members", 2, *REFERENCE)[1][
            "scope"
        ]["members"]
        == 2
    )


def test_faults_and_settings_reach_the_scope(capsys):
    asked = ["--fault", "crash=2", "--set", "polite=yes", "--set", "limit=none", *REFERENCE]
    scope = document(capsys, "check", "twophase", *asked)[1]["scope"]
    assert (scope["faults"], scope["polite"], scope["limit"]) == ({"crash": 2}, True, None)


def test_people_see_verdict_numbers_and_goals(capsys):
    assert call("check", "twophase", "--members", 3, *REFERENCE) == 0
    shown = capsys.readouterr()
    assert shown.out.splitlines()[0] == "holds  twophase  every state of the scope was explored"
    assert "288 (1,145 transitions, 11 levels)" in shown.out
    assert "committed at 8" in shown.out
    assert shown.err == ""


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["check", "twofase"], "unknown variant 'twofase' (did you mean twophase?)"),
        (["check", "twophase", "--members", "0"], "scope: members is 0, not a number from 1 to 5"),
        (
            ["check", "twophase", "--members", "many"],
            "Invalid value for '--members': 'many' is not a whole number",
        ),
        (
            ["check", "twophase", "--partitions", "2"],
            "unknown scope field of twophase 'partitions'",
        ),
        (
            ["check", "twophase", "--fault", "crash=-1"],
            "the budget of fault crash is -1, not 0 or more",
        ),
        (
            ["check", "twophase", "--fault", "crash=x"],
            "Invalid value for '--fault': 'crash=x' is not NAME=N, where N is a whole number",
        ),
        (["check", "twophase", "--fault", "smash"], "unknown fault 'smash' (did you mean crash?)"),
        (
            ["check", "twophase", "--assignor", "fair"],
            "unknown assignor 'fair' (choose one of range)",
        ),
        (
            ["check", "twophase", "--mutation", "nasty"],
            "unknown mutation 'nasty' (did you mean hasty?)",
        ),
        (
            ["check", "twophase", "--invariant", "constant"],
            "unknown invariant 'constant' (did you mean consistent?)",
        ),
        (
            ["check", "twophase", "--set", "polite=perhaps"],
            "--set: 'perhaps' is not a valid value for polite (groupcheck list scope",
        ),
        (
            ["check", "twophase", "--set", "limit=--5"],
            "--set: '--5' is not a valid value for limit",
        ),
        (
            ["check", "twophase", "--set", "polite"],
            "Invalid value for '--set': 'polite' is not NAME=VALUE",
        ),
        (
            ["check", "twophase", "--max-memory", "4X"],
            "Invalid value for '--max-memory': '4X' is not a size such as 512M or 4G",
        ),
        (
            ["check", "twophase", "--max-seconds", "0"],
            "Invalid value for '--max-seconds': 0.0 is not in the range 0<x<=1000000000",
        ),
        (
            ["check", "twophase", "--max-states", "0"],
            "Invalid value for '--max-states': 0 is not in the range x>=1",
        ),
        (
            ["check", "twophase", "--workers", "0"],
            "Invalid value for '--workers': 0 is not in the range 1<=x<=1024",
        ),
        (
            ["check", "twophase", "--store", "here", "--checkpoint", "there"],
            "--checkpoint: cannot be combined with --store: a store is a checkpoint, too (leave it"
            " out; --store here --resume here goes on)",
        ),
        (
            ["check", "twophase", "--store", "here", "--resume", "there"],
            "--resume: names another folder than --store: a search goes on in the store where it"
            " was begun (name one folder twice: --store there --resume there)",
        ),
        (
            ["check", "twophase", "--store", "here", "--engine", "plain"],
            "--engine: cannot be combined with --store: only the fast engine has a store",
        ),
        (
            ["check", "twophase", "--store", "s3://bucket/here"],
            "--store: is the address of a store, not a local directory (such a store is only"
            " for a search on a cluster: add --spark MASTER)",
        ),
        *(
            (
                ["check", "twophase", "--random-walks", "10", *more],
                "--random-walks: cannot be combined with --engine, --checkpoint, --resume, --store,"
                " --shards, --hand-over, --symmetry or --conformed (leave those out)",
            )
            for more in (["--store", "d"], ["--shards", "2"], ["--hand-over", "0"])
        ),
        (
            ["check", "twophase", "--spark", "nowhere"],
            "--spark: 'nowhere' is not a Spark master (for example local[2]",
        ),
        (
            ["check", "twophase", "--spark", "yarn"],
            (
                "--spark: executors of yarn need a store that they all reach (name one with --store"
                " URI)"
            ),
        ),
        (
            ["check", "twophase", "--spark", "local[2]", "--workers", "2"],
            "--spark: cannot be combined with --engine, --workers or --checkpoint",
        ),
        (
            ["check", "twophase", "--html", "no/such/place.html"],
            "Invalid value for '--html': there is no directory no/such to write to",
        ),
        (
            ["check", "twophase", "--html", "."],
            "Invalid value for '--html': File '.' is a directory",
        ),
        (["check", "twophase", "--mutation", ""], "unknown mutation '' (choose one of hasty)"),
        (["explain", "twophase", "gc1-0.0.0", "--mutation", ""], "unknown mutation ''"),
        (
            ["check", "twophase", "--members", "2", "--set", "members=1"],
            "--set: members is given twice",
        ),
        (
            ["check", "twophase", "--set", "members=10000000000"],
            "scope: members is 10000000000, not a number from 1 to 5",
        ),
        (["check"], "Missing argument 'VARIANT'. See: groupcheck check --help"),
        (["generate"], "Missing option '--out'. See: groupcheck generate --help"),
        (["advise", "--members", "x"], "Invalid value for '--members': 'x' is not a whole number."),
        (
            ["check", "twophase", "--membres", "3"],
            "No such option '--membres'. Did you mean '--members'?",
        ),
        (["chekc", "twophase"], "No such command 'chekc'. Did you mean 'check'?"),
        (["list", "fults"], "'fults' is not one of"),
        (["explain", "twophase", "gc1-0.9"], "twophase: the key does not fit at step 1"),
        (["explain", "twophase", "\x1b[31mkey"], "is not a key (a key looks like gc1-0.3.12)"),
        (["bugs", "hosty"], "unknown mutation 'hosty' (did you mean hasty?)"),
    ],
)
def test_a_mistake_is_one_clear_line_and_exit_2(arguments, words, capsys):
    assert words in complaint(capsys, *arguments)


def test_a_file_that_is_read_is_not_written_over(tmp_path, capsys):
    log, link = tmp_path / "broker.log", tmp_path / "link"
    log.write_text("a log\n")
    link.symlink_to(log)
    folder = tmp_path / "results"
    folder.mkdir()
    (folder / "sweep.html").hardlink_to(log)
    own = tmp_path / "own.py"
    own.symlink_to(log)
    asked = [
        ["replay", log, "--html", log],
        ["replay", "nothing", log, "--html", link],
        ["replay", "nothing", "--knowledge", log, "--markdown", link],
        ["assign", link, "--html", log],
        ["assign", link, "--junit", log],
        ["sweep", log, "--junit", link],
        ["sweep", "nothing", "--specs", own, "--junit", link],
        ["check", f"{own}:spec", "--pytest", link],
        ["check", "twophase", "--invariant", "a", "--invariant", f"{own}:b", "--pytest", log],
        ["explain", "twophase", "gc1-0", "--mutation", f"{own}:rule", "--html", log],
    ]
    for command in [*asked, ["sweep", log, "--out", folder]]:
        assert "is also an input and would be overwritten" in complaint(capsys, *command)
    assert log.read_text() == "a log\n"
    assert [path.name for path in folder.iterdir()] == ["sweep.html"]


def test_a_checkpoint_that_is_read_is_not_written_over(tmp_path, capsys):
    file = tmp_path / "groupcheck.checkpoint"
    file.write_text("kept")
    assert "is also an input" in complaint(
        capsys, "check", "twophase", "--resume", tmp_path, "--html", file
    )
    assert file.read_text() == "kept"


def test_the_last_value_of_an_option_counts(capsys):
    asked = ["--members", 2, "--members", 3, "--fault", "crash=2", "--fault", "crash=1"]
    scope = document(capsys, "check", "twophase", *asked, *REFERENCE)[1]["scope"]
    assert (scope["members"], scope["faults"]) == (3, {"crash": 1})


def test_the_name_of_a_written_file_is_one_line(tmp_path, capsys):
    files = ["--html", tmp_path / "a\nb", "--itf", tmp_path / "c\nd"]
    assert call("check", "twophase", *REFERENCE, *files, "--json") == 0
    told = capsys.readouterr().err.splitlines()
    assert [line.rpartition("/")[2] for line in told] == ["a\\nb", "c\\nd is not written"]


def test_nothing_that_steers_a_terminal_comes_back_in_a_complaint(capsys):
    assert call("explain", "twophase", "\x1b]0;owned\x07") == 2
    assert "\x1b" not in capsys.readouterr().err


def test_a_mistake_of_our_own_is_no_verdict_and_says_how_to_report_it(capsys, monkeypatch):
    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError("division by zero")

    monkeypatch.setattr("groupcheck.oracles.command_line.commands.check", broken)
    assert call("check", "twophase") == 3
    assert "report it" in capsys.readouterr().err
    assert call("--debug", "check", "twophase") == 3
    assert "Traceback" in capsys.readouterr().err


def test_debug_shows_the_traceback_of_a_mistake_and_keeps_the_exit_code(capsys, monkeypatch):
    assert call("--debug", "check", "twofase") == 2
    shown = capsys.readouterr().err
    assert shown.startswith("Traceback") and shown.splitlines()[-1].startswith(
        "groupcheck: error: unknown variant 'twofase'"
    )
    monkeypatch.setenv("GROUPCHECK_DEBUG", "1")
    assert call("check", "twofase") == 2


def test_an_interrupted_run_is_unknown(capsys, monkeypatch):
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("groupcheck.oracles.command_line.commands.check", interrupted)
    assert call("check", "twophase") == 3
    assert capsys.readouterr().err.strip() == "groupcheck: error: interrupted"


def test_files_are_written_and_named_on_stderr(tmp_path, capsys):
    files = {name: tmp_path / f"out.{name}" for name in ("html", "svg", "pytest", "itf")}
    asked = [x for name, path in files.items() for x in (f"--{name}", path)]
    assert call("check", "twophase", "--mutation", "hasty", *REFERENCE, *asked, "--json") == 1
    shown = capsys.readouterr()
    assert json.loads(shown.out)["verdict"] == "violated"
    assert shown.err.count("wrote") == 4
    assert files["html"].read_text().startswith("<!DOCTYPE html>")
    assert files["svg"].read_text().startswith("<svg")
    assert json.loads(files["itf"].read_text())["vars"] == ["coordinator", "network", "manager"]
    assert "def test_consistent_breaks" in files["pytest"].read_text()


def test_without_a_counterexample_there_is_a_page_but_no_test(tmp_path, capsys):
    page, test = tmp_path / "out.html", tmp_path / "test_out.py"
    assert call("check", "twophase", *REFERENCE, "--html", page, "--pytest", test) == 0
    assert "no counterexample" in capsys.readouterr().err
    assert page.exists()
    assert not test.exists()


def test_explain_tells_the_story_of_a_key(capsys):
    key = document(capsys, "check", "twophase", "--mutation", "hasty", *REFERENCE)[1]["violations"][
        0
    ]["key"]
    assert call("explain", "twophase", key, "--mutation", "hasty") == 0
    assert "consistent breaks after 7 steps" in capsys.readouterr().out
    code, told = document(capsys, "explain", "twophase", key, "--mutation", "hasty")
    assert (code, told["schema"], told["broken"]) == (0, "groupcheck.path/1", {"consistent": 7})


def test_explain_of_a_harmless_path_says_that_nothing_breaks(capsys):
    assert call("explain", "twophase", "gc1-0.0.0") == 0
    assert "2 steps, nothing breaks" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("kind", "first"),
    [
        (
            "variants",
            {
                "name": "twophase",
                "title": "Two-phase commit",
                "families": ["atomic commit"],
                "lacks": [],
                "real": "none: nobody has named real code that does the same",
                "not_executed": [],
                "doc": "All or nothing.",
            },
        ),
        (
            "invariants",
            {
                "variant": "twophase",
                "name": "consistent",
                "statement": "No manager commits while another aborts.",
                "source": "",
                "known_to_break": False,
            },
        ),
        (
            "rules",
            {"variant": "twophase", "name": "prepare", "outcomes": [], "urgent": False, "doc": ""},
        ),
        ("goals", {"variant": "twophase", "name": "committed", "statement": ""}),
        ("faults", {"variant": "twophase", "name": "crash", "doc": "It stops."}),
        (
            "formats",
            {
                "name": "broker",
                "replayed": True,
                "doc": "The group coordinator's log, old or new coordinator (the default).",
            },
        ),
        ("assignors", {"variant": "twophase", "name": "range", "doc": "In turn."}),
        (
            "mutations",
            {
                "id": "hasty",
                "ticket": "EXAMPLE-1",
                "variant": "twophase",
                "rule": "decide",
                "invariant": "consistent",
                "title": "commits too early",
            },
        ),
    ],
)
def test_list_names_what_there_is(kind, first, capsys):
    assert call("list", kind, "--json") == 0
    assert json.loads(capsys.readouterr().out)[0] == first
    assert call("list", kind) == 0
    assert (first.get("name") or first["id"]) in capsys.readouterr().out


def test_help_imports_neither_the_engine_nor_the_terminal():
    heavy = "{'numpy', 'numba', 'rich', 'jinja2', 'attrs', 'groupcheck.model'}"
    code = (
        "import sys, groupcheck.oracles.command_line.cli;"
        f" sys.exit(bool({heavy} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code], timeout=30).returncode == 0


@pytest.mark.parametrize("arguments", [["--help"], ["check", "--help"], ["-h"], ["--version"]])
def test_help_and_version_exit_with_0(arguments, capsys):
    assert call(*arguments) == 0
    assert capsys.readouterr().out
