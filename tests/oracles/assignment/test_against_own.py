"""An assignor of one's own, as a function or as a program, and what the command refuses."""

from __future__ import annotations

import contextlib
import json
import shlex
import subprocess
import sys
import time
from itertools import count

import psutil
import pytest

from groupcheck.model.assignors import Group, Member, NoAssignment, round_robin, sticky
from groupcheck.model.engine import UserError
from groupcheck.oracles.assignment.against import offered, promise_questions
from groupcheck.oracles.assignment.against.command import library_of, result_lines
from groupcheck.oracles.assignment.against.libraries import callables, programs
from groupcheck.oracles.assignment.against.offered import Library, OfferedAssignor, assigned
from groupcheck.oracles.assignment.against.promise_questions import answer_of
from groupcheck.oracles.assignment.against.searches import findings
from groupcheck.oracles.command_line.cli import run

EXAMPLES = 30
PAIR = Group({"t": 2}, [Member("A", ["t"]), Member("B", ["t"], {"t": [0]}, 1)])
PROGRAM = """
import json, sys
for line in sys.stdin:
    asked = json.loads(line)
    ids = [m["id"] for m in asked["members"]]
    print(json.dumps(BODY), flush=True)
"""


def all_to_all(group):
    return {
        m.id: {topic: range(size) for topic, size in group.topics if topic in m.topics}
        for m in group.members
    }


def program(tmp_path, body, like=None):
    (tmp_path / "assignor.py").write_text(PROGRAM.replace("BODY", body))
    return programs.library(
        f"{shlex.quote(sys.executable)} {shlex.quote(str(tmp_path / 'assignor.py'))}", like
    )


def test_a_function_that_is_right_has_no_findings():
    assert (
        findings(callables.library("own:round_robin", round_robin, "roundrobin"), EXAMPLES).findings
        == ()
    )
    assert findings(callables.library("own:sticky", sticky, "range"), EXAMPLES).findings != ()


def test_the_smallest_example_of_a_function_is_code_that_shows_it(tmp_path, monkeypatch, capsys):
    (tmp_path / "gives_all.py").write_text(
        "def mine(group):\n    return {m.id: [('t', 0)] for m in group.members}\n"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    result = findings(library_of("gives_all:mine"), EXAMPLES)
    smallest = next(f for f in result.findings if f.promise == "valid")
    assert smallest.words == "t-0 is given to both A and B" and len(smallest.group.members) == 2
    exec(smallest.code, {})
    assert capsys.readouterr().out == "{'A': [('t', 0)], 'B': [('t', 0)]}\n"


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (None, "NoneType instead of partitions"),
        ({"A": 3}, "what A gets is no list"),
        ({"A": [("t", "0")]}, "what A gets is no list"),
        ({"A": [("t", 0), ("t", 0)]}, "A is given t-0 twice"),
        ({"A": (("t", n) for n in count())}, "A is given more than 10,000 partitions"),
    ],
)
def test_an_answer_of_another_form_is_no_answer(answer, told):
    with pytest.raises(NoAssignment, match=told):
        assigned(answer)


def test_what_an_assignor_raises_is_its_answer_and_so_is_that_it_does_not_end():
    def forever(group):
        while True:
            pass

    for function, why in (
        (forever, "no answer: none within 0.05 s"),
        (lambda group: 1 / 0, "ZeroDivisionError: division by zero"),
    ):
        assert (
            str(answer_of(OfferedAssignor("own", None, function, offered.group_code), PAIR, 0.05))
            == why
        )


def test_an_assignor_that_hangs_is_waited_for_a_few_times_and_then_not_asked_any_more(monkeypatch):
    monkeypatch.setattr(promise_questions, "PATIENCE_S", 0.05)
    asked_for = []

    def hangs(group):
        asked_for.append(group)
        while True:
            pass

    result = findings(
        Library("own", "", (OfferedAssignor("own", None, hangs, offered.group_code),)), EXAMPLES
    )
    assert (
        len(asked_for) == promise_questions.MOST_HUNG
        and result.given_up == ("own",)
        and result.document()["given_up"] == ["own"]
    )
    assert [f.promise for f in result.findings] == ["answers"] and "none within" in result.findings[
        0
    ].words
    assert "not asked any more, because it gave no answer (in time) too often: own" in " ".join(
        "".join(result_lines(result)).split()
    )


def test_a_program_that_breaks_down_each_time_is_given_up(tmp_path, monkeypatch):
    monkeypatch.setattr(promise_questions, "MOST_BROKEN", 5)
    result = findings(program(tmp_path, "sys.exit(3)"), EXAMPLES)
    assert [f.words for f in result.findings] == ["no answer: it ended with exit code 3"] and len(
        result.given_up
    ) == 1


def test_a_program_is_asked_in_lines_of_json(tmp_path):
    library = program(
        tmp_path,
        '{"assignment": {ids[0]: {"t": [0]}, ids[1]: {"t": [asked["members"][1]["owned"]["t"][0] +'
        " 1]}}}",
    )
    with library.open():
        assert library.assignors[0].solve(PAIR) == {"A": {("t", 0)}, "B": {("t", 1)}}


@pytest.mark.parametrize("then", ["{'failed': str(child.pid)}", "sys.exit(child.pid > 0)"])
def test_what_a_program_has_started_ends_with_it(tmp_path, then):
    kept = "open('child', 'w').write(str(child.pid))"
    body = f"[child := subprocess.Popen(['sleep', '600']), {kept}, {then}][-1]"
    library = program(tmp_path, body.replace("'child'", repr(str(tmp_path / "child"))))
    file = tmp_path / "assignor.py"
    file.write_text("import subprocess\n" + file.read_text())
    with library.open():
        for _ in range(2):  # a program that has ended is started anew
            with pytest.raises(NoAssignment):
                library.assignors[0].solve(PAIR)
    with contextlib.suppress(psutil.NoSuchProcess):
        child = psutil.Process(int((tmp_path / "child").read_text()))
        while child.status() != psutil.STATUS_ZOMBIE:  # a signal is acted on a little later
            time.sleep(0.01)


def test_the_smallest_example_of_a_program_is_a_shell_command_that_shows_it(tmp_path):
    result = findings(
        program(
            tmp_path,
            '{"assignment": {i: {t: list(range(n)) for t, n in asked["topics"].items()} for i in'
            " ids}}",
        ),
        EXAMPLES,
    )
    smallest = next(f for f in result.findings if f.words == "t-0 is given to both A and B")
    shown = subprocess.run(
        ["/bin/sh", "-c", smallest.code], capture_output=True, timeout=30, check=True
    ).stdout
    assert json.loads(shown) == {"assignment": {"A": {"t": [0]}, "B": {"t": [0]}}}


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ("sys.exit(3)", "no answer: it ended with exit code 3"),
        ("__import__('time').sleep(9)", "no answer: no answer within 0.3 s"),
        ("'x' * 2000", "no answer: an answer of more than 1,000 bytes"),
        ("[1]", "WrongAnswer: neither assignment nor failed: b'[1]\\n'"),
        ('{"failed": "too hard"}', "failed: too hard"),
    ],
)
def test_a_program_that_has_no_answer_is_told_and_started_anew(tmp_path, monkeypatch, body, told):
    if "sleep" in body:
        monkeypatch.setattr(programs, "PATIENCE_S", 0.3)
    monkeypatch.setattr(programs, "LONGEST", 1000)
    library = program(tmp_path, body)
    with library.open():
        for _ in range(2):
            with pytest.raises(NoAssignment) as none:
                library.assignors[0].solve(PAIR)
            assert str(none.value) == told


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (
            ["--against", "kafka-pyton"],
            "give one of kafka-python, aiokafka, apache, or module:function",
        ),
        (
            ["--against", "kafka-python", "--like", "range"],
            "only an assignor of your own needs it",
        ),
        (["--against", "x:y", "--like", "rnage"], "did you mean range"),
        (
            ["--against", "aiokafka", "--kafka", "4.3.0"],
            "only --against apache asks Kafka's classes",
        ),
        (["--against", "apache", "--kafka", "1.0"], "no driver for Kafka '1.0'"),
        (["--against", "no.such.module:f"], "cannot import it: ModuleNotFoundError"),
        (["--against", "math:pi"], "pi is no function"),
        (["--against", "program: "], "no command"),
        (["--against", "program: 'a"], "cannot be split"),
        (["--against", "program: /no/such/program"], "cannot start /no/such/program: No such file"),
        (["--against", "math:sqrt", "--examples", "100001"], "100,001 is not from 1 to 100,000"),
        ([], "one of FILE, --prove or --against"),
        (["--prove", "--against", "aiokafka"], "one of FILE, --prove or --against"),
        (["--prove", "--examples", "3"], "--examples: is only for --against"),
    ],
)
def test_what_cannot_be_asked_is_refused_in_one_line(arguments, told, capsys):
    assert run(["assign", *arguments]) == 2
    said = capsys.readouterr()
    assert told in said.err and said.err.count("\n") == 1 and said.out == ""


def test_without_hypothesis_or_the_library_one_line_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "hypothesis", None)
    with pytest.raises(
        UserError,
        match=r"needs hypothesis, which is not installed \(pip install 'groupcheck\[contract\]'\)",
    ):
        findings(Library("own", "", ()))
    monkeypatch.setitem(sys.modules, "aiokafka.coordinator.assignors.range", None)
    with pytest.raises(
        UserError, match=r"aiokafka is not installed or too old: .*pip install --upgrade aiokafka"
    ):
        library_of("aiokafka")


@pytest.mark.parametrize(
    ("as_json", "told"),
    [(False, "of math:sqrt, answers: TypeError:"), (True, '"schema": "groupcheck.against/1"')],
)
def test_the_command_exits_with_1_where_there_are_findings(capsys, as_json, told):
    assert run(["assign", "--against", "math:sqrt", "--examples", "5", *["--json"][:as_json]]) == 1
    assert told in capsys.readouterr().out


class Unrelated:
    def assign(self, group):
        return {}


@pytest.mark.parametrize(
    ("function", "problem"),
    [
        (lambda members, topics: {}, "cannot be called with a group alone: missing a required"),
        (
            lambda *, topics: {},
            "cannot be called with a group alone: too many positional arguments",
        ),
        (Unrelated, "is a class, and not derived from an assignor of kafka-python or aiokafka"),
    ],
)
def test_what_cannot_be_called_with_a_group_is_no_finding(function, problem):
    with pytest.raises(UserError, match=problem) as error:
        callables.library("mine:assign", function, "range")
    assert "write def assign(group: Group) -> dict[str, list[tuple[str, int]]]" in str(error.value)
