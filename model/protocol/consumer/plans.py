"""The assignors. A member as they see it is a key: its subscription, its last target, its number.
Assignors that do not go by ids take the number -1 of all, so that members stay exchangeable.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Protocol

from groupcheck.model.assignors.group import Assignment, Group, Member
from groupcheck.model.assignors.server_range import server_range
from groupcheck.model.assignors.uniform import uniform
from groupcheck.model.protocol.consumer.memory import Seat
from groupcheck.model.protocol.consumer.scope import ConsumerScope
from groupcheck.model.protocol.masks import numbers

Key = tuple[int, int, int]
Plan = tuple[tuple[Key, int], ...]
NAMED = "named"
BY_ID = ("uniform", "range", NAMED)


class Topics(Protocol):
    """A scope, as far as it says which partitions there are."""

    @property
    def topics(self) -> int:
        """How many topics."""

    @property
    def partitions(self) -> int:
        """Of each topic."""

    def topic(self, number: int) -> int:
        """The partitions of a topic, as a bit mask."""


def key_of(seat: Seat, number: int, scope: ConsumerScope) -> Key:
    """The member as the assignor sees it."""
    by_id = scope.assignor in BY_ID
    target = 0 if scope.assignor == "any" else seat.target
    return seat.trait, target, number if by_id else -1


def plans(
    seen: tuple[Key, ...],
    topics: int,
    scope: ConsumerScope,
    named: str = "",
    *,
    alike: bool = False,
) -> list[Plan]:
    """Every plan that the assignor may make of the partitions `topics`. `named`: the one that most
    members name; `alike`: it takes the subscription of the first member that it sees, whichever
    that is, for that of all.
    """
    if not seen:
        return [()]
    if scope.assignor in BY_ID:
        return [_by_id(seen, topics, scope, named or scope.assignor)]
    taken_for = [[first] * len(seen) for first, *_ in seen] if alike else [[s for s, *_ in seen]]
    every = {
        tuple(sorted(zip(seen, shares)))
        for subscribed in taken_for
        for shares in _legal(subscribed, topics, scope)
    }
    if scope.assignor == "sticky":
        least = min(map(_cost, every))
        every = {plan for plan in every if _cost(plan) == least}
    return sorted(every)


def _legal(seen: list[int], topics: int, scope: ConsumerScope) -> Iterator[list[int]]:
    """Each partition to one subscriber, if it has any. `seen`: what members subscribe to."""
    bits = [1 << p for p in range(scope.topics * scope.partitions)]
    subscribers = [
        (bit, [k for k, subscribed in enumerate(seen) if subscribed & topics & bit]) for bit in bits
    ]
    wanted = [(bit, those) for bit, those in subscribers if those]
    for owners in product(*(those for _, those in wanted)):
        shares = [0] * len(seen)
        for (bit, _), owner in zip(wanted, owners):
            shares[owner] |= bit
        yield shares


def _cost(plan: Plan) -> tuple[int, int]:
    """How uneven it is, and how much it moves."""
    sizes = [share.bit_count() for _, share in plan]
    moves = sum((share & ~target).bit_count() for (_, target, _), share in plan)
    return max(sizes) - min(sizes), moves


def _by_id(seen: tuple[Key, ...], topics: int, scope: ConsumerScope, assignor: str) -> Plan:
    """What Kafka's own assignor makes of it."""
    places = [place(p, scope) for p in range(scope.topics * scope.partitions)]
    sizes = {name(t): (topics & scope.topic(t)).bit_count() for t in range(scope.topics)}
    members = tuple(
        Member(
            id_of(number),
            [name(t) for t in range(scope.topics) if subscribed & scope.topic(t)],
            [places[p] for p in numbers(target)],
            instance=instance_of(number) if number < scope.static_members else None,
        )
        for subscribed, target, number in seen
    )
    group = Group({topic: n for topic, n in sizes.items() if n}, members)
    made = _assigned(group, assignor, scope)
    bits = {one: 1 << p for p, one in enumerate(places)}
    return tuple((key, sum(bits[one] for one in made[id_of(key[2])])) for key in seen)


def _assigned(group: Group, assignor: str, scope: ConsumerScope) -> Assignment:
    if assignor == "range":
        return server_range(group)
    return uniform(group, gives_up_the_extra=scope.kafka != "4.0.0")


def name(topic: int) -> str:
    """The topic's name."""
    return f"t{topic}"


def place(partition: int, scope: Topics) -> tuple[str, int]:
    """The topic of a partition's bit, and its number there."""
    topic, number = divmod(partition, scope.partitions)
    return name(topic), number


def id_of(number: int) -> str:
    """The member id of a process."""
    return f"a{number}"


def instance_of(number: int) -> str:
    """Its group.instance.id."""
    return f"i{number}"
