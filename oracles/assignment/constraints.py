"""Constraints of a user's own: read from JSON, told in words, and judged without a solver (`solve`
states them to HiGHS and z3).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from math import lcm
from typing import Any

import attrs
from attrs import frozen

from groupcheck.model.assignors import Group, Partition
from groupcheck.model.engine import UserError
from groupcheck.oracles.assignment.reading import (
    MOST_NUMBER,
    Bound,
    Name,
    PartitionName,
    PositiveBound,
    Weight,
    name_shown,
    structured,
)
from groupcheck.oracles.assignment.validity import Assigned, Violation, named
from groupcheck.oracles.explain.subject import one_of

PROMISE = "constraint"
NOBODYS = "nobody's"
NO_RACK = "no rack"  # the rack of all members that have none


@frozen
class Stays:
    """These partitions are on this member."""

    partitions: list[PartitionName]
    member: Name

    def words(self) -> str:
        return f"{_stay(self.partitions)} on {self.member}"

    def broken(self, group: Group, assigned: Assigned) -> Iterator[str]:
        for partition in self.partitions:
            if partition not in assigned.get(self.member, ()):
                yield f"{named(partition)} is {_whose(partition, assigned)}"


@frozen
class Never:
    """These partitions are not on this member."""

    partitions: list[PartitionName]
    member: Name

    def words(self) -> str:
        return f"{_stay(self.partitions)} off {self.member}"

    def broken(self, group: Group, assigned: Assigned) -> Iterator[str]:
        for partition in self.partitions:
            if partition in assigned.get(self.member, ()):
                yield f"{self.member} has {named(partition)}"


@frozen
class Together:
    """These partitions are on one member."""

    partitions: list[PartitionName]

    def words(self) -> str:
        return f"{_all(self.partitions)} stay together"

    def broken(self, group: Group, assigned: Assigned) -> Iterator[str]:
        if len({_whose(partition, assigned) for partition in self.partitions}) > 1:
            yield _owners(self.partitions, assigned)


@frozen
class Apart:
    """No member has two of these partitions."""

    partitions: list[PartitionName]

    def words(self) -> str:
        return f"{_all(self.partitions)} stay apart"

    def broken(self, group: Group, assigned: Assigned) -> Iterator[str]:
        owners = [_whose(partition, assigned) for partition in self.partitions]
        given = [owner for owner in owners if owner != NOBODYS]
        if len(set(given)) < len(given):
            yield _owners(self.partitions, assigned)


@frozen
class Capacity:
    """What a member has weighs at most so much."""

    # Topic -> weight of each of its partitions; a topic that is not named weighs nothing.
    weights: dict[Name, Weight]
    most: Weight
    # None: this holds for each member.
    member: Name | None = None

    def words(self) -> str:
        each = ", ".join(f"{float(weight):g} for each of {t}" for t, weight in self.weights.items())
        return f"{self.member or 'each member'} bears at most {float(self.most):g} ({each})"

    def whole(self, group: Group) -> tuple[dict[str, int], int, int]:
        scale = lcm(self.most.denominator, *(w.denominator for w in self.weights.values()))
        weights = {topic: int(weight * scale) for topic, weight in self.weights.items()}
        return weights, int(self.most * scale), scale

    def broken(self, group: Group, assigned: Assigned) -> Iterator[str]:
        return _overloaded(self, group, assigned)


@frozen
class AtMost:
    """A member has at most so many partitions."""

    most: Bound
    # None: partitions of all topics are counted.
    topic: Name | None = None
    # None: this holds for each member.
    member: Name | None = None

    def words(self) -> str:
        many = f"{self.most} partition{'s' * (self.most != 1)}"
        of = f" of {self.topic}" if self.topic else ""
        return f"{self.member or 'each member'} has at most {many}{of}"

    def whole(self, group: Group) -> tuple[dict[str, int], int, int]:
        return {t: 1 for t, _ in group.topics if self.topic in (None, t)}, self.most, 1

    def broken(self, group: Group, assigned: Assigned) -> Iterator[str]:
        return _overloaded(self, group, assigned)


@frozen
class RacksAtMost:
    """The owners of a topic's partitions are in at most so many racks. All members without a rack
    count as one rack.
    """

    most: PositiveBound
    # None: the owners of any partition are counted.
    topic: Name | None = None

    def words(self) -> str:
        return (
            f"the owners of {self.topic or 'all partitions'} are in at most {self.most}"
            f" rack{'s' * (self.most != 1)}"
        )

    def broken(self, group: Group, assigned: Assigned) -> Iterator[str]:
        racks = {
            m.rack or NO_RACK
            for m in group.members
            if any(self.topic in (None, topic) for topic, _ in assigned.get(m.id, ()))
        }
        if len(racks) > self.most:
            yield f"they are in {', '.join(sorted(racks))}"


Constraint = Stays | Never | Together | Apart | AtMost | Capacity | RacksAtMost
"""`words()` is the constraint as a sentence, `broken()` says in words what does not hold."""

Load = AtMost | Capacity
"""`whole()`: weights of topics and the bound as whole numbers, and by what they were multiplied."""

KINDS: Mapping[str, type[Constraint]] = {
    "stays": Stays,
    "never": Never,
    "together": Together,
    "apart": Apart,
    "at_most": AtMost,
    "capacity": Capacity,
    "racks_at_most": RacksAtMost,
}


def broken(constraint: Constraint, group: Group, assigned: Assigned) -> Iterator[Violation]:
    """How an assignment breaks the constraint."""
    for words in constraint.broken(group, assigned):
        yield Violation(PROMISE, f"{constraint.words()}: {words}")


def constraint(value: Mapping[str, Any], group: Group, where: str) -> Constraint:
    """One constraint from JSON. Raises `UserError` for a kind that does not exist, and for names
    that the group does not have.
    """
    kind = str(value.get("kind", "nothing"))
    if kind not in KINDS:
        unknown = one_of("kind of constraint", kind, KINDS)
        raise UserError(unknown.what, where=f"{where}.kind", do=unknown.do)
    given = {name: one for name, one in value.items() if name != "kind"}
    read = structured(given, KINDS[kind], where)
    wrong = next(_missing(read, group), None)
    if wrong is not None:
        raise UserError(wrong, where=where)
    if isinstance(read, Capacity):
        weights, most, _ = read.whole(group)
        if max(most, sum(size * weights.get(t, 0) for t, size in group.topics)) > MOST_NUMBER:
            raise UserError(
                "the weights have too many digits to be added up", where=where, do="round them"
            )
    return read


def _missing(given: Constraint, group: Group) -> Iterator[str]:
    """What the constraint names and the group does not have."""
    sizes, names = dict(group.topics), attrs.asdict(given, recurse=False)
    for topic in (names.get("topic"), *names.get("weights", ())):
        if topic not in (None, *sizes):
            yield f"there is no topic {name_shown(topic)}"
    if names.get("member") not in (None, *(m.id for m in group.members)):
        yield f"unknown member {name_shown(names['member'])}"
    partitions = names.get("partitions")
    for topic, number in partitions or ():
        if number >= sizes.get(topic, 0):
            yield f"{name_shown(f'{topic}-{number}')} does not exist"
    if partitions is not None and len(set(partitions)) < max(1, len(partitions)):
        yield "the same partition twice" if partitions else "no partitions"


def loaded(given: Load, group: Group) -> list[str]:
    """The members for which a bound of what they have holds."""
    return [member.id for member in group.members if given.member in (None, member.id)]


def _overloaded(given: Load, group: Group, assigned: Assigned) -> Iterator[str]:
    weights, most, scale = given.whole(group)
    for member in loaded(given, group):
        load = sum(weights.get(topic, 0) for topic, _ in assigned.get(member, ()))
        if load > most:
            yield f"{member} has {load / scale:g}"


def _owners(partitions: Iterable[Partition], assigned: Assigned) -> str:
    return ", ".join(f"{named(p)} is {_whose(p, assigned)}" for p in partitions)


def _whose(partition: Partition, assigned: Assigned) -> str:
    owners = [member for member, partitions in assigned.items() if partition in partitions]
    return f"on {', '.join(owners)}" if owners else NOBODYS


def _stay(partitions: list[PartitionName]) -> str:
    return f"{_all(partitions)} {'stays' if len(partitions) == 1 else 'stay'}"


def _all(partitions: Iterable[Partition]) -> str:
    return ", ".join(map(named, partitions))
