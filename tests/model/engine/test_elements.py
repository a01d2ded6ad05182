"""Indexes that are stored as elements: what they are, which specs exchange them, and that a search
with one state for each orbit answers what a search of all states answers.
"""

import time
from functools import partial
from itertools import count, islice

import attrs
import pytest
from attrs import field, frozen
from judge import TooLargeError, judge
from judged import disagreement
from random_elements import Core, Item, random_elements
from two_phase_commit import two_phase_commit

from groupcheck.model.engine import (
    Element,
    RuleError,
    Spec,
    UserError,
    any_of,
    array,
    end,
    evolve,
    goal,
    invariant,
    reference,
    rule,
    single,
    staged,
    step_invariant,
    urgent,
    view,
)
from groupcheck.model.engine.element import permuted
from groupcheck.model.engine.errors import AsymmetryError
from groupcheck.model.engine.fast import explore as fast
from groupcheck.model.engine.plain import plain_explore
from groupcheck.model.engine.step import Semantics
from groupcheck.model.engine.symmetry import Orbits, symmetry_of, symmetry_to_use

ENGINES = [reference.explore, plain_explore.explore, staged.explore]


@rule
def join(me: Element, item, core):
    if item.phase == 0:
        yield Item(1), evolve(core, members=core.members | {me})


@rule
def lead(me: Element, core):
    if me in core.members and core.leader is None:
        yield evolve(core, leader=me)


def spec_of(*rules, n=4, more=(), **parts):
    slots = {"item": array(n, Item()), "core": single(Core()), **dict(more)}
    return Spec("elements", slots, rules or (join, lead), n, deadlock=False, **parts)


def reason(spec):
    return "; ".join(symmetry_of(spec).reasons)


def numbers(verdict):
    return verdict.states, verdict.transitions, verdict.depth, verdict.rules, verdict.goals


# -- what an element is


def test_an_element_is_no_number_and_has_no_order():
    a, b = Element(0), Element(1)
    assert a == Element(0) and a != b and a != 0 and len({a, b, Element(1)}) == 2
    for misuse in (lambda: a < b, lambda: a + 1, lambda: [1][a], lambda: int(a)):
        with pytest.raises(TypeError):
            misuse()


def test_the_elements_in_a_value_are_exchanged_wherever_they_stand():
    value = (Core(frozenset({Element(0)}), (Element(1), Element(2))), 3, None)
    after = (Core(frozenset({Element(1)}), (Element(0), Element(2))), 3, None)
    assert permuted(value, (1, 0, 2)) == after
    plain = (frozenset({1, "a"}), Item())
    assert permuted(plain, (1, 0, 2)) is plain


@frozen
class Fixed:
    who: Element
    first: Element = field(init=False, default=Element(0))


def test_a_value_that_hides_its_parts_is_refused():
    class Box:
        pass

    with pytest.raises(AsymmetryError, match="is a Box, which may hold elements unseen"):
        permuted((Box(),), (1, 0))
    with pytest.raises(AsymmetryError, match="is not the same Fixed if made again"):
        permuted(Fixed(Element(0)), (1, 0))
    with pytest.raises(AsymmetryError, match=r"Element\(2\) is none of the 2 elements"):
        permuted(Element(2), (1, 0))


def test_the_annotation_says_whether_a_function_gets_an_element():
    scope = {"Element": Element}
    text = "from __future__ import annotations\ndef take(me: Element, other, item): yield item"
    exec(compile(text, "taken.py", "exec"), scope)
    assert rule(scope["take"]).elements == ("me",)

    @rule(when=lambda me, core: me in core.members)
    def guarded(me: Element, a: "item[me]", core):
        yield a, core

    @goal
    def met(i: Element, item):
        return item.friend == i

    assert guarded.elements == ("me",) and met.elements == ("i",) and lead.elements == ("me",)


# -- which specs exchange them


def test_arrays_whose_indexes_are_stored_are_exchanged():
    (group,) = symmetry_of(spec_of()).groups
    assert (group.arrays, group.size, group.is_stored) == (("item",), 4, True)


@rule
def counts(me, core):
    if me == 0:
        yield core


@urgent
def hurry(item):
    if item.phase == 5:
        yield Item()


@pytest.mark.parametrize(
    ("rules", "more", "n", "why"),
    [
        ([join, counts], {}, 4, "item: rule counts takes me (take it as an Element, or"),
        ([join, hurry], {}, 4, "item: urgent rule hurry has an index, and some are stored"),
        ([join], {"part": array(2, 0)}, 4, "part: indexes of other arrays are stored"),
        ([join], {}, 9, "item: stored indexes of so many elements have too many orders"),
        (
            [join],
            {"first": single(any_of(Element(0), Element(1)))},
            4,
            "item: initial states tell their elements apart",
        ),
    ],
)
def test_the_reason_says_what_speaks_against_it(rules, more, n, why):
    assert why in reason(spec_of(*rules, more=more, n=n))


def test_initial_states_may_name_every_element():
    first = single(any_of(*map(Element, range(4))))
    assert symmetry_of(spec_of(join, more={"first": first})).groups


def test_it_is_worth_while_from_five_elements_on():
    assert symmetry_to_use(spec_of(n=5), None).groups
    assert "fewer than five" in symmetry_to_use(spec_of(n=4), None).reasons[0]
    assert symmetry_to_use(spec_of(n=4), True).groups


# -- the answers


def test_states_that_no_set_describes_fall_into_orbits_too():
    spec = spec_of(n=4)
    see = Semantics(spec)
    orbits = Orbits(see, symmetry_of(spec).groups)

    def friends(*numbers):
        return see.state({"item": tuple(Item(0, Element(k)) for k in numbers)})

    ring, pairs, chain = friends(1, 2, 3, 0), friends(1, 0, 3, 2), friends(1, 2, 3, 3)
    for state, size in ((ring, 6), (pairs, 3), (chain, 24)):
        images = {move(state) for move in orbits.moves}
        assert images == {*orbits.images(state)} and len(images) == orbits.size(state) == size
        assert {orbits.key(image) for image in images} == {orbits.key(state)}
    assert len({orbits.key(ring), orbits.key(pairs), orbits.key(chain)}) == 3


def test_elements_that_are_too_much_alike_are_not_put_in_order():
    @rule
    def turn(me: Element, item):
        yield evolve(item, phase=1 - item.phase)

    def ring(way):
        return {"item": tuple(Item(0, Element((k + way) % 8)) for k in range(8))}

    orbits = Orbits(Semantics(spec_of(turn, n=8)), symmetry_of(spec_of(turn, n=8)).groups)
    with pytest.raises(AsymmetryError, match="too much alike"):
        orbits.key(orbits.see.state(ring(1)))


@pytest.mark.parametrize("explore", ENGINES)
def test_two_phase_commit_stores_one_state_of_each_orbit(explore):
    spec = two_phase_commit(3)
    reduced = explore(spec, symmetry=True)
    assert numbers(reduced) == numbers(explore(spec, symmetry=False))
    assert reduced.symmetry.used and reduced.symmetry.representatives == 80


def test_five_managers_are_exchanged_without_being_asked():
    verdict = staged.explore(two_phase_commit(5), symmetry=None, goals=["committed"])
    assert (verdict.states, verdict.symmetry.representatives) == (8832, 314)
    (met,) = verdict.reached
    assert Semantics(two_phase_commit(5)).follow(met.key) == met.path


def disagreements(first, number):
    """What the engines answer otherwise than the judge, on so many specs; and with how many of
    them elements were exchanged.
    """
    wrong, exchanged = [], 0
    specs = ((seed, random_elements(seed)) for seed in count(first))
    for seed, spec in islice(specs, number):
        try:
            said = judge(spec, 400)
        except TooLargeError:
            continue
        verdict = plain_explore.explore(spec, symmetry=True)
        exchanged += verdict.symmetry.used and said["states"] > 8
        for explore in ENGINES:
            for symmetry in (False, True):
                found = disagreement(spec, said, partial(explore, spec, symmetry=symmetry))
                wrong += [(seed, explore, symmetry, found)] if found else []
    return wrong, exchanged


@pytest.mark.parametrize(
    "first",
    [0, pytest.param(1000, marks=pytest.mark.night), pytest.param(2000, marks=pytest.mark.night)],
)
def test_engines_agree_with_the_judge_on_random_specs_that_store_elements(first):
    number = 400 if first else 20
    wrong, exchanged = disagreements(first, number)
    assert not wrong and exchanged > number / 8


# -- what tells elements apart after all


@rule
def peek(me: Element, item, core):
    if item.phase == 0 and repr(me) != "Element(2)":
        yield Item(1, me), core


@rule
def first_of(item, core):
    if core.members and item.phase == 1:
        yield Item(0, next(iter(sorted(core.members, key=repr)))), core


@rule
def picky(me: Element, item, core):
    if repr(me) == "Element(2)" and item.phase == 0:
        raise ValueError("no")
    yield item, core


@pytest.mark.parametrize("explore", ENGINES)
@pytest.mark.parametrize("odd", [peek, first_of])
def test_a_rule_that_tells_elements_apart_is_found_out(explore, odd):
    spec = spec_of(join, odd, n=3)
    verdict = explore(spec, symmetry=True)
    assert not verdict.symmetry.used and odd.name in verdict.symmetry.reason
    assert numbers(verdict) == numbers(explore(spec, symmetry=False))
    with pytest.raises(UserError, match="cannot be used for elements"):
        explore(spec, symmetry=True, required=True)


@pytest.mark.parametrize("explore", [plain_explore.explore, staged.explore])
def test_a_search_that_begins_again_keeps_its_clock(explore):
    pauses = [0.1]

    @rule
    def slow_at_first(me: Element, item, core):
        if pauses:
            time.sleep(pauses.pop())
        if item.phase == 0 and repr(me) != "Element(2)":
            yield Item(1, me), core

    verdict = explore(spec_of(join, slow_at_first, n=3), symmetry=True)
    assert not verdict.symmetry.used and verdict.seconds > 0.1


@pytest.mark.parametrize("explore", [plain_explore.explore, staged.explore])
def test_a_rule_that_fails_for_one_element_is_told_with_a_path_to_it(explore):
    with pytest.raises(RuleError, match="ValueError: no") as error:
        explore(spec_of(join, picky), symmetry=True)
    assert Semantics(spec_of(join, picky)).follow(error.value.key)


@pytest.mark.parametrize("explore", ENGINES)
def test_a_promise_may_tell_elements_apart(explore):
    @invariant
    def not_the_last(core):
        return core.leader != Element(2)

    spec = spec_of(n=3, invariants=[not_the_last])
    verdict = explore(spec, symmetry=True)
    assert verdict.symmetry.used and verdict.verdict == "violated"
    (broken,) = verdict.violations
    assert broken.depth == 2 and Semantics(spec).follow(broken.key) == broken.path


@pytest.mark.parametrize("explore", ENGINES)
@pytest.mark.parametrize("k", range(3))
def test_a_promise_is_asked_of_each_element(explore, k):
    @goal
    def joined(me: Element, item):
        return me == Element(k) and item.phase == 1

    @end
    def led_by_another(core):
        return core.leader is not None and core.leader != Element(k)

    spec = attrs.evolve(spec_of(n=3, goals=[joined], ends=[led_by_another]), deadlock=True)
    verdict = explore(spec, symmetry=True)
    assert verdict.symmetry.used and verdict.goals == {"joined": 1}
    (stuck,) = verdict.violations
    assert stuck.invariant == "deadlock" and stuck.path.states[-1][0].leader == Element(k)


@pytest.mark.parametrize("explore", ENGINES[1:])  # for `reference` this is another step
@pytest.mark.parametrize("k", range(3))
def test_a_step_invariant_looks_at_the_steps_of_each_element(explore, k):
    @step_invariant("core")
    def another_leads(before, after):
        return after.core.leader != Element(k)

    spec = spec_of(n=3, invariants=[another_leads])
    verdict = explore(spec, symmetry=True)
    (broken,) = verdict.violations
    assert verdict.symmetry.used and broken.depth == 2
    assert Semantics(spec).follow(broken.key).states[-1][0].leader == Element(k)


@pytest.mark.parametrize("explore", ENGINES)
def test_a_step_to_another_state_of_the_orbit_is_no_rest(explore):
    @rule(when=lambda core: core.leader is not None)
    def follow(me: Element, item, core):
        if core.leader != me:
            yield item, evolve(core, leader=me)

    first = any_of(*(Core(leader=Element(k)) for k in range(4)))
    spec = spec_of(follow, more={"core": single(first)})
    verdict = explore(attrs.evolve(spec, deadlock=True), symmetry=True)
    assert (verdict.verdict, verdict.states, verdict.symmetry.representatives) == ("holds", 4, 1)


def test_a_view_may_show_elements():
    @view
    def leads(me: Element, item, core):
        return core.leader == me, core.leader

    @goal
    def known(one: "leads[i]", other: "leads[j]"):
        return one[0] and other == (False, one[1])

    spec = spec_of(n=3, views=[leads], goals=[known])
    verdict = plain_explore.explore(spec, symmetry=True)
    assert verdict.symmetry.used and verdict.goals == {"known": 2}


@frozen(eq=False)
class Sealed:
    inside: Element | None = None


def test_a_value_that_hides_its_parts_is_found_out_when_it_is_met():
    @rule
    def seal(me: Element, box):
        if box is None:
            yield (me, 1.5, SEALED)

    spec = spec_of(join, seal, more={"box": single(None, of=tuple | None)})
    verdict = plain_explore.explore(spec, symmetry=True)
    assert not verdict.symmetry.used and "which may hold elements unseen" in verdict.symmetry.reason


SEALED = Sealed()


# -- what goes without


def test_the_compiled_search_says_that_it_does_not_exchange_elements(tmp_path):
    spec = two_phase_commit(5)
    verdict = fast.explore(spec, symmetry=None)
    assert verdict.states == 8832 and "plain Python alone" in verdict.symmetry.reason
    with pytest.raises(UserError, match="plain Python alone"):
        staged.explore(spec, symmetry=True, required=True, checkpoint=tmp_path / "kept")
