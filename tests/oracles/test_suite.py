"""Answers as test cases for CI: JUnit files that a reader of XML reads, and annotations that GitHub
takes for one line each, whatever names others chose.
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from xml.etree import ElementTree

import pytest

from groupcheck.oracles.command_line import cli
from groupcheck.oracles.show.suite import (
    ERROR,
    FAILURE,
    MOST_ANNOTATIONS,
    SKIPPED,
    Case,
    Suite,
    as_junit,
    github_commands,
)

DATA = Path(__file__).parents[1] / "data"
HOSTILE = "a\x00b\x1b[31m\x07\ufffe\ud800\u202e\x85]]><&\"'\n\r::%,"
BUG = ("--mutation", "size_cap_off_by_one", "--engine", "reference")
NOT_JUDGED = "progress: not judged (--progress)"
SMALL = ("--members", "1", "--generations", "1", "--engine", "reference")


@pytest.fixture
def cases(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Runs a command with --junit; its exit code, and each test case of the file: name -> (what
    became of it, the message, the text).
    """
    monkeypatch.delenv("GITHUB_ACTIONS", raising=False)

    def run(*command: str):
        code = cli.run([*command, "--junit", str(tmp_path / "found.xml")])
        root = ElementTree.parse(tmp_path / "found.xml").getroot()
        became = [list(case) for case in root.iter("testcase")]
        tags = Counter(inner[0].tag for inner in became if inner)
        for suite in (root, root[0]):
            told = [int(suite.attrib[name]) for name in ("tests", "failures", "errors", "skipped")]
            assert told == [len(became), tags["failure"], tags["error"], tags["skipped"]]
        return code, {
            case.attrib["name"]: (
                (case[0].tag, case[0].attrib["message"], case[0].text or "")
                if len(case)
                else ("passed", "", "")
            )
            for case in root.iter("testcase")
        }

    return run


def test_each_invariant_of_a_check_that_holds_is_a_case_that_passes(cases, capsys):
    code, found = cases("check", "classic", *SMALL, "--json")
    told = json.loads(capsys.readouterr().out)
    assert code == 0 and [*found] == [*told["invariants"], *told["progress_not_judged"]]
    assert {found[name][0] for name in told["invariants"]} == {"passed"}
    left_aside = {found[name] for name in told["progress_not_judged"]}
    assert left_aside == {("skipped", NOT_JUDGED, "")}


def test_each_promise_about_progress_that_was_judged_is_a_case_too(cases):
    code, found = cases("check", "classic", "--mutation", "no_sync_deadline", "--progress")
    assert code == 1 and Counter(became for became, _, _ in found.values()) == {
        "failure": 5, "passed": 3,
    }  # fmt: skip
    limits = ("--members", "1", "--max-states", "5", "--engine", "reference")
    code, found = cases("check", "classic", *limits, "--progress")
    assert code == 3 and {became for became, _, _ in found.values()} == {"error"}


def test_a_broken_invariant_is_a_failure_with_prose_and_key_and_the_others_are_not_judged(
    cases, capsys
):
    code, found = cases("check", "classic", *BUG, "--json")
    (told,) = json.loads(capsys.readouterr().out)["violations"]
    became, why, text = found.pop("size_cap")
    assert (code, became, why) == (
        1,
        "failure",
        "The group has 2 members, but group.max.size is 1.",
    )
    assert told["prose"] in text and text.endswith(f"key: {told['key']}")
    assert set(found.values()) == {
        ("skipped", "the search ended when size_cap broke", ""),
        ("skipped", NOT_JUDGED, ""),
    }


def test_a_search_that_gave_up_is_an_error_for_each_invariant_with_the_reason(cases):
    code, found = cases("check", "classic", *SMALL, "--max-states", "5")
    assert code == 3
    (became, why, _), left_aside = dict.fromkeys(found.values())
    assert became == "error" and why.startswith("unknown: stopped at the limit of 5 states")
    assert left_aside == ("skipped", NOT_JUDGED, "")


def test_a_fault_that_never_happened_is_an_error_beside_invariants_that_hold(cases):
    code, found = cases("check", "classic", *SMALL, "--goal", "zombie_owner")
    became, why, _ = found.pop("what was asked for happens")
    assert (code, became) == (3, "error") and "zombie_owner" in why
    assert {became for became, _, _ in found.values()} == {"passed", "skipped"}


def test_each_promise_of_an_assignment_is_a_case(cases):
    code, found = cases("assign", str(DATA / "assign/printed-range-after.json"))
    assert code == 1
    assert {name: became for name, (became, _, _) in found.items()} == {
        "valid": "failure", "complete": "failure", "balanced in topics": "skipped",
        "ranges": "skipped",
    }  # fmt: skip
    assert (
        found["valid"][1].startswith("C1 gets Stock-5") and "Order-2 is given" in found["valid"][2]
    )


@pytest.mark.parametrize("name", ["sticky", "sequence", "range"])
def test_an_assignment_that_is_right_passes_in_every_promise(cases, name):
    code, found = cases("assign", str(DATA / f"assign/{name}.json"))
    assert code == 0 and len(found) > 2 and {kind for kind, _, _ in found.values()} == {"passed"}


def test_constraints_that_exclude_each_other_are_a_failure_of_their_own(cases):
    code, found = cases("assign", str(DATA / "assign/constraints-impossible.json"))
    became, _, text = found["a right assignment exists"]
    assert (code, became) == (1, "failure") and "c1 bears at most 5" in text


def test_findings_about_an_assignor_are_failures_with_the_code_that_shows_them(cases):
    code, found = cases("assign", "--against", "math:sqrt", "--examples", "3")
    ((name, (became, why, text)),) = found.items()
    assert (code, became) == (1, "failure") and "TypeError" in why
    assert name == "sqrt: answers (1)" and "Group(" in text


def test_each_group_of_a_replay_is_a_case_with_cause_place_and_what_to_do(cases, tmp_path):
    log = str(DATA / "clients/poll_timeout.b.log.gz")
    code, found = cases("replay", log)
    ((name, (became, why, text)),) = found.items()
    assert (code, became) == (1, "failure") and name.startswith("group ") and "poll()" in why
    assert text.startswith("cause: ") and "\nwhat to do: " in text
    root = ElementTree.parse(tmp_path / "found.xml").getroot()
    (case,) = root.iter("testcase")
    assert case.attrib["file"].endswith("poll_timeout.b.log.gz") and int(case.attrib["line"]) > 0
    code, found = cases("replay", log, "--fail-on", "violated")
    assert code == 0 and found[name][:2] == ("skipped", f"{why} (not among the kinds of --fail-on)")


def test_a_replay_that_shows_too_little_is_an_error_in_ci_as_in_the_exit_code(cases, tmp_path):
    assert cases("replay", str(DATA / "replay/kafka41-console-group-scale.log")) == (
        0, {"group my-consumer-group": ("passed", "", ""),
            "group multi-partition-group": ("passed", "", "")},
    )  # fmt: skip
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "empty.log").write_text("nothing about a group\n")
    code, found = cases("replay", str(tmp_path / "logs"))
    assert code == 3 and [became for became, _, _ in found.values()] == ["error"]


def test_a_log_cannot_give_a_job_of_github_commands(capsys, monkeypatch, tmp_path):
    """Neither by what is quoted on stdout nor by the annotations on stderr. A command is `::name`
    after blanks at the start of a line, or `##[name]` anywhere in it.
    """
    name = "::stop-commands::x" + " ##[add-mask]secret" * 3 + "\r::error::y"
    log = tmp_path / "::error::a.log"
    said = (
        f" Attempt to heartbeat failed since group is rebalancing {'a ' * 40}{name}{' ::z::' * 40}"
    )
    start = "[2024-10-25 17:00:00,000] INFO [Consumer clientId=c, groupId=::set-output::]"
    log.write_text(f"{start} consumer poll timeout has expired. {said}\n", newline="")
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    for width in ("20", "61", "100"):
        monkeypatch.setenv("COLUMNS", width)
        for how in ((), ("--json",)):
            assert cli.run(["replay", str(log), *how]) == 1
            told = capsys.readouterr()
            assert "##[" not in told.out and "\r" not in told.out + told.err
            assert not any(line.lstrip().startswith("::") for line in told.out.split("\n"))
            *_, annotation = told.err.splitlines()
            assert told.err.count("\n::") <= 1 and annotation.startswith("::error file=")
            assert not how or "##[add-mask]" in json.dumps(json.loads(told.out))


def test_each_cell_of_a_sweep_is_a_case(cases, tmp_path):
    grid = '[[grid]]\nvariant = "classic"\nmembers = [1, 2]\ngenerations = 1\n'
    bug = '[[grid]]\nvariant = "classic"\nmutation = "size_cap_off_by_one"\n'
    stopped = f"{grid}limits = {{max_states = 5}}\n".replace("generations = 1", "generations = 2")
    (tmp_path / "sweep.toml").write_text(grid + bug + stopped)
    code, found = cases("sweep", str(tmp_path / "sweep.toml"), "--out", str(tmp_path / "out"))
    left_aside = found.pop("promises about progress")
    assert left_aside[:2] == ("skipped", "progress: not judged in 5 cells (progress = true)")
    became = [kind for kind, _, _ in found.values()]
    assert (code, became) == (1, ["passed", "passed", "failure", "error", "error"])
    bug_case = found["3 classic, with size_cap_off_by_one"]
    assert (
        bug_case[1] == "violated, expected holds" and "broken: size_cap\nkey: gc1-" in bug_case[2]
    )


def test_text_that_xml_cannot_hold_is_written_as_escapes():
    hostile = Case(HOSTILE, FAILURE, HOSTILE, f"{HOSTILE}\n{HOSTILE}", 1.5)
    text = as_junit(Suite(f"check {HOSTILE}", (hostile, Case("fine"))))
    root = ElementTree.fromstring(text.encode())
    first = root[0][0]
    assert first.attrib["name"].startswith(
        "a\\x00b\\x1b[31m\\x07\\ufffe\\ud800\\u202e\\x85]]><&\"'"
    )
    assert first[0].attrib["message"].endswith("\\n\\r::%,")
    assert (first[0].text or "").count("\n") == 3
    assert all(c.isprintable() or c == "\n" for c in text)


def test_an_annotation_is_one_line_with_what_github_reads_as_syntax_escaped():
    case = Case("a, b: 100%", FAILURE, "50%: one, two", "first\nsecond")
    skipped = Case("not judged", SKIPPED, "why")
    (line,) = github_commands(Suite("check x", (case, skipped, Case("fine"))))
    assert line == ("::error title=check x%3A a%2C b%3A 100%25::50%25: one, two%0Afirst%0Asecond")
    (hostile,) = github_commands(Suite("check", (Case(HOSTILE, ERROR, HOSTILE, HOSTILE),)))
    title, _, message = hostile.removeprefix("::error title=").partition("::")
    assert hostile.isprintable() and not {":", ","} & set(title)
    assert message.count("%0A") == 2  # text begins a line, and has one line end of its own


def test_cases_with_the_same_message_share_an_annotation_and_no_more_come_than_github_shows():
    same = [Case(f"i{n}", ERROR, "unknown: why") for n in range(31)]
    (line,) = github_commands(Suite("check", tuple(same)))
    assert line == "::error title=check%3A i0 and 30 more::unknown: why"
    many = [Case(f"i{n}", FAILURE, f"wrong {n}") for n in range(MOST_ANNOTATIONS + 5)]
    lines = list(github_commands(Suite("check", tuple(many))))
    assert len(lines) == MOST_ANNOTATIONS and lines[-1] == "::error title=check::6 other messages"
    all_of_them = Suite("check", tuple(many[:MOST_ANNOTATIONS]))
    assert len(list(github_commands(all_of_them))) == MOST_ANNOTATIONS


def test_annotations_come_on_stderr_in_a_job_of_github_alone(capsys, monkeypatch):
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    assert cli.run(["check", "classic", *BUG, "--json"]) == 1
    said = capsys.readouterr()
    assert json.loads(said.out)["verdict"] == "violated"
    (line,) = [line for line in said.err.splitlines() if line.startswith("::")]
    assert line.startswith("::error title=check classic with size_cap_off_by_one%3A size_cap::")
    assert cli.run(["check", "classic", *SMALL]) == 0 and "::" not in capsys.readouterr().err
    monkeypatch.delenv("GITHUB_ACTIONS")
    assert (
        cli.run(["check", "classic", *BUG, "--json"]) == 1 and "::" not in capsys.readouterr().err
    )


@pytest.mark.parametrize(
    "command",
    ["check classic", "sweep {0}", "assign {0}", "conform"],
)
def test_a_junit_file_that_cannot_be_written_is_refused_before_anything_runs(
    command, capsys, tmp_path
):
    words = command.format(DATA / "assign/sticky.json").split()
    assert cli.run([*words, "--junit", str(tmp_path / "no/such/folder.xml")]) == 2
    said = capsys.readouterr()
    assert said.out == "" and "'--junit': there is no directory" in said.err
