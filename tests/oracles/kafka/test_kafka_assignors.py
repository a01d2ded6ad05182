"""Kafka's own assignors, asked for answers that are known by hand, and for what every assignor
promises.
"""

from __future__ import annotations

import sys
from itertools import product

import pytest

from groupcheck.model.assignors import Group, Member
from groupcheck.oracles.kafka.assignors import ASSIGNORS, NotSolved, Problem, solve
from groupcheck.oracles.kafka.driver import Driver

HAND_MADE = {
    "range": {"A": {("t", 0), ("t", 1), ("u", 0)}, "B": {("t", 2), ("u", 1)}},
    "roundrobin": {"A": {("t", 0), ("t", 2), ("u", 1)}, "B": {("t", 1), ("u", 0)}},
    "sticky": {"A": {("t", 0), ("t", 1)}, "B": {("t", 2), ("u", 0), ("u", 1)}},
    "cooperative-sticky": {"A": {("t", 0), ("t", 1)}, "B": {("t", 2), ("u", 0), ("u", 1)}},
    "uniform": {"A": {("t", 0), ("t", 1)}, "B": {("t", 2), ("u", 0), ("u", 1)}},
    "server-range": {"A": {("t", 0), ("t", 1), ("u", 0)}, "B": {("t", 2), ("u", 1)}},
}


@pytest.mark.parametrize("assignor", ("range", "roundrobin", "server-range"))
def test_an_assignor_without_memory_answers_as_its_documentation_says(
    driver: Driver, assignor: str
):
    members = [Member("A", ("t", "u")), Member("B", ("t", "u"))]
    (answer,) = solve(driver, [Problem(assignor, Group({"t": 3, "u": 2}, members))])
    assert answer == HAND_MADE[assignor]


@pytest.mark.parametrize("assignor", ("sticky", "cooperative-sticky", "uniform"))
def test_a_sticky_assignor_leaves_everybody_what_it_owns_in_balance(driver: Driver, assignor: str):
    owned = HAND_MADE[assignor]
    members = [Member(name, ("t", "u"), owned[name], generation=3) for name in "AB"]
    (answer,) = solve(driver, [Problem(assignor, Group({"t": 3, "u": 2}, members))])
    assert answer == owned


def test_the_cooperative_assignor_withholds_what_another_still_owns(driver: Driver):
    members = [Member("A", ("t",), {"t": [0, 1]}, generation=1), Member("B", ("t",))]
    (cooperative, eager) = solve(
        driver,
        [Problem(name, Group({"t": 2}, members)) for name in ("cooperative-sticky", "sticky")],
    )
    assert sorted(len(assigned) for assigned in cooperative.values()) == [0, 1]
    assert sorted(len(assigned) for assigned in eager.values()) == [1, 1]


def test_every_assignor_gives_every_partition_to_one_subscriber(driver: Driver):
    kinds = (("t",), ("t", "u"), ("u",))
    groups = [
        [Member(f"m{k}", topics) for k, topics in enumerate(subscribed)]
        for subscribed in product(kinds, repeat=3)
    ]
    problems = [
        Problem(assignor, Group({"t": 2, "u": 3}, members))
        for assignor, members in product(ASSIGNORS, groups)
    ]
    answers = list(solve(driver, problems))
    assert len(answers) == len(problems) == 6 * 27
    for problem, answer in zip(problems, answers):
        assert not isinstance(answer, NotSolved), answer
        wanted = sorted(
            (topic, p)
            for topic, size in problem.group.topics
            for p in range(size)
            if any(topic in m.topics for m in problem.group.members)
        )
        assert sorted(p for assigned in answer.values() for p in assigned) == wanted
        topics = {m.id: m.topics for m in problem.group.members}
        assert all(
            topic in topics[member] for member, assigned in answer.items() for topic, _ in assigned
        )


@pytest.mark.parametrize("assignor", ("sticky", "cooperative-sticky"))
def test_a_sticky_assignor_gives_partitions_to_a_first_member_that_subscribes_to_nothing(
    driver: Driver, assignor: str
):
    """A defect of Kafka: `AbstractStickyAssignor.allSubscriptionsEqual` takes empty subscriptions
    for equal until it meets one that is not.

    A consumer whose pattern matches no topic joins with such a subscription.
    """
    (first, last) = solve(
        driver,
        [
            Problem(assignor, Group({"t": 2}, [Member("A", a), Member("B", b)]))
            for a, b in (((), ("t",)), (("t",), ()))
        ],
    )
    assert first == {"A": {("t", 0)}, "B": {("t", 1)}}
    assert last == {"A": {("t", 0), ("t", 1)}, "B": set()}


def test_an_assignor_nobody_has_is_not_solved(driver: Driver):
    problem = Problem("random", Group({"t": 1}, [Member("A", ("t",))]))
    (answer,) = solve(driver, [problem])
    assert (
        isinstance(answer, NotSolved)
        and answer.problem == problem
        and "no assignor random" in answer.reason
    )


def test_a_problem_over_which_the_driver_dies_is_not_solved_and_the_others_are():
    script = """
import json, os, sys
for line in sys.stdin:
    asked = json.loads(line)
    if asked and any(p["assignor"] == "deadly" for p in asked["assign"]): os._exit(3)
    print(json.dumps([{"assignment": {}} for _ in asked and asked["assign"]]), flush=True)
"""
    with Driver(command=(sys.executable, "-c", script)) as driver:
        first, lost, last = solve(
            driver, [Problem(name, Group({}, ())) for name in ("range", "deadly", "range")]
        )
        assert first == last == {}
        assert isinstance(lost, NotSolved) and "has ended (exit code 3)" in lost.reason
