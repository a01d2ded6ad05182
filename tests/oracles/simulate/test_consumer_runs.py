"""A simulated consumer group is a run of the model: each event of the clock fires rules that the
plain semantics fires in the same order, as whole steps, and both reach the same state. There all
promises hold, also while messages are on their way.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import attrs
import pytest

from groupcheck.invariants.registry import for_families
from groupcheck.model.engine.promises import Predicate
from groupcheck.model.engine.step import Semantics, State
from groupcheck.model.variants import load
from groupcheck.oracles.simulate import Setup, with_settings
from groupcheck.oracles.simulate.consumer.group import ConsumerGroup
from groupcheck.oracles.simulate.simulation import begun

# Short enough that timers fire before the run ends.
SHORT: dict[str, str | float] = {
    "max_poll_interval_ms": 20_000,
    "stall_ms": "uniform:30000,40000",
    "consumer_session_timeout_ms": 12_000,
    "pause_ms": 20_000,
}


class Model:
    """The plain semantics of the group that is simulated, and its promises."""

    def __init__(self, group: ConsumerGroup) -> None:
        promises = for_families(load("consumer").families)
        spec = group.world.spec
        self.see = Semantics(attrs.evolve(spec, ends=(), views=(*spec.views, *promises.views)))
        self.promises = [p for p in promises.invariants if isinstance(p, Predicate)]
        assert self.promises
        self.urgent = {r.name for r in spec.rules if r.urgent}

    def state(self, group: ConsumerGroup) -> State:
        return self.see.state(group.world.snapshot())

    def broken(self, state: State) -> list[str]:
        return [p.name for p in self.promises if not self.see.holds(p, state)]

    def reached(self, state: State, rule: str, index: int) -> list[State]:
        """Where the model may be after this rule, as a whole step."""
        at = index if any(self._takes(rule)) else 0
        return [
            rest
            for firing, after, _ in self.see.firings(
                self.see.instance(rule.partition(":")[0], at), state
            )
            if firing.name == rule
            for _, rest, _ in self.see.settle(after)
        ]

    def _takes(self, rule: str) -> tuple[Any, ...]:
        (found,) = (r for r in self.see.spec.rules if r.name == rule.partition(":")[0])
        return tuple(self.see.spec.slots[slot].size is not None for slot in found.slots)


def followed(scenario: str, **more: str | float) -> Counter[str]:
    """The rules that a run of a minute fires, with all that the model says of them checked."""
    setup = Setup(
        variant="consumer",
        scenario=scenario,
        members=3,
        partitions=3,
        assumptions=with_settings(SHORT | more),
    )
    fired: list[tuple[str, int]] = []
    group = begun(setup, lambda group, rule, index: fired.append((rule, index)))
    assert isinstance(group, ConsumerGroup)
    model = Model(group)
    fired.clear()
    before = model.state(group)
    seen: Counter[str] = Counter()
    while group.clock.step() and group.clock.now < 60_000:
        seen.update(rule for rule, _ in fired)
        ways = [before]
        for rule, index in fired:
            if rule.partition(":")[0] not in model.urgent:
                ways = [rest for state in ways for rest in model.reached(state, rule, index)]
        after = model.state(group)
        assert after in ways, f"{fired} at {group.clock.now} ms"
        if after != before:
            assert not model.broken(after), f"{fired} at {group.clock.now} ms"
        before = after
        fired.clear()
    return seen


@pytest.mark.parametrize(
    ("scenario", "rule"),
    [
        ("scale-out", "callback_returns:revoked"),
        ("scale-in", "close_consumer:well"),
        ("crash", "ghost_expires"),
        ("sick-host", "poll_again"),
        ("outage", "session_timeout:removed"),
        ("bounce", "ghost_expires"),
        ("rolling-restart", "interval_passes"),
        ("cold-start", "subscribe_all"),
    ],
)
def test_the_model_can_do_what_a_simulated_consumer_group_does(scenario: str, rule: str) -> None:
    seen = followed(scenario)
    assert seen[rule] and seen["send_consumer_heartbeat"] > 20


def test_the_model_can_do_what_happens_where_heartbeats_are_lost() -> None:
    seen = followed("rolling-restart", loss=0.2)
    assert seen["lose_heartbeat"] and seen["lose_answer:connection"]


def test_the_model_can_do_what_happens_where_many_die_at_once() -> None:
    assert followed("bounce", changed_members=3)["ghost_expires"] == 3
