"""`groupcheck.assignor_contract` of a function that never answers: no test is green, each says why,
and the function's own traceback is shown.
"""

from __future__ import annotations

import textwrap

import pytest

import groupcheck
from groupcheck.model.assignors import Group, Member, NoAssignment, round_robin
from groupcheck.oracles.assignment.against import promise_questions
from groupcheck.oracles.assignment.against.command import finding_words
from groupcheck.oracles.assignment.against.libraries import callables
from groupcheck.oracles.assignment.against.promise_questions import answer_of

PAIR = Group({"t": 2}, [Member("A", ["t"]), Member("B", ["t"])])
TOO_FEW = 3  # examples: an assignor that hangs is not given up before they are used up


def deep(group):
    raise LookupError("no such member") from ValueError("what was wrong before")


def raises(group):
    return deep(group)


def gives_nothing(group):
    return None


def refuses(group):
    raise NoAssignment("TooMany", "one is too many")


def hangs(group):
    while True:
        pass


def failures(assignor, **options):
    """What each test of the contract says as it fails; None where it passes."""
    contract = groupcheck.assignor_contract(assignor, **options)
    (promises,) = (mark.args[1] for mark in contract.pytestmark)
    told = {}
    for promise in promises:
        try:
            contract(promise)
            told[promise] = None
        except pytest.fail.Exception as failed:
            told[promise] = " ".join(str(failed).split())
    return told


@pytest.mark.parametrize("like", [None, "range", "sticky", "cooperative-sticky", "uniform"])
@pytest.mark.parametrize(
    ("function", "why"),
    [
        (raises, "LookupError: no such member"),
        (gives_nothing, "WrongAnswer: NoneType instead of partitions for each member"),
        (refuses, "TooMany: one is too many"),
    ],
)
def test_no_promise_of_a_function_that_never_answers_is_green(function, why, like):
    told = failures(function, like=like, examples=10)
    assert [promise for promise, words in told.items() if words is None or why not in words] == []
    assert "because it never gave an assignment; for the smallest group" in told["valid"]
    assert "because it never gave an assignment" in told["the same again"]


def test_no_promise_of_a_function_that_hangs_is_green_however_few_examples_there_are(monkeypatch):
    monkeypatch.setattr(promise_questions, "PATIENCE_S", 0.05)
    told = failures(hangs, like="range", examples=TOO_FEW)
    assert {"answers", "valid", "complete", "co-partitioned", "in any order"} < set(told)
    assert all(words and "no answer: none within" in words for words in told.values())


def test_a_promise_for_which_no_answer_could_be_judged_is_not_green():
    def all_to_all(group):
        return {m.id: [("t", 0)] for m in [*group.members, Member("nobody", ["t"])]}

    told = failures(all_to_all, like="range", examples=10)
    assert told["answers"] is None
    assert (
        "because no answer is valid and complete, as this promise needs"
        in (told["balanced in topics"])
    )


def test_an_assignor_that_answers_some_groups_is_judged_by_those():
    def of_pairs_alone(group):
        return raises(group) if len(group.members) == 3 else round_robin(group)

    told = failures(of_pairs_alone, like="roundrobin", examples=30)
    assert "LookupError" in told["answers"] and told["valid"] is told["level"] is None


def traceback_of(function):
    (offered,) = callables.library(f"own:{function.__name__}", function, None).assignors
    return answer_of(offered, PAIR, 0.05).traceback


def test_a_traceback_has_the_frames_of_the_function_and_none_of_groupcheck():
    told = traceback_of(raises)
    frames = [line.split(", in ")[1] for line in told.splitlines() if ", in " in line]
    assert (
        frames == ["raises", "deep"]
        and "oracles/assignment/against/promise_questions.py" not in told
    )
    assert "ValueError: what was wrong before" in told
    assert told.endswith("LookupError: no such member\n")


def test_of_a_function_that_hangs_the_traceback_shows_where_it_was_stopped():
    told = traceback_of(hangs)
    assert told.startswith("Stopped here") and "in hangs" in told and "TooLong" not in told


def test_an_answer_that_groupcheck_refuses_has_no_traceback():
    assert traceback_of(gives_nothing) == ""


def test_deep_recursion_is_not_printed_whole():
    def again(group):
        return other(group)

    def other(group):
        return again(group)

    assert len(traceback_of(again).splitlines()) < 130


def test_a_failure_of_the_contract_shows_the_traceback():
    words = failures(raises, examples=5)["answers"]
    assert "Traceback (most recent call last):" in words and "in deep raise LookupError" in words


def test_against_prints_the_traceback_and_has_it_in_its_document(tmp_path, monkeypatch, capsys):
    from groupcheck.oracles.command_line.cli import run

    (tmp_path / "breaks_here.py").write_text("def mine(group):\n    return {}['missing']\n")
    monkeypatch.syspath_prepend(tmp_path)
    assert run(["assign", "--against", "breaks_here:mine", "--examples", "3"]) == 1
    assert 'breaks_here.py", line 2, in mine\n' in capsys.readouterr().out
    assert run(["assign", "--against", "breaks_here:mine", "--examples", "3", "--json"]) == 1
    assert "line 2, in mine" in capsys.readouterr().out


def test_control_characters_of_a_traceback_do_not_reach_the_terminal():
    def bold(group):
        raise ValueError("\x1b[1mbold\nsecond line")

    from groupcheck.oracles.assignment.against.searches import findings

    (finding,) = findings(callables.library("own:bold", bold, None), 3).findings
    told = finding_words(finding)
    assert "\x1b" not in told and textwrap.indent("second line", "  ") in told
