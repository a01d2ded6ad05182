"""What an author can say: several indexes, rings, whole arrays, some and all, names, values of
several types, several beginnings. Each way to say it wrong is named.
"""

import re

import pytest
from attrs import frozen

from groupcheck.model.engine import (
    RuleError,
    Spec,
    SpecError,
    any_of,
    array,
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

ENGINES = pytest.mark.parametrize(
    "explored", [reference.explore, plain_explore.explore, explore.explore]
)


@end
def anywhere(n):
    return True


def spec(rules=(), invariants=(), goals=(), views=(), ends=(anywhere,), **more):
    slots = {"n": single(0), "c": array(3, 0), "d": array(2, 0), **more.pop("slots", {})}
    return Spec("words", slots, rules, 3, invariants, goals, ends, views, **more)


def indexes(given):
    """The choices of indexes of the only rule."""
    return [i.index for i in Semantics(spec([given])).ordinary]


def test_two_indexes_of_one_array_are_never_equal():
    @rule
    def pass_on(me, other, mine: "c[me]", theirs: "c[other]"):
        yield mine, theirs

    assert indexes(pass_on) == [(a, b) for a in range(3) for b in range(3) if a != b]


def test_indexes_of_different_arrays_are_independent():
    @rule
    def meet(me, b, c, other: "d[b]"):
        yield c, other

    @rule
    def unaware(c, other: "d[b]"):
        yield c, other

    assert indexes(meet) == indexes(unaware) == [(a, b) for a in range(3) for b in range(2)]


@ENGINES
def test_neighbours_in_a_ring_are_counted_round_the_array(explored):
    @rule
    def shift(c, next: "c[me+1]", last: "c[me-1]"):
        if c:
            yield 0, 1, last

    @goal
    def back(i, c):
        return i == 0 and c == 1

    found = explored(spec([shift], goals=[back], initial=[{"c": (0, 1, 0)}]))
    assert (found.states, found.transitions, found.goals) == (3, 3, {"back": 2})


def test_in_an_array_of_two_the_neighbours_are_one_element_so_such_a_rule_has_no_choice():
    @rule
    def both(d, next: "d[me+1]", last: "d[me-1]"):
        yield d, next, last

    assert indexes(both) == []


@ENGINES
def test_a_whole_array_is_read_and_written_as_a_tuple(explored):
    @rule
    def sort(every: "c[:]", n):
        yield tuple(sorted(every)), n + 1 if n < 2 else n

    @invariant
    def few(n, every: "c[:]"):
        return n < 2 or every != (1, 2, 3)

    found = explored(spec([sort], [few], initial=[{"c": (3, 1, 2)}]))
    assert [(v.invariant, v.depth) for v in found.violations] == [("few", 2)]


@pytest.mark.parametrize("wrong", [(0, 0), [0, 0, 0], 0])
@ENGINES
def test_a_whole_array_that_is_none_is_named(explored, wrong):
    @rule
    def cut(every: "c[:]"):
        yield wrong

    with pytest.raises(RuleError, match="for every, not a tuple of 3 values"):
        explored(spec([cut]))


def test_a_table_is_shared_by_all_indexes_that_a_rule_cannot_know():
    calls = []

    @rule
    def look(mine: "c[me]", theirs: "c[other]"):
        calls.append((mine, theirs))
        yield mine, theirs

    assert explore.explore(spec([look])).rule_calls == 1
    assert {*calls} == {(0, 0)}


def test_a_guard_takes_indexes_and_reads_a_parameter_by_its_name():
    @rule(when=lambda me, other, theirs: me + other + theirs == 1)
    def ask(me, other, mine: "c[me]", theirs: "c[other]"):
        yield 1, theirs

    found = explore.explore(spec([ask]))
    assert (found.states, found.transitions) == (3, 4)  # 0 asks 1, or 1 asks 0


@ENGINES
def test_a_predicate_knows_its_index_and_a_view_does(explored):
    @rule
    def count(c):
        if c < 3:
            yield c + 1

    @view
    def ahead(me, c):
        return c - me

    @goal
    def last_first(i, a: "ahead[i]", others: "c[:]"):
        return i == 2 and a == 1 and sum(others) == 3

    assert explored(spec([count], goals=[last_first], views=[ahead])).goals == {"last_first": 3}


@ENGINES
@pytest.mark.parametrize(
    ("said", "depth"),
    # Each of three counts from 0 to 1.
    [
        ((), 1),
        (("some i",), 3),
        (("all i",), 1),
        (("all i", "some j"), 2),
        (("some i", "all j"), 3),
    ],
)
def test_invariants_hold_for_some_and_for_all_indexes(explored, said, depth):
    @rule
    def count(c):
        if c < 1:
            yield c + 1

    if len(said) < 2:

        @invariant(*said)
        def low(c):
            return c < 1

    else:

        @invariant(*said)
        def low(a: "c[i]", b: "c[j]"):
            return b < 1 if said[0] == "all i" else a < 1 or b < 1

    found = explored(spec([count], [low]))
    assert [(v.invariant, v.depth) for v in found.violations] == [("low", depth)]


@ENGINES
def test_goals_and_ends_ask_for_all_and_for_some(explored):
    @rule
    def count(c):
        if c < 1:
            yield c + 1

    @goal("all i")
    def full(c):
        return c == 1

    @goal
    def begun(c):
        return c == 1

    @end("some i")
    def one(c):
        return c == 1

    found = explored(spec([count], goals=[full, begun], ends=[one]))
    assert found.verdict == "holds" and found.goals == {"full": 3, "begun": 1}


@ENGINES
def test_where_there_is_no_other_index_some_is_false_and_all_is_true(explored):
    @rule
    def stay(c):
        yield c

    @invariant("some j")
    def in_company(a: "c[i]", b: "c[j]"):
        return True

    @invariant
    def alone(a: "c[i]", b: "c[j]"):
        return False

    found = explored(spec([stay], [in_company, alone], slots={"c": array(1, 0)}))
    assert [v.invariant for v in found.violations] == ["in_company"]


def made(k):
    @rule(name=f"set_{k}")
    def put(n):
        yield k

    @goal(name=f"was_{k}")
    def was(n):
        return n == k

    return put, was


@ENGINES
def test_rules_and_goals_of_a_loop_have_names(explored):
    rules, goals = zip(*[made(k) for k in (1, 2)])
    found = explored(spec(rules, goals=goals))
    assert found.rules == {"set_1": 3, "set_2": 3} and found.goals == {"was_1": 1, "was_2": 1}


def test_every_decorator_takes_a_name():
    def f(n):
        return True

    def g(before, after):
        return True

    found = [made(f) for made in (rule(name="x"), urgent(name="x"), invariant(name="x"))]
    found += [made(f) for made in (goal(name="x"), end(name="x"), view(name="x"))]
    found.append(step_invariant("n", name="x")(g))
    assert [one.name for one in found] == ["x"] * 7


@frozen
class Leader:
    term: int


@ENGINES
def test_a_slot_may_hold_none_and_another_type(explored):
    @rule
    def elect(leader):
        yield Leader(1) if leader is None else None

    found = explored(spec([elect], slots={"leader": single(None, of=Leader | None)}))
    assert (found.states, found.transitions) == (2, 2)


@ENGINES
def test_a_type_that_was_not_declared_is_named(explored):
    @rule
    def elect(leader):
        yield Leader(1)

    @rule
    def forget(leader):
        yield "nobody" if leader else Leader(1)

    slots = {"leader": single(None)}
    with pytest.raises(RuleError, match=re.escape("declare the slot with of=Leader | None")):
        explored(spec([elect], slots=slots))
    slots = {"leader": single(None, of=(Leader, type(None)))}
    with pytest.raises(RuleError, match="a str for leader, which holds Leader or None alone"):
        explored(spec([forget], slots=slots))


@ENGINES
def test_a_slot_begins_with_any_of_several_values(explored):
    @rule
    def stay(n):
        yield n

    slots = {"n": single(any_of(0, 1)), "c": array(3, any_of(0, 1, 2))}
    assert explored(spec([stay], slots=slots)).states == 2 * 27
    given = [{"n": any_of(5, 6), "c": (any_of(1, 2), 0, 0)}, {"c": any_of((7, 8, 9), (9, 8, 7))}]
    assert explored(spec([stay], slots=slots, initial=given)).states == 2 * 2 + 2 * 2


@ENGINES
def test_a_step_invariant_looks_at_each_index_that_a_rule_touches(explored):
    @rule
    def give(me, other, mine: "c[me]", theirs: "c[other]"):
        if mine < 2 and (me, other) == (1, 2):
            yield mine + 1, theirs + 1

    seen = []

    @step_invariant("c")
    def slow(before, after):
        seen.append((before.c, after.c))
        return after.c < 2 or before.c != 1

    found = explored(spec([give], [slow], initial=[{"c": (0, 0, 1)}]))
    assert [(v.invariant, v.depth) for v in found.violations] == [("slow", 1)]
    assert {*seen} == {(0, 1), (1, 2)}


def test_a_path_and_its_key_name_all_indexes():
    @rule
    def give(me, other, mine: "c[me]", theirs: "c[other]"):
        if mine:
            yield mine - 1, theirs + 1

    @invariant
    def not_last(i, c):
        return i != 2 or c == 0

    wrong = explore.explore(spec([give], [not_last], initial=[{"c": (1, 0, 0)}])).violations[0]
    firing = wrong.path.steps[0].firing
    assert (firing.me, firing.others) == (0, (2,))
    see = Semantics(spec([give], [not_last], initial=[{"c": (1, 0, 0)}]))
    assert see.follow(wrong.key) == wrong.path


def touching(**annotations):
    names = ", ".join(annotations)
    made = eval(f"lambda {names}: [({names},)]")
    made.__name__, made.__annotations__ = "f", {k: v for k, v in annotations.items() if v}
    return made


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({"n": "n[me]"}, "rule f: 'n' is single, it has no index 'me'"),
        ({"n": "n[:]"}, r"'n' is single, it has no index ':'"),
        ({"a": "c[me]", "b": "'c'"}, r"two parameters stand for c\[me\], so it would be written"),
        ({"a": "c[:]", "b": "c[me]"}, r"c\[me\] is a part of c\[:\] .*take it from c\[:\]"),
        ({"a": "c[i]", "b": "d[i]"}, "the index i .*: c has 3 and d has 2 elements .*of its own"),
        ({"me": "", "n": ""}, "me has no array to range over"),
        ({"c": "", "me": ""}, "parameters are: the indexes such as me"),
        ({"other": "", "c": ""}, "'other' is not a slot"),
        ({"me": ""}, "touches no slot"),
    ],
)
def test_a_wrong_parameter_of_a_rule_is_named(given, problem):
    with pytest.raises(SpecError, match=problem):
        spec([rule(touching(**given))])


def wrong_guard(mine: "c[me]", every: "d[:]"):
    yield mine, every


def with_default(n, k=3):
    yield n


def starred(*slots):
    yield slots


@pytest.mark.parametrize(
    ("make", "problem"),
    [
        (lambda: rule(when=lambda every: True)(wrong_guard), "a guard reads one element"),
        (lambda: rule(when=lambda b, mine: True)(wrong_guard), "a guard reads exactly one slot"),
        (lambda: rule(when=lambda c: True)(wrong_guard), "reads 'c', which the rule does not"),
        (lambda: rule(with_default), "the parameter 'k' has a default.*name=..."),
        (lambda: rule(starred), "the parameter 'slots' is not a plain one"),
        (lambda: rule(name="a:b")(wrong_guard), "'a:b' cannot be a name"),
        (lambda: rule(name=3)(wrong_guard), "3 cannot be a name"),
        (lambda: invariant("any i"), None),
        (lambda: invariant("any i")(anywhere.call), "'any i' does not say how .*write \"some i\""),
        (lambda: goal("all")(anywhere.call), "'all' does not say how an index is meant"),
        (lambda: spec(goals=[goal("all i")(anywhere.call)]), "'i' is not an index of it; .* none"),
        (lambda: any_of(), r"any_of\(\) is none"),
        (lambda: single(0, of=3), "of=3 does not say which types"),
        (lambda: single(0, of=tuple[int]), "does not say which types"),
        (lambda: spec(slots={"x": single(0, of=int | float)}), "slot x: may hold int or float"),
        (lambda: spec(slots={"x": single("", of=int | None)}), "a str, the slot holds int or None"),
        (lambda: spec(slots={"x": array(40, any_of(0, 1))}), "1,099,511,627,776 initial states"),
        (lambda: spec(initial=[{"c": (0, 1)}]), "array 'c' is a tuple of 3 values"),
        (lambda: spec(slots={"i": single(0)}, goals=[first]), "'i' is an index here, and a slot"),
    ],
)
def test_what_cannot_be_said_is_named(make, problem):
    if problem is None:
        make()
        return
    with pytest.raises(SpecError, match=problem):
        make()


@goal
def first(i, c):
    return i == 0


def test_an_annotation_with_a_type_is_no_slot():
    @rule
    def typed(n: "int", c: "tuple[int]"):
        yield n, c

    assert (typed.slots, typed.places) == (("n", "c"), (("n", None), ("c", None)))


def test_a_table_of_outcomes_takes_the_labels_of_its_rule_and_no_other():
    @rule("up", "down")
    def moves(n):
        yield "up", n + 1

    assert moves.by_name(up=1, down=2) == {"moves:up": 1, "moves:down": 2}
    with pytest.raises(SpecError, match="rule moves has no outcome left"):
        moves.by_name(up=1, left=3)
