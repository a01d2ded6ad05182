"""The example files of docs/assignment.md: one for each assignor, right or wrong as they say, at
the terminal as in JSON.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from groupcheck.oracles.assignment.promises import ASSIGNORS, PROMISES
from groupcheck.oracles.command_line import cli

DATA = Path(__file__).parents[2] / "data" / "assign"
DOCUMENT = (Path(__file__).parents[3] / "docs" / "assignment.md").read_text("utf-8")
WRONG = {
    "cooperative-in-one-round": "orders-2 goes from c1 to c2 in one round: c1 has not let go of it",
    "weights": "c2 (weight 1) has 3, best would be 2; c1 (weight 2) has 3, best would be 4",
}
MOVED = (
    "5 partitions move (orders-2 from c1 to c2, orders-5 from c2 to c1, stock-0 from c1 to c3,"
    " stock-1 from c1 to c3, and 1 more) where 3 would do"
)
FILES = sorted(
    p.stem
    for p in DATA.glob("*.json")
    if not p.stem.startswith(("printed", "constraints", "sequence"))
)


@pytest.mark.parametrize("name", FILES)
def test_an_example_is_judged_as_the_document_says(capsys, name):
    code = cli.run(["assign", str(DATA / f"{name}.json"), "--json"])
    told = json.loads(capsys.readouterr().out)
    assert code == (name in WRONG) and [v["words"] for v in told["violations"]][:1] == (
        [WRONG[name]] if name in WRONG else []
    )
    assert cli.run(["assign", str(DATA / f"{name}.json")]) == code
    shown = capsys.readouterr().out
    assert shown.startswith(told["verdict"]) and told["about"] in shown


def test_every_assignor_has_an_example_and_every_promise_field_and_file_is_in_the_document(capsys):
    assert set(FILES) >= set(ASSIGNORS)
    cli.run(["assign", str(DATA / "sticky.json"), "--json"])
    fields = set(json.loads(capsys.readouterr().out)) - {"schema"}
    assert [
        name
        for name in {*PROMISES, *fields, *(f"{file}.json" for file in FILES)}
        if f"`{name}`" not in DOCUMENT
    ] == []


def test_the_fewest_moves_are_told_where_more_are_made(capsys, tmp_path):
    document = json.loads((DATA / "sticky.json").read_text("utf-8"))
    document["assignment"] = {
        "c1": ["orders-0", "orders-1", "orders-5"],
        "c2": ["orders-3", "orders-4", "orders-2"],
        "c3": {"stock": [0, 1, 2]},
    }
    path = tmp_path / "more.json"
    path.write_text(json.dumps(document), "utf-8")
    assert cli.run(["assign", str(path), "--json"]) == 1
    told = json.loads(capsys.readouterr().out)
    assert [v["words"] for v in told["violations"]] == [MOVED] and len(told["moves"]) == 5


def test_more_moves_than_needed_are_told_but_not_wrong_where_kafkas_sticky_promises_no_optimum(
    capsys, tmp_path
):
    """Kafka's own answer, where subscriptions differ."""
    document = {
        "topics": {"t": 2, "u": 1, "v": 1},
        "members": {
            "A": {"subscribes": ["t", "v"], "claims": {"t": [0, 1], "v": [0]}, "generation": 1},
            "B": {"subscribes": ["t", "u", "v"]},
            "C": {"subscribes": ["t"]},
        },
        "assignor": "sticky",
    }
    path = tmp_path / "differ.json"
    path.write_text(json.dumps(document), "utf-8")
    assert cli.run(["assign", str(path), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert len(told["moves"]) == 2 and told["optimum"]["moves"] == 1
    assert [note.partition(":")[0] for note in told["notes"]] == [
        "2 moves where 1 would do is not wrong"
    ]
    path.write_text(
        json.dumps(document | {"promises": ["valid", "complete", "balanced", "fewest moves"]}),
        "utf-8",
    )
    assert cli.run(["assign", str(path), "--json"]) == 1
    told = json.loads(capsys.readouterr().out)
    assert [v["promise"] for v in told["violations"]] == ["fewest moves"] and told[
        "right"
    ] is not None


def test_a_move_out_of_a_balanced_claim_names_the_promises_that_refuse_it(capsys, tmp_path):
    """Uniform once moved partitions of a group that was balanced (KAFKA-18688)."""

    def ran(document):
        path = tmp_path / "moves.json"
        path.write_text(json.dumps(document), "utf-8")
        cli.run(["assign", str(path), "--json"])
        return json.loads(capsys.readouterr().out)

    claims = {"A": ["t-0"], "B": ["t-1", "t-2"], "C": ["t-3"]}
    document = {
        "topics": {"t": 4},
        "members": {
            name: {"subscribes": ["t"], "claims": owned, "generation": 1}
            for name, owned in claims.items()
        },
        "assignor": "uniform",
        "assignment": {"A": ["t-0", "t-1"], "B": ["t-2"], "C": ["t-3"]},
    }
    told = ran(document)
    assert told["verdict"] == "right"
    assert told["notes"] == [
        "the claims are balanced as they are, and 1 partition moves: that is not wrong;"
        ' "promises" with sticks or fewest moves would refuse it'
    ]
    for promise in ("sticks", "fewest moves"):
        assert ran(document | {"promises": ["valid", promise]})["verdict"] == "wrong"
    assert not ran(document | {"assignment": claims})["notes"]
