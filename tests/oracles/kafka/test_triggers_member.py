"""The members of `triggers` and Kafka's own client: every input from every memory that a few inputs
reach, and a table of the member's outcomes that says which of them this executes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs
import pytest

from groupcheck.model.engine import Spec
from groupcheck.model.engine.rule import Rule
from groupcheck.model.protocol.transform import own, rebuilt
from groupcheck.model.variants import load
from groupcheck.oracles.conform.member.changing import Changing, ChangingResult
from groupcheck.oracles.kafka.client import (
    Schedule,
    Transcript,
    committed,
    coordinator_found,
    failed,
    joined,
    synced,
)
from groupcheck.oracles.kafka.client_commands import (
    Command,
    Network,
    Poll,
    Position,
    Reset,
    SetTopics,
)
from groupcheck.oracles.kafka.driver import Driver, shared

TRIGGERS, CLASSIC = load("triggers"), load("classic")
# Topics that grow and that do not exist yet, two that exist, and a pattern; each with how many
# inputs are taken, and how many rows that makes.
SCOPES: Mapping[str, tuple[dict[str, Any], int, int]] = {
    "growing": ({"topics": "t:1-2,u:0-1", "subscriptions": "t"}, 4, 726),
    "dropped": ({"topics": "t:1,u:1"}, 4, 492),
    "pattern": ({"topics": "t:1,u:0-1", "subscriptions": "*"}, 4, 296),
    "complete": ({"topics": "t:1,u:1", "atomic_complete": False}, 3, 142),
}
BY_ROWS = {
    "change_subscription",
    "join_answer:id_given",
    "join_answer:joined",
    "join_complete",
    "refresh_metadata:matched",
    "refresh_metadata:outdated",
    "refresh_metadata:seen",
    "send_join:sent",
    "send_sync",
    "sync_answer:assigned",
    "sync_answer:mismatched",
}
FRESH = "a process that starts anew is a fresh client, with which every row begins"
SENT_AGAIN = "to the member, a JoinGroup that is lost on any way is the input `Broken`"
UNCHANGED = "the feature changes nothing in it: the rows of `classic` execute it"
BROKER = "the input `Topics`: what the client sees of it"
REASONS: Mapping[str, str] = {
    "add_partitions": BROKER,
    "create_topic": BROKER,
    "delete_topic": BROKER,
    "change_assignors": FRESH,
    "close:behind": FRESH,
    "close:heard": FRESH,
    "close:unheard": FRESH,
    "closed": FRESH,
    "crash": FRESH,
    "delay_request": SENT_AGAIN,
    "lose_response": SENT_AGAIN,
    "late_commit": UNCHANGED,
    "join_answer:fatal": UNCHANGED,
    "join_answer:ignored": UNCHANGED,
    "join_answer:refused": UNCHANGED,
    "join_answer:retry": UNCHANGED,
    "sync_answer:fatal": UNCHANGED,
    "sync_answer:ignored": UNCHANGED,
    "sync_answer:refused": UNCHANGED,
    "sync_answer:retry": UNCHANGED,
    "send_join:committed_first": "`test_a_change_is_remembered_while_a_commit_is_on_its_way`",
}


def spec(**fields: Any) -> Spec:
    quiet = {"members": 1, "generations": 9, "records": 0, "autocommit": False, "assignor": "any"}
    return TRIGGERS.spec(TRIGGERS.scope_type(**quiet, faults={"subscribe": 99}, **fields))


@pytest.fixture(scope="module")
def toured() -> Mapping[str, list[ChangingResult]]:
    return {
        name: list(Changing(spec(**fields)).tour(shared(), most))
        for name, (fields, most, _) in SCOPES.items()
    }


@pytest.mark.parametrize("name", SCOPES)
def test_the_client_is_where_the_model_allows_it_to_be(
    name: str, toured: Mapping[str, list[ChangingResult]]
) -> None:
    assert [(e.row.inputs, e.differs) for e in toured[name] if not e.led] == []
    assert len(toured[name]) == SCOPES[name][2]


def test_the_oldest_version_does_the_same() -> None:
    for fields, most, _ in SCOPES.values():
        for executed in Changing(spec(**fields)).tour(shared("4.0.0"), most - 1):
            assert executed.led, (executed.row.inputs, executed.differs)


def changed(name: str) -> list[Rule]:
    """The rules of the member that differ from those of `classic`, or that it does not have."""
    base = {r.name: r for r in CLASSIC.spec(CLASSIC.scope_type()).rules}
    every = TRIGGERS.spec(TRIGGERS.scope_type()).rules
    return [r for r in every if r.name not in TRIGGERS.coordinator and r != base.get(r.name)]


def test_every_outcome_of_a_changed_rule_is_executed_or_has_a_reason(
    toured: Mapping[str, list[ChangingResult]],
) -> None:
    outcomes = {name for r in changed("triggers") for name in r.names}
    assert outcomes == BY_ROWS | REASONS.keys()
    fired = {n for some in toured.values() for e in some for led in e.led for n in led.fired}
    assert fired & outcomes == BY_ROWS


def forgets(label: str, **change: Any) -> Any:
    """The rule with another memory of the subscription after this outcome."""

    def wrong(base: Rule) -> Rule:
        def call(*given: Any) -> Any:
            for outcome in base.call(*given):
                if outcome[0] == label:
                    at = 1 + base.slots.index("subscription")
                    kept = attrs.evolve(outcome[at], **change)
                    outcome = (*outcome[:at], kept, *outcome[at + 1 :])
                yield outcome

        return attrs.evolve(base, call=call)

    return wrong


WRONG = {
    "what it joined with": ("send_join", forgets("sent", joined=1)),
    "what it saw when it made the plan": ("join_answer", forgets("joined", snapshot=0)),
    "the topics that it has dropped": ("sync_answer", forgets("mismatched", topics=3)),
}


@pytest.mark.parametrize("what", WRONG)
def test_a_member_that_remembers_something_else_differs(what: str) -> None:
    name, wrong = WRONG[what]
    base = spec(**SCOPES["dropped"][0])
    (rule,) = (r for r in base.rules if r.name == name)
    tour = Changing(rebuilt(base, [wrong(own(base, rule))])).tour(shared(), 4)
    assert any(not executed.led for executed in tour)


@pytest.mark.parametrize("version", ["4.3.0", "4.0.0"])
def test_a_change_is_remembered_while_a_commit_is_on_its_way(version: str) -> None:
    """KAFKA-9815: the leader has seen a partition more, and commits before it joins; although the
    partition is gone again when the commit is answered, it joins.
    """

    def last(*commands: Command) -> Any:
        driver: Driver = shared(version)
        result = driver.run(Schedule((*leading, *commands), Reset()))
        assert isinstance(result, Transcript) and not result.refused
        return result.last

    leading = (
        *(Poll(), coordinator_found(), Poll(), failed("JoinGroup", 79, memberId="m1"), Poll()),
        *(Poll(), joined(1, "m1", "m1", {"m1": ("t",)}), Network(), Network()),
        *(synced({"t": [0, 1]}), Poll(), Position(partition=0, offset=3)),
    )
    grows = (SetTopics(topics=(("t", 3),)), Network(), Poll())
    shrinks = (SetTopics(topics=(("t", 2),)), Network())
    assert last(*grows).waiting("OffsetCommit") is not None
    assert last(*grows, *shrinks, committed(0), Poll()).waiting("JoinGroup") is not None
    assert last(*shrinks, Poll()).waiting("JoinGroup") is None
