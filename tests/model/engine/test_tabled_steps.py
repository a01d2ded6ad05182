"""Rules that are fired one by one over numbers, against their meaning over values."""

from __future__ import annotations

import pytest

from groupcheck.model.engine.step import Semantics, State
from groupcheck.model.engine.tabled.steps import Steps
from groupcheck.model.engine.tabled.tabled import Numbers
from groupcheck.model.protocol.classic.scope import Scope
from groupcheck.model.variants import load
from groupcheck.oracles.conform.whole.model import scope_of


# Twins have an urgent rule over two members.
@pytest.mark.parametrize(
    ("variant", "scope"),
    [
        ("classic", scope_of(2, 2, True)),
        ("twins", load("twins").scope_type(members=3, generations=2)),
    ],
    ids=["classic", "twins"],
)
def test_steps_give_what_the_rules_give(variant: str, scope: Scope):
    spec = load(variant).spec(scope)
    see = Semantics(spec)
    steps = Steps(spec)

    def valued(state: Numbers) -> State:
        return tuple(steps.value(k, number) for k, number in enumerate(state))

    reached = [steps.start()]
    assert valued(reached[0]) == see.starts()[0][-1]
    for _ in range(4):
        following = []
        for state in reached:
            for i in steps.tabled.see.ordinary:
                begun = steps.fired(i.rule.name, i.me or 0).after(state)
                assert [(name, valued(after)) for name, after in begun] == [
                    (firing.name, after) for firing, after, _ in see.firings(i, valued(state))
                ]
                for _, after in begun:
                    settled = steps.settled(after)
                    following += [end for _, end in settled]
                    assert [(chain, valued(end)) for chain, end in settled] == [
                        (tuple(f.name for f in chain), end)
                        for chain, end, _ in see.settle(valued(after))
                    ]
        reached = list(dict.fromkeys(following))[-60:]
    assert len(reached) > 40
