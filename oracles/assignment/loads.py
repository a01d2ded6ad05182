"""Constraints on amounts: what a member has, how members differ, how many racks, how many moves.

`words` and `broken` are as in `placement`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from math import lcm
from typing import Annotated, Any

from attrs import frozen

from groupcheck.model.assignors import Group, Partition
from groupcheck.model.engine import UserError
from groupcheck.oracles.assignment.handover import moves
from groupcheck.oracles.assignment.placement import Broken, PricedConstraint
from groupcheck.oracles.assignment.reading import LARGEST_NUMBER, Bound, Name, PositiveBound, Weight
from groupcheck.oracles.assignment.validity import Assigned, named

NO_RACK = "no rack"  # the rack of all members that have none


def _difference(value: Any, _: Any) -> Fraction:
    """0, or what a weight may be."""
    if (
        isinstance(value, bool)
        or not isinstance(value, int | float)
        or not 0 <= value <= LARGEST_NUMBER
    ):
        raise UserError(f"a number from 0 to {LARGEST_NUMBER} should stand here")
    return Fraction(str(value)).limit_denominator(1_000_000)


Difference = Annotated[Fraction, _difference]


@frozen
class Scale:
    """Weights as whole numbers."""

    # Topic -> weight of each of its partitions that has none of its own.
    topics: Mapping[str, int]
    partitions: Mapping[Partition, int]
    # The factor by which the weights were multiplied.
    by: int

    def weigh(self, partition: Partition) -> int:
        """The weight of a partition; 0 if it is not named."""
        return self.partitions.get(partition, self.topics.get(partition[0], 0))


def scale(weights: Mapping[str, Fraction], *others: Fraction) -> Scale:
    """The weights of topics ("orders") and of partitions ("orders-3"), as whole numbers, in a scale
    in which `others` are whole, too. A name such as "orders-3" is read as a partition and as a
    topic: whichever of them exists has the weight.
    """
    by = lcm(*(w.denominator for w in (*weights.values(), *others)))
    whole = {name: int(weight * by) for name, weight in weights.items()}
    single = {}
    for name, weight in whole.items():
        topic, _, number = name.rpartition("-")
        if topic and number.isascii() and number.isdecimal():
            single[topic, int(number)] = weight
    return Scale(whole, single, by)


@frozen
class Capacity(PricedConstraint):
    """The partitions of a member weigh at most so much."""

    unit = "unit of weight"

    # Topic or partition -> weight; a topic's is that of each of its partitions. What is not named
    # weighs nothing.
    weights: dict[Name, Weight]
    most: Weight
    # None: this holds for each member.
    member: Name | None = None

    def words(self) -> str:
        bound = f"{self.member or 'each member'} bears at most {float(self.most):g}"
        return f"{bound} ({weight_words(self.weights)})"

    def scale(self, group: Group) -> Scale:
        return scale(self.weights, self.most)

    def bound(self, scale: Scale) -> int:
        """The bound in the scale."""
        return int(self.most * scale.by)

    def broken(self, group: Group, assigned: Assigned) -> Iterator[Broken]:
        return _overloaded(self, group, assigned)


@frozen
class AtMost(PricedConstraint):
    """A member has at most so many partitions."""

    most: Bound
    # None: partitions of all topics are counted.
    topic: Name | None = None
    # None: this holds for each member.
    member: Name | None = None

    def words(self) -> str:
        return f"{self.member or 'each member'} has at most {_many(self.most, self.topic)}"

    def scale(self, group: Group) -> Scale:
        return counting(group, self.topic)

    def bound(self, scale: Scale) -> int:
        """The bound in the scale."""
        return self.most

    def broken(self, group: Group, assigned: Assigned) -> Iterator[Broken]:
        return _overloaded(self, group, assigned)


@frozen
class AtLeast(PricedConstraint):
    """A member has at least so many partitions."""

    least: PositiveBound
    # None: partitions of all topics are counted.
    topic: Name | None = None
    # None: this holds for each member that subscribes to the topic, or to any.
    member: Name | None = None

    def words(self) -> str:
        who = self.member or (
            f"each subscriber of {self.topic}" if self.topic else "each subscriber"
        )
        return f"{who} has at least {_many(self.least, self.topic)}"

    def members(self, group: Group) -> list[str]:
        """The members for which it holds."""
        if self.member is not None:
            return [self.member]
        topics = {t for t, size in group.topics if size and self.topic in (None, t)}
        return [m.id for m in group.members if m.topics & topics]

    def broken(self, group: Group, assigned: Assigned) -> Iterator[Broken]:
        for member in self.members(group):
            many = sum(self.topic in (None, topic) for topic, _ in assigned.get(member, ()))
            if many < self.least:
                yield f"{member} has {many}", self.least - many


@frozen
class LevelWeights(PricedConstraint):
    """The partitions of any two members weigh the same, or their weights differ by at most so much.
    Members that subscribe to nothing that weighs are not compared.
    """

    unit = "unit of weight"

    # As in `Capacity`.
    weights: dict[Name, Weight]
    within: Difference

    def words(self) -> str:
        loads = f"the loads of members differ by at most {float(self.within):g}"
        return f"{loads} ({weight_words(self.weights)})"

    def members(self, group: Group) -> list[str]:
        """The members that are compared."""
        sizes, scaled = dict(group.topics), scale(self.weights)
        weighing = {t for t in sizes if scaled.topics.get(t)} | {t for t, _ in scaled.partitions}
        return [m.id for m in group.members if any(sizes.get(t) for t in m.topics & weighing)]

    def broken(self, group: Group, assigned: Assigned) -> Iterator[Broken]:
        scaled = scale(self.weights, self.within)
        load = {m: sum(map(scaled.weigh, assigned.get(m, ()))) for m in self.members(group)}
        if load:
            most, least = max(load, key=load.__getitem__), min(load, key=load.__getitem__)
            over = Fraction(load[most] - load[least], scaled.by) - self.within
            if over > 0:
                heavy, light = (load[m] / scaled.by for m in (most, least))
                yield f"{most} has {heavy:g} and {least} has {light:g}", over


@frozen
class RacksAtMost(PricedConstraint):
    """The owners of a topic's partitions are in at most so many racks. All members without a rack
    count as one rack.
    """

    unit = "rack"

    most: PositiveBound
    # None: the owners of any partition are counted.
    topic: Name | None = None

    def words(self) -> str:
        return (
            f"the owners of {self.topic or 'all partitions'} are in at most {self.most}"
            f" rack{'s' * (self.most != 1)}"
        )

    def broken(self, group: Group, assigned: Assigned) -> Iterator[Broken]:
        racks = {
            m.rack or NO_RACK
            for m in group.members
            if any(self.topic in (None, topic) for topic, _ in assigned.get(m.id, ()))
        }
        if len(racks) > self.most:
            yield f"they are in {', '.join(sorted(racks))}", len(racks) - self.most


@frozen
class MovesAtMost(PricedConstraint):
    """At most so many partitions move from the member that claims them to another."""

    most: Bound

    def words(self) -> str:
        return f"at most {self.most} partition{'s move' if self.most != 1 else ' moves'}"

    def broken(self, group: Group, assigned: Assigned) -> Iterator[Broken]:
        moved = moves(group, assigned)
        if len(moved) > self.most:
            few = [f"{named(p)} from {frm} to {to}" for p, (frm, to) in list(moved.items())[:4]]
            more = ["..."] if len(moved) > len(few) else []
            yield f"{len(moved)} move: {', '.join(few + more)}", len(moved) - self.most


Load = AtMost | Capacity
"""An upper bound of what a member has: `bound` in the whole numbers of `scale`."""


def counting(group: Group, topic: str | None) -> Scale:
    """Each partition of the topic (None: of any) weighs 1."""
    return Scale({t: 1 for t, _ in group.topics if topic in (None, t)}, {}, 1)


def loaded(given: Load, group: Group) -> list[str]:
    """The members for which a bound of what they have holds."""
    return [member.id for member in group.members if given.member in (None, member.id)]


def weight_words(weights: Mapping[str, Fraction]) -> str:
    """`2.5 for each of orders`."""
    return ", ".join(f"{float(weight):g} for each of {name}" for name, weight in weights.items())


def _overloaded(given: Load, group: Group, assigned: Assigned) -> Iterator[Broken]:
    scaled = given.scale(group)
    most = given.bound(scaled)
    for member in loaded(given, group):
        load = sum(map(scaled.weigh, assigned.get(member, ())))
        if load > most:
            yield f"{member} has {load / scaled.by:g}", Fraction(load - most, scaled.by)


def _many(count: int, topic: str | None) -> str:
    return f"{count} partition{'s' * (count != 1)}" + (f" of {topic}" if topic else "")
