"""Static members in groups whose topics and subscriptions change: what a restart moves, what it
leaves out, and the numbers of states.
"""

from __future__ import annotations

from typing import Any

import pytest

from groupcheck.model.engine.fast.explore import explore
from groupcheck.model.engine.step import Semantics
from groupcheck.model.engine.verdict import HOLDS
from groupcheck.model.protocol.classic.client import Member
from groupcheck.model.protocol.classic.group import Phase
from groupcheck.model.variants import load
from groupcheck.oracles.explain.subject import subject

BOTH = load("static_triggers")
STARTS = ("send_join:sent", "initial_delay:over", "send_sync", "append_committed")
T, U = 1, 2  # topics, and their only partitions, as bit masks


class Run:
    """One member that subscribes to `t`, step by step: each by the name of its outcome."""

    def __init__(self, subscribes: int) -> None:
        scope = BOTH.scope_type(
            members=1,
            generations=2,
            records=0,
            topics="t:1,u:1",
            subscriptions="t",
            faults={"subscribe": subscribes, "crash": 1},
        )
        self._see = Semantics(BOTH.spec(scope))
        ((_, _, self._state), *_) = self._see.starts()

    def does(self, name: str, topics: int | None = None) -> list[str]:
        """Takes a step, and tells what followed in it; `topics`: those of the member then."""
        for step, _ in self._see.steps(self._state):
            named = self._see.named(step.state)
            if step.firing.name == name and topics in (None, named["subscription"][0].topics):
                self._state = step.state
                return [firing.name for firing in step.urgent]
        raise AssertionError(f"{name} cannot happen")

    @property
    def next(self) -> set[str]:
        return {step.firing.name for step, _ in self._see.steps(self._state)}

    def __getattr__(self, slot: str) -> Any:
        value = self._see.named(self._state)[slot]
        return value[0] if isinstance(value, tuple) else value


def back_with(topics: int, subscribes: int = 1) -> Run:
    """The member is Stable, subscribes to other topics, dies before it has joined with them, and
    its next process comes back with them.
    """
    run = Run(subscribes)
    for name in STARTS:
        run.does(name)
    run.does("change_subscription", topics)
    run.does("crash")
    assert "join_group:replaced" in run.does("send_join:sent")
    run.does("takeover_committed:answered")
    return run


def test_a_static_member_that_comes_back_with_more_topics_never_gets_the_new_one() -> None:
    run = back_with(T | U)
    assert run.does("send_sync") == ["sync_group:stable", "sync_answer:assigned"]
    ((_, seat),) = run.seats.ids
    assert (run.core.phase, run.core.generation, run.core.topics) == (Phase.STABLE, 1, T)
    assert (run.client.state, run.client.owned, seat.share) == (Member.STABLE, T, T)
    assert run.subscription.joined == seat.topics == T | U
    assert run.next == {"fetch_offset", "send_heartbeat"}  # nobody starts a round


def test_one_that_comes_back_with_another_topic_refuses_its_share_and_joins_again() -> None:
    run = back_with(U)
    assert run.does("send_sync") == ["sync_group:stable", "sync_answer:mismatched"]
    assert (run.client.owned, run.client.refused) == (0, True)
    assert "send_join:sent" in run.next


def checked(**fields: Any) -> Any:
    return explore(subject("static_triggers", records=0, **fields).spec)


def test_k5_is_a_goal_that_is_met_in_nine_steps() -> None:
    faults = {"subscribe": 1, "crash": 1}
    verdict = checked(members=1, generations=1, topics="t:1,u:1", subscriptions="t", faults=faults)
    assert verdict.verdict == HOLDS
    assert verdict.goals["added_topic_unread"] == 9


def test_a_partition_that_is_added_while_the_leader_is_down_may_stay_unread() -> None:
    faults = {"add_partitions": 1, "crash": 1}
    verdict = checked(members=1, generations=1, topics="t:1-2", faults=faults)
    assert verdict.verdict == HOLDS
    assert verdict.goals["added_partition_unseen"] == 9


def test_without_a_restart_no_partition_stays_unread() -> None:
    for fault in ("add_partitions", "subscribe"):
        verdict = checked(members=1, topics="t:1-2,u:1", subscriptions="t", faults={fault: 2})
        assert {"added_topic_unread", "added_partition_unseen"} <= {*verdict.goals_not_met}


def test_what_a_static_member_owns_may_be_older_than_its_subscription() -> None:
    """It subscribes to another topic, restarts, and subscribes to the first one again before its
    share is there. So `owned_as_joined` exempts static members.
    """
    run = back_with(U, subscribes=2)
    run.does("change_subscription", T)
    assert run.does("send_sync") == ["sync_group:stable", "sync_answer:assigned"]
    assert (run.client.owned, run.client.rejoin, run.subscription.joined) == (T, True, U)


@pytest.mark.parametrize(
    ("fields", "states", "transitions"),
    [
        ({"members": 2, "generations": 2, "any_faults": 1}, 5_081, 14_250),
        ({"members": 1, "generations": 2, "any_faults": 2}, 2_387, 6_327),
    ],
)
def test_the_numbers_of_states(fields: dict[str, Any], states: int, transitions: int) -> None:
    verdict = checked(**fields)
    assert (verdict.verdict, verdict.states, verdict.transitions) == (HOLDS, states, transitions)


def test_groups_of_static_members_settle_and_the_leader_has_made_its_plan_of_what_it_knows() -> (
    None
):
    spec = subject("static_triggers", members=2, records=0, any_faults=1, progress=True).spec
    verdict = explore(spec)
    assert verdict.verdict == HOLDS
    assert (verdict.states, verdict.transitions) == (5_282, 17_814)
