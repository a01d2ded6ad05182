"""Cooperative members whose topics and subscriptions change: what they revoke before they join,
what the leader withholds, and the numbers of states.
"""

from __future__ import annotations

from typing import Any

import pytest

from groupcheck.model.engine import UserError
from groupcheck.model.engine.fast.explore import explore
from groupcheck.model.engine.step import Semantics
from groupcheck.model.engine.verdict import HOLDS
from groupcheck.model.protocol.classic.plans import plans
from groupcheck.model.variants import load
from groupcheck.oracles.explain.subject import subject

BOTH = load("cooperative_triggers")
BEGINS = ("send_join:sent", "send_join:sent", "initial_delay:over", "send_sync", "append_committed")
T, U = 1, 2  # topics, and their only partitions, as bit masks
TOPICS = "t:1,u:1"


class Run:
    """One member, step by step: each by the name of its outcome."""

    def __init__(self, watched: int = 0, **fields: Any) -> None:
        fields = {"members": 1, "generations": 3, "records": 0, "topics": TOPICS, **fields}
        self._see = Semantics(BOTH.spec(BOTH.scope_type(**fields)))
        self._state = next(
            state
            for _, _, state in self._see.starts()
            if self._see.named(state)["offsets"].watched == watched
        )

    def does(self, *names: str, topics: int | None = None) -> None:
        """Takes a step for each name; `topics`: those of the member then."""
        for name in names:
            self._state = next(
                step.state
                for step, _ in self._see.steps(self._state)
                if step.firing.name == name
                and topics in (None, self._see.named(step.state)["subscription"][0].topics)
            )

    @property
    def next(self) -> set[str]:
        return {step.firing.name for step, _ in self._see.steps(self._state)}

    def __getattr__(self, slot: str) -> Any:
        value = self._see.named(self._state)[slot]
        return value[0] if isinstance(value, tuple) else value


def test_a_member_revokes_the_topic_that_it_drops_before_it_joins_and_keeps_the_other() -> None:
    run = Run(watched=1, records=1, faults={"subscribe": 1})
    run.does(*BEGINS, "fetch_offset", "process_record")
    assert (run.client.owned, run.client.position) == (T | U, 1)
    run.does("change_subscription", topics=U)
    assert run.client.owned == T | U
    run.does("send_join:committed_first", "send_join:sent")
    ((_, seat),) = run.seats.ids
    assert (run.client.owned, seat.owned, run.client.position) == (U, U, 1)
    run.does("send_sync", "append_committed")
    assert (run.client.owned, run.client.position, run.client.rejoin) == (U, 1, False)


def test_its_position_goes_with_the_topic_that_it_drops() -> None:
    run = Run(watched=0, generations=1, records=1, faults={"subscribe": 1})
    run.does(*BEGINS, "fetch_offset")
    run.does("change_subscription", topics=U)
    run.does("send_join:sent")
    assert (run.client.owned, run.client.position) == (U, -1)


def test_a_member_that_drops_a_topic_after_on_join_prepare_claims_it_without_a_subscription() -> (
    None
):
    run = Run(faults={"subscribe": 2, "lose_response": 1})
    run.does(*BEGINS)
    run.does("change_subscription", topics=T)
    run.does("lose_response")
    run.does("change_subscription", topics=U)
    run.does("send_join:sent", "send_sync")
    ((_, seat),) = run.seats.ids
    assert (seat.topics, seat.owned, run.client.owned) == (U, T, T)
    run.does("append_committed")
    assert (run.client.owned, run.client.rejoin) == (U, True)


def test_a_share_that_is_refused_leaves_the_member_what_it_owned() -> None:
    run = Run(subscriptions="t", faults={"subscribe": 2})
    run.does(*BEGINS)
    run.does("change_subscription", topics=T | U)
    run.does("send_join:sent")
    run.does("change_subscription", topics=T)
    run.does("send_sync", "append_committed")
    assert (run.client.owned, run.client.refused, run.client.rejoin) == (T, True, True)
    assert "send_join:sent" in run.next


def every_plan(claims: list[tuple[int, int, int]], known: int, assignor: str) -> set[Any]:
    scope = BOTH.scope_type(members=len(claims), topics=TOPICS, assignor=assignor)
    return {tuple(share for _, share in chosen) for chosen in plans(claims, known, scope)}


@pytest.mark.parametrize("assignor", ["any", "sticky"])
def test_a_partition_goes_to_a_subscriber_and_not_before_its_owner_has_revoked_it(
    assignor: str,
) -> None:
    # The owner of t has dropped it; the other member subscribes to it.
    assert every_plan([(1, 0, T), (1, T, U)], T | U, assignor) == {(0, U)}
    assert every_plan([(1, 0, T), (1, 0, U)], T | U, assignor) == {(T, U)}
    # Nobody gets what the leader does not know, or what nobody subscribes to.
    assert every_plan([(1, 0, T), (1, U, U)], T, assignor) == {(T, 0)}
    assert every_plan([(1, T, U)], T | U, assignor) == {(U,)}


def test_kafkas_assignor_leaves_a_balanced_group_as_it_is_where_any_may_move_partitions() -> None:
    claims = [(1, T, T | U), (1, U, U)]
    assert every_plan(claims, T | U, "sticky") == {(T, U)}
    assert every_plan(claims, T | U, "any") == {(T, U), (T, 0)}


@pytest.mark.parametrize(
    ("features", "fields", "states", "transitions"),
    [
        ("cooperative+triggers", {"members": 2, "generations": 2, "any_faults": 1}, 9_869, 27_512),
        ("cooperative+triggers", {"members": 1, "generations": 3, "any_faults": 2}, 3_839, 9_412),
        (
            "static+cooperative+triggers",
            {"members": 2, "generations": 1, "any_faults": 1},
            2_845,
            7_474,
        ),
    ],
)
def test_the_numbers_of_states(
    features: str, fields: dict[str, Any], states: int, transitions: int
) -> None:
    verdict = explore(subject(f"classic+{features}", records=0, **fields).spec)
    assert (verdict.verdict, verdict.states, verdict.transitions) == (HOLDS, states, transitions)


@pytest.mark.parametrize("features", ["cooperative+triggers", "static+cooperative+triggers"])
def test_a_group_settles_with_kafkas_assignor(features: str) -> None:
    """Whatever its members subscribe to. A leader that uses `any` may move partitions for ever."""
    fields: dict[str, Any] = {"members": 2, "records": 0, "topics": "t:2,u:1"}
    fields |= {"faults": {"subscribe": 1}, "assignor": "sticky", "progress": True}
    assert explore(subject(f"classic+{features}", **fields).spec).verdict == HOLDS


def test_callbacks_before_a_member_joins_are_refused_with_the_reason() -> None:
    with pytest.raises(
        UserError, match=r"no group has callbacks, cooperative and triggers: .{30,}"
    ):
        load("cooperative_triggers+callbacks")
