"""Connect's assignor in `assign`: its promises, and what its leader delays."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random
from typing import Any

import pytest
from attrs import evolve

from groupcheck.model.assignors import Group, Member, NoAssignment, connect_tasks
from groupcheck.model.engine import UserError
from groupcheck.oracles.assignment.judge.judging import judge
from groupcheck.oracles.assignment.judge.question import question
from groupcheck.oracles.assignment.judge.sequence import JudgedSequence, judge_sequence, sequence
from groupcheck.oracles.assignment.promises import MADE, Case, judged

DATA = Path(__file__).parents[2] / "data" / "assign"


def read(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((DATA / name).read_text("utf-8"))
    return found


def of(changes: list[dict[str, Any]], **more: Any) -> JudgedSequence:
    return judge_sequence(sequence({**read("connect-sequence.json"), "changes": changes, **more}))


def groups(count: int) -> list[Group]:
    """Workers of which some claim tasks, none of them two workers."""
    rng, found = Random(5), []
    for _ in range(count):
        topics = {topic: rng.randint(1, 4) for topic in "tuv"[: rng.randint(1, 3)]}
        ids = "ABCDE"[: rng.randint(1, 5)]
        old = ids[: rng.randint(0, len(ids))]
        owned: dict[str, set[tuple[str, int]]] = {name: set() for name in ids}
        for topic, size in topics.items():
            for number in range(size):
                if old and rng.random() < 0.8:
                    owned[rng.choice(old)].add((topic, number))
        members = [Member(n, topics, owned[n], 1 if n in old else -1) for n in ids]
        found.append(Group(topics, members))
    return found


def test_it_keeps_its_promises() -> None:
    for group in groups(60):
        found = dict(judged(Case(group, connect_tasks(group)), MADE["connect"]))
        assert not any(found.values()), group


def test_a_worker_that_joins_waits_until_others_have_stopped() -> None:
    found = judge(question(read("connect.json")))
    assert found.verdict == "right" and found.assigned is not None
    assert found.assigned["w3"] == frozenset() and len(found.moved or ()) == 2
    given = {"w1": {"source": [1, 2]}, "w2": {"source": [3], "sink": [1]}}
    at_once = {**given, "w3": {"source": [0], "sink": [0]}}
    wrong = judge(question({**read("connect.json"), "assignment": at_once}))
    assert {v.promise for v in wrong.violations} == {"handed over"}


def test_workers_that_may_not_run_everything_are_no_workers_of_connect() -> None:
    one, two = Member("A", {"t"}), Member("B", {"u"})
    with pytest.raises(NoAssignment, match="all subscribe to the same"):
        connect_tasks(Group({"t": 1, "u": 1}, [one, two]))
    assert connect_tasks(Group({"t": 1, "u": 1}, [one, evolve(two, topics={"t"})]))["A"] == {
        ("t", 0)
    }


def test_who_comes_back_before_the_delay_is_over_has_its_tasks_again() -> None:
    found = judge_sequence(sequence(read("connect-sequence.json")))
    assert found.verdict == "right"
    _, left, back, gone = found.changes
    assert [one.waits_ms for one in left.happened.rounds] == [300_000]
    assert [one.waits_ms for one in back.happened.rounds] == [240_000, 0]
    assert (back.happened.moves, gone.happened.moves) == (0, 0)
    last = back.rounds[-1].assigned
    assert last is not None and len(last["w2-again"]) == 2
    assert [one.waits_ms for one in gone.happened.rounds] == [300_000, 0]


def test_who_does_not_come_back_loses_its_tasks_to_the_others_after_the_delay() -> None:
    later = of([{"leaves": ["w2"]}, {"joins": {"w4": {"subscribes": ["source", "sink"]}}}])
    assert [len(change.rounds) for change in later.changes] == [1, 2, 2]
    first, second = (one.assigned for one in later.changes[1].rounds)
    assert first is not None and sum(map(len, first.values())) == 4
    assert second is not None and sum(map(len, second.values())) == 6
    at_once = of([{"leaves": ["w2"]}], delay_ms=0)
    assert [len(change.rounds) for change in at_once.changes] == [1, 1]


@pytest.mark.parametrize(
    ("more", "where"),
    [({"delay_ms": 1}, "delay_ms"), ({"changes": [{"after_ms": 5}]}, r"changes\[0\].after_ms")],
)
def test_only_connect_delays_rounds(more: dict[str, Any], where: str) -> None:
    given = {**read("connect-sequence.json"), "assignor": "sticky"}
    del given["delay_ms"]
    given["changes"] = [{"leaves": ["w2"]}]
    with pytest.raises(UserError, match="only a leader of Connect delays") as raised:
        sequence({**given, **more})
    assert raised.match(where)
