"""A rule, guard, invariant or view that is at fault is named, with its arguments and a key that
leads there.
"""

import itertools

import attrs
import pytest

from groupcheck.model.engine import (
    RuleError,
    Spec,
    SpecError,
    UserError,
    end,
    goal,
    invariant,
    reference,
    rule,
    single,
    step_invariant,
    urgent,
    view,
)
from groupcheck.model.engine.fast import explore
from groupcheck.model.engine.plain import plain_explore
from groupcheck.model.engine.step import Semantics


@rule
def count(n):
    if n < 5:
        yield n + 1


def spec(*rules, **more):
    return Spec("counter", {"n": single(0)}, (count, *rules), **more)


def error_of(broken, engine=explore):
    with pytest.raises(RuleError) as caught:
        engine.explore(broken)
    return caught.value


@rule
def divides(n):
    if n == 3:
        yield n // 0


@rule
def two_values(n):
    if n == 3:
        yield ("a", "b", "c"), 1


@rule("left", "right")
def wrong_label(n):
    if n == 3:
        yield "up", n


@rule
def other_type(n):
    if n == 3:
        yield "3"


@rule
def unhashable(n):
    if n == 3:
        yield [n]


@rule(when=lambda n: 1 // (n - 3))
def guarded(n):
    yield n


@urgent
def never_rests(n):
    if n >= 3:
        yield n + 1


@pytest.mark.parametrize("engine", [explore, plain_explore, reference])
@pytest.mark.parametrize(
    "faulty",
    [divides, two_values, wrong_label, other_type, unhashable, guarded],
    ids=lambda r: r.name,
)
def test_a_faulty_rule_is_named_with_its_arguments_and_a_key(faulty, engine):
    error = error_of(spec(faulty), engine)
    assert error.rule == faulty.name
    assert error.arguments == {"n": 3}
    assert Semantics(spec()).follow(error.key).states == ((0,), (1,), (2,), (3,))


def test_urgent_rules_that_never_rest_are_reported():
    error = error_of(spec(never_rests))
    assert error.rule == "never_rests"
    assert "do not come to rest" in error.problem


@attrs.define(unsafe_hash=True)
class Box:
    n: int = 0


def test_a_rule_that_changes_its_input_is_reported():
    @rule
    def overwrite(box):
        if box.n < 3:
            box.n += 1
            yield box

    error = error_of(Spec("boxes", {"box": single(Box())}, [overwrite]))
    assert error.rule == "overwrite"
    assert "changed the values" in error.problem


def test_a_rule_that_is_not_deterministic_is_reported():
    numbers = itertools.count()

    @rule
    def random(n):
        yield next(numbers) % 7

    error = error_of(Spec("dice", {"n": single(0)}, [random]))
    assert error.rule == "random"
    assert "not deterministic" in error.problem


def test_a_rule_that_changes_its_mind_later_is_found_when_a_path_is_rebuilt():
    calls = itertools.count()

    @rule
    def walk(n):
        if n < 200:
            yield n + 1 if next(calls) < 2000 else n

    @invariant
    def short(n):
        return n < 200

    honest = Spec("walk", {"n": single(0)}, [walk], invariants=[short])
    for _ in range(1700):
        next(calls)
    error = error_of(honest)
    assert error.rule == "walk"
    assert "deterministic" in error.problem


@invariant
def raises_at_3(n):
    return n != 3 or n // 0


@goal
def goal_raises_at_3(n):
    return n == 3 and n // 0


@view
def raising_view(n):
    return n // (n - 3)


@view
def list_view(n):
    return [n] if n == 3 else n


@invariant
def over_view(raising_view):
    return raising_view is not None


@invariant
def over_list(list_view):
    return list_view is not None


@step_invariant("n")
def step_raises(before, after):
    return after.n != 3 or before.n // 0 == 1


@pytest.mark.parametrize(
    ("more", "name"),
    [
        ({"invariants": [raises_at_3]}, "raises_at_3"),
        ({"goals": [goal_raises_at_3]}, "goal_raises_at_3"),
        ({"invariants": [over_view], "views": [raising_view]}, "raising_view"),
        ({"invariants": [over_list], "views": [list_view]}, "list_view"),
        ({"invariants": [step_raises]}, "step_raises"),
    ],
    ids=lambda x: x if isinstance(x, str) else "",
)
def test_a_predicate_that_raises_is_named(more, name):
    error = error_of(spec(**more))
    assert error.rule == name
    assert error.key


def test_what_is_no_rule_and_what_cannot_be_hashed_is_said():
    with pytest.raises(SpecError, match="is not a rule"):
        Spec("x", {"a": single(0)}, (print,))
    with pytest.raises(SpecError, match=r"is not a predicate.*@invariant"):
        Spec("x", {"a": single(0)}, (), invariants=(print,))
    with pytest.raises(SpecError, match="slot a: the initial value is a list"):
        Spec("x", {"a": single([])}, ())


@rule
def never_ends(n):
    if n == 3:
        while True:
            yield n


@rule(when=lambda n: n % 2 == 0)
def leaves(n):
    if n >= 200:
        raise SystemExit(0)
    yield n + 2


@pytest.mark.parametrize("engine", [explore, plain_explore, reference])
@pytest.mark.parametrize("start", [3, -600])  # at once, and when it is trusted
def test_a_rule_that_yields_without_end_is_cut_off(engine, start):
    with pytest.raises(UserError, match=r"rule never_ends: more than 65,535 outcomes .*split it"):
        engine.explore(Spec("endless", {"n": single(start)}, (count, never_ends)))


@pytest.mark.parametrize("engine", [explore, plain_explore, reference])
@pytest.mark.parametrize("start", [0, 200])
def test_a_rule_that_leaves_the_program_is_a_faulty_rule(engine, start):
    error = error_of(Spec("leaving", {"n": single(start)}, (leaves,)), engine)
    at = leaves.call.__code__.co_firstlineno + 3
    assert (error.rule, error.problem, error.arguments) == (
        "leaves",
        f"raised SystemExit: 0 (in test_faulty_rules.py, line {at}: raise SystemExit(0))",
        {"n": 200},
    )


@view
def lazy_view(n):
    return (x for x in (n,))


@invariant
def over_lazy(lazy_view):
    return bool(lazy_view)


@invariant
def forgot_all(n):
    return (x < 1 for x in (n,))


@goal
def forgot_to_call(n):
    return n.bit_length


@end
def no_truth(n):
    return Odd("bool")


@step_invariant("n")
def forgot_any(before, after):
    return filter(None, (before.n,))


@invariant
def leaves_too(n):
    raise SystemExit


class Odd:
    """A value that raises in one of its methods."""

    def __init__(self, method, n=0):
        self.method, self.n = method, n

    def _raise(self, method):
        if self.method == method:
            raise ArithmeticError(method)

    def __bool__(self):
        self._raise("bool")
        return True

    def __hash__(self):
        self._raise("hash")
        return self.n

    def __eq__(self, other):
        self._raise("eq")
        return self.n == other.n

    def __repr__(self):
        self._raise("repr")
        return "odd"


@pytest.mark.parametrize("engine", [explore, plain_explore, reference])
@pytest.mark.parametrize(
    ("more", "name", "kind", "problem"),
    [
        (
            {"invariants": [forgot_all]},
            "forgot_all",
            "invariant",
            "gave a generator, not True or False (write all(...) or any(...))",
        ),
        (
            {"goals": [forgot_to_call]},
            "forgot_to_call",
            "goal",
            "gave a builtin_function_or_method, not True or False (write bool(...))",
        ),
        (
            {"invariants": [forgot_any]},
            "forgot_any",
            "step invariant",
            "gave a filter, not True or False (write all(...) or any(...))",
        ),
        ({"ends": [no_truth]}, "no_truth", "end", "gave a Odd, not True or False"),
        ({"invariants": [leaves_too]}, "leaves_too", "invariant", "raised SystemExit"),
        (
            {"invariants": [over_view], "views": [raising_view]},
            "raising_view",
            "view",
            "raised ZeroDivisionError",
        ),
        (
            {"invariants": [over_list], "views": [list_view]},
            "list_view",
            "view",
            "gave a list, which cannot be hashed",
        ),
        (
            {"invariants": [over_lazy], "views": [lazy_view]},
            "lazy_view",
            "view",
            "gave a generator, which can be read only once",
        ),
    ],
)
def test_a_faulty_predicate_is_named_by_what_it_is(engine, more, name, kind, problem):
    error = error_of(spec(**more), engine)
    assert (error.rule, error.kind) == (name, kind)
    assert f"{kind} {name}(" in str(error)
    assert problem in str(error)


@pytest.mark.parametrize("engine", [explore, plain_explore, reference])
@pytest.mark.parametrize("method", ["hash", "eq"])
@pytest.mark.parametrize("turns", [1, 200])  # at once, and when the rule is trusted
def test_a_value_that_raises_when_it_is_hashed_or_compared_is_the_fault_of_its_rule(
    engine, method, turns
):
    @rule
    def turn(n, odd):
        if n < turns:
            yield n + 1, Odd("" if n + 1 < turns else method, n)

    error = error_of(Spec("odd", {"n": single(0), "odd": single(Odd(""))}, (turn,)), engine)
    assert error.rule == "turn"
    assert (
        "yielded a Odd for odd, which raises ArithmeticError when it is"
        f" {'hashed' if method == 'hash' else 'compared'}" in error.problem
    )


@attrs.frozen
class Nest:
    inner: object


@pytest.mark.parametrize("engine", [explore, plain_explore, reference])
def test_a_value_that_is_nested_too_deeply_is_the_fault_of_its_rule(engine):
    @rule
    def nest(nested):
        for _ in range(5_000):
            nested = Nest(nested)
        yield nested

    error = error_of(Spec("nest", {"nested": single(Nest(None))}, (nest,)), engine)
    assert error.rule == "nest"
    assert (
        "yielded a Nest for nested, which raises RecursionError when it is hashed" in error.problem
    )


class Twin:
    """A value that cannot be compared with another one of the same number."""

    def __init__(self, n):
        self.n = n

    def __hash__(self):
        return self.n

    def __eq__(self, other):
        if self is other:
            return True
        assert self.n != other.n
        return False


@pytest.mark.parametrize("engine", [explore, plain_explore, reference])
def test_a_value_that_cannot_be_compared_with_itself_made_again_is_the_fault_of_its_rule(engine):
    @rule
    def grow(twin):
        if twin.n < 3:
            yield Twin(twin.n + 1)

    error = error_of(Spec("twins", {"twin": single(Twin(0))}, (grow,)), engine)
    assert error.rule == "grow"
    assert error.problem.endswith(" raises AssertionError when it is compared")


def test_a_view_whose_values_cannot_be_compared_is_at_fault():
    @view
    def twin_of(n):
        return Twin(n % 2)

    @invariant
    def over_twin(twin_of):
        return twin_of.n < 2

    error = error_of(spec(invariants=[over_twin], views=[twin_of]))
    assert (error.rule, error.kind) == ("twin_of", "view")
    assert error.problem == "gave a Twin that raises AssertionError when it is compared"


@pytest.mark.parametrize("engine", [explore, plain_explore, reference])
def test_a_verdict_shows_what_has_no_text(engine):
    @rule
    def grow(n):
        if n < 10**5000:
            yield n * 10**2500

    @invariant
    def small(n):
        return n < 10**5000

    told = repr(
        engine.explore(Spec("big", {"n": single(1)}, (grow,), scope=10**6000, invariants=(small,)))
    )
    assert "scope=<int of 19,932 bits>" in told
    assert "state=<tuple that cannot be shown: ValueError>" in told


@pytest.mark.parametrize("engine", [explore, plain_explore, reference])
def test_values_that_cannot_be_shown_do_not_hide_what_is_wrong(engine):
    @rule
    def fails(odd, big):
        raise ValueError("on purpose")
        yield

    error = error_of(
        Spec("odd", {"odd": single(Odd("repr")), "big": single(10**5000)}, (fails,)), engine
    )
    shown = "odd=<Odd that cannot be shown: ArithmeticError>, big=<int of 16,610 bits>"
    assert f"rule fails({shown}): raised ValueError: on purpose" in str(error)


def test_two_promises_of_one_name_read_their_own_slots():
    """A goal may be called like an invariant, and name the same slots in another order."""

    def apart(decorate, function):
        function.__name__ = "apart"
        return decorate(function)

    slots = {"n": single(0), "m": single(9)}
    given = {
        "invariants": [apart(invariant, lambda n, m: n < m)],
        "goals": [apart(goal, lambda m, n: m - n == 4)],
    }
    for engine in (explore, plain_explore, reference):
        verdict = engine.explore(Spec("apart", slots, (count,), ends=[anything], **given))
        assert (verdict.verdict, verdict.goals) == ("holds", {"apart": 5})


@end
def anything(n):
    return True
