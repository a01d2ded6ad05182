"""Constraints of a user's own: read from JSON, told in words, and judged without a solver
(solving.py states the same ones to z3).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from math import lcm
from typing import Any

from attrs import frozen

from groupcheck.model.assignors import Group, Partition
from groupcheck.model.engine import UserError
from groupcheck.oracles.assignment.strict_json import (
    MOST_NUMBER,
    a_count,
    a_name,
    a_weight,
    an_array,
    an_object,
    name_shown,
    partition_from,
)
from groupcheck.oracles.assignment.validity import Assigned, Violation, named
from groupcheck.oracles.explain.subject import one_of

PROMISE = "constraint"
NOBODYS = "nobody's"


@frozen
class Stays:
    """These partitions are on this member."""

    partitions: tuple[Partition, ...]
    member: str

    def words(self) -> str:
        """The constraint as a sentence."""
        return f"{_all(self.partitions)} {_stay(self.partitions)} on {self.member}"

    def broken(self, group: Group, assigned: Assigned) -> Iterator[Violation]:
        """What of it does not hold."""
        for partition in self.partitions:
            if partition not in assigned.get(self.member, ()):
                yield Violation(
                    PROMISE, f"{self.words()}: {named(partition)} is {_whose(partition, assigned)}"
                )


@frozen
class Never:
    """These partitions are not on this member."""

    partitions: tuple[Partition, ...]
    member: str

    def words(self) -> str:
        """The constraint as a sentence."""
        return f"{_all(self.partitions)} {_stay(self.partitions)} off {self.member}"

    def broken(self, group: Group, assigned: Assigned) -> Iterator[Violation]:
        """What of it does not hold."""
        for partition in self.partitions:
            if partition in assigned.get(self.member, ()):
                yield Violation(PROMISE, f"{self.words()}: {self.member} has {named(partition)}")


@frozen
class Together:
    """These partitions are on one member; `apart`: on as many members as there are partitions."""

    partitions: tuple[Partition, ...]
    apart: bool = False

    def words(self) -> str:
        """The constraint as a sentence."""
        return f"{_all(self.partitions)} {'stay apart' if self.apart else 'stay together'}"

    def broken(self, group: Group, assigned: Assigned) -> Iterator[Violation]:
        """What of it does not hold."""
        owners = [_whose(partition, assigned) for partition in self.partitions]
        of_members = [owner for owner in owners if owner != NOBODYS]
        if (len(set(of_members)) < len(of_members)) if self.apart else (len(set(owners)) > 1):
            where = ", ".join(f"{named(p)} is {owner}" for p, owner in zip(self.partitions, owners))
            yield Violation(PROMISE, f"{self.words()}: {where}")


@frozen
class Load:
    """What members hold weighs at most `most` each. `weights` of partitions by topic; a topic that
    is not named weighs nothing.
    """

    weights: tuple[tuple[str, Fraction], ...]
    most: Fraction
    members: tuple[str, ...]
    told: str

    def words(self) -> str:
        """The constraint as a sentence."""
        return self.told

    def whole(self) -> tuple[dict[str, int], int]:
        """Weights and bound as whole numbers in the same proportion."""
        scale = lcm(self.most.denominator, *(weight.denominator for _, weight in self.weights))
        return {topic: int(weight * scale) for topic, weight in self.weights}, int(
            self.most * scale
        )

    def broken(self, group: Group, assigned: Assigned) -> Iterator[Violation]:
        """What of it does not hold."""
        weights = dict(self.weights)
        for member in self.members:
            load = sum(
                (weights.get(topic, Fraction(0)) for topic, _ in assigned.get(member, ())),
                Fraction(0),
            )
            if load > self.most:
                yield Violation(PROMISE, f"{self.told}: {member} has {float(load):g}")


@frozen
class RacksAtMost:
    """The members that hold partitions of a topic (None: of any) are in at most so many racks;
    members without a rack count as one.
    """

    most: int
    topic: str | None

    def words(self) -> str:
        """The constraint as a sentence."""
        return (
            f"the owners of {self.topic or 'all partitions'} are in at most {self.most}"
            f" rack{'s' * (self.most != 1)}"
        )

    def broken(self, group: Group, assigned: Assigned) -> Iterator[Violation]:
        """What of it does not hold."""
        racks = {
            m.rack or "no rack"
            for m in group.members
            if any(self.topic in (None, topic) for topic, _ in assigned.get(m.id, ()))
        }
        if len(racks) > self.most:
            yield Violation(PROMISE, f"{self.words()}: they are in {', '.join(sorted(racks))}")


Constraint = Stays | Never | Together | Load | RacksAtMost


def _whose(partition: Partition, assigned: Assigned) -> str:
    owners = [member for member, partitions in assigned.items() if partition in partitions]
    return f"on {', '.join(owners)}" if owners else NOBODYS


def _stay(partitions: tuple[Partition, ...]) -> str:
    return "stays" if len(partitions) == 1 else "stay"


def _all(partitions: tuple[Partition, ...]) -> str:
    return ", ".join(map(named, partitions))


KINDS = {
    "stays": frozenset({"partitions", "member"}),
    "never": frozenset({"partitions", "member"}),
    "together": frozenset({"partitions"}),
    "apart": frozenset({"partitions"}),
    "at_most": frozenset({"most"}),
    "capacity": frozenset({"weights", "most"}),
    "racks_at_most": frozenset({"most"}),
}
OPTIONAL = {"at_most": {"topic", "member"}, "capacity": {"member"}, "racks_at_most": {"topic"}}
MOST = 1_000_000


def constraint(value: Any, group: Group, where: str) -> Constraint:
    """One constraint from JSON. Raises `UserError` for what it does not know, and for names that
    the group does not have.
    """
    kind = a_name(an_object(value, where).get("kind", "nothing"), f"{where}.kind")
    if kind not in KINDS:
        raise one_of("kind of constraint", kind, KINDS)
    about = an_object(value, where, KINDS[kind] | OPTIONAL.get(kind, set()) | {"kind"})
    for name in sorted(KINDS[kind] - set(about)):
        raise UserError(f'{kind} needs "{name}"', where=where)
    if kind in ("stays", "never"):
        found = (
            _partitions(about["partitions"], group, where),
            _member(about["member"], group, where),
        )
        return Stays(*found) if kind == "stays" else Never(*found)
    if kind in ("together", "apart"):
        return Together(_partitions(about["partitions"], group, where), kind == "apart")
    topic = _topic(about["topic"], group, where) if "topic" in about else None
    if kind == "racks_at_most":
        return RacksAtMost(a_count(about["most"], f"{where}.most", MOST, 1), topic)
    return _load(kind, about, topic, group, where)


def _load(kind: str, about: Mapping[str, Any], topic: str | None, group: Group, where: str) -> Load:
    members = (
        (_member(about["member"], group, where),)
        if "member" in about
        else tuple(m.id for m in group.members)
    )
    who = members[0] if "member" in about else "each member"
    if kind == "at_most":
        most = a_count(about["most"], f"{where}.most", MOST)
        weights = {t: Fraction(1) for t, _ in group.topics if topic in (None, t)}
        return Load(
            tuple(weights.items()),
            Fraction(most),
            members,
            f"{who} has at most {most}"
            f" partition{'s' * (most != 1)}{f' of {topic}' if topic else ''}",
        )
    given = an_object(about["weights"], f"{where}.weights")
    weights = {
        _topic(t, group, where): a_weight(w, f"{where}.weights.{t}") for t, w in given.items()
    }
    capacity = a_weight(about["most"], f"{where}.most")
    each = ", ".join(f"{float(w):g} for each of {t}" for t, w in weights.items())
    load = Load(
        tuple(weights.items()),
        capacity,
        members,
        f"{who} bears at most {float(capacity):g} ({each})",
    )
    whole, most = load.whole()
    if max(most, sum(size * whole.get(t, 0) for t, size in group.topics)) > MOST_NUMBER:
        raise UserError(
            "the weights have too many digits to be added up", where=where, do="round them"
        )
    return load


def _topic(value: Any, group: Group, where: str) -> str:
    if a_name(value, where) not in dict(group.topics):
        raise UserError(f"there is no topic {name_shown(value)}", where=where)
    return str(value)


def _member(value: Any, group: Group, where: str) -> str:
    if a_name(value, where) not in {m.id for m in group.members}:
        raise UserError(f"unknown member {name_shown(value)}", where=where)
    return str(value)


def _partitions(value: Any, group: Group, where: str) -> tuple[Partition, ...]:
    sizes = dict(group.topics)
    found = tuple(partition_from(name, where) for name in an_array(value, where))
    for topic, number in found:
        if number >= sizes.get(topic, 0):
            raise UserError(f"{name_shown(f'{topic}-{number}')} does not exist", where=where)
    if not found or len(set(found)) < len(found):
        raise UserError("the same partition twice" if found else "no partitions", where=where)
    return found
