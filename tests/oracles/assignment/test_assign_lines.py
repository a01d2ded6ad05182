"""`assign --lines`: a document a line in, a verdict a line out."""

from __future__ import annotations

import io
import json
import tracemalloc
from pathlib import Path

import pytest

from groupcheck.oracles.assignment.judge import lines
from groupcheck.oracles.assignment.judge.lines import judged_line
from groupcheck.oracles.command_line import cli

DATA = Path(__file__).parents[2] / "data" / "assign"


def one_line(name):
    return json.dumps(json.loads((DATA / f"{name}.json").read_text("utf-8")))


def judged(tmp_path, capsys, *written):
    path = tmp_path / "many.jsonl"
    path.write_bytes(b"\n".join(w if isinstance(w, bytes) else w.encode() for w in written))
    code = cli.run(["assign", "--lines", str(path)])
    said = capsys.readouterr()
    assert said.err == ""
    return code, [json.loads(line) for line in said.out.splitlines()]


def test_each_line_has_its_verdict(tmp_path, capsys, misfits):
    names = ("sticky", "printed-range-after", "sequence", "cooperative-in-one-round")
    code, told = judged(tmp_path, capsys, *map(one_line, names))
    assert code == 1 and [t["verdict"] for t in told] == ["right", "wrong", "right", "wrong"]
    assert [t["line"] for t in told] == [1, 2, 3, 4]
    for name, one in zip(names, told):
        assert misfits(one) == []
        cli.run(["assign", str(DATA / f"{name}.json"), "--json"])
        alone = json.loads(capsys.readouterr().out)
        assert (one["verdict"], one["about"]) == (alone["verdict"], alone["about"])
        assert len(one["violations"]) == len(alone["violations"])
        assert set(one["promises"]) == set(alone["promises"])
        assert all(v["promise"] in one["promises"] for v in one["violations"])


def test_a_line_that_cannot_be_read_is_told_by_its_number_and_does_not_stop_the_others(
    tmp_path, capsys, misfits
):
    member = '{"topics": {"t": 1}, "members": {"a": {"subscribes": 3}}, "assignor": "range"}'
    code, told = judged(tmp_path, capsys, "{", "", member, b"\xff", one_line("sticky"))
    assert code == 2 and [(t["line"], t["verdict"]) for t in told] == [
        (1, "unreadable"),
        (3, "unreadable"),
        (4, "unreadable"),
        (5, "right"),
    ]
    assert told[0]["error"]["what"].startswith("not JSON") and told[2]["error"]["what"].startswith(
        "not UTF-8"
    )
    assert told[1]["error"]["where"] == "members.a.subscribes"
    assert all(misfits(one) == [] for one in told)


def test_if_all_are_right_the_exit_code_is_0(tmp_path, capsys):
    assert judged(tmp_path, capsys, one_line("sticky"), one_line("range"))[0] == 0


def test_a_line_that_is_too_long_is_not_kept_in_memory(monkeypatch):
    monkeypatch.setattr(lines, "LARGEST", 1_000)
    file = io.BytesIO(b"[" * 5_000_000 + b"\n" + b"{}\n")
    tracemalloc.start()
    told = list(lines.lines(file))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert told == [(1, None), (2, b"{}\n")] and peak < 100_000
    assert judged_line(*told[0])["verdict"] == "unreadable"


def test_what_a_program_is_asked_can_be_judged():
    question = {
        "topics": {"t": 2},
        "racks": {"t": [["r1"], ["r2"]]},
        "members": [
            {
                "id": "A",
                "topics": ["t"],
                "owned": {"t": [0, 1]},
                "generation": 1,
                "instance": None,
                "rack": "r1",
            },
            {
                "id": "B",
                "topics": ["t"],
                "owned": {},
                "generation": -1,
                "instance": "b",
                "rack": None,
            },
        ],
    }

    def told(**more):
        return judged_line(1, json.dumps(question | {"assignor": "sticky"} | more).encode())

    assert told()["verdict"] == "right"
    wrong = told(assignment={"A": {"t": [0, 1]}})
    assert wrong["verdict"] == "wrong" and wrong["violations"][0]["promise"] == "locally balanced"
    first, second = question["members"]
    assert told(members=[first, first])["error"]["where"] == "members[1]"
    assert told(members=[first, {**second, "topics": 3}])["error"]["where"] == (
        "members[1].subscribes"
    )
    assert "needs an id" in told(members=[{"topics": []}])["error"]["what"]


@pytest.mark.parametrize(
    "more", [["--lines"], ["--lines", "--html", "x.html", "-"], ["--lines", "--junit", "x", "-"]]
)
def test_lines_need_a_file_and_print_json_alone(more, capsys):
    assert cli.run(["assign", *more]) == 2
    assert capsys.readouterr().err.count("\n") == 1
