"""What an operator reads about constraints: the sum that shows why they exclude each other, what
breaking soft ones costs, what is misspelt; and that a drained member is not refused for balance.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from groupcheck.oracles.assignment.constraints import KINDS
from groupcheck.oracles.assignment.promises import ASSIGNORS
from groupcheck.oracles.command_line import cli

DOCUMENT = Path(__file__).parents[3] / "docs" / "assignment.md"
ALL = ["orders", "stock"]


def asked(constraints, *, members=4, topics=None, promises=("valid", "complete"), **more):
    given = {f"c{k}": {"subscribes": ALL} for k in range(1, members + 1)}
    return {
        "topics": topics or {"orders": 10, "stock": 0},
        "members": given,
        "assignor": "range",
        "promises": list(promises),
        "constraints": constraints,
    } | more


def run(capsys, tmp_path, document):
    path = tmp_path / "asked.json"
    path.write_text(json.dumps(document), "utf-8")
    code = cli.run(["assign", str(path), "--json"])
    out, err = capsys.readouterr()
    return code, json.loads(out) if out else err


RACKS = {f"c{k}": {"subscribes": ALL, "rack": "x" if k < 3 else "y"} for k in range(1, 5)}
CLAIMS = {"c1": {"subscribes": ALL, "claims": {"orders": list(range(10))}, "generation": 1}}
FOUR = {f"c{k}": {"subscribes": ALL} for k in range(2, 5)}


@pytest.mark.parametrize(
    ("document", "because"),
    [
        (
            asked([{"kind": "at_most", "most": 2}]),
            "4 members x at most 2 = 8 < 10 partitions of orders",
        ),
        (
            asked([{"kind": "at_most", "most": 3}, {"kind": "drain", "member": "c2"}]),
            "3 members x at most 3 = 9 < 10 partitions of orders",
        ),
        (
            asked(
                [
                    {"kind": "at_most", "most": 3},
                    {"kind": "at_most", "most": 0, "topic": "orders", "member": "c4"},
                ]
            ),
            "3 members x at most 3 + c4: at most 0 = 9 < 10 partitions of orders",
        ),
        (
            asked([{"kind": "at_least", "least": 3}]),
            "4 members x at least 3 = 12 > 10 partitions",
        ),
        (
            asked([{"kind": "capacity", "most": 5, "weights": {"orders": 2.1}}]),
            "4 members x at most 2 (5 at 2.1 and more for each) = 8 < 10 partitions of orders",
        ),
        (
            asked(
                [
                    {"kind": "at_least", "least": 3, "member": "c1"},
                    {"kind": "at_most", "most": 2, "member": "c1"},
                ]
            ),
            "c1: at least 3 > at most 2",
        ),
        (
            asked([{"kind": "apart", "partitions": [f"orders-{k}" for k in range(4)]}], members=3),
            "3 members x at most 1 = 3 < 4 partitions (orders-0, orders-1, orders-2, orders-3)",
        ),
        (
            asked(
                [{"kind": "nearby"}, {"kind": "at_most", "most": 2}],
                members=0,
                topics={"orders": 5},
                racks={"orders": [["x"]] * 5},
            )
            | {"members": RACKS},
            "2 members x at most 2 = 4 < 5 partitions of orders",
        ),
        (
            asked([{"kind": "nearby"}], topics={"orders": 2}, racks={"orders": [["z"], ["x"]]})
            | {"members": RACKS},
            "nobody may have 1 partition (orders-0)",
        ),
        (
            asked([{"kind": "racks_at_most", "most": 1}, {"kind": "at_most", "most": 4}])
            | {"members": RACKS},
            "in x: 2 members x at most 4 = 8 < 10 partitions of orders",
        ),
        (
            asked([{"kind": "moves_at_most", "most": 2}, {"kind": "at_most", "most": 7}])
            | {"members": CLAIMS | FOUR},
            "c1 claims 10 and can keep 7: 3 have to move > at most 2",
        ),
        (
            asked(
                [{"kind": "capacity", "most": 4, "weights": {"orders": 2}, "member": "c1"}],
                promises=["valid", "complete", "balanced"],
                topics={"orders": 12},
            ),
            "c1: at least 3 in balance > at most 2 (4 at 2 and more for each)",
        ),
    ],
)
def test_a_sum_shows_why_constraints_exclude_each_other(capsys, tmp_path, document, because):
    code, told = run(capsys, tmp_path, document)
    assert (code, told["right"], told["because"]) == (1, None, [because])


@pytest.mark.parametrize("assignor", sorted(ASSIGNORS))
def test_a_drained_member_is_not_refused_for_balance(capsys, tmp_path, assignor):
    """What is found is right, and right again when it is judged."""
    document = asked(
        [{"kind": "drain", "member": "c2"}], topics={"orders": 7, "stock": 5}, members=3
    )
    document |= {"assignor": assignor, "promises": None}
    del document["promises"]
    code, told = run(capsys, tmp_path, document)
    assert code == 1 and told["right"]["c2"] == {} and told["core"] == []
    code, again = run(capsys, tmp_path, document | {"assignment": told["right"]})
    assert (code, again["verdict"]) == (0, "right")
    uneven = {"c1": {"orders": list(range(7)), "stock": list(range(5))}}
    code, again = run(capsys, tmp_path, document | {"assignment": uneven})
    assert code == 1 and {v["promise"] for v in again["violations"]} != {"constraint"}


def test_a_topic_to_which_only_a_drained_member_subscribes_cannot_be_given_away(capsys, tmp_path):
    document = asked([{"kind": "drain", "member": "c1"}], topics={"orders": 2, "stock": 1})
    for name in ("c2", "c3", "c4"):
        document["members"][name] = {"subscribes": ["orders"]}
    code, told = run(capsys, tmp_path, document)
    assert code == 1 and told["core"] == ["c1 is drained: it gets nothing"]
    assert told["because"] == ["nobody may have 1 partition of stock"]


def test_what_is_drained_under_cooperation_is_let_go_of_first(capsys, tmp_path):
    document = asked([{"kind": "drain", "member": "c1"}]) | {"assignor": "cooperative-sticky"}
    document |= {"members": CLAIMS | FOUR}
    del document["promises"]
    code, told = run(capsys, tmp_path, document)
    assert code == 1 and not any(told["right"].values())


def test_a_soft_constraint_is_not_wrong_and_its_price_is_told(capsys, tmp_path):
    constraints = [
        {"kind": "stays", "partitions": ["orders-0", "orders-1"], "member": "c2", "soft": 4},
        {"kind": "apart", "partitions": ["orders-0", "orders-1"], "soft": 3},
    ]
    document = asked(constraints, members=2, topics={"orders": 2})
    given = {"c1": {"orders": [0, 1]}}
    code, told = run(capsys, tmp_path, document | {"assignment": given})
    assert (code, told["verdict"], told["price"]["judged"], told["price"]["right"]) == (
        0,
        "right",
        11,
        3,
    )
    assert told["right"] == {"c1": {}, "c2": {"orders": [0, 1]}}
    assert told["price"]["of"][0] == {
        "constraint": "orders-0, orders-1 stay on c2 (soft: 4 for each partition)",
        "judged": 8,
        "right": 0,
        "words": ["orders-0 is on c1", "orders-1 is on c1"],
    }
    assert "it costs 11, and 3 would do" in told["notes"]
    code, told = run(capsys, tmp_path, document | {"assignment": told["right"]})
    assert (code, told["origin"]) == (0, "the one judged, at the least price")


@pytest.mark.parametrize(
    ("constraint", "said"),
    [
        ({"kind": "at_moast", "most": 2}, "unknown kind of constraint 'at_moast' (did you mean"),
        ({"kind": "at_most", "moste": 2}, 'constraints[0]: unknown key "moste"'),
        ({"kind": "at_most", "most": 2, "topic": "order"}, 'there is no topic "order" (did you'),
        ({"kind": "drain", "member": "c11"}, 'unknown member "c11" (did you mean c1?)'),
        ({"kind": "drain", "member": "c1", "soft": 3}, 'unknown key "soft"'),
        ({"kind": "topics_apart", "topics": ["orders", "stok"]}, "(did you mean stock?)"),
        ({"kind": "topics_apart", "topics": ["stock", "stock"]}, "the same topic twice"),
        ({"kind": "at_least", "least": 0}, "constraints[0].least: 0 is not from 1"),
        ({"kind": "nearby", "soft": 0.5}, "constraints[0].soft: a number with a fraction"),
        ({"kind": "level_weights", "weights": {"orders": 1}, "within": -1}, "[0].within: a number"),
        ({"kind": "level_weights", "weights": {"orders-10": 1}, "within": 1}, "orders-10"),
        ({"kind": "capacity", "weights": {"orders-x": 1}, "most": 1}, "topic or partition"),
    ],
)
def test_what_is_misspelt_is_told_with_its_place(capsys, tmp_path, constraint, said):
    code, err = run(capsys, tmp_path, asked([constraint]))
    place = f"groupcheck: error: {tmp_path / 'asked.json'}: constraints[0]"
    assert code == 2 and err.startswith(place) and said in err


def test_too_many_constraints_are_refused(capsys, tmp_path):
    code, err = run(capsys, tmp_path, asked([{"kind": "at_most", "most": 9}] * 301))
    assert code == 2 and "301 constraints are more than 300" in err


def test_so_many_choices_of_racks_are_left_undecided_and_not_listed(capsys, tmp_path, monkeypatch):
    from groupcheck.oracles.assignment.solve import program

    monkeypatch.setattr(program, "MOST_NEAR", 3)
    document = asked([{"kind": "nearby"}], topics={"orders": 2}, racks={"orders": [["z"], ["x"]]})
    code, told = run(capsys, tmp_path, document | {"members": RACKS})
    assert code == 1 and told["right"] is None and "too many for z3" in told["origin"]


def test_every_kind_is_in_the_document_and_in_help(capsys):
    cli.run(["assign", "--help"])
    shown = " ".join(capsys.readouterr().out.split())
    table = DOCUMENT.read_text("utf-8")
    assert [kind for kind in KINDS if f"| `{kind}` |" not in table] == []
    assert [kind for kind in KINDS if kind not in shown] == []
