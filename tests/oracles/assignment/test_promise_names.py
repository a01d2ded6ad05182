"""A violation names a promise that was asked for."""

from __future__ import annotations

import pytest

from groupcheck.oracles.assignment.judge.judging import judge
from groupcheck.oracles.assignment.judge.question import question
from groupcheck.oracles.assignment.judge.sequence import judge_sequence, sequence

TWO = {
    "A": {"subscribes": ["t"], "claims": ["t-0", "t-1", "t-2"], "generation": 1},
    "B": {"subscribes": ["t"]},
}


@pytest.mark.parametrize(
    ("asked", "promise"),
    [
        (
            {"assignor": "cooperative-sticky", "assignment": {"A": {"t": [0, 1, 2]}}},
            "balanced at rest",
        ),
        (
            {
                "assignor": "cooperative-sticky",
                "topics": {"t": 4},
                "assignment": {"A": {"t": [0, 1, 2]}},
            },
            "complete later",
        ),
        (
            {"assignor": "sticky", "assignment": {"A": {"t": [0]}, "B": {"t": [1, 2]}}},
            "fewest moves",
        ),
        ({"promises": ["sticks"], "assignment": {"A": {"t": [0]}, "B": {"t": [1, 2]}}}, "sticks"),
        (
            {"promises": ["contiguous"], "assignment": {"A": {"t": [0, 2]}, "B": {"t": [1]}}},
            "contiguous",
        ),
    ],
)
def test_a_violation_has_the_name_of_the_promise_that_was_asked_for(asked, promise):
    document = judge(question({"topics": {"t": 3}, "members": TWO, **asked})).document()
    assert {v["promise"] for v in document["violations"]} == {promise}
    assert promise in document["promises"]


def test_that_kafkas_class_throws_is_a_promise_too():
    throws = {"A": {"subscribes": ["t"], "claims": ["t-1"], "generation": 1}}
    document = judge(
        question({"topics": {"t": 1}, "members": throws, "assignor": "sticky"})
    ).document()
    assert [v["promise"] for v in document["violations"]] == ["answers"]
    assert "answers" in document["promises"]


def test_a_sequence_that_does_not_come_to_rest_breaks_a_promise_that_was_asked_for():
    document = judge_sequence(
        sequence(
            {
                "topics": {"t": 3},
                "members": TWO,
                "assignor": "cooperative-sticky",
                "changes": [{"assignments": [{"A": {"t": [0, 1]}}]}],
            }
        )
    ).document()
    assert [v["promise"] for v in document["violations"]] == ["at rest"]
    assert "at rest" in document["promises"]
