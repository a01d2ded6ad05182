"""A statement about an assignor, and the parts of its formula: z3 terms about numbers of members
and partitions, which are any integers.

The parts are in `PARTS`. A mutant is a statement with one wrong part, and has to be refuted. This
module imports z3, so import it late.

Names: P partitions, n members, q and r with P = q*n + r and 0 <= r < n, so that q is P/n rounded
down.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import z3
from attrs import frozen

Term = Any  # z3's expressions have no types
Part = Callable[..., Term]
Make = Callable[[Mapping[str, Term], Mapping[str, Part]], Term]


@frozen
class Mutant:
    """A statement's formula with one wrong part."""

    # What is wrong with it.
    words: str
    # The part's name in `PARTS`.
    part: str
    instead: Part


@frozen
class Statement:
    """Premises and claim are made of the variables and of the parts, so that a mutant can exchange
    a part.
    """

    subject: str
    words: str
    source: str
    # Names of integers, separated by blanks.
    variables: str
    premises: Make
    claim: Make
    mutants: Sequence[Mutant]
    bound: str = "universal"


def either(condition: Term, then: Term, otherwise: Term) -> Term:
    return z3.If(condition, then, otherwise)


def least(a: Term, b: Term) -> Term:
    return z3.If(a < b, a, b)


def numbers(**values: int) -> dict[str, Term]:
    return {name: z3.IntVal(value) for name, value in values.items()}


def start(v: Mapping[str, Term], i: Term) -> Term:
    """The first partition of the i-th subscriber's range."""
    return v["q"] * i + least(i, v["r"])


def length(v: Mapping[str, Term], i: Term) -> Term:
    """How many partitions the i-th subscriber's range has."""
    return v["q"] + either(i < v["r"], 1, 0)


def owner(v: Mapping[str, Term], p: Term) -> Term:
    """Whose range partition p is in."""
    longer = (v["q"] + 1) * v["r"]
    return either(
        p < longer, p / (v["q"] + 1), v["r"] + (p - longer) / either(v["q"] == 0, 1, v["q"])
    )


def count(v: Mapping[str, Term], i: Term) -> Term:
    """How many partitions the i-th member has after round robin's pointer has gone round d times
    and now stands at k.
    """
    return v["d"] + either(i < v["k"], 1, 0)


def following(v: Mapping[str, Term], k: Term) -> Term:
    """The place of the pointer after k."""
    return either(k + 1 == v["n"], 0, k + 1)


def larger(v: Mapping[str, Term]) -> Term:
    """May a member that claims c keep one more than q (sticky)? `over`: how many members before it
    keep one more.
    """
    return z3.And(v["c"] > v["q"], v["over"] < v["r"])


def gives_up(v: Mapping[str, Term]) -> Term:
    """May a member leave the larger quota to a later one (uniform)? `behind`: how many members come
    after it. `extra`: how many larger quotas are left.
    """
    return z3.And(v["wants"] == 1, v["behind"] >= v["extra"])


PARTS: Mapping[str, Part] = {
    "start": start,
    "length": length,
    "owner": owner,
    "count": count,
    "following": following,
    "larger": larger,
    "gives_up": gives_up,
    "free": lambda v: v["P"] - v["kept"],
    "more": lambda v: v["m"] + 1,
    "most": lambda v: v["q"] + either(v["r"] > 0, 1, 0),
}
