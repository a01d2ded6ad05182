"""groupcheck's assignors against Kafka's own classes: a part of all small inputs, random larger
ones, and what a difference looks like.
"""

from __future__ import annotations

import json
from functools import partial
from itertools import islice

import pytest

from groupcheck.model.assignors import Group, Member, NoAssignment, range_, sticky
from groupcheck.oracles.assignment import handed_over
from groupcheck.oracles.assignment.conform import command as assignors_command
from groupcheck.oracles.assignment.conform.comparing import (
    AssignorConformance,
    Inputs,
    all_inputs,
    answers,
    compare,
    difference,
    ours,
)
from groupcheck.oracles.assignment.conform.findings import AssignorFindings
from groupcheck.oracles.assignment.conform.inputs import families, random_groups
from groupcheck.oracles.assignment.groups import shown, size
from groupcheck.oracles.assignment.promises import thrown
from groupcheck.oracles.command_line import cli
from groupcheck.oracles.kafka.assignors import ASSIGNORS
from groupcheck.oracles.kafka.driver import Driver
from groupcheck.oracles.show.json_schemas import printed

STEPS = {
    "range": 251,
    "sticky": 401,
    "cooperative-sticky": 401,
    "roundrobin": 41,
    "server-range": 41,
    "uniform": 41,
}
"""Of each family of inputs every so many is asked here; `groupcheck conform assignors` asks all."""


def some_inputs(assignor: str) -> list[Inputs]:
    thinned = [
        (family.bound, partial(family.groups, STEPS[assignor])) for family in families(assignor)
    ]
    return [*thinned, ("random", lambda: random_groups(assignor, 200, seed=1))]


def first_inputs(assignor: str, number: int) -> list[Inputs]:
    return [("smallest", lambda: islice(families(assignor, 2)[0].groups(), number))]


@pytest.fixture(scope="module")
def compared(coordinator: Driver) -> AssignorConformance:
    return compare(coordinator, ASSIGNORS, inputs=some_inputs, findings=True)


def test_the_document_of_all_assignors_with_their_findings_is_as_its_schema_says(
    compared: AssignorConformance, misfits
):
    document = compared.document()
    assert any(assignor["findings"] for assignor in document["assignors"])
    assert misfits(document) == []


@pytest.mark.parametrize("number", range(len(ASSIGNORS)), ids=ASSIGNORS)
def test_kafkas_class_and_groupchecks_function_give_the_same(
    compared: AssignorConformance, number: int
):
    tally = compared.tallies[number]
    assert tally.differences == {} and tally.differing == 0
    assert (
        tally.inputs > 1_000
        and tally.threw < tally.inputs // 10
        and all(inputs for _, inputs in tally.bounds)
    )


def test_assignors_without_memory_and_those_of_the_coordinator_break_no_promise(
    compared: AssignorConformance,
):
    found = {tally.name: tally.asked.found for tally in compared.tallies if tally.asked}
    assert {name for name, broken in found.items() if broken} == {"sticky", "cooperative-sticky"}


def test_a_function_that_is_wrong_is_told_with_its_smallest_input(coordinator: Driver, misfits):
    solvers = {
        **ours(coordinator.version),
        "sticky": lambda group: sticky(Group(group.topics, group.members[::-1])),
    }
    result = compare(
        coordinator, ["sticky"], inputs=lambda name: first_inputs(name, 2_000), solvers=solvers
    )
    assert misfits(result.document()) == []
    (tally,) = result.tallies
    assert result.exit_code == 1 and 0 < tally.differing < tally.inputs
    smallest = min(
        (example for _, example in tally.differences.values()),
        key=lambda example: size(example.group),
    )
    assert printed(shown(smallest.group)) == {
        "topics": {"t": 1},
        "members": {"A": {"subscribes": []}, "B": {"subscribes": ["t"]}},
    }
    assert smallest.answers == (
        {"A": {("t", 0)}, "B": frozenset()},
        {"A": frozenset(), "B": {("t", 0)}},
    )


def test_what_changed_between_two_versions_is_found_without_a_model(coordinator: Driver):
    with Driver("4.0.0") as older:
        result = compare(
            coordinator,
            ["roundrobin", "uniform"],
            inputs=lambda name: first_inputs(name, 400),
            older=older,
        )
    robin, uniform = result.tallies
    assert result.sides == ("Kafka 4.3.0", "Kafka 4.0.0") and result.exit_code == 1
    assert robin.differing == 0 and set(uniform.differences) == {"other numbers of partitions"}


@pytest.mark.parametrize("assignor", ("sticky", "cooperative-sticky"))
def test_of_the_sticky_assignors_four_causes_of_a_broken_promise_are_told_apart(
    coordinator: Driver, assignor: str
):
    causes = (
        Group({"t": 1}, [Member("A", ()), Member("B", ("t",))]),
        Group({"t": 2}, [Member("A", ("t",), {"t": [2]}, 1)]),
        Group(
            {"t": 2, "u": 1},
            [
                Member("A", "u", {"t": [1]}, 1),
                Member("B", "tu", {"u": [0]}, 1),
                Member("C", "t", (), 2),
            ],
        ),
        Group(
            {"t": 2},
            [Member("A", "t"), Member("B", "", {"t": [0]}, 1), Member("C", "t", {"t": [0, 1]}, 2)],
        ),
    )
    asked = AssignorFindings(assignor)
    for group, answer in answers(coordinator, assignor, causes):
        asked.ask(group, answer)
    words = {
        promise: [found.words for name, _, found in asked.least() if name == promise]
        for promise in ("valid", "answers")
    }
    assert sorted(words["valid"]) == [
        "A gets t-0, but does not subscribe to t",
        "A gets t-1, but does not subscribe to t",
        "A gets t-2, which does not exist (t has 2 partitions)",
    ]
    assert [said[:28] for said in words["answers"]] == ["throws NullPointerException:"]


@pytest.mark.parametrize("assignor", ("sticky", "cooperative-sticky"))
def test_after_a_topic_was_made_anew_with_fewer_partitions_one_of_another_topic_is_given_twice(
    coordinator: Driver, assignor: str
):
    group = Group({"t": 1, "u": 1}, [Member("A", "u"), Member("B", "tu", {"t": [1], "u": [0]}, 1)])
    ((_, answer),) = answers(coordinator, assignor, [group])
    assert answer == {"A": {("u", 0)}, "B": {("t", 0), ("t", 1), ("u", 0)}}


def test_if_subscriptions_differ_an_older_claim_takes_a_partition_in_one_cooperative_round(
    coordinator: Driver,
):
    members = [Member("A", "t", {"t": [0]}, 1), Member("B", "tu", {"t": [0, 1]}, 2)]
    ((group, answer),) = answers(coordinator, "cooperative-sticky", [Group({"t": 2}, members)])
    assert answer == {"A": {("t", 0)}, "B": {("t", 1)}}
    assert [violation.words for violation in handed_over(group, answer)] == [
        "t-0 goes from B, whose claim is newer, to A in one round"
    ]


@pytest.mark.parametrize("assignor", ("sticky", "cooperative-sticky"))
def test_of_clients_that_do_not_tell_their_generation_the_later_claim_wins_whatever_its_generation(
    coordinator: Driver, assignor: str
):
    newer, older = (
        Member(name, "t", {"t": [0]}, generation, told=-1)
        for name, generation in (("A", 5), ("B", 4))
    )
    groups = [Group({"t": 1}, members) for members in ((newer, older), (older, newer))]
    owners = [
        max(answer, key=lambda member: len(answer[member]))
        for _, answer in answers(coordinator, assignor, groups)
    ]
    assert owners == ["B", "A"]


def test_what_a_class_throws_is_an_answer_and_a_driver_that_died_is_not_that_answer():
    wrong = NoAssignment("IllegalStateException", "")
    assert difference(thrown("java.lang.IllegalStateException: No more"), wrong) is None
    assert difference(thrown("the driver died (exit code 3)"), wrong) is not None
    assert difference({"A": frozenset()}, wrong) == "throws nothing against IllegalStateException"


def test_the_random_inputs_are_those_of_the_seed():
    first, again, other = (list(random_groups("sticky", 20, seed)) for seed in (5, 5, 6))
    assert first == again != other


def test_the_table_and_the_document_say_how_many_agree(
    compared: AssignorConformance, capsys, monkeypatch
):
    monkeypatch.setattr(assignors_command, "compare", lambda *args, **options: compared)
    assert cli.run(["conform", "assignors"]) == 0
    table = capsys.readouterr().out
    assert (
        table.startswith("agrees  the assignors of groupcheck and of Kafka 4.3.0")
        and "valid is broken by" in table
    )
    assert cli.run(["conform", "assignors", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["verdict"] == "agrees" and [
        one["assignor"] for one in document["assignors"]
    ] == list(ASSIGNORS)
    assert all(
        one["agreeing"] == one["inputs"] == sum(b["inputs"] for b in one["bounds"])
        for one in document["assignors"]
    )


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (
            ["assignors", "--members", "4"],
            "--members: all inputs of 4 members are too many",
        ),
        (["assignors", "--assignor", "stick"], "stick"),
        (
            ["assignors", "--fault", "crash"],
            "--fault: the comparison of assignors does not have this option",
        ),
        (
            ["assignors", "--max-rows", "7"],
            "--max-rows: the comparison of assignors does not have this option",
        ),
        (
            ["classic", "--assignor", "range"],
            "--assignor: classic is compared with the coordinator",
        ),
    ],
)
def test_what_the_comparison_of_assignors_does_not_have_is_refused(
    arguments: list[str], complaint: str, capsys
):
    assert cli.run(["conform", *arguments]) == 2
    told = capsys.readouterr().err
    assert told.startswith("groupcheck: error: ") and complaint in told and told.count("\n") == 1


def test_every_input_of_a_family_is_another_one():
    for assignor in ASSIGNORS:
        for _, groups_of in all_inputs(assignor, 2, 0, 0):
            groups = list(islice(groups_of(), 1_000))
            assert len(set(groups)) == len(groups)
    assert range_(Group({}, [])) == {}
