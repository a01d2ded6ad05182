"""Every plan of Kafka's CooperativeStickyAssignor is one of the model's cooperative leader."""

from __future__ import annotations

from itertools import product

from groupcheck.model.assignors import Group, Member
from groupcheck.model.protocol.classic.features.cooperative import CooperativeScope
from groupcheck.model.protocol.classic.plans import plans
from groupcheck.oracles.kafka.assignors import Problem, solve
from groupcheck.oracles.kafka.driver import Driver

Claims = tuple[tuple[int, int], ...]  # generation, partitions


def group_of(claims: Claims, partitions: int) -> Group:
    members = [
        Member(
            f"m{k}",
            topics=("t",),
            owned=frozenset(("t", p) for p in range(partitions) if owned >> p & 1),
            generation=generation,
        )
        for k, (generation, owned) in enumerate(claims)
    ]
    return Group(topics={"t": partitions}, members=members)


def test_kafkas_plan_is_one_of_the_models_for_all_small_claims(coordinator: Driver) -> None:
    cases = []
    for members, partitions in ((1, 2), (2, 1), (2, 2), (2, 3), (3, 2)):
        masks, generations = range(1 << partitions), (1, 2)
        each = product(generations, masks)
        for claims in product(list(each), repeat=members):
            # Two equal claims beside a later one: the order of a HashMap decides (see `plans`).
            if members < 3 or len({generation for generation, _ in claims}) == 1:
                cases.append((claims, partitions))
    problems = [Problem("cooperative-sticky", group_of(*case)) for case in cases]
    for (claims, partitions), answer in zip(cases, solve(coordinator, problems), strict=True):
        scope = CooperativeScope(members=len(claims), partitions=partitions, assignor="sticky")
        told = [(*claim, 0) for claim in claims]
        kafka = tuple(
            sorted(
                (claim, sum(1 << p for _, p in answer[f"m{k}"])) for k, claim in enumerate(told)
            )
        )
        assert kafka in set(plans(told, scope.partitions_of(0), scope)), (claims, kafka)
