"""A sequence of rebalances in a file: every round is judged, moves are added up against the
optimum, and a cooperative group has to come to rest.
"""

from __future__ import annotations

import copy
import io
import json
import sys
from pathlib import Path

import pytest

from groupcheck.oracles.command_line import cli

DATA = Path(__file__).parents[2] / "data" / "assign"
FINE = {
    "topics": {"t": 4},
    "members": {
        "c1": {"subscribes": ["t"], "claims": {"t": [0, 1]}, "generation": 3},
        "c2": {"subscribes": ["t"], "claims": {"t": [2, 3]}},
    },
    "assignor": "sticky",
    "changes": [{"leaves": ["c1"]}],
}


@pytest.fixture
def told(capsys, monkeypatch):
    """Exit code and document, of a file or of what comes on standard input."""

    def tell(given, *options):
        if isinstance(given, dict):
            monkeypatch.setattr(
                sys, "stdin", io.TextIOWrapper(io.BytesIO(json.dumps(given).encode()))
            )
            given = "-"
        code = cli.run(["assign", str(given), *(options or ["--json"])])
        shown = capsys.readouterr()
        return code, shown.err if code == 2 else shown.out if options else json.loads(shown.out)

    return tell


def test_kafkas_cooperative_assignor_comes_to_rest_after_each_change_and_moves_only_what_it_must(
    told,
):
    code, document = told(DATA / "sequence.json")
    assert (code, document["verdict"], document["schema"]) == (
        0,
        "right",
        "groupcheck.assign-sequence/1",
    )
    assert [
        (c["words"], len(c["rounds"]), c["at_rest"], c["moves"], c["fewest"])
        for c in document["changes"]
    ] == [
        ("at first c1, c2", 1, True, 0, 0),
        ("c3 joins", 2, True, 3, 3),
        ("orders grows to 8 partitions", 1, True, 0, 0),
        ("c2 subscribes to orders", 1, True, 0, 0),
        ("c1 leaves, c4 joins", 2, True, 2, 2),
    ]
    assert document["moves"] == document["fewest"] == 5
    first, second = document["changes"][1]["rounds"]
    assert [move["to"] for move in first["moves"]] == [None] * 3  # they wait
    assert second["claims"] == first["judged"] and second["moves"] == []


def test_of_ones_own_assignments_each_round_is_judged_and_the_right_one_told(told):
    code, document = told(DATA / "sequence-own.json")
    assert code == 1 and [
        (v["where"], v["promise"], v["words"]) for v in document["violations"]
    ] == [
        (
            "c2 leaves, round 1",
            "handed over",
            "orders-1 goes from c1 to c3 in one round: c1 has not let go of it",
        ),
        ("c2 leaves", "at rest", "not at rest after 1 round"),
    ]
    assert document["moves"] == 2 and document["fewest"] == 1
    right = document["changes"][1]["rounds"][0]["right"]
    assert right["c1"]["orders"][:2] == [0, 1] and right["c3"]["orders"][-1] == 3


def test_under_an_eager_assignor_each_change_takes_one_round_and_extra_moves_add_up(told):
    of_range = {**json.loads((DATA / "sequence.json").read_text("utf-8")), "assignor": "range"}
    code, document = told(of_range)
    assert code == 0 and {len(change["rounds"]) for change in document["changes"]} == {1}
    assert document["moves"] > document["fewest"]


def test_the_terminal_shows_each_change_with_its_moves_and_the_fewest(told):
    code, shown = told(FINE, "--")
    assert code == 0 and shown.startswith("right  a sequence for sticky")
    assert "c1 leaves       1      0       0  c2 4" in shown


def test_the_terminal_says_where_violations_are_not_told_whole(told):
    """Nobody gets any of 1,030 partitions: a thousand of them are told."""
    members = {"c1": {"subscribes": ["t"]}, "c2": {"subscribes": ["t"]}}
    changes = [{"leaves": ["c1"], "assignments": [{"c2": {"t": []}}]}]
    large = {
        "topics": {"t": 1_030},
        "members": members,
        "promises": ["valid", "complete"],
        "changes": changes,
    }
    code, shown = told(large, "--")
    assert (
        code == 1
        and "is broken in more than 1,000 ways; the first of them are told"
        in " ".join(shown.split())
    )


@pytest.mark.parametrize(
    ("place", "value", "words"),
    [
        ("changes", [], "changes: no changes"),
        ("changes/0", {"leaves": ["c3"]}, 'changes[0].leaves: unknown member "c3"'),
        ("changes/0", {"leaves": ["c1", "c1"]}, 'changes[0].leaves: unknown member "c1"'),
        ("changes/0", {"leaves": ["c1", "c2"]}, "changes[0]: 0 members are not from 1 to 10000"),
        (
            "changes/0",
            {"joins": {"c1": {"subscribes": []}}},
            'changes[0].joins: "c1" is a member already',
        ),
        (
            "changes/0",
            {"joins": {"c3": {"subscribes": [], "claims": ["t-0"]}}},
            'changes[0].joins: "c3" claims something',
        ),
        ("changes/0", {"joins": {"c3": {}}}, "changes[0].joins.c3.subscribes: is missing"),
        ("changes/0", {"subscribes": {"c9": ["t"]}}, 'changes[0].subscribes: unknown member "c9"'),
        (
            "changes/0",
            {"grows": {"t": 4}},
            "changes[0].grows.t: 4 is not more than the 4 partitions before",
        ),
        ("changes/0", {"shrinks": {"t": 1}}, 'changes[0]: unknown key "shrinks"'),
        (
            "changes/0",
            {"grows": {"t": 5}, "assignments": []},
            "changes[0].assignments: 0 rounds are not from 1 to 20",
        ),
        (
            "changes/0",
            {"grows": {"t": 5}, "assignments": [{"c3": []}]},
            'changes[0].assignments[0]: unknown member "c3" (give it in "members", too)',
        ),
        ("members/c2/claims", {"t": [1]}, "members: a partition is claimed twice"),
        ("assignor", None, "neither an assignor nor promises to judge by"),
        ("assignment", {}, 'the document: unknown key "assignment"'),
        (
            "changes",
            [{"grows": {"t": 199_000 + k}} for k in range(11)],
            "changes: members and partitions of all changes are more than 2,000,000",
        ),
    ],
    ids=lambda value: value[:40] if isinstance(value, str) else type(value).__name__,
)
def test_a_mistake_in_a_sequence_is_named_with_its_place(told, place, value, words):
    document = copy.deepcopy(FINE)
    *above, last = place.split("/")
    at = document
    for name in above:
        at = at[int(name) if isinstance(at, list) else name]
    at[int(last) if isinstance(at, list) else last] = value
    code, complaint = told(document)
    assert (
        code == 2
        and complaint.startswith(f"groupcheck: error: standard input: {words}")
        and complaint.count("\n") == 1
    )


def test_without_an_assignor_each_change_has_to_say_what_was_given(told):
    document = {**FINE, "promises": ["valid"]}
    del document["assignor"]
    code, complaint = told(document)
    assert code == 2 and "changes[0]: nothing says who gets what" in complaint


def test_an_empty_change_is_a_rebalance_in_which_nothing_moves(told):
    code, shown = told({**FINE, "changes": [{}]})
    (change,) = shown["changes"]
    assert (code, change["words"], change["moves"]) == (0, "nothing changes", 0)


def test_a_file_of_millions_of_empty_changes_is_refused_before_it_costs_memory(told):
    members = {f"c{k}": {"subscribes": ["t"]} for k in range(1000)}
    document = {**FINE, "members": members, "changes": [{}] * 100_000}
    code, complaint = told(document)
    assert code == 2 and "changes are more than 2,000,000" in complaint


def test_where_the_assignor_throws_the_sequence_ends(told):
    """A topic claimed beyond its size: Kafka's class throws."""
    document = {
        "topics": {"t": 1},
        "members": {"A": {"subscribes": ["t"], "claims": ["t-1"], "generation": 1}},
        "assignor": "sticky",
    }
    code, told_ = told({**document, "changes": [{"grows": {"u": 1}}, {"grows": {"u": 2}}]})
    assert code == 1 and len(told_["changes"]) == 1
    assert "IllegalStateException" in told_["violations"][0]["words"]
