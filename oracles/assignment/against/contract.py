"""`groupcheck.assignor_contract`: what an assignor promises, as a test suite for the library that
has it.

    from groupcheck import assignor_contract
    from my_library import my_assignor

    test_my_assignor = assignor_contract(my_assignor, like="sticky")

pytest then runs one test for each promise. A test that fails shows the smallest group that breaks
the promise, what the assignor answered, its traceback if it raised an exception, and code that asks
again. `libraries/callables.py` says which functions and classes can be asked. Hypothesis comes with
the extra `groupcheck[contract]` and is imported when a test runs.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Collection
from typing import Any

from groupcheck.model.assignors import Group
from groupcheck.model.engine import UserError
from groupcheck.oracles.assignment.against.command import finding_words
from groupcheck.oracles.assignment.against.libraries import callables
from groupcheck.oracles.assignment.against.promise_questions import Answers
from groupcheck.oracles.assignment.against.searches import (
    EXAMPLES,
    Search,
    Searches,
    installed,
)
from groupcheck.oracles.assignment.promises import ASSIGNORS
from groupcheck.oracles.explain.unknown import one_of

Test = Callable[..., None]


def assignor_contract(
    assignor: Callable[[Group], Any] | type,
    *,
    like: str | None = None,
    examples: int = EXAMPLES,
    seed: int = 0,
    no_worse: bool | None = None,
    deterministic: bool = False,
    except_promises: Collection[str] = (),
) -> Test:
    """A test function for pytest, parametrized by promise. Give it a name that begins with `test`.

    `assignor`: a function that takes a `groupcheck.model.assignors.Group` and gives {"A": [("t",
    0)]} or {"A": {"t": [0]}}; or a class of kafka-python or aiokafka, or one derived from their
    AbstractPartitionAssignor. `like`: the assignor of Kafka whose promises it makes (`range`,
    `roundrobin`, `sticky`, `cooperative-sticky`, `uniform`, `server-range`, `connect`). Left out, a
    class makes those of Kafka's assignor with the class's `name`; a function, and a class with
    another name, makes those that every assignor makes: it answers, validly and completely, the
    same each time. `examples`: how many groups of each kind are drawn, always the same ones for the
    same `seed`. `no_worse` (unless it is False): what Kafka's own assignor of that name breaks in
    the same group, too, is a warning and does not fail (its sticky ones break `valid` and `handed
    over` where claims are older). `deterministic`: it fails if it gives different answers to one
    question; otherwise this is a warning, and every promise is asked of several answers.
    `except_promises`: promises that are not asked.

    A promise for which no answer could be judged fails: the test of a function that never answers
    is never green. Raises `UserError` for another name, or if the assignor can't be asked.
    """
    if like is not None and like not in ASSIGNORS:
        raise one_of("assignor of Kafka's", str(like), ASSIGNORS)
    if not callable(assignor) or examples < 1:
        raise UserError(
            "the contract needs a function that takes a group, or an assignor class of kafka-python"
            " or aiokafka, and at least one example",
            where="assignor_contract",
        )
    name = (
        f"{getattr(assignor, '__module__', '')}:"
        f"{getattr(assignor, '__qualname__', type(assignor).__name__)}"
    )
    near = sys._getframe(1).f_globals.get("__name__")
    library = callables.library(name, assignor, like, near)
    (offered,) = library.assignors
    if no_worse and offered.like is None:
        raise UserError(
            "no_worse compares with an assignor of Kafka, and none is named",
            where="assignor_contract",
            do='give like="sticky", too',
        )
    how = Search(
        examples,
        seed,
        except_promises,
        kafka_fails=no_worse is False,
        varying_fails=deterministic,
        must_judge=True,
    )
    searches = Searches(library, Answers(offered), how).by_promise()
    import pytest

    def test_of_a_promise(promise: str) -> None:
        installed("assignor_contract")
        with library.open():
            found = searches[promise]()
        failing = [finding for finding in found if not finding.informs]
        for finding in found:
            if finding.informs and not failing:
                warnings.warn(finding_words(finding), stacklevel=1)
        if failing:
            pytest.fail("\n\n".join(map(finding_words, failing)), pytrace=False)

    test_of_a_promise.__doc__ = f"{name} keeps what {offered.like or 'any assignor'} promises."
    test_of_a_promise.assignor = assignor  # type: ignore[attr-defined]  # for code to paste
    return pytest.mark.parametrize("promise", list(searches))(test_of_a_promise)
