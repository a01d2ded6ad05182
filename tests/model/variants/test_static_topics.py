"""K5 of protocol.md 7.8 in the model: a static member comes back with more topics than before. The
features of static members and of changing topics are composed here, and nowhere else: a leader that
comes back would have to be told the topics of the group (KIP-814), which neither of them does.
"""

from __future__ import annotations

from typing import Any, ClassVar

from attrs import frozen

from groupcheck.model.engine.step import Semantics
from groupcheck.model.protocol.classic import rules, static
from groupcheck.model.protocol.classic.client import Member
from groupcheck.model.protocol.classic.group import Phase
from groupcheck.model.protocol.classic.static import StaticScope, static_membership
from groupcheck.model.protocol.classic.triggers import scope as topics
from groupcheck.model.protocol.classic.triggers.feature import triggers
from groupcheck.model.protocol.classic.triggers.scope import TriggersScope
from groupcheck.model.protocol.feature import composed

STARTS = ("send_join:sent", "initial_delay:over", "send_sync", "append_committed")
T, U = 1, 2  # topics, and their only partitions, as bit masks


@frozen
class Scope(TriggersScope, StaticScope):
    """Static members, and topics."""

    MORE: ClassVar = {**topics.MORE, **static.MORE}


class Run:
    """One member that subscribes to `t`, step by step: each by the name of its outcome."""

    def __init__(self) -> None:
        scope = Scope(
            members=1,
            generations=2,
            records=0,
            topics="t:1,u:1",
            subscriptions="t",
            faults={"subscribe": 1, "crash": 1},
        )
        self._see = Semantics(composed(rules.spec(scope), [static_membership, triggers]))
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


def back_with(topics: int) -> Run:
    """The member is Stable, subscribes to other topics, dies before it has joined with them, and
    its next process comes back with them.
    """
    run = Run()
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
