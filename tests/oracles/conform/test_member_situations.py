"""Situations of a member, as data, on Kafka's Java client."""

from __future__ import annotations

import ast
from pathlib import Path

import attrs
import member_situations
import pytest
from java_situations import react
from member_situations import SITUATIONS, Situation

from groupcheck.oracles.kafka.driver import Driver, shared


@pytest.mark.parametrize("situation", SITUATIONS, ids=lambda s: s.name)
def test_the_java_client_reacts_as_expected(situation: Situation, coordinator: Driver) -> None:
    assert react(situation, coordinator) == situation.expected


@pytest.mark.parametrize(
    "situation", [s for s in SITUATIONS if s.assignor != "eager"], ids=lambda s: s.name
)
def test_a_cooperative_member_of_the_oldest_version_reacts_alike(situation: Situation) -> None:
    assert react(situation, shared("4.0.0")) == situation.expected


def test_other_events_have_other_reactions(coordinator: Driver) -> None:
    closes = next(s for s in SITUATIONS if s.name == "a stable member closes")
    polls = attrs.evolve(closes, events=("poll",))
    assert react(polls, coordinator) != closes.expected


def test_each_situation_has_a_name_of_its_own() -> None:
    assert len({s.name for s in SITUATIONS}) == len(SITUATIONS) > 15


def test_the_data_knows_no_client_library() -> None:
    path = Path(member_situations.__file__)
    imports = [
        node.module
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.ImportFrom)
    ]
    assert imports == ["__future__", "attrs"]
