"""Every plan of Kafka's CooperativeStickyAssignor is one of the model's cooperative leader."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import combinations_with_replacement, product

from groupcheck.model.assignors import Group, Member
from groupcheck.model.protocol.classic.composition import scope_type, selected
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
            sorted((claim, sum(1 << p for _, p in answer[f"m{k}"])) for k, claim in enumerate(told))
        )
        assert kafka in set(plans(told, scope.partitions_of(0), scope)), (claims, kafka)


TOPICS = {"t": 2, "u": 1}  # partitions
NAMES = [(topic, p) for topic, count in TOPICS.items() for p in range(count)]
SUBSCRIPTIONS = (("t",), ("u",), ("t", "u"))


def test_kafkas_plan_is_one_of_the_models_for_members_with_different_topics(
    coordinator: Driver,
) -> None:
    """Each partition has one owner at most, which need not subscribe to its topic any more."""
    cases = [
        (tuple(owned[k] for k in range(members)), subscribed)
        for members in (2, 3)
        for subscribed in combinations_with_replacement(SUBSCRIPTIONS, members)
        for owners in product((None, *range(members)), repeat=len(NAMES))
        for owned in [[{p for p, k in zip(NAMES, owners) if k == me} for me in range(members)]]
    ]
    groups = [
        Group(
            topics=TOPICS,
            members=[
                Member(f"m{k}", topics=topics, owned=frozenset(mine), generation=1)
                for k, (mine, topics) in enumerate(zip(owned, subscribed, strict=True))
            ],
        )
        for owned, subscribed in cases
    ]
    answers = list(solve(coordinator, [Problem("cooperative-sticky", group) for group in groups]))
    wide = scope_type(selected(("cooperative", "triggers")))
    for assignor in ("sticky", "any"):
        for (owned, subscribed), answer in zip(cases, answers, strict=True):
            scope = wide(members=len(owned), topics="t:2,u:1", assignor=assignor)
            bits = {"t": 1, "u": 2}
            claims = [
                (1, _mask(mine), sum(bits[topic] for topic in topics))
                for mine, topics in zip(owned, subscribed, strict=True)
            ]
            known = scope.partitions_of(sum(bits[t] for t in {t for ts in subscribed for t in ts}))
            shares = [_mask(answer[f"m{k}"]) for k in range(len(owned))]
            kafka = tuple(sorted(zip(claims, shares, strict=True)))
            assert kafka in set(plans(claims, known, scope)), (claims, kafka)


def _mask(partitions: Iterable[tuple[str, int]]) -> int:
    return sum(1 << NAMES.index(p) for p in partitions)
