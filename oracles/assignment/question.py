"""What `groupcheck assign` is asked: a group, an assignment or an assignor, promises and
constraints, read from JSON (docs/assignment.md).
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from attrs import field, frozen

from groupcheck.model.assignors import Group, Member, Partitions
from groupcheck.model.assignors.group import NO_GENERATION
from groupcheck.model.engine import UserError
from groupcheck.oracles.assignment.constraints import Constraint, constraint
from groupcheck.oracles.assignment.promises import ASSIGNORS, PROMISES
from groupcheck.oracles.assignment.strict_json import (
    MOST_NUMBER,
    a_count,
    a_name,
    a_weight,
    an_array,
    an_object,
    kind,
    name_shown,
    partitions_from,
)
from groupcheck.oracles.assignment.validity import Assigned
from groupcheck.oracles.explain.subject import one_of

MOST_PARTITIONS = 200_000  # of all topics together
MOST_MEMBERS = 10_000

KEYS = frozenset(
    {"about", "topics", "racks", "members", "assignor", "assignment", "promises", "constraints"}
)
OF_A_MEMBER = frozenset(
    {"subscribes", "claims", "generation", "told", "instance", "rack", "weight"}
)


@frozen
class Question:
    """`assigned`: what is proposed; None: what the assignor answers. `weights` of members that have
    another than 1.
    """

    group: Group
    assignor: str | None
    assigned: Assigned | None
    promises: tuple[str, ...] | None = None
    constraints: tuple[Constraint, ...] = ()
    weights: Mapping[str, Fraction] = field(factory=dict)
    about: str = ""


def question(value: Any) -> Question:
    """From the JSON value of a file. Raises `UserError` that names the place."""
    given = an_object(value, "the document", KEYS)
    topics = topics_from(given.get("topics"))
    racks = racks_from(given.get("racks", {}), topics)
    members, weights = members_from(given.get("members"))
    group = Group(topics, members, racks)
    assignor = assignor_from(given.get("assignor"))
    if assignor is None and "assignment" not in given:
        raise UserError(
            "neither an assignment nor an assignor to judge",
            do='give "assignment", "assignor" or both',
        )
    return Question(
        group,
        assignor,
        assignment_from(given["assignment"], group) if "assignment" in given else None,
        promises_from(given["promises"]) if "promises" in given else None,
        tuple(
            constraint(c, group, f"constraints[{k}]")
            for k, c in enumerate(an_array(given.get("constraints", []), "constraints"))
        ),
        weights,
        text_from(given.get("about", "")),
    )


def assignor_from(value: Any) -> str | None:
    """The name of one of Kafka's."""
    if value is not None and a_name(value, "assignor") not in ASSIGNORS:
        raise one_of("assignor of Kafka's", value, ASSIGNORS)
    return None if value is None else str(value)


def text_from(value: Any) -> str:
    """What a person reads."""
    if not isinstance(value, str):
        raise UserError(f"{kind(value)} stands where a text should", where="about")
    return value


def topics_from(value: Any) -> dict[str, int]:
    """Name -> number of partitions."""
    if value is None:
        raise UserError("there are no topics", do='give "topics": {"orders": 6}')
    topics = {
        topic: a_count(size, f"topics.{topic}", MOST_PARTITIONS)
        for topic, size in an_object(value, "topics").items()
    }
    if sum(topics.values()) > MOST_PARTITIONS:
        raise UserError(
            f"{sum(topics.values())} partitions are more than {MOST_PARTITIONS}", where="topics"
        )
    return topics


def racks_from(value: Any, topics: Mapping[str, int]) -> dict[str, list[list[str]]]:
    """Topic -> for each partition the racks of its replicas."""
    read: dict[str, list[list[str]]] = {}
    for topic, racks in an_object(value, "racks").items():
        where = f"racks.{topic}"
        if topic not in topics:
            raise UserError("there is no such topic", where=where)
        if len(an_array(racks, where)) > topics[topic]:
            raise UserError(
                f"racks of {len(racks)} partitions, and there are {topics[topic]}", where=where
            )
        read[topic] = [[a_name(r, where) for r in an_array(of_one, where)] for of_one in racks]
    return read


def members_from(value: Any, place: str = "members") -> tuple[list[Member], dict[str, Fraction]]:
    """The members in order, and the weights that are not 1."""
    if value is None:
        raise UserError(
            "there are no members", do='give "members": {"c1": {"subscribes": ["orders"]}}'
        )
    there = an_object(value, place)
    if not 0 < len(there) <= MOST_MEMBERS:
        raise UserError(f"{len(there)} members are not from 1 to {MOST_MEMBERS}", where=place)
    members, weights = [], {}
    for name, told in there.items():
        where = f"{place}.{name}"
        about = an_object(told, where, OF_A_MEMBER)
        if "subscribes" not in about:
            raise UserError(
                "what does it subscribe to?",
                where=where,
                do='give "subscribes": ["orders"], or [] for nothing',
            )
        subscribed = [
            a_name(t, f"{where}.subscribes")
            for t in an_array(about["subscribes"], f"{where}.subscribes")
        ]
        numbers = {
            key: a_count(about[key], f"{where}.{key}", MOST_NUMBER, NO_GENERATION)
            for key in ("generation", "told")
            if key in about
        }
        names = {
            key: a_name(about[key], f"{where}.{key}")
            for key in ("instance", "rack")
            if key in about
        }
        owned = partitions_from(about.get("claims", []), f"{where}.claims")
        members.append(Member(name, subscribed, owned, **numbers, **names))  # type: ignore[arg-type]
        if "weight" in about:
            weights[name] = a_weight(about["weight"], f"{where}.weight")
    return members, {name: weight for name, weight in weights.items() if weight != 1}


def assignment_from(value: Any, group: Group, place: str = "assignment") -> Assigned:
    """Member -> partitions; members that are left out get nothing."""
    there = {member.id for member in group.members}
    assigned: dict[str, Partitions] = dict.fromkeys(
        (member.id for member in group.members), frozenset()
    )
    for member, given in an_object(value, place).items():
        if member not in there:
            raise UserError(
                f"unknown member {name_shown(member)}", where=place, do='give it in "members", too'
            )
        assigned[member] = partitions_from(given, f"{place}.{member}")
    return assigned


def promises_from(value: Any) -> tuple[str, ...]:
    """Names of `PROMISES`, each once."""
    given = [a_name(name, "promises") for name in an_array(value, "promises")]
    for name in given:
        if name not in PROMISES:
            raise one_of("promise", name, PROMISES)
    return tuple(dict.fromkeys(given))
