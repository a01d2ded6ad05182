"""A key names a path by numbers; what is no key, or fits no path, is refused."""

import pytest

from groupcheck.model.engine import Spec, UserError, rule, single
from groupcheck.model.engine.step import Semantics


@rule
def count(n):
    if n < 3:
        yield n + 1
        yield n + 2


COUNTER = Semantics(Spec("counter", {"n": single(0)}, [count], initial=[{"n": 0}, {"n": 2}]))


@pytest.mark.parametrize(
    ("key", "values"),
    [("gc1-0", [0]), ("gc1-1", [2]), ("gc1-0.0.1", [0, 1, 3]), ("gc1-1.1", [2, 4])],
)
def test_a_key_is_followed_to_its_states_and_gives_itself(key, values):
    path = COUNTER.follow(key)
    assert [n for (n,) in path.states] == values
    assert COUNTER.key(path) == key


@pytest.mark.parametrize(
    ("key", "problem"),
    [
        ("gc2-0", "is not a key"),
        ("gc1", "is not a key"),
        ("gc1-", "is not a key"),
        ("gc1-0..1", "is not a key"),
        ("gc1-0.-1", "is not a key"),
        ("gc1-0.1x", "is not a key"),
        ("gc1-0.123456789", "is not a key"),  # a number this long would be counted up to
        ("gc1-0.12345678", "does not fit at step 1"),
        ("gc1-0.2", "does not fit at step 1"),
        ("gc1-0.0.2", "does not fit at step 2"),
        ("gc1-1.1.0", "does not fit at step 2"),
        ("gc1-2", "the key starts at initial state 2, there are 2"),
    ],
)
def test_what_is_no_key_or_leads_nowhere_is_refused(key, problem):
    with pytest.raises(UserError, match=problem):
        COUNTER.follow(key)
