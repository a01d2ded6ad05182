"""A run of the simulator is a run of the model.

The simulator cuts a step of the model where a message travels, so steps of several members overlap.
Between two moments at which no message is on its way, it has fired some rules that are not urgent.
The model, as the plain semantics has it, can fire the same rules in some order, each as a whole
step, and reaches the same state. There all promises of the variant hold.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial

import attrs
import pytest

from groupcheck.invariants.registry import for_families
from groupcheck.model.engine.promises import Predicate
from groupcheck.model.engine.step import Semantics, State
from groupcheck.model.protocol.classic.group import REST
from groupcheck.model.variants import load
from groupcheck.oracles.simulate import Setup, with_settings
from groupcheck.oracles.simulate.running import Group
from groupcheck.oracles.simulate.simulation import begun

VARIANTS = (
    "classic",
    "cooperative",
    "static_membership",
    "cooperative_static",
    "async_server",
    "connect",
)
SCENARIOS = (
    "scale-out",
    "crash",
    "sick-host",
    "outage",
    "bounce",
    "rolling-restart",
    "cold-start",
)
# Short enough that timers fire before the run ends.
SHORT: dict[str, str | float] = {
    "max_poll_interval_ms": 20_000,
    "stall_ms": "uniform:30000,40000",
    "session_timeout_ms": 12_000,
    "pause_ms": 20_000,
    "metadata_max_age_ms": 20_000,
    "rebalance_delay_ms": 15_000,
}
MOST = 9  # rules fired between two moments of rest whose orders are tried


class Model:
    """The plain semantics of the group that is simulated, and the promises of its variant."""

    def __init__(self, group: Group, variant: str) -> None:
        promises = for_families(load(variant).every_family)
        spec = group.world.spec
        self.see = Semantics(attrs.evolve(spec, ends=(), views=(*spec.views, *promises.views)))
        self.promises = [p for p in promises.invariants if isinstance(p, Predicate)]
        assert self.promises
        self.urgent = {r.name for r in spec.rules if r.urgent}

    def state(self, group: Group) -> State:
        return self.see.state(group.world.snapshot())

    def broken(self, state: State) -> list[str]:
        return [p.name for p in self.promises if not self.see.holds(p, state)]

    def reached(self, state: State, fired: Sequence[tuple[str, int]]) -> set[State]:
        """Where the model may be after these rules, as whole steps in any order."""
        ways = {(state, tuple(sorted(fired)))}
        for _ in fired:
            ways = {
                (rest, (*left[:k], *left[k + 1 :]))
                for now, left in ways
                for k, (name, index) in enumerate(left)
                for firing, after, _ in self.see.firings(
                    self.see.instance(name.partition(":")[0], index), now
                )
                if firing.name == name
                for _, rest, _ in self.see.settle(after)
            }
        return {state for state, _ in ways}


def rests(group: Group) -> bool:
    """Is no step under way?"""
    return all(map(group.free, range(group.size))) and group.world["walk", 0] == REST


def works(group: Group, index: int) -> bool:
    """Does a worker run what it owns? (What is measured is what clients own.)"""
    return bool(group.world["worker", index].runs == group.world["client", index].owned)


RUNS = [(variant, scenario) for variant in VARIANTS for scenario in SCENARIOS]


@pytest.mark.parametrize("variant, scenario", [*RUNS, ("triggers", "partitions-added")])
def test_the_model_can_do_what_a_simulation_does(variant: str, scenario: str) -> None:
    setup = Setup(
        variant=variant,
        scenario=scenario,
        members=3,
        partitions=3,
        assumptions=with_settings(SHORT),
    )
    seen = followed(setup)
    assert any(rule.startswith("send_join") for rule in seen)


def test_the_model_can_do_without_the_plan_of_a_leader_that_died_as_it_waited() -> None:
    def dies(group: Group) -> None:
        group.clock.at(4_000, group.members.stop, 0, "crash")

    setup = Setup(variant="connect", scenario="cold-start", members=3, partitions=3, seed=3)
    seen = followed(attrs.evolve(setup, assumptions=with_settings(SHORT)), dies)
    assert seen["make_plan:unheard"] == 1


def followed(setup: Setup, more: Callable[[Group], None] = lambda group: None) -> Counter[str]:
    """The rules that a run of a minute fires, with all that the model says of them checked. `more`
    happens to the group besides.
    """
    fired: list[tuple[str, int]] = []
    group = begun(setup, lambda group, rule, index: fired.append((rule, index)))
    more(group)
    model = Model(group, setup.variant)
    fired.clear()
    before = model.state(group)
    seen: Counter[str] = Counter()
    while group.clock.step() and group.clock.now < 60_000:
        if not fired or not rests(group):
            continue
        ordinary = [(r, i) for r, i in fired if r.partition(":")[0] not in model.urgent]
        seen.update(rule for rule, _ in fired)
        assert len(ordinary) <= MOST
        after = model.state(group)
        assert after in model.reached(before, ordinary), f"{ordinary} at {group.clock.now} ms"
        assert not model.broken(after)
        assert setup.variant != "connect" or all(map(partial(works, group), range(group.size)))
        before = after
        fired.clear()
    assert sum(n for rule, n in seen.items() if rule.partition(":")[0] not in model.urgent) > 20
    return seen
