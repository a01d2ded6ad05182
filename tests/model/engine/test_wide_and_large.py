"""States of several words, tables found by hash, values that outgrow their fields, chains that
outgrow their memory.
"""

from itertools import product

import pytest

from groupcheck.model.engine import (
    Spec,
    array,
    end,
    goal,
    invariant,
    reference,
    rule,
    single,
    urgent,
    view,
)
from groupcheck.model.engine.fast import explore, packed
from groupcheck.model.engine.fast.layout import Field, arrange, width_of


def same(spec):
    fast, slow = explore.explore(spec), reference.explore(spec)
    for name in ("verdict", "reason", "states", "transitions", "depth", "rules", "goals"):
        assert getattr(fast, name) == getattr(slow, name), name
    assert [(v.invariant, v.depth) for v in fast.violations] == [
        (v.invariant, v.depth) for v in slow.violations
    ]
    return fast


@rule
def mark(fuse, lamp):
    if fuse and lamp < 3:
        yield fuse - 1, lamp + 1


@goal
def spent(fuse):
    return fuse == 0


@invariant
def few(a: "lamp[i]", b: "lamp[j]"):
    return a + b < 4


@pytest.mark.parametrize("lamps", [1, 31, 32, pytest.param(70, marks=pytest.mark.night)])
def test_states_of_any_number_of_words_are_exact(lamps):
    """Lamps that share a fuse for two switchings: from one word to three, on both sides of a
    boundary.
    """
    verdict = same(
        Spec("lamps", {"fuse": single(2), "lamp": array(lamps, 0)}, [mark], goals=[spent])
    )
    assert verdict.states == 1 + lamps + lamps * (lamps + 1) // 2


def test_predicates_over_many_pairs_share_their_bits():
    """30 members make 870 ordered pairs, more than a word of bits."""
    verdict = same(
        Spec("pairs", {"fuse": single(4), "lamp": array(12, 0)}, [mark], invariants=[few])
    )
    assert [(v.invariant, v.depth) for v in verdict.violations] == [("few", 4)]


@rule
def climb(height):
    if height < 700:
        yield height + 1


@rule
def leap(height, other):
    if height < 700 and height % 7 == 0:
        yield height + 5, (other * 3 + height) % 5


@end
def high(height):
    return height >= 700


def test_fields_grow_with_their_values():
    """One slot takes 701 values: ten bits, begun with one."""
    verdict = same(
        Spec("climb", {"height": single(0), "other": single(0)}, [climb, leap], ends=[high])
    )
    assert verdict.states > 1_000


def test_fields_that_grow_push_states_into_another_word():
    slots = {"height": single(0), "other": single(0), "lamp": array(30, 0), "fuse": single(1)}

    @rule
    def short_climb(height):
        if height < 40:
            yield height + 1

    assert same(Spec("wider", slots, [short_climb, mark])).states == 41 * 31


@pytest.mark.parametrize("limit", [0, 3])
def test_tables_found_by_hash_give_the_same_answers(monkeypatch, limit):
    """With dense tables forbidden, every look-up goes through the hash."""
    monkeypatch.setattr(packed, "DENSE_BITS", limit)
    monkeypatch.setattr(packed, "SMALL_BITS", limit)

    @view
    def sum_of(height, lamp: "lamp[i]"):
        return height + lamp

    @invariant
    def apart(a: "sum_of[i]", b: "sum_of[j]"):
        return abs(a - b) < 4

    @urgent
    def fall(lamp, height):
        if lamp == 2 and height % 5 == 0:
            yield 0, height

    slots = {"height": single(0), "fuse": single(4), "lamp": array(4, 0)}
    spec = Spec("hashed", slots, [climb_to_30, mark, fall], invariants=[apart], views=[sum_of])
    assert same(spec).states > 1_000


@rule
def climb_to_30(height):
    if height < 30:
        yield height + 1


@rule
def start(load):
    if load == 0:
        yield 1


@urgent
def split(load):
    if 0 < load < 4_096:
        yield 2 * load
        yield 2 * load + 1


def test_chains_with_thousands_of_branches_are_counted_one_by_one():
    """One step, 4,096 ways to come to rest: more than the memory that chains begin with."""
    verdict = same(Spec("split", {"load": single(0)}, [start, split]))
    assert (
        verdict.states,
        verdict.transitions,
        verdict.rules["start"],
        verdict.rules["split"],
    ) == (4_097, 4_096, 4_096, 4_096 * 12)


def test_a_row_may_have_thousands_of_outcomes():
    @rule
    def scatter(n):
        if n == 0:
            yield from range(1, 30_000)

    verdict = explore.explore(Spec("scatter", {"n": single(0)}, [scatter]))
    assert (verdict.states, verdict.transitions) == (30_000, 29_999)


def test_fields_do_not_cross_words_and_do_not_overlap():
    for widths in product((1, 7, 20, 33, 64), repeat=4):
        words, fields = arrange(widths)
        taken = set()
        for width, f in zip(widths, fields):
            assert f == Field(f.word, f.shift, width)
            assert f.word < words
            assert f.shift + width <= 64
            bits = {(f.word, bit) for bit in range(f.shift, f.shift + width)}
            assert not bits & taken
            taken |= bits


def test_fields_take_no_more_words_than_the_widest_first_would():
    assert arrange([33, 20, 31, 20])[0] == 2
    assert [width_of(n) for n in (1, 2, 3, 4, 5, 256, 257)] == [1, 1, 2, 2, 3, 8, 9]
