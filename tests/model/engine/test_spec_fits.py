"""A spec that does not fit, or promises what would never be looked at, is refused where it is
written.
"""

import functools
from typing import Annotated

import pytest

from groupcheck.model.engine import (
    Spec,
    SpecError,
    array,
    end,
    goal,
    invariant,
    rule,
    single,
    step_invariant,
    urgent,
    view,
)


@rule
def inc(n):
    if n < 3:
        yield n + 1


@rule
def stir(n, c):
    yield n, c


def spec(**more):
    given = {
        "slots": {"n": single(0), "m": single(0), "c": array(3, 0)},
        "rules": [inc, stir],
    } | more
    return Spec("counter", **given)


def yields(n):
    yield n < 1


async def awaits(n):
    return n < 1


async def awaits_and_yields(n):
    yield n < 1


@pytest.mark.parametrize(
    "decorate", [invariant, invariant(source="s"), goal, goal(source="s"), end, view]
)
@pytest.mark.parametrize("function", [yields, awaits, awaits_and_yields])
def test_a_predicate_that_yields_or_is_async_would_always_be_true(decorate, function):
    with pytest.raises(
        SpecError, match=rf"(invariant|goal|end|view) {function.__name__}: (yields|is async)"
    ):
        decorate(function)


def says_nothing(n):
    n < 1  # noqa: B015


@pytest.mark.parametrize("decorate", [invariant, goal, end, view, lambda f: rule(when=f)(inc.call)])
def test_a_predicate_that_never_returns_a_value_is_refused(decorate):
    with pytest.raises(SpecError, match=r"says_nothing: returns nothing .did you forget return"):
        decorate(says_nothing)


def test_a_guard_and_a_step_invariant_that_yield_would_always_be_true():
    def grows(before, after):
        yield before.n < after.n

    with pytest.raises(SpecError, match=r"step invariant grows: yields.*return"):
        step_invariant("n")(grows)
    with pytest.raises(SpecError, match="guard yields: yields"):
        rule(when=yields)(lambda n: [n])


@pytest.mark.parametrize("decorate", [rule, urgent, rule("label")])
@pytest.mark.parametrize("function", [awaits, awaits_and_yields])
def test_no_rule_is_async(decorate, function):
    with pytest.raises(SpecError, match=rf"rule {function.__name__}: is async.*write def"):
        decorate(function)


@pytest.mark.parametrize(
    "decorate", [rule, urgent, invariant, goal, end, view, step_invariant("n")]
)
def test_what_has_no_name_or_no_parameters_to_read_is_refused(decorate):
    with pytest.raises(SpecError, match=r"is made of a partial"):
        decorate(functools.partial(lambda n: [n]))
    with pytest.raises(SpecError, match="its parameters are not known"):
        decorate(type)


def over(*slots, rules=()):
    @step_invariant(*slots, rules=rules)
    def grows(before, after):
        return True

    return spec(invariants=[grows])


@pytest.mark.parametrize("labels", [("granted", 3), ("granted", "")])
def test_labels_are_texts(labels):
    with pytest.raises(SpecError, match="rule inc: labels are texts, none of them empty"):
        rule(*labels)(inc.call)


def test_a_step_invariant_looks_at_rules_that_are_there_and_touch_its_slots():
    over("n", rules=["inc"])
    over("n", "c")
    for slots, rules, problem in [
        (["n"], ["typo"], "step invariant grows: 'typo' is not a rule; rules are inc, stir"),
        (["n"], ["inc", "typo"], "'typo' is not a rule"),
        (["n", "c"], ["inc"], "rule inc does not touch all of n, c"),
        (["n", "c"], ["stir", "inc"], "rule inc does not touch all of n, c"),
        (["m"], [], "no rule touches all of m"),
        (["n", "m"], [], "no rule touches all of n, m"),
        (["state"], [], "'state' is not a slot"),
    ]:
        with pytest.raises(SpecError, match=problem):
            over(*slots, rules=rules)


def test_rules_of_a_step_invariant_are_a_list():
    with pytest.raises(SpecError, match=r"write rules=\['inc'\]"):
        step_invariant("n", rules="inc")


def test_a_step_invariant_names_slots_and_takes_its_parameters_in_order():
    with pytest.raises(SpecError, match=r"write @step_invariant\("):

        @step_invariant
        def bare(before, after):
            return True

    with pytest.raises(
        SpecError, match="step invariant swapped: parameters are: before, after, label"
    ):

        @step_invariant("n")
        def swapped(before, after, scope, label):
            return True

    with pytest.raises(SpecError, match=r"invariant early: parameters are: .* scope"):

        @invariant
        def early(scope, n):
            return True


def test_the_index_of_an_annotation_is_a_variable():
    def annotated(annotation):
        def p(c):
            return True

        p.__annotations__["c"] = annotation
        return p

    for zero in ("c[0]", "'c[0]'", Annotated[int, "c[0]"]):
        with pytest.raises(SpecError, match=r"'c\[0\]' is not a slot such as"):
            invariant(annotated(zero))
    for variable in ("c[i]", "'c[me]'", Annotated[int, "c[first]"]):
        assert invariant(annotated(variable)).places[0][1] in ("i", "me", "first")


@invariant
def low(n):
    return n < 9


@view
def n_of(n):
    return n


@step_invariant("n")
def grows(before, after):
    return True


def renamed(decorate, name, *parameters):
    function = eval(f"lambda {', '.join(parameters)}: True")
    function.__name__ = name
    return decorate(function)


def named(decorate, a, b, name="p"):
    def p(a, b):
        return True

    p.__name__ = name
    p.__annotations__ = {"a": a, "b": b}
    return decorate(p)


def indexed(name, a, b):
    return named(view, a, b, name)


@pytest.mark.parametrize(
    ("more", "problem"),
    [
        (
            {"initial": [{"typo": 1}]},
            "initial of spec counter: 'typo' is not a slot; slots are n, m, c",
        ),
        ({"initial": []}, "there is no initial state"),
        ({"initial": {"n": 1}}, "a dict is given where a list belongs"),
        ({"initial": [("n", 1)]}, "a mapping of slot to value, not a tuple"),
        ({"initial": [{"n": [1]}]}, "slot n: the initial value is a list, which cannot be hashed"),
        (
            {"slots": {"n": single(iter(()))}},
            "slot n: the initial value is a tuple_iterator, which can be read only once",
        ),
        ({"slots": {}}, "at least one slot"),
        ({"slots": ["n", "c"]}, "slots are a mapping"),
        ({"slots": {"n": 0}}, r"slot n: a int is not a slot \(write single"),
        ({"slots": {1: single(0)}}, "1 cannot be the name of a slot"),
        ({"slots": {"me": single(0)}}, "'me' cannot be the name of a slot"),
        ({"slots": {"n": array(0, 0)}}, "slot n: 0 is not the size of an array"),
        ({"slots": {"n": array(1.5, 0)}}, "1.5 is not the size"),
        ({"slots": {"n": array("3", 0)}}, "'3' is not the size"),
        ({"rules": inc}, r"a Rule is given where a list belongs \(write \[inc\]"),
        ({"invariants": low}, r"a Predicate is given where a list belongs \(write \[low\]"),
        ({"rules": None}, "a NoneType is given where a list belongs"),
        ({"rules": [low]}, "Predicate low is not a rule"),
        ({"rules": [named]}, "counter: function named is not a rule"),
        (
            {"slots": {"n": single(Spec)}},
            r"slot n: the initial value is the class Spec, not a value of it \(write Spec\(...\)\)",
        ),
        ({"invariants": [inc]}, "invariants: Rule inc is not a predicate"),
        ({"goals": [grows]}, "goals: StepInvariant grows is not a predicate"),
        ({"views": [renamed(view, "n", "n")]}, "view n: has the name of a slot"),
        ({"views": [renamed(view, "v", "v")]}, "view v: reads itself"),
        (
            {"views": [renamed(view, "v", "w"), renamed(view, "w", "v", "n")]},
            "view v: reads itself",
        ),
        ({"views": [indexed("v", a="c[i]", b="c[j]")]}, "view v: has more than one index variable"),
        (
            {"invariants": [indexed("p", a="n[i]", b="c[j]")]},
            "predicate p: 'n' is single, it has no index 'i'",
        ),
        (
            {"goals": [indexed("p", a="n_of[i]", b="c[j]")], "views": [n_of]},
            "predicate p: 'n_of' is single",
        ),
        ({"views": [n_of, n_of]}, "two views are called 'n_of'"),
        (
            {"ends": [renamed(end, "rest", "n"), renamed(end, "rest", "m")]},
            "two ends are called 'rest'",
        ),
        (
            {"invariants": [renamed(invariant, "deadlock", "n")]},
            "no invariant is called 'deadlock'",
        ),
    ],
)
def test_what_does_not_fit_is_named(more, problem):
    with pytest.raises(SpecError, match=problem):
        spec(**more)


def test_indexes_of_a_view_may_be_single_slots_and_inner_views():
    inner = indexed("inner", a="c[j]", b="'n'")
    outer = indexed("outer", a="inner[i]", b="c[i]")
    assert spec(views=[inner, outer]).views == (inner, outer)


class Raises:
    def __init__(self, method):
        self.method = method

    def __hash__(self):
        return 1 if self.method != "hash" else 1 // 0

    def __eq__(self, other):
        return self is other if self.method != "eq" else 1 // 0

    def __repr__(self):
        return "a value" if self.method != "repr" else 1 // 0


@pytest.mark.parametrize(
    ("method", "problem"), [("hash", "when it is hashed"), ("eq", "when it is compared")]
)
def test_an_initial_value_can_be_hashed_and_compared(method, problem):
    for more in (
        {"slots": {"n": single(Raises(method))}, "rules": []},
        {"initial": [{"n": Raises(method)}]},
    ):
        with pytest.raises(SpecError, match=f"which raises ZeroDivisionError {problem}"):
            spec(**more)


def test_what_cannot_even_be_shown_is_named_by_its_type():
    with pytest.raises(
        SpecError, match="<Raises that cannot be shown: ZeroDivisionError> is not a rule"
    ):
        spec(rules=[Raises("repr")])


def test_an_index_variable_ranges_over_arrays_of_one_size():
    def given(a, b, **more):
        slots = {"n": single(0), "c": array(3, 0), "d": array(2, 0), "e": array(3, 0)}
        return spec(slots=slots, **{**more, "goals": [named(goal, a, b)]})

    view_of_c = renamed(view, "of_c", "c")
    outer = renamed(view, "outer", "of_c", "n")
    views = {"views": [view_of_c, outer]}
    for a, b in [("c[i]", "e[i]"), ("c[i]", "d[j]"), ("outer[i]", "e[i]"), ("'n'", "d[i]")]:
        assert given(a, b, **views).goals
    for a, b in [("c[i]", "d[i]"), ("'c'", "d[i]"), ("'c'", "'d'"), ("of_c[i]", "d[i]")]:
        with pytest.raises(SpecError, match=r"the index i ranges .* c has 3 and d has 2 elements"):
            given(a, b, **views)
    with pytest.raises(
        SpecError, match=r"predicate p: the index k .* d has 2 and c has 3 elements"
    ):
        given("d[k]", "outer[k]", **views)
    with pytest.raises(SpecError, match=r"view p: the index i .* c has 3 and d has 2 elements"):
        given("'n'", "c[i]", views=[named(view, "c[i]", "d[i]")])


def test_a_guard_takes_me_only_where_the_rule_has_an_index():
    def my_turn(me, n):
        return n == me

    for function in (lambda me, n: [n], lambda n, c: [(n, c)]):
        assert spec(rules=[rule(when=my_turn)(function)]).rules
    with pytest.raises(SpecError, match="its guard takes me, but the rule has no index"):
        spec(rules=[rule(when=my_turn)(lambda n: [n])])


def test_a_predicate_does_not_compare_an_element_with_itself():
    for a, b, hint in [
        ("c[i]", "c[i]", r"c\[i\], .*write b: \"c\[j\]\""),
        ("'c'", "c[i]", r"c\[i\], .*write b: \"c\[j\]\""),
        ("c[j]", "c[j]", r"c\[j\], .*write b: \"c\[i\]\""),
        ("'n'", "'n'", "n, .*leave one of them out"),
    ]:
        with pytest.raises(SpecError, match=f"two parameters stand for {hint}"):
            spec(invariants=[named(invariant, a, b)])
    assert spec(invariants=[named(invariant, "c[i]", "c[j]")]).invariants


def test_two_ways_round_a_ring_do_not_meet_at_one_element():
    @rule
    def push(a: "node[j]", b: "node[j+2]", c: "node[j-1]"):
        yield a, b, c

    @invariant
    def differ(node, b: "node[i+3]"):
        return node != b

    for size, one, problem in (
        (3, [push], r"rule push: node\[j\+2\] and node\[j-1\] are the same element .* of 3"),
        (2, [push], r"rule push: node\[j\] and node\[j\+2\] are the same element of .* of 2"),
        (3, [differ], r"predicate differ: node\[i\] and node\[i\+3\] are the same element"),
    ):
        rules, promises = (one, []) if one == [push] else ([], one)
        with pytest.raises(SpecError, match=problem):
            Spec("ring", {"node": array(size, 0)}, rules, invariants=promises)
    Spec("ring", {"node": array(4, 0)}, [push], invariants=[differ])


def test_an_array_smaller_than_the_indexes_of_a_promise_is_a_small_scope():
    @invariant
    def different(a: "c[i]", b: "c[j]"):
        return a != b

    assert spec(slots={"n": single(0), "c": array(1, 0)}, invariants=[different]).invariants == (
        different,
    )


def test_a_rule_that_fits_one_spec_is_looked_at_again_in_another():
    @rule
    def push(a: "node[j]", b: "node[j+2]"):
        yield a, b

    for slots in ({"node": array(3, 0)}, {"node": array(3, 0), "m": single(0)}):
        Spec("ring", slots, [push])
    with pytest.raises(SpecError, match=r"the same element of an array of 2"):
        Spec("ring", {"node": array(2, 0)}, [push])

    @view
    def j(m):
        return m

    with pytest.raises(SpecError, match="'j' is an index here, and a slot or view"):
        Spec("ring", {"node": array(3, 0), "m": single(0)}, [push], views=[j])
