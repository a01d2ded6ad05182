"""`groupcheck.assignor_contract`: all that an assignor promises, as a test suite for the library
that has it.

    from groupcheck import assignor_contract
    from my_library import my_assignor

    test_my_assignor = assignor_contract(my_assignor, like="sticky")

pytest then runs one test for each promise; each fails with the smallest group that breaks it, what
the assignor made of it, and code that asks again. The function takes a
`groupcheck.model.assignors.Group` and gives {"A": [("t", 0)]} or {"A": {"t": [0]}}. Hypothesis
comes with the extra `groupcheck[proof]`, and is imported when a test runs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from groupcheck.model.assignors import Group
from groupcheck.model.engine import UserError
from groupcheck.oracles.assignment.against import EXAMPLES, installed, searched
from groupcheck.oracles.assignment.against_command import finding_told
from groupcheck.oracles.assignment.asked import Answers, Asked, asked_of
from groupcheck.oracles.assignment.libraries import callables
from groupcheck.oracles.assignment.promises import ASSIGNORS
from groupcheck.oracles.subject import one_of

Test = Callable[..., None]


def assignor_contract(
    assignor: Callable[[Group], Any],
    *,
    like: str | None = None,
    examples: int = EXAMPLES,
    no_worse: bool = False,
) -> Test:
    """A test function for pytest, parametrized by promise. Give it a name that begins with `test`.

    `like`: the assignor of Kafka whose promises it makes (`range`, `roundrobin`, `sticky`,
    `cooperative-sticky`, `uniform`, `server-range`); left out, those that every assignor makes: it
    answers, validly and completely, the same each time. `examples`: groups of each kind that are
    drawn, always the same ones. `no_worse`: what Kafka's own assignor of that name breaks in the
    same group, too, is let pass (its sticky ones break `valid` and `handed over` where claims are
    older). Raises `UserError` for another name.
    """
    if like is not None and like not in ASSIGNORS:
        raise one_of("assignor of Kafka's", str(like), ASSIGNORS)
    if no_worse and like is None:
        raise UserError(
            "no worse than which of Kafka's assignors?",
            where="assignor_contract",
            do='give like="sticky", too',
        )
    if not callable(assignor) or examples < 1:
        raise UserError(
            "the contract needs a function that takes a group, and one example at least",
            where="assignor_contract",
        )
    import pytest

    name = (
        f"{getattr(assignor, '__module__', '')}:"
        f"{getattr(assignor, '__qualname__', type(assignor).__name__)}"
    )
    library = callables.library(name, assignor, like)
    answers = Answers(library.assignors[0])

    def test_of_a_promise(promise: str) -> None:
        __tracebackhide__ = True
        installed("assignor_contract")
        found = searched(library, answers, by_name[promise], examples, no_worse=no_worse)
        if found:
            pytest.fail("\n\n".join(map(finding_told, found)), pytrace=False)
        if answers.gave_up:
            pytest.fail(
                f"{name} is not asked any more: it gave no answer (in time) too often",
                pytrace=False,
            )

    by_name: dict[str, Asked] = {asked.promise: asked for asked in asked_of(library.assignors[0])}
    test_of_a_promise.__doc__ = f"{name} keeps what {like or 'any assignor'} promises."
    return pytest.mark.parametrize("promise", list(by_name))(test_of_a_promise)
