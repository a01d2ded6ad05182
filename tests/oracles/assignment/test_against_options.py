"""Options of `assign --against`: seeds, promises that are left out, known violations, names;
answers that vary, and what a program writes to its standard error.
"""

from __future__ import annotations

import json
import shlex
import sys
from random import Random

import pytest

from groupcheck.model.assignors import range_, round_robin, sticky
from groupcheck.oracles.assignment.against.baseline import Known
from groupcheck.oracles.assignment.against.libraries import callables
from groupcheck.oracles.assignment.against.searches import Search, findings
from groupcheck.oracles.command_line.cli import run

MODULE = """
from groupcheck.model.assignors import range_

def starves(group):
    given = range_(group)
    return given | {m: () for m in list(given)[2:]}
"""


@pytest.fixture
def starves(tmp_path, monkeypatch):
    (tmp_path / "own_starves.py").write_text(MODULE)
    monkeypatch.syspath_prepend(tmp_path)
    return "own_starves:starves"


def document(capsys, name, *more):
    code = run(["assign", "--against", name, "--examples", "20", "--json", *more])
    return code, json.loads(capsys.readouterr().out)


def test_a_promise_can_be_left_out(starves, capsys):
    code, told = document(capsys, starves)
    assert code == 1 and {f["promise"] for f in told["findings"]} == {"complete"}
    code, told = document(capsys, starves, "--except", "complete", "--name", "mine")
    assert code == 0 and told["findings"] == [] and "complete" not in told["promises"]
    assert told["assignors"] == ["mine"] and told["library"] == "mine"
    assert run(["assign", "--against", starves, "--except", "compleet"]) == 2
    assert "did you mean complete" in capsys.readouterr().err


def test_another_seed_draws_other_groups(starves, capsys):
    drawn = [document(capsys, starves, "--seed", seed)[1]["drawn"] for seed in ("0", "0", "5")]
    assert drawn[0] == drawn[1] != drawn[2]


def test_known_violations_only_inform_and_new_ones_fail(starves, tmp_path, capsys):
    known = str(tmp_path / "known.json")
    assert run(["assign", "--against", starves, "--examples", "20", "--write-baseline", known]) == 0
    capsys.readouterr()
    for seed in ("0", "3"):
        code, told = document(capsys, starves, "--baseline", known, "--seed", seed)
        assert code == 0 and told["verdict"] == "nothing found"
        assert {f["informs"] for f in told["findings"]} == {"it is known (--baseline)"}
    code, told = document(capsys, starves, "--baseline", known, "--like", "range")
    assert code == 0 or "complete" not in {f["promise"] for f in told["findings"] if f["fails"]}
    changed = json.loads((tmp_path / "known.json").read_text("utf-8"))
    changed["findings"][0]["promise"] = "valid"
    (tmp_path / "known.json").write_text(json.dumps(changed), "utf-8")
    code, told = document(capsys, starves, "--baseline", known)
    assert code == 1 and told["gone"] == ["starves: valid"]


def test_a_known_violation_covers_its_cause_and_not_another():
    (finding, *_) = findings(callables.library("own:mine", sticky, "range"), 30).failing
    known = Known(finding.assignor, finding.promise, frozenset(finding.circumstances))
    assert known.covers(finding)
    assert not Known(finding.assignor, finding.promise, frozenset({"strange"})).covers(finding)
    assert not Known("another", finding.promise, known.circumstances).covers(finding)


@pytest.mark.parametrize("text", ["{}", "[]", '{"schema": "groupcheck.against/1"}', "{"])
def test_a_file_that_is_no_baseline_is_refused(tmp_path, capsys, starves, text):
    (tmp_path / "x.json").write_text(text)
    assert run(["assign", "--against", starves, "--baseline", str(tmp_path / "x.json")]) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_answers_that_vary_inform_and_each_is_judged():
    random = Random(1)

    def now_and_then(group):
        """Half of the time the first member has nothing."""
        given = round_robin(group)
        return given | {next(iter(given)): ()} if random.random() < 0.5 else given

    result = findings(callables.library("own:varies", now_and_then, None), 20)
    informing = [f for f in result.findings if f.informs]
    assert [f.promise for f in informing] == ["the same again"] * len(informing) != []
    complete = next(f for f in result.failing if f.promise == "complete")
    assert len(complete.group.members) == 1 and complete.answer == {"A": []}

    right = Random(2)
    result = findings(callables.library("own:right", lambda g: varies_rightly(g, right), None), 20)
    assert result.exit_code == 0 and {f.promise for f in result.findings} == {"the same again"}
    strict = Search(20, varying_fails=True)
    library = callables.library("own:right", lambda g: varies_rightly(g, right), None)
    assert findings(library, strict).exit_code == 1


def varies_rightly(group, random):
    """Each topic to one subscriber, drawn anew."""
    given = {m.id: [] for m in group.members}
    for topic, size in group.topics:
        able = [m.id for m in group.members if topic in m.topics]
        if able:
            given[random.choice(able)] += [(topic, p) for p in range(size)]
    return given


def test_what_kafkas_own_assignor_breaks_too_only_informs_unless_asked_strictly():
    library = callables.library("own:sticky", sticky, "sticky")
    result = findings(library, 40)
    assert result.exit_code == 0 and {f.promise for f in result.findings} >= {"valid"}
    assert findings(library, Search(40, kafka_fails=True)).exit_code == 1


def test_the_end_of_a_programs_standard_error_is_shown(tmp_path, capsys):
    (tmp_path / "p.py").write_text(
        "import sys\nfor line in sys.stdin:\n"
        "    sys.stderr.write('x' * 100_000 + 'the disk is full\\n')\n    sys.exit(3)\n"
    )
    command = f"program: {shlex.quote(sys.executable)} {shlex.quote(str(tmp_path / 'p.py'))}"
    code, told = document(capsys, command, "--examples", "2")
    assert code == 1 and told["stderr"].endswith("the disk is full\n")
    assert len(told["stderr"]) <= 2_000
    assert "the disk is full" in told["findings"][0]["traceback"]
    assert run(["assign", "--against", command, "--examples", "2"]) == 1
    assert "the disk is full" in capsys.readouterr().out


def test_a_finding_of_a_sequence_shows_what_was_kept_and_lost_and_code_for_its_rounds(capsys):
    result = findings(callables.library(f"{__name__}:turned", turned, "sticky"), 20)
    finding = next(f for f in result.findings if f.promise == "sequence")
    (last, *_) = finding.shown().rounds[::-1]
    assert last.lost and set(last.gained) == set(last.input.members)
    exec(finding.code, {})
    assert capsys.readouterr().out.count("{'A'") == len(finding.rounds)


def turned(group):
    """Nobody keeps anything: each has what the next one of Kafka's had."""
    given = range_(group)
    turn = max((m.generation for m in group.members), default=0) % max(1, len(given))
    shares = list(given.values())
    return dict(zip(given, shares[turn:] + shares[:turn]))
