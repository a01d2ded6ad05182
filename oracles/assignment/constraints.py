"""Constraints of a user's own: read from JSON, told in words, and judged without a solver (`solve`
states them to HiGHS and z3). `placement` and `loads` define the kinds.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction
from typing import Any

import attrs
from attrs import frozen

from groupcheck.model.assignors import Group
from groupcheck.model.engine import UserError
from groupcheck.oracles.assignment.loads import (
    AtLeast,
    AtMost,
    Capacity,
    LevelWeights,
    MovesAtMost,
    RacksAtMost,
    scale,
)
from groupcheck.oracles.assignment.placement import (
    Apart,
    Drain,
    Nearby,
    Never,
    Stays,
    Together,
    TopicsApart,
)
from groupcheck.oracles.assignment.reading import MOST_NUMBER, name_shown, structured
from groupcheck.oracles.assignment.validity import Assigned, Violation
from groupcheck.oracles.explain.unknown import one_of

PROMISE = "constraint"
MOST_CONSTRAINTS = 300

Constraint = (
    Stays
    | Never
    | Together
    | Apart
    | TopicsApart
    | Nearby
    | Drain
    | AtMost
    | AtLeast
    | Capacity
    | LevelWeights
    | RacksAtMost
    | MovesAtMost
)

KINDS: Mapping[str, type[Constraint]] = {
    "stays": Stays,
    "never": Never,
    "together": Together,
    "apart": Apart,
    "topics_apart": TopicsApart,
    "nearby": Nearby,
    "drain": Drain,
    "at_most": AtMost,
    "at_least": AtLeast,
    "capacity": Capacity,
    "level_weights": LevelWeights,
    "racks_at_most": RacksAtMost,
    "moves_at_most": MovesAtMost,
}


@frozen
class Due:
    """The cost of a soft constraint."""

    constraint: Constraint
    # By how many of its units it is broken, and how, in words.
    amount: Fraction
    words: tuple[str, ...]

    @property
    def price(self) -> Fraction:
        """The cost of that."""
        return self.amount * (self.constraint.soft or 0)


def broken(constraint: Constraint, group: Group, assigned: Assigned) -> Iterator[Violation]:
    """How an assignment breaks a constraint that has to be kept. A soft one is never broken."""
    if constraint.soft is None:
        for words, _ in constraint.broken(group, assigned):
            yield Violation(PROMISE, f"{constraint.words()}: {words}")


def due(constraints: Iterable[Constraint], group: Group, assigned: Assigned) -> list[Due]:
    """The cost of each soft constraint, also those that cost nothing."""
    found = []
    for constraint in constraints:
        if constraint.soft is not None:
            ways = list(constraint.broken(group, assigned))
            amount = sum((Fraction(by) for _, by in ways), Fraction(0))
            found.append(Due(constraint, amount, tuple(words for words, _ in ways)))
    return found


def price(constraints: Iterable[Constraint], group: Group, assigned: Assigned) -> Fraction:
    """The cost of all soft constraints together."""
    return sum((one.price for one in due(constraints, group, assigned)), Fraction(0))


def constraint_words(constraint: Constraint) -> str:
    """A constraint in words, and its price if it is soft."""
    if constraint.soft is None:
        return constraint.words()
    return f"{constraint.words()} (soft: {constraint.soft} for each {constraint.unit})"


def constraint(value: Mapping[str, Any], group: Group, where: str) -> Constraint:
    """One constraint from JSON. Raises `UserError` for a kind that does not exist, and for names
    that the group does not have.
    """
    kind = str(value.get("kind", "nothing"))
    if kind not in KINDS:
        raise _unknown("kind of constraint", kind, KINDS, f"{where}.kind")
    given = {name: one for name, one in value.items() if name != "kind"}
    read = structured(given, KINDS[kind], where)
    _check_names(read, group, where)
    if isinstance(read, Capacity | LevelWeights):
        _check_weights(read, group, where)
    return read


def _unknown(what: str, name: str, known: Iterable[str], where: str) -> UserError:
    there = list(known)
    error = one_of(what, name, there)
    return UserError(error.what, where=where, do=error.do if there else "")


def _check_names(given: Constraint, group: Group, where: str) -> None:
    """Raises `UserError` for what the constraint names and the group does not have."""
    sizes, names = dict(group.topics), attrs.asdict(given, recurse=False)
    members = {m.id for m in group.members}
    topics = [names["topic"]] if names.get("topic") is not None else names.get("topics", ())
    for topic in topics:
        if topic not in sizes:
            raise _known(f"there is no topic {name_shown(topic)}", topic, sizes, where)
    for name in names.get("weights", ()):
        topic, _, number = name.rpartition("-")
        single = number.isascii() and number.isdecimal() and len(number) <= 10
        if name not in sizes and not (single and int(number) < sizes.get(topic, 0)):
            what = f"there is no topic or partition {name_shown(name)}"
            raise _known(what, name, sizes, where)
    member = names.get("member")
    if member is not None and member not in members:
        raise _known(f"unknown member {name_shown(member)}", member, members, where)
    for of, what in (("partitions", "partition"), ("topics", "topic")):
        if of not in names:
            continue
        for topic, number in names[of] if of == "partitions" else ():
            if number >= sizes.get(topic, 0):
                raise UserError(f"{name_shown(f'{topic}-{number}')} does not exist", where=where)
        if not names[of]:
            raise UserError(f"no {of}", where=where)
        if len(set(names[of])) < len(names[of]):
            raise UserError(f"the same {what} twice", where=where)


def _known(what: str, name: str, known: Iterable[str], where: str) -> UserError:
    """The error for a name that the group does not have, with the nearest that it has."""
    from difflib import get_close_matches

    near = get_close_matches(name, sorted(known)[:1_000], 1)
    return UserError(what, where=where, do=f"did you mean {near[0]}?" if near else "")


def _check_weights(given: Capacity | LevelWeights, group: Group, where: str) -> None:
    """Raises `UserError` if the solvers could not add the weights up exactly."""
    bound = given.most if isinstance(given, Capacity) else given.within
    scaled = scale(given.weights, bound)
    total = sum(size * scaled.topics.get(t, 0) for t, size in group.topics)
    total += sum(scaled.partitions.values())
    if max(int(bound * scaled.by), total) > MOST_NUMBER:
        raise UserError(
            "the weights have too many digits to be added up", where=where, do="round them"
        )
