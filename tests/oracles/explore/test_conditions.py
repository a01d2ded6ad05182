"""Conditions over slots: what they may say, and that nothing of them is ever run as code."""

from __future__ import annotations

from collections import namedtuple
from enum import IntEnum

import pytest
from attrs import frozen

from groupcheck import UserError
from groupcheck.oracles.explore.expression import MOST_WORK, Condition


class Phase(IntEnum):
    EMPTY = 0
    STABLE = 3

    def __str__(self) -> str:
        return {0: "Empty", 3: "Stable"}[self.value]


@frozen
class Core:
    phase: Phase = Phase.STABLE
    generation: int = 2
    ids: frozenset[int] = frozenset({1, 2})

    @property
    def secret(self) -> int:
        raise AssertionError("a property was run")


class Counted:
    """A value that counts how often it is hashed or compared."""

    times = 0

    def __hash__(self) -> int:
        Counted.times += 1
        return 1

    def __eq__(self, other: object) -> bool:
        Counted.times += 1
        return isinstance(other, Counted)

    def __lt__(self, other: object) -> bool:
        Counted.times += 1
        return False


Pair = namedtuple("Pair", "left right")
STATE = {"core": Core(), "client": (Core(generation=1), Core()), "pair": Pair(1, "x")}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("core.generation == 2", True),
        ("core.phase == 'Stable' and core.phase == 'STABLE'", True),
        ("core.phase != 'Stable'", False),
        ("core.phase in ('Empty', 'Stable')", True),
        ("core.phase == 3", True),
        ("client[0].generation < client[1].generation <= core.generation", True),
        ("any(c.generation == 1 for c in client)", True),
        ("all(c.generation == 1 for c in client if c.phase == 'Stable')", False),
        ("sum(c.generation for c in client) == 3", True),
        ("len(core.ids & {2, 3}) == 1 and 2 in core.ids", True),
        ("not (core.generation >> 1 & 1)", False),
        ("pair.left == 1 if pair.right == 'x' else false", True),
        ("pair.right is none", False),
    ],
)
def test_a_condition_reads_fields_compares_and_counts(text: str, value: bool) -> None:
    assert Condition(text, STATE).holds(STATE) is value


@pytest.mark.parametrize(
    "text",
    [
        "",
        "core.",
        "core.__class__",
        "core._x",
        "().__class__.__bases__",
        "__import__('os').system('true')",
        "open('x')",
        "core.ids.add(9)",
        "len(core.ids, key=1)",
        "(lambda: 1)()",
        "[x for x in client]",
        "f'{core}'",
        "core.generation ** 99",
        "1 << 99",
        "(y := 1)",
        "1.5 == core.generation",
        "len(sum((client, client), ())) == 4",
        "sum() == 0",
        "len(sum(*client)) == 1",
        "nobody.here == 1",
        "client[0] and " * 90 + "core",
        "(" * 400 + "core" + ")" * 60,
    ],
)
def test_what_is_no_condition_is_refused_before_it_is_evaluated(text: str) -> None:
    with pytest.raises(UserError):
        Condition(text, STATE)


@pytest.mark.parametrize(
    "text",
    [
        "core.secret == 1",
        "core.nothing == 1",
        "pair.count == 1",
        "pair.right + pair.right == 'xx'",
        "9999999999 * 9999999999 == 1",
        "any(a.generation + b.generation + c.generation + d.generation == 99"
        + "".join(
            f" for {x} in client for {x}{x} in client for {x}{x}{x} in client" for x in "abcd"
        )
        + ")",
    ],
)
def test_what_it_cannot_do_in_a_state_is_the_user_s_error(text: str) -> None:
    with pytest.raises(UserError):
        Condition(text, STATE).holds(STATE)


def nested(name: str, at: int) -> str:
    """Makes NAME5 of `two[at]`: a tuple of eight times NAME4, which is one of eight times NAME3."""
    steps = [f" for {name}{k} in (({', '.join([f'{name}{k - 1}'] * 8)}),)" for k in range(1, 6)]
    return f" for {name}0 in (two[{at}],)" + "".join(steps).replace(", ", ",")


A, B = nested("a", 0), nested("b", 1)


@pytest.mark.parametrize(
    "text",
    [
        f"any(set((a5,)){A})",
        f"any({{a5}}{A})",
        f"any(table[a5]{A})",
        f"any({{a4, 1}} & {{b4, 2}}{A}{B})",
        f"any(a5 == b5{A}{B})",
        f"any(a5 in (b5,){A}{B})",
        f"any(sorted((a5, b5)){A}{B})",
    ],
)
def test_what_is_hashed_and_compared_is_bounded_as_the_evaluation_is(text: str) -> None:
    state = {"two": (Counted(), Counted()), "table": {}}
    Counted.times = 0
    with pytest.raises(UserError, match="too much work"):
        Condition(text, state).holds(state)
    assert Counted.times <= MOST_WORK
