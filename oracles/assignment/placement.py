"""Constraints on where partitions are: on or off a member, together, apart, near, and off a member
that is drained.

Each constraint says in `words` what it asks. `broken` says how an assignment breaks it, and each
time by how many units: if the constraint is soft, its price is due for each unit.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction
from typing import ClassVar

from attrs import field, frozen

from groupcheck.model.assignors import Group, Member, Partition
from groupcheck.oracles.assignment.reading import Name, PartitionName, PositiveBound
from groupcheck.oracles.assignment.validity import Assigned, named

NOBODYS = "nobody's"
Broken = tuple[str, int | Fraction]
"""In words, and by how many units."""
ReplicaRacks = Mapping[Partition, frozenset[str]]


@frozen
class PricedConstraint:
    """A constraint that may be soft."""

    # The unit by which it is broken, in words.
    unit: ClassVar[str] = "partition"

    # The price of each unit by which it is broken. None: it has to be kept.
    soft: PositiveBound | None = field(default=None, kw_only=True)


@frozen
class Stays(PricedConstraint):
    """These partitions are on this member."""

    partitions: list[PartitionName]
    member: Name

    def words(self) -> str:
        return f"{_stay(self.partitions)} on {self.member}"

    def broken(self, group: Group, assigned: Assigned) -> Iterator[Broken]:
        owners = _owners(self.partitions, assigned)
        for partition in self.partitions:
            if partition not in assigned.get(self.member, ()):
                yield f"{named(partition)} is {owners[partition]}", 1


@frozen
class Never(PricedConstraint):
    """These partitions are not on this member."""

    partitions: list[PartitionName]
    member: Name

    def words(self) -> str:
        return f"{_stay(self.partitions)} off {self.member}"

    def broken(self, group: Group, assigned: Assigned) -> Iterator[Broken]:
        for partition in self.partitions:
            if partition in assigned.get(self.member, ()):
                yield f"{self.member} has {named(partition)}", 1


@frozen
class Together(PricedConstraint):
    """These partitions are on one member. Those that nobody has count as one more member's."""

    unit = "member more than one"

    partitions: list[PartitionName]

    def words(self) -> str:
        return f"{_all(self.partitions)} stay together"

    def broken(self, group: Group, assigned: Assigned) -> Iterator[Broken]:
        owners = _owners(self.partitions, assigned)
        members = set(owners.values())
        if len(members) > 1:
            yield _owner_words(owners), len(members) - 1


@frozen
class Apart(PricedConstraint):
    """No member has two of these partitions."""

    partitions: list[PartitionName]

    def words(self) -> str:
        return f"{_all(self.partitions)} stay apart"

    def broken(self, group: Group, assigned: Assigned) -> Iterator[Broken]:
        owners = _owners(self.partitions, assigned)
        given = [owner for owner in owners.values() if owner != NOBODYS]
        if len(set(given)) < len(given):
            yield _owner_words(owners), len(given) - len(set(given))


@frozen
class TopicsApart(PricedConstraint):
    """No member has partitions of two of these topics."""

    unit = "topic more than one on a member"

    topics: list[Name]

    def words(self) -> str:
        return f"the topics {', '.join(self.topics)} stay apart"

    def broken(self, group: Group, assigned: Assigned) -> Iterator[Broken]:
        for member, partitions in assigned.items():
            found = {topic for topic, _ in partitions}.intersection(self.topics)
            if len(found) > 1:
                yield f"{member} has {' and '.join(sorted(found))}", len(found) - 1


@frozen
class Nearby(PricedConstraint):
    """Partitions are on members in a rack of one of their replicas. A member without a rack is near
    every partition (KIP-881), and so is every member if a partition's racks are not known.
    """

    # None: this holds for the partitions of all topics.
    topic: Name | None = None
    # None: this holds for each member.
    member: Name | None = None

    def words(self) -> str:
        of = f" of {self.topic}" if self.topic else ""
        return f"{self.member or 'each member'} has only partitions{of} with a replica in its rack"

    def far(self, racks: ReplicaRacks, member: Member, partition: Partition) -> bool:
        """Must the member not have this partition?"""
        return (
            member.rack is not None
            and self.member in (None, member.id)
            and self.topic in (None, partition[0])
            and member.rack not in racks.get(partition, (member.rack,))
        )

    def broken(self, group: Group, assigned: Assigned) -> Iterator[Broken]:
        racks = replica_racks(group)
        for member in group.members:
            for p in sorted(assigned.get(member.id, ())):
                if self.far(racks, member, p):
                    there = ", ".join(sorted(racks[p]))
                    yield f"{member.id} in {member.rack} has {named(p)}, which is in {there}", 1


@frozen
class Drain:
    """This member gets nothing, and balance does not count it. It is never soft."""

    soft: ClassVar[None] = None
    unit: ClassVar[str] = "partition"

    member: Name

    def words(self) -> str:
        return f"{self.member} is drained: it gets nothing"

    def broken(self, group: Group, assigned: Assigned) -> Iterator[Broken]:
        for partition in sorted(assigned.get(self.member, ())):
            yield f"it has {named(partition)}", 1


def replica_racks(group: Group) -> ReplicaRacks:
    """The racks of the replicas of each partition of which they are known."""
    return {
        (topic, number): racks
        for topic, of_topic in group.racks
        for number, racks in enumerate(of_topic)
        if racks
    }


def _owners(partitions: Iterable[Partition], assigned: Assigned) -> dict[Partition, str]:
    """The owner of each of the partitions, in words."""
    owners: dict[Partition, list[str]] = {partition: [] for partition in partitions}
    wanted = frozenset(owners)
    for member, given in assigned.items():
        for partition in wanted & given:
            owners[partition].append(member)
    return {p: f"on {', '.join(of)}" if of else NOBODYS for p, of in owners.items()}


def _owner_words(owners: Mapping[Partition, str]) -> str:
    return ", ".join(f"{named(p)} is {owner}" for p, owner in owners.items())


def _stay(partitions: list[PartitionName]) -> str:
    return f"{_all(partitions)} {'stays' if len(partitions) == 1 else 'stay'}"


def _all(partitions: Iterable[Partition]) -> str:
    return ", ".join(map(named, partitions))
