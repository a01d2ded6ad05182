"""Constraints of a user's own: the assignment that is found keeps them all, with the fewest moves;
where there is none, the core says why, minimally.
"""

from __future__ import annotations

import json
import sys
from itertools import product
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize
from scipy.optimize import milp

from groupcheck.model.assignors.group import every_partition, subscribed_sizes
from groupcheck.oracles.assignment.handover import claimants
from groupcheck.oracles.assignment.judge.judging import holds
from groupcheck.oracles.assignment.judge.question import question
from groupcheck.oracles.assignment.promises import Case
from groupcheck.oracles.assignment.solve import by_z3 as z3_side
from groupcheck.oracles.assignment.solve import solving
from groupcheck.oracles.assignment.solve.by_z3 import by_z3
from groupcheck.oracles.assignment.solve.highs import HighsAnswer, plan
from groupcheck.oracles.command_line import cli

DATA = Path(__file__).parents[2] / "data" / "assign"
PROMISED = [
    "level",
    "balanced in topics",
    "locally balanced",
    "balanced",
    "fewest moves",
    "handed over",
    "pointer",
    "ranges",
]
COOPERATIVE = ["handed over", "balanced at rest"]


@st.composite
def constrained(draw):
    topics = {"t": draw(st.integers(1, 3)), "u": draw(st.integers(1, 2))}
    names = "ABC"[: draw(st.integers(2, 3))]
    there = [f"{topic}-{k}" for topic, size in topics.items() for k in range(size)]
    members = {
        name: {
            "subscribes": draw(st.sampled_from([["t", "u"], ["t", "u"], ["t"]])),
            "claims": draw(st.lists(st.sampled_from(there), unique=True, max_size=3)),
            "generation": draw(st.integers(0, 1)),
        }
        | draw(st.sampled_from([{}, {"rack": "x"}, {"rack": "y"}]))
        for name in names
    }
    some = st.lists(st.sampled_from(there), min_size=1, max_size=2, unique=True)
    kinds = st.one_of(
        st.fixed_dictionaries(
            {
                "kind": st.sampled_from(["stays", "never"]),
                "partitions": some,
                "member": st.sampled_from(names),
            }
        ),
        st.fixed_dictionaries({"kind": st.sampled_from(["together", "apart"]), "partitions": some}),
        st.fixed_dictionaries(
            {"kind": st.just("at_most"), "most": st.integers(0, 2)},
            optional={"topic": st.sampled_from("tu")},
        ),
        st.fixed_dictionaries(
            {
                "kind": st.just("capacity"),
                "most": st.sampled_from([2, 3.5]),
                "weights": st.just({"t": 1.5, "u": 0.75}),
            }
        ),
        st.fixed_dictionaries(
            {"kind": st.just("racks_at_most"), "most": st.integers(1, 2)},
            optional={"topic": st.sampled_from("tu")},
        ),
    )
    base, more = draw(
        st.sampled_from(
            [("complete", PROMISED), ("complete", PROMISED), ("complete later", COOPERATIVE)]
        )
    )
    promises = ["valid", base, *draw(st.lists(st.sampled_from(more), unique=True, max_size=2))]
    given = draw(st.lists(kinds, min_size=1, max_size=3, unique_by=json.dumps))
    return {
        "topics": topics,
        "members": members,
        "assignment": {},
        "promises": promises,
        "constraints": given,
    }


def kept(group, assigned):
    """How many partitions stay with those that claim them."""
    return sum(partition in assigned[member] for partition, member in claimants(group).items())


def all_right(document):
    """How much every assignment keeps that breaks nothing, by trying all; what is claimed may wait
    where it is complete later.
    """
    asked = question(document)
    claimed = (
        {p for m in asked.group.members for p in m.owned}
        if "complete" not in asked.promises
        else ()
    )
    every = every_partition(subscribed_sizes(asked.group))
    case = Case(asked.group, {})
    found = []
    able = (
        [m.id for m in asked.group.members if p[0] in m.topics] + [None] * (p in claimed)
        for p in every
    )
    for owners in product(*able):
        assigned = {
            m.id: frozenset(p for p, owner in zip(every, owners) if owner == m.id)
            for m in asked.group.members
        }
        if holds(asked, case, asked.promises, assigned):
            found.append(kept(asked.group, assigned))
    return found


@settings(max_examples=120, deadline=None, derandomize=True)
@given(constrained())
def test_highs_and_z3_both_find_what_trying_every_assignment_finds(document):
    asked = question(document)
    case = Case(asked.group, {})
    possible = all_right(document)
    planned = plan(case, asked.promises, asked.constraints, 10)
    right = by_z3(case, asked.promises, asked.constraints)
    assert planned.none == (right.assigned is None) == (possible == [])
    assert right.core if planned.none else planned.fewest
    for assigned in filter(None, (planned.found, right.assigned)):
        assert holds(asked, case, asked.promises, assigned)
        assert kept(asked.group, assigned) == max(possible)


def told(capsys, path):
    code = cli.run(["assign", str(path), "--json"])
    return code, json.loads(capsys.readouterr().out)


def changed(tmp_path, name, change):
    document = json.loads((DATA / name).read_text("utf-8"))
    change(document)
    path = tmp_path / "changed.json"
    path.write_text(json.dumps(document), "utf-8")
    return path


def test_partitions_that_wait_are_apart(capsys, tmp_path):
    """c1 has not let go of orders-2 and orders-3 yet: nobody's is not the same member."""
    asked = {
        "topics": {"orders": 4},
        "members": {
            "c1": {"subscribes": ["orders"], "claims": {"orders": [0, 1, 2, 3]}, "generation": 1},
            "c2": {"subscribes": ["orders"]},
            "c3": {"subscribes": ["orders"]},
        },
        "assignor": "cooperative-sticky",
        "assignment": {"c1": {"orders": [0, 1]}},
        "constraints": [{"kind": "apart", "partitions": ["orders-2", "orders-3"]}],
    }
    path = tmp_path / "waiting.json"
    path.write_text(json.dumps(asked), "utf-8")
    assert told(capsys, path)[0] == 0


def test_constraints_that_can_be_kept_are_and_those_that_are_broken_are_told(capsys, tmp_path):
    code, document = told(capsys, DATA / "constraints.json")
    assert code == 1 and [v["words"] for v in document["violations"]] == [
        "orders-3 stays on c1: orders-3 is on c4",
        "the owners of stock are in at most 1 rack: they are in north, west",
    ]
    assert (
        document["origin"] == "found by HiGHS, with the fewest moves"
        and 3 in document["right"]["c1"]["orders"]
    )
    assert (
        told(
            capsys,
            changed(tmp_path, "constraints.json", lambda d: d.update(assignment=document["right"])),
        )[0]
        == 0
    )


def test_of_constraints_that_exclude_each_other_the_core_is_told_and_nothing_else(capsys, tmp_path):
    core = [
        "balanced: The sum of size² / weight is as small as it can be.",
        "c1 bears at most 5 (2.5 for each of orders)",
    ]
    code, document = told(capsys, DATA / "constraints-impossible.json")
    assert (code, document["right"], document["core"]) == (1, None, core)
    for number, name in enumerate(
        ("promises", "constraints")
    ):  # without either of the two there is an assignment

        def change(d, number=number):
            d["promises"] = (
                ["valid", "complete"] if number == 0 else ["valid", "complete", "balanced"]
            )
            d["constraints"] = [
                c for c in d["constraints"] if number == 0 or c["kind"] != "capacity"
            ]

        assert told(capsys, changed(tmp_path, "constraints-impossible.json", change))[1]["right"], (
            name
        )


def test_a_constraint_on_what_a_member_does_not_subscribe_to_is_a_core_of_its_own(capsys, tmp_path):
    def change(d):
        d["members"]["c2"]["subscribes"] = []
        d["constraints"] = [
            {"kind": "stays", "partitions": ["orders-3"], "member": "c2"},
            {"kind": "together", "partitions": ["orders-0"]},
        ]

    _, document = told(capsys, changed(tmp_path, "constraints-impossible.json", change))
    assert document["core"] == ["orders-3 stays on c2"]


def test_under_cooperation_what_has_to_be_let_go_of_waits_whatever_the_constraint(capsys, tmp_path):
    def change(d):
        d["constraints"] = [{"kind": "stays", "partitions": ["orders-3"], "member": "c2"}]

    _, document = told(capsys, changed(tmp_path, "cooperative-sticky.json", change))
    assert "orders-3 stays on c2" in document["core"] and len(document["core"]) == 2


@pytest.mark.parametrize("overlap", [0, 1])
def test_a_hundred_members_with_a_thousand_partitions_have_an_assignment_that_keeps_constraints(
    capsys, monkeypatch, tmp_path, overlap
):
    """Where subscriptions overlap in many ways, one that is balanced, which is more, is taken for
    locally balanced.
    """
    topics = [f"t{k}" for k in range(5)]
    members = {
        f"c{m}": {
            "subscribes": topics[m % 2 * overlap :],
            "rack": "xyz"[m % 3],
            "generation": 1,
            "claims": [],
        }
        for m in range(100)
    }
    for k in range(1000):
        members[f"c{k % 40 * 2}"]["claims"].append(f"t{k % 5}-{k // 5}")
    constraints = [
        {"kind": "stays", "partitions": ["t1-3"], "member": "c7"},
        {"kind": "apart", "partitions": ["t0-0", "t0-1", "t0-2"]},
        {"kind": "racks_at_most", "most": 2, "topic": "t2"},
        {"kind": "capacity", "most": 20, "weights": {"t1": 2.5, "t3": 1}},
    ]
    asked = {
        "topics": dict.fromkeys(topics, 200),
        "members": members,
        "assignor": "sticky",
        "constraints": constraints,
    }
    path = tmp_path / "hundred.json"
    path.write_text(json.dumps(asked), "utf-8")
    programs = []

    def solving(value, **more):
        answer = milp(value, **more)
        programs.append((len(value), answer.mip_node_count))
        return answer

    monkeypatch.setattr(optimize, "milp", solving)
    code, document = told(capsys, path)
    assert programs and all(
        columns < 2_000 and nodes < 1_000 for columns, nodes in programs
    )  # not a hundred times a thousand
    assert (
        code == 1
        and document["origin"]
        == f"found by HiGHS, {'fewer moves may do' if overlap else 'with the fewest moves'}"
    )
    path.write_text(json.dumps(asked | {"assignment": document["right"]}), "utf-8")
    assert told(capsys, path)[0] == 0


def test_where_z3_does_not_find_why_highs_leaves_out_one_after_the_other(capsys, monkeypatch):
    _, by_both = told(capsys, DATA / "constraints-impossible.json")
    monkeypatch.setattr(z3_side, "MOST_ENTRIES", 0)
    code, document = told(capsys, DATA / "constraints-impossible.json")
    assert code == 1 and document["core"] == by_both["core"] and len(document["core"]) == 2


def test_where_highs_does_not_decide_z3_does(capsys, monkeypatch):
    monkeypatch.setattr(solving, "plan", lambda *_: HighsAnswer())
    code, document = told(capsys, DATA / "constraints.json")
    assert (code, document["origin"]) == (1, "found by z3, with the fewest moves")


@pytest.mark.parametrize(
    ("module", "file", "told"),
    [("z3", "constraints-impossible.json", "z3"), ("scipy", "constraints.json", "scipy")],
)
def test_constraints_without_a_solver_say_what_to_install(capsys, monkeypatch, module, file, told):
    monkeypatch.setitem(sys.modules, module, None)
    assert cli.run(["assign", str(DATA / file)]) == 2
    expected = (
        f"groupcheck: error: constraints are solved with {told}, which is not installed (pip"
        " install 'groupcheck[assign]')\n"
    )
    assert capsys.readouterr().err == expected


@pytest.mark.parametrize("most", [0.000001, 1_000_000])
def test_weights_that_cannot_be_added_up_exactly_are_refused(capsys, tmp_path, most):
    weights = {"kind": "capacity", "weights": {"orders": 999999.000001}, "most": most}
    path = changed(
        tmp_path, "constraints-impossible.json", lambda d: d.update(constraints=[weights])
    )
    assert cli.run(["assign", str(path)]) == 2
    assert capsys.readouterr().err.startswith(
        f"groupcheck: error: {path}: constraints[0]: the weights have too many digits"
    )
