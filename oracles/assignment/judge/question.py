"""The question that `groupcheck assign` is asked: a group, an assignment or an assignor, promises
and constraints, read from JSON (docs/assignment.md).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import Annotated, Any

from attrs import field, frozen

from groupcheck.model.assignors import Group, Member, Partitions
from groupcheck.model.assignors.group import NO_GENERATION
from groupcheck.model.engine import UserError
from groupcheck.oracles.assignment.constraints import (
    MOST_CONSTRAINTS,
    Constraint,
    constraint,
)
from groupcheck.oracles.assignment.placement import Drain
from groupcheck.oracles.assignment.reading import (
    CONVERTER,
    MOST_PARTITIONS,
    AssignorName,
    Generation,
    Name,
    PartitionSet,
    PromiseName,
    Size,
    Weight,
    name_shown,
    structured,
)
from groupcheck.oracles.assignment.validity import Assigned

MOST_MEMBERS = 10_000


@frozen
class Question:
    """An assignment to be judged, and by what."""

    group: Group
    # The assignor of Kafka's whose promises are asked.
    assignor: str | None
    # What is proposed. None: the answer of the assignor is judged.
    assigned: Assigned | None
    # None: what the assignor promises.
    promises: tuple[str, ...] | None = None
    constraints: tuple[Constraint, ...] = ()
    # Of the members whose weight is not 1.
    weights: Mapping[str, Fraction] = field(factory=dict)
    # What the file says about itself.
    about: str = ""

    @property
    def drained(self) -> frozenset[str]:
        """The members that are to get nothing."""
        return frozenset(c.member for c in self.constraints if isinstance(c, Drain))


@frozen
class GivenMember:
    """A member in the file."""

    subscribes: list[Name]
    claims: PartitionSet = frozenset()
    # Of the claims.
    generation: Generation = NO_GENERATION
    # The generation in the subscription itself, if it is another.
    told: Generation | None = None
    instance: Name | None = None
    rack: Name | None = None
    weight: Weight = Fraction(1)

    def member(self, name: str) -> Member:
        """As an assignor sees it."""
        return Member(
            name,
            self.subscribes,
            self.claims,
            self.generation,
            self.told,
            self.instance,
            self.rack,
        )


OF_PROGRAMS = {"topics": "subscribes", "owned": "claims"}
"""Names of a member's fields in the form that programs read, and in a file."""


def _members(value: Any, _: Any) -> dict[str, GivenMember]:
    """From {"c1": {"subscribes": ["t"]}}, or from what a program is asked (`assign --against
    "program: COMMAND"`): [{"id": "c1", "topics": ["t"], "owned": {}, "generation": -1}].
    """
    if not isinstance(value, list):
        return CONVERTER.structure(value, dict[Name, GivenMember])
    members: dict[str, GivenMember] = {}
    for number, one in enumerate(value):
        where = f"[{number}]"
        if not isinstance(one, dict) or "id" not in one:
            raise UserError("a member in an array needs an id", where=where)
        fields = {
            OF_PROGRAMS.get(key, key): given
            for key, given in one.items()
            if key != "id" and given is not None
        }
        ((name, member),) = _inside_of(where, {one["id"]: fields})
        if name in members:
            raise UserError(f"{name_shown(name)} is given twice", where=where)
        members[name] = member
    return members


def _inside_of(where: str, member: dict[Any, Any]) -> Iterable[tuple[str, GivenMember]]:
    try:
        if not all(isinstance(name, str) for name in member):
            raise UserError("the id is no name")
        return CONVERTER.structure(member, dict[Name, GivenMember]).items()
    except UserError as error:
        _, _, rest = error.where.removeprefix(".").partition(".")
        raise UserError(
            error.what, where=f"{where}.{rest}" if rest else where, do=error.do
        ) from None


Members = Annotated[dict[str, GivenMember], _members]


@frozen(kw_only=True)
class Document:
    """The fields that a file of an assignment and one of a sequence share."""

    topics: dict[Name, Size]
    # In the order in which the assignor's map gives them.
    members: Members
    # Topic -> for each partition the racks of its replicas.
    racks: dict[Name, list[list[Name]]] = field(factory=dict)
    assignor: AssignorName | None = None
    promises: list[PromiseName] | None = None
    about: str = ""

    def group(self) -> Group:
        """The group at the beginning. Raises `UserError` where the document contradicts itself, or
        is too large.
        """
        for topic, racks in self.racks.items():
            if topic not in self.topics:
                raise UserError("there is no such topic", where=f"racks.{topic}")
            if len(racks) > self.topics[topic]:
                raise UserError(
                    f"racks of {len(racks)} partitions, and there are {self.topics[topic]}",
                    where=f"racks.{topic}",
                )
        members = [given.member(name) for name, given in self.members.items()]
        return within_bounds(Group(self.topics, members, self.racks), "topics", "members")

    def names(self) -> tuple[str, ...] | None:
        """The promises, each once."""
        return None if self.promises is None else tuple(dict.fromkeys(self.promises))


@frozen(kw_only=True)
class OneAssignment(Document):
    """A file that asks about one assignment."""

    assignment: dict[Name, PartitionSet] | None = None
    # Each is read when the group is known.
    constraints: list[dict[Name, Any]] = field(factory=list)


def question(value: Any) -> Question:
    """From the JSON value of a file. Raises `UserError` that names the place."""
    given = structured(value, OneAssignment)
    group = given.group()
    if given.assignor is None and given.assignment is None:
        raise UserError(
            "neither an assignment nor an assignor to judge",
            do='give "assignment", "assignor" or both',
        )
    if len(given.constraints) > MOST_CONSTRAINTS:
        many = f"{len(given.constraints)} constraints are more than {MOST_CONSTRAINTS}"
        raise UserError(many, where="constraints")
    return Question(
        group,
        given.assignor,
        None if given.assignment is None else assigned(given.assignment, group, "assignment"),
        given.names(),
        tuple(constraint(c, group, f"constraints[{k}]") for k, c in enumerate(given.constraints)),
        weights(given.members),
        given.about,
    )


def within_bounds(group: Group, topics: str, members: str) -> Group:
    """The group. Raises `UserError` if it is too large, or has no members; `topics` and `members`
    are the places in the file.
    """
    if not 0 < len(group.members) <= MOST_MEMBERS:
        raise UserError(
            f"{len(group.members)} members are not from 1 to {MOST_MEMBERS}", where=members
        )
    total = sum(size for _, size in group.topics)
    if total > MOST_PARTITIONS:
        raise UserError(f"{total} partitions are more than {MOST_PARTITIONS}", where=topics)
    return group


def weights(members: Mapping[Name, GivenMember]) -> dict[str, Fraction]:
    """The weights that are not 1."""
    return {name: given.weight for name, given in members.items() if given.weight != 1}


def assigned(given: Mapping[Name, PartitionSet], group: Group, where: str) -> Assigned:
    """Member -> partitions; members that are left out get nothing. Raises `UserError` for a member
    that is not in the group.
    """
    found: dict[str, Partitions] = {member.id: frozenset() for member in group.members}
    for member, partitions in given.items():
        if member not in found:
            raise UserError(
                f"unknown member {name_shown(member)}", where=where, do='give it in "members", too'
            )
        found[member] = partitions
    return found
