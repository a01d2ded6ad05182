"""The statements about assignors that are proved, as z3 formulas: numbers of members and partitions
are any integers.

A loop is proved by an invariant: it holds before the first pass, each pass keeps it, and after the
last pass it says what is wanted. statement.py explains the names of the variables. This module
imports z3, so import it late.
"""

from __future__ import annotations

from collections.abc import Mapping

import z3

from groupcheck.oracles.assignment.prove.statement import (
    Make,
    Mutant,
    Part,
    Statement,
    Term,
    either,
    least,
    numbers,
)

CLIENT_RANGE = "RangeAssignor.assignPartitions, KIP-54"
ROUND_ROBIN = "RoundRobinAssignor.assignPartitions, CircularIterator"
STICKY = "AbstractStickyAssignor.ConstrainedAssignmentBuilder, KIP-54"
UNIFORM = "UniformHomogeneousAssignmentBuilder, KIP-848"


def _shared(v: Mapping[str, Term], parts: Mapping[str, Part]) -> list[Term]:
    n, r, q = v["n"], v["r"], v["q"]
    return [n >= 1, q >= 0, r >= 0, r < n, v["P"] == q * n + r]


def _members(*names: str) -> Make:
    return lambda v, parts: [
        *_shared(v, parts),
        *(z3.And(v[name] >= 0, v[name] < v["n"]) for name in names),
    ]


def _begins(v: Mapping[str, Term], f: Mapping[str, Part]) -> Term:
    i, zero = v["i"], z3.IntVal(0)
    return z3.And(
        f["start"](v, zero) == 0,
        f["start"](v, i + 1) == f["start"](v, i) + f["length"](v, i),
        f["start"](v, v["n"]) == v["P"],
    )


def _inside(v: Mapping[str, Term], f: Mapping[str, Part], i: Term, p: Term) -> Term:
    return z3.And(f["start"](v, i) <= p, p < f["start"](v, i) + f["length"](v, i))


def _one_owner(v: Mapping[str, Term], f: Mapping[str, Part]) -> Term:
    return z3.Implies(
        v["i"] < v["j"], f["start"](v, v["i"]) + f["length"](v, v["i"]) <= f["start"](v, v["j"])
    )


def _some_owner(v: Mapping[str, Term], f: Mapping[str, Part]) -> Term:
    found = f["owner"](v, v["p"])
    return z3.And(found >= 0, found < v["n"], _inside(v, f, found, v["p"]))


def _partition(v: Mapping[str, Term], f: Mapping[str, Part]) -> list[Term]:
    return [*_shared(v, f), v["p"] >= 0, v["p"] < v["P"]]


def _even(part: str) -> Make:
    return lambda v, f: z3.And(
        f[part](v, v["i"]) - f[part](v, v["j"]) <= 1, f[part](v, v["j"]) - f[part](v, v["i"]) <= 1
    )


def _taken(v: Mapping[str, Term], f: Mapping[str, Part]) -> Term:
    """One pass of the loop that cuts ranges: from `at`, with `left` longer ranges still to give."""
    at, left = (
        v["at"] + v["q"] + either(v["left"] > 0, 1, 0),
        either(v["left"] > 0, v["left"] - 1, 0),
    )
    first = {**v, "left": v["r"], **numbers(i=0, at=0)}
    return z3.And(
        *_taking(first, f),
        at == f["start"](v, v["i"] + 1),
        left == either(v["i"] + 1 < v["r"], v["r"] - v["i"] - 1, 0),
    )


def _taking(v: Mapping[str, Term], f: Mapping[str, Part]) -> list[Term]:
    left = either(v["i"] < v["r"], v["r"] - v["i"], 0)
    return [*_members("i")(v, f), v["at"] == f["start"](v, v["i"]), v["left"] == left]


EARLIER = Mutant(
    "the extra partition counted for the members before only",
    "start",
    lambda v, i: v["q"] * i + least(i - 1, v["r"]),
)
NO_EXTRA = Mutant("nobody has an extra partition", "length", lambda v, i: v["q"] + 0 * i)
ONE_MORE = Mutant(
    "one member more has an extra partition",
    "length",
    lambda v, i: v["q"] + either(i <= v["r"], 1, 0),
)
TWO_MORE = Mutant("an extra of two", "length", lambda v, i: v["q"] + either(i < v["r"], 2, 0))

RANGE = (
    Statement(
        subject="range",
        words="the ranges begin at 0, each where the last ended, and end at P",
        source=CLIENT_RANGE,
        variables="P n q r i",
        premises=_members("i"),
        claim=_begins,
        mutants=[EARLIER, NO_EXTRA, ONE_MORE],
    ),
    Statement(
        subject="range",
        words="the loop that cuts them is this formula",
        source=CLIENT_RANGE,
        variables="P n q r i at left",
        premises=_taking,
        claim=_taken,
        mutants=[
            Mutant("starts counted with q + 1 for all", "start", lambda v, i: (v["q"] + 1) * i)
        ],
    ),
    Statement(
        subject="range",
        words="valid: no partition is in two ranges",
        source=CLIENT_RANGE,
        variables="P n q r i j",
        premises=_members("i", "j"),
        claim=_one_owner,
        mutants=[ONE_MORE, TWO_MORE],
    ),
    Statement(
        subject="range",
        words="valid: what a range holds exists",
        source=CLIENT_RANGE,
        variables="P n q r i",
        premises=_members("i"),
        claim=lambda v, f: z3.And(
            f["start"](v, v["i"]) >= 0, f["start"](v, v["i"]) + f["length"](v, v["i"]) <= v["P"]
        ),
        mutants=[ONE_MORE, EARLIER],
    ),
    Statement(
        subject="range",
        words="complete: every partition is in somebody's range",
        source=CLIENT_RANGE,
        variables="P n q r p",
        premises=_partition,
        claim=_some_owner,
        mutants=[
            NO_EXTRA,
            Mutant(
                "the owner found with q alone",
                "owner",
                lambda v, p: p / either(v["q"] == 0, 1, v["q"]),
            ),
        ],
    ),
    Statement(
        subject="range",
        words="balanced: of one topic two subscribers differ by one at most",
        source=CLIENT_RANGE,
        variables="P n q r i j",
        premises=_members("i", "j"),
        claim=_even("length"),
        mutants=[TWO_MORE],
    ),
    Statement(
        subject="range",
        words="over T topics of the same subscribers two differ by T at most (one topic more)",
        source=CLIENT_RANGE,
        variables="P n q r i j T before",
        premises=lambda v, f: [
            *_members("i", "j")(v, f),
            v["T"] >= 0,
            -v["T"] <= v["before"],
            v["before"] <= v["T"],
        ],
        claim=lambda v, f: z3.And(
            v["before"] + f["length"](v, v["i"]) - f["length"](v, v["j"]) <= v["T"] + 1,
            v["before"] + f["length"](v, v["i"]) - f["length"](v, v["j"]) >= -v["T"] - 1,
        ),
        mutants=[TWO_MORE],
    ),
)


def _pointing(v: Mapping[str, Term], f: Mapping[str, Part]) -> list[Term]:
    """After p partitions the pointer has gone round d times and stands at k."""
    return [
        v["n"] >= 1,
        v["d"] >= 0,
        v["p"] >= 0,
        v["k"] >= 0,
        v["k"] < v["n"],
        v["p"] == v["d"] * v["n"] + v["k"],
    ]


def _turned(v: Mapping[str, Term], f: Mapping[str, Part]) -> dict[str, Term]:
    return {
        **v,
        "k": f["following"](v, v["k"]),
        "d": v["d"] + either(v["k"] + 1 == v["n"], 1, 0),
        "p": v["p"] + 1,
    }


def _counting(*names: str) -> Make:
    return lambda v, f: [
        *_pointing(v, f),
        *(z3.And(v[name] >= 0, v[name] < v["n"]) for name in names),
    ]


def _subscribed(k: Term) -> Term:
    return z3.Function("subscribed", z3.IntSort(), z3.BoolSort())(k)


def _steps(v: Mapping[str, Term], k: Term) -> Term:
    """From k to the subscriber s, going round."""
    return either(v["s"] >= k, v["s"] - k, v["s"] - k + v["n"])


def _searching(v: Mapping[str, Term], f: Mapping[str, Part]) -> list[Term]:
    within = [z3.And(v[name] >= 0, v[name] < v["n"]) for name in ("k", "s")]
    return [v["n"] >= 1, *within, _subscribed(v["s"]), z3.Not(_subscribed(v["k"]))]


def _nearer(v: Mapping[str, Term], f: Mapping[str, Part]) -> Term:
    after = f["following"](v, v["k"])
    return z3.And(
        after >= 0,
        after < v["n"],
        _steps(v, after) >= 0,
        _steps(v, after) < _steps(v, v["k"]),
        _steps(v, v["k"]) < v["n"],
    )


BEYOND = Mutant(
    "the pointer turns one too late", "following", lambda v, k: either(k == v["n"], 0, k + 1)
)
BACK = Mutant(
    "the pointer is set back (as with each new topic)", "following", lambda v, k: z3.IntVal(0) * k
)
BY_TWO = Mutant(
    "the pointer goes on by two", "following", lambda v, k: either(k + 2 >= v["n"], 0, k + 2)
)

ROBIN = (
    Statement(
        subject="round robin",
        words="the pointer after p partitions is p mod n, over all topics",
        source=ROUND_ROBIN,
        variables="n d k p",
        premises=_pointing,
        claim=lambda v, f: z3.And(
            *_pointing({**v, **numbers(d=0, k=0, p=0)}, f), *_pointing(_turned(v, f), f)
        ),
        mutants=[BEYOND, BACK, BY_TWO],
    ),
    Statement(
        subject="round robin",
        words=(
            "valid and complete: each partition makes one member's count larger by one, no other's"
        ),
        source=ROUND_ROBIN,
        variables="n d k p i",
        premises=_counting("i"),
        claim=lambda v, f: (
            f["count"](_turned(v, f), v["i"])
            == f["count"](v, v["i"]) + either(v["i"] == v["k"], 1, 0)
        ),
        mutants=[
            BACK,
            BY_TWO,
            Mutant(
                "the member at the pointer counted too early",
                "count",
                lambda v, i: v["d"] + either(i < v["k"] - 1, 1, 0),
            ),
        ],
    ),
    Statement(
        subject="round robin",
        words="balanced: with equal subscriptions two members differ by one at most",
        source=ROUND_ROBIN,
        variables="n d k p i j",
        premises=_counting("i", "j"),
        claim=_even("count"),
        mutants=[
            Mutant(
                "those before the pointer twice",
                "count",
                lambda v, i: v["d"] + either(i < v["k"], 2, 0),
            )
        ],
    ),
    Statement(
        subject="round robin",
        words=(
            "with any subscriptions the search for the next subscriber ends,"
            " after n - 1 steps at most"
        ),
        source=ROUND_ROBIN,
        variables="n k s",
        premises=_searching,
        claim=_nearer,
        mutants=[BEYOND, BACK, BY_TWO],
    ),
)


def _kept(v: Mapping[str, Term], f: Mapping[str, Part]) -> list[Term]:
    """After i members: `kept` partitions in all, `over` members with q + 1, and `short` partitions
    missing of q at the others.
    """
    at_most = [
        v["over"] >= 0,
        v["over"] <= v["r"],
        v["over"] <= v["i"],
        v["short"] >= 0,
        v["kept"] >= 0,
    ]
    return [
        v["kept"] == v["over"] * (v["q"] + 1) + (v["i"] - v["over"]) * v["q"] - v["short"],
        *at_most,
    ]


def _keeping(v: Mapping[str, Term], f: Mapping[str, Part]) -> list[Term]:
    return [*_members("i")(v, f), v["c"] >= 0, *_kept(v, f)]


def _keeps(v: Mapping[str, Term], f: Mapping[str, Part]) -> Term:
    """One member more, who claims c."""
    more = f["larger"](v)
    keeps = either(more, v["q"] + 1, least(v["c"], v["q"]))
    short = v["short"] + either(more, 0, v["q"] - keeps)
    after = {
        **v,
        "i": v["i"] + 1,
        "kept": v["kept"] + keeps,
        "over": v["over"] + either(more, 1, 0),
        "short": short,
    }
    first = {**v, **numbers(i=0, kept=0, over=0, short=0)}
    return z3.And(
        *_kept(first, f),
        *_kept(after, f),
        keeps <= v["c"],
        keeps <= v["q"] + 1,
        z3.Implies(v["c"] <= v["q"], keeps == v["c"]),
    )


def _all_kept(v: Mapping[str, Term], f: Mapping[str, Part]) -> list[Term]:
    return [*_shared(v, f), v["i"] == v["n"], *_kept(v, f)]


def _dealt(v: Mapping[str, Term], f: Mapping[str, Part]) -> Term:
    """The free partitions fill everybody to q; those then left are one for each of so many members
    that r have q + 1.
    """
    left = f["free"](v) - v["short"]
    return z3.And(left >= 0, left <= v["n"] - v["over"], v["over"] + left == v["r"])


def _quota_left(v: Mapping[str, Term], f: Mapping[str, Part]) -> list[Term]:
    """`behind` members come after this one; `extra` larger quotas are left, `given` is the sum of
    the quotas of those before.
    """
    before = v["n"] - v["behind"] - 1
    counted = v["given"] == before * v["q"] + v["r"] - v["extra"]
    left = [v["extra"] >= 0, v["extra"] <= v["behind"] + 1, v["extra"] <= v["r"]]
    return [
        *_shared(v, f),
        v["behind"] >= 0,
        before >= 0,
        *left,
        counted,
        v["given"] >= 0,
        v["wants"] >= 0,
        v["wants"] <= 1,
    ]


def _quota_given(v: Mapping[str, Term], f: Mapping[str, Part]) -> Term:
    has = either(z3.And(v["extra"] > 0, z3.Not(f["gives_up"](v))), 1, 0)
    given, extra = v["given"] + v["q"] + has, v["extra"] - has
    first = {**v, "behind": v["n"] - 1, "extra": v["r"], **numbers(given=0)}
    return z3.And(
        *_quota_left(first, f),
        extra >= 0,
        extra <= v["behind"],
        given >= 0,
        z3.Implies(v["behind"] == 0, given == v["P"]),
    )


def _level_sizes(v: Mapping[str, Term], f: Mapping[str, Part]) -> list[Term]:
    """A level assignment: k of n members have one more than m, all others m."""
    return [
        *_shared(v, f),
        v["m"] >= 0,
        v["k"] >= 0,
        v["k"] < v["n"],
        v["k"] * f["more"](v) + (v["n"] - v["k"]) * v["m"] == v["P"],
    ]


QUOTAS = (
    Statement(
        subject="sticky",
        words="each member keeps what it claims, q + 1 at most, and of q or fewer all",
        source=STICKY,
        variables="P n q r i c kept over short",
        premises=_keeping,
        claim=_keeps,
        mutants=[
            Mutant(
                "one member too many keeps q + 1",
                "larger",
                lambda v: z3.And(v["c"] > v["q"], v["over"] <= v["r"]),
            ),
            Mutant(
                "q + 1 for a member that claims q",
                "larger",
                lambda v: z3.And(v["c"] >= v["q"], v["over"] < v["r"]),
            ),
        ],
    ),
    Statement(
        subject="sticky",
        words="what is free comes out even: everybody has q, and r have one more",
        source=STICKY,
        variables="P n q r i kept over short",
        premises=_all_kept,
        claim=_dealt,
        mutants=[
            Mutant(
                "a partition that is kept is dealt once more",
                "free",
                lambda v: v["P"] - v["kept"] + 1,
            ),
            Mutant(
                "a claimed partition that does not exist is counted",
                "free",
                lambda v: v["P"] - v["kept"] - 1,
            ),
        ],
    ),
    Statement(
        subject="uniform",
        words="the larger quotas are all given: the quotas add up to P",
        source=UNIFORM,
        variables="P n q r behind extra given wants",
        premises=_quota_left,
        claim=_quota_given,
        mutants=[
            Mutant(
                "given up with one too few to come",
                "gives_up",
                lambda v: z3.And(v["wants"] == 1, v["behind"] + 1 >= v["extra"]),
            ),
            Mutant("given up whoever comes", "gives_up", lambda v: v["wants"] == 1),
        ],
    ),
    Statement(
        subject="level",
        words="where no two differ by more than one, everybody has q or q + 1, and r have q + 1",
        source="oracles/assignment/balance.py",
        variables="P n q r m k",
        premises=_level_sizes,
        claim=lambda v, f: z3.And(v["m"] == v["q"], v["k"] == v["r"]),
        mutants=[Mutant("two more are allowed", "more", lambda v: v["m"] + 2)],
    ),
    Statement(
        subject="level",
        words="and no assignment has a smaller largest share",
        source="oracles/assignment/balance.py",
        variables="P n q r m",
        premises=lambda v, f: [*_shared(v, f), v["m"] >= 0, v["P"] <= v["n"] * v["m"]],
        claim=lambda v, f: v["m"] >= f["most"](v),
        mutants=[Mutant("one more although it comes out even", "most", lambda v: v["q"] + 1)],
    ),
)

STATEMENTS: tuple[Statement, ...] = (*RANGE, *ROBIN, *QUOTAS)
