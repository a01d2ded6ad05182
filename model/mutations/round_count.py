"""Bugs that make a cooperative group rebalance again and again."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from groupcheck.model.engine import but
from groupcheck.model.engine.rule import Rule
from groupcheck.model.mutations.mutation import SEEDED, Mutation
from groupcheck.model.protocol.classic import client as member
from groupcheck.model.protocol.classic.client import Member
from groupcheck.model.protocol.family import ROUNDS
from groupcheck.model.protocol.transform import rewritten


def _always_joins_again(rule: Rule) -> Rule:
    def call(*given: Any) -> Iterator[Any]:
        for label, client, *rest in rule.call(*given):
            again = label == "assigned" and client.state == Member.STABLE
            yield label, but(client, rejoin=client.rejoin or again), *rest

    return rewritten(rule, call)


MUTATIONS = (
    Mutation(
        id="joins_again_for_nothing",
        ticket=SEEDED,
        title="A member joins again after every round, whether it has revoked anything or not.",
        family=ROUNDS,
        invariant="one_more_round",
        doc=(
            "onJoinComplete asks for another round only if something was revoked. Seeded: it always"
            " does. Every member claims what it has, nothing moves, and the rounds never end."
        ),
        scope={"members": 1, "generations": 3, "records": 0},
        twists={member.sync_answer.name: _always_joins_again},
    ),
)
