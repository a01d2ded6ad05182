"""Constraints of a user's own: the assignment that z3 finds keeps them all, with the fewest moves; where there is none, the core says why, minimally."""

from __future__ import annotations

import json
import sys
from itertools import product
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from groupcheck.model.assignors.group import every_partition, subscribed_sizes
from groupcheck.oracles import cli
from groupcheck.oracles.assignment import moves
from groupcheck.oracles.assignment.judging import broken
from groupcheck.oracles.assignment.promises import Case
from groupcheck.oracles.assignment.question import question
from groupcheck.oracles.assignment.solving import solve

DATA = Path(__file__).parents[2] / "data" / "assign"
PROMISED = ["level", "balanced in topics", "locally balanced", "balanced", "fewest moves", "handed over", "pointer", "ranges"]


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
        } | draw(st.sampled_from([{}, {"rack": "x"}, {"rack": "y"}]))
        for name in names
    }  # fmt: skip
    some = st.lists(st.sampled_from(there), min_size=1, max_size=2, unique=True)
    kinds = st.one_of(
        st.fixed_dictionaries({"kind": st.sampled_from(["stays", "never"]), "partitions": some, "member": st.sampled_from(names)}),
        st.fixed_dictionaries({"kind": st.sampled_from(["together", "apart"]), "partitions": some}),
        st.fixed_dictionaries({"kind": st.just("at_most"), "most": st.integers(0, 2)}, optional={"topic": st.sampled_from("tu")}),
        st.fixed_dictionaries({"kind": st.just("capacity"), "most": st.sampled_from([2, 3.5]), "weights": st.just({"t": 1.5, "u": 0.75})}),
        st.fixed_dictionaries({"kind": st.just("racks_at_most"), "most": st.integers(1, 2)}, optional={"topic": st.sampled_from("tu")}),
    )
    promises = ["valid", "complete", *draw(st.lists(st.sampled_from(PROMISED), unique=True, max_size=2))]
    given = draw(st.lists(kinds, min_size=1, max_size=3, unique_by=json.dumps))
    return {"topics": topics, "members": members, "assignment": {}, "promises": promises, "constraints": given}


def all_right(document):
    """The moves of every assignment that keeps everything, by trying all."""
    asked = question(document)
    every = every_partition(subscribed_sizes(asked.group))
    case = Case(asked.group, {})
    found = []
    for owners in product(*([m.id for m in asked.group.members if topic in m.topics] for topic, _ in every)):
        assigned = {m.id: frozenset(p for p, owner in zip(every, owners) if owner == m.id) for m in asked.group.members}
        tried = Case(asked.group, assigned, known=case.best)
        if next(broken(asked, tried, asked.promises, []), None) is None:
            found.append(len(moves(asked.group, assigned)))
    return found


@settings(max_examples=80, deadline=None, derandomize=True)
@given(constrained())
def test_z3_finds_what_trying_every_assignment_finds(document):
    asked = question(document)
    right = solve(asked, asked.promises, Case(asked.group, {}))
    possible = all_right(document)
    if right.assigned is None:
        assert possible == [] and right.core
    else:
        assert list(broken(asked, Case(asked.group, right.assigned), asked.promises, [])) == []
        assert len(moves(asked.group, right.assigned)) == min(possible)


def told(capsys, path):
    code = cli.run(["assign", str(path), "--json"])
    return code, json.loads(capsys.readouterr().out)


def changed(tmp_path, name, change):
    document = json.loads((DATA / name).read_text("utf-8"))
    change(document)
    path = tmp_path / "changed.json"
    path.write_text(json.dumps(document), "utf-8")
    return path


def test_constraints_that_can_be_kept_are_and_those_that_are_broken_are_told(capsys, tmp_path):
    code, document = told(capsys, DATA / "constraints.json")
    assert code == 1 and [v["words"] for v in document["violations"]] == [
        "orders-3 stays on c1: orders-3 is on c4",
        "the owners of stock are in at most 1 rack: they are in north, west",
    ]
    assert document["origin"] == "found by z3, with the fewest moves" and 3 in document["right"]["c1"]["orders"]
    assert told(capsys, changed(tmp_path, "constraints.json", lambda d: d.update(assignment=document["right"])))[0] == 0


def test_of_constraints_that_exclude_each_other_the_core_is_told_and_nothing_else(capsys, tmp_path):
    core = ["balanced: The sum of size² / weight is as small as it can be.", "c1 bears at most 5 (2.5 for each of orders)"]
    code, document = told(capsys, DATA / "constraints-impossible.json")
    assert (code, document["right"], document["core"]) == (1, None, core)
    for number, name in enumerate(("promises", "constraints")):  # without either of the two there is an assignment

        def change(d, number=number):
            d["promises"] = ["valid", "complete"] if number == 0 else ["valid", "complete", "balanced"]
            d["constraints"] = [c for c in d["constraints"] if number == 0 or c["kind"] != "capacity"]

        assert told(capsys, changed(tmp_path, "constraints-impossible.json", change))[1]["right"], name


def test_a_constraint_on_what_a_member_does_not_subscribe_to_is_a_core_of_its_own(capsys, tmp_path):
    def change(d):
        d["members"]["c2"]["subscribes"] = []
        d["constraints"] = [{"kind": "stays", "partitions": ["orders-3"], "member": "c2"}, {"kind": "together", "partitions": ["orders-0"]}]

    _, document = told(capsys, changed(tmp_path, "constraints-impossible.json", change))
    assert document["core"] == ["orders-3 stays on c2"]


def test_under_cooperation_what_has_to_be_let_go_of_waits_whatever_the_constraint(capsys, tmp_path):
    def change(d):
        d["constraints"] = [{"kind": "stays", "partitions": ["orders-3"], "member": "c2"}]

    _, document = told(capsys, changed(tmp_path, "cooperative-sticky.json", change))
    assert "orders-3 stays on c2" in document["core"] and len(document["core"]) == 2


def test_constraints_without_z3_say_what_to_install(capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "z3", None)
    assert cli.run(["assign", str(DATA / "constraints.json")]) == 2
    assert (
        capsys.readouterr().err
        == "groupcheck: error: constraints are solved with z3, which is not installed (pip install groupcheck[proof])\n"
    )


@pytest.mark.parametrize("most", [0.000001, 1_000_000])
def test_weights_that_cannot_be_added_up_exactly_are_refused(capsys, tmp_path, most):
    weights = {"kind": "capacity", "weights": {"orders": 999999.000001}, "most": most}
    path = changed(tmp_path, "constraints-impossible.json", lambda d: d.update(constraints=[weights]))
    assert cli.run(["assign", str(path)]) == 2
    assert capsys.readouterr().err.startswith("groupcheck: error: constraints[0]: the weights have too many digits")
