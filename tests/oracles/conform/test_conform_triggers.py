"""The rows of a coordinator whose topics, subscriptions and settings change: what they send, and
that a model which is wrong about one of these differs from the real coordinator.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import attrs
import pytest

from groupcheck.model.engine import Spec, UserError
from groupcheck.model.engine.rule import Rule
from groupcheck.model.protocol.classic import coordinator as requests
from groupcheck.model.protocol.classic import rounds, walks
from groupcheck.model.protocol.classic.group import Phase
from groupcheck.model.protocol.messages import FOLLOWS, NO_ID, JoinGroup, SyncGroup
from groupcheck.model.protocol.transform import own, rebuilt, rewritten
from groupcheck.model.variants import load
from groupcheck.oracles.check.conformed import conformed, reach_of
from groupcheck.oracles.conform.conformance import conform, rows_at
from groupcheck.oracles.conform.row import Asks, Fires, Memory
from groupcheck.oracles.conform.rows import Rows
from groupcheck.oracles.conform.shown import input_shown
from groupcheck.oracles.explain import subject
from groupcheck.oracles.judge.live.live import live
from groupcheck.oracles.kafka.driver import Driver

TRIGGERS = load("triggers")
LOWERS = ("fail_over", "lower_max_size")
LIMITED = {"topics": "t:1", "subscriptions": "t|t", "max_size": "2"}
RELISTED = {"topics": "t:1", "protocols": "range", "protocols_after": "range,sticky"}


def rows(members: int = 1, faults: tuple[str, ...] = (), **settings: str) -> Rows:
    return rows_at("triggers", members, 1, faults, None, settings)[1]


def asked(of: Rows, memory: Memory, kind: type[Any]) -> list[Any]:
    every = [given.request for given in of.inputs(memory) if isinstance(given, Asks)]
    return [request for request in every if isinstance(request, kind)]


def led(of: Rows) -> Memory:
    """Its member leads generation 1 and has not sent a plan; it subscribes to all topics."""
    memory = of.start()
    every = len(of.scope.layout)
    for given in (
        Asks(0, JoinGroup(NO_ID)),
        Asks(0, JoinGroup(0, topics=(1 << every) - 1)),
        Fires("initial_delay"),
    ):
        (outcome,) = of.outcomes(memory, given)
        memory = outcome.after
    assert memory.core.phase == Phase.COMPLETING
    return memory


def test_a_member_joins_with_every_subscription_that_the_scope_leaves_open():
    free, fixed = rows(topics="t:1,u:1"), rows(topics="t:1,u:1", subscriptions="u")
    assert {r.topics for r in asked(free, led(free), JoinGroup) if r.id == 0} == {0, 1, 2, 3}
    (named,) = fixed.outcomes(fixed.start(), Asks(0, JoinGroup(NO_ID)))
    assert {r.topics for r in asked(fixed, named.after, JoinGroup) if r.id == 0} == {2}


def test_a_leader_plans_with_each_number_of_partitions_that_it_may_know():
    of = rows(topics="t:1-2,u:0-1")
    plans = [r.sees for r in asked(of, led(of), SyncGroup) if (r.id, r.generation) == (0, 1)]
    assert plans == [0b001, 0b101, 0b011, 0b111]


def test_a_leader_that_asks_again_brings_the_same_plan():
    of = rows(topics="t:1-2,u:0-1")
    (begun,) = of.outcomes(led(of), Asks(0, SyncGroup(0, 1, sees=0b101)))
    assert begun.after.core.appending
    again = [r.sees for r in asked(of, begun.after, SyncGroup) if (r.id, r.generation) == (0, 1)]
    assert again == [0b101]


def test_a_process_that_is_forgotten_may_join_with_its_other_list_and_says_so_afterwards():
    of = rows(**RELISTED)
    anew = Asks(0, JoinGroup(NO_ID), relisted=True)
    assert anew in of.inputs(of.start())
    (named,) = of.outcomes(of.start(), anew)
    assert named.after.seats[0].listed == ("range", "sticky")
    assert anew not in of.inputs(named.after)
    assert "configured with its other list of assignors" in input_shown(anew)


def test_the_limit_is_lowered_as_long_as_there_is_something_to_lower():
    of = rows(members=2, faults=LOWERS, **LIMITED)
    (lowered,) = of.outcomes(of.start(), Fires("lower_max_size"))
    assert lowered.after.core.max_size == 1
    assert Fires("lower_max_size") not in of.inputs(lowered.after)
    assert Fires("lower_max_size") not in rows(members=2, faults=LOWERS).inputs(of.start())


# -- wrong models


def outcome_changed(rule: Rule, change: Callable[[dict[str, Any]], dict[str, Any]]) -> Any:
    """The spec whose rule leaves something else behind."""

    def changed(base: Spec) -> Spec:
        usual = own(base, rule)

        def call(*given: Any) -> Iterator[Any]:
            for outcome in usual.call(*given):
                label = outcome[: bool(usual.labels)]
                after = dict(zip(usual.slots, outcome[len(label) :]))
                yield (*label, *change(after).values())

        return rebuilt(base, [rewritten(usual, call)])

    return changed


def untold(after: dict[str, Any]) -> dict[str, Any]:
    link = after["link"]
    if link.answer is not None and isinstance(link.answer.request, JoinGroup):
        link = attrs.evolve(link, answer=attrs.evolve(link.answer, group_topics=FOLLOWS))
    return {**after, "link": link}


def unlimited(after: dict[str, Any]) -> dict[str, Any]:
    return {**after, "core": attrs.evolve(after["core"], max_size=None)}


def unplanned(after: dict[str, Any]) -> dict[str, Any]:
    return {**after, "core": attrs.evolve(after["core"], planned=0)}


def no_topics(after: dict[str, Any]) -> dict[str, Any]:
    ids = tuple((id, attrs.evolve(seat, topics=0)) for id, seat in after["seats"].ids)
    return {**after, "seats": attrs.evolve(after["seats"], ids=ids)}


def no_round_after_loading(base: Spec) -> Spec:
    plain = walks.end_walk.call
    usual = own(base, walks.end_walk)

    def call(core: Any, walk: Any, scope: Any) -> Iterator[Any]:
        reloads = type(walk.errand).__name__ == "Reload"
        yield from (plain if reloads else usual.call)(core, walk, scope)

    return rebuilt(base, [rewritten(usual, call)])


QUICKLY = {**LIMITED, "two_step": "no"}
ONE: Mapping[str, Any] = {"members": 1, "generations": 1, "faults": {}}
WRONG: dict[str, tuple[Any, Mapping[str, Any]]] = {
    "the leader is not told the topics of others": (
        outcome_changed(rounds.answer_joins, untold),
        {**ONE, "settings": {"topics": "t:1"}},
    ),
    "what the leader knew does not count": (
        outcome_changed(requests.sync_group, unplanned),
        {**ONE, "settings": {"topics": "t:1"}},
    ),
    "a subscription is not noted": (
        outcome_changed(requests.join_group, no_topics),
        {**ONE, "settings": {"topics": "t:1"}},
    ),
    "a lowered limit is forgotten with the next request": (
        outcome_changed(requests.join_group, unlimited),
        {**ONE, "members": 2, "faults": dict.fromkeys(LOWERS, 1), "settings": QUICKLY},
    ),
    "a group above the limit is loaded without a round": (
        no_round_after_loading,
        {**ONE, "members": 2, "faults": dict.fromkeys(LOWERS, 1), "settings": QUICKLY},
    ),
}


@pytest.mark.parametrize("what", WRONG)
def test_a_wrong_model_differs(
    what: str, coordinator: Driver, monkeypatch: pytest.MonkeyPatch, misfits: Any
) -> None:
    change, scope = WRONG[what]
    variant = attrs.evolve(TRIGGERS, spec=lambda scope: change(TRIGGERS.spec(scope)))
    monkeypatch.setattr(subject, "load", lambda name: variant)
    found = conform("triggers", kafka="4.3.0", driver=coordinator, max_differences=1, **scope)
    assert (found.verdict, found.counts.agreeing > 5) == ("differs", True)
    assert misfits(found.document()) == []


# -- doors


def test_a_check_counts_the_memories_that_were_executed_with_the_same_topics():
    given = TRIGGERS.executed[0]
    here = reach_of(TRIGGERS, given)
    scope = TRIGGERS.scope_type(members=1, generations=1, topics="t:1")
    assert conformed(TRIGGERS, scope, here.memories).inside == len(here.memories) > 50
    elsewhere = attrs.evolve(scope, topics="u:1")
    assert conformed(TRIGGERS, elsewhere, here.memories).inside == 0


def test_requests_over_the_wire_know_one_topic():
    with pytest.raises(UserError, match="it adds topics"):
        live("triggers", kafka="4.3.0", say=lambda text: None)
