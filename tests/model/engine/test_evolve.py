"""`evolve` changes fields of any attrs value, whatever its fields are called."""

import attrs
import pytest

from groupcheck.model.engine import evolve, values


@attrs.frozen
class Names:
    o: int = 1
    cls: int = 2
    value: int = 3
    _private: int = 4
    c: int = 5
    __o: int = 6


@pytest.mark.parametrize("name", ["o", "cls", "value", "private", "_private", "c"])
def test_a_field_may_have_any_name(name):
    changed = evolve(Names(), **{name: 9})
    assert changed == attrs.evolve(Names(), **{name.strip("_"): 9})
    assert changed != Names()


def test_several_fields_and_none():
    assert evolve(Names(), o=7, private=8, cls=9) == Names(o=7, private=8, cls=9)
    assert evolve(Names()) == Names()


@attrs.frozen
class Sum:
    a: int
    b: int = attrs.field(kw_only=True, alias="second")
    total: int = attrs.field(init=False, default=0)

    def __attrs_post_init__(self):
        object.__setattr__(self, "total", self.a + self.b)


def test_a_field_that_the_constructor_does_not_take_is_made_anew():
    assert evolve(Sum(1, second=2), a=5).total == 7
    assert evolve(Sum(1, second=2), second=5).total == evolve(Sum(1, second=2), b=5).total == 6
    with pytest.raises(TypeError, match="Sum has no field 'total' to change, only a, b"):
        evolve(Sum(1, second=2), total=5)
    with pytest.raises(TypeError, match="given twice"):
        evolve(Sum(1, second=2), b=5, second=5)


@attrs.frozen
class Point:
    x: object = 0
    y: object = 0


def test_what_was_made_before_is_the_same_object_by_whatever_way():
    direct = evolve(Point(), x=1, y=2)
    assert evolve(evolve(Point(), y=2), x=1) is direct
    assert evolve(evolve(Point(5, 5), x=1), y=2) is direct


@attrs.define(unsafe_hash=True)
class Changeable:
    x: int = 0
    y: int = 0


@attrs.frozen(eq=False)
class Unique:
    x: int = 0


@attrs.frozen
class Counted:
    x: int = 0
    made: int = attrs.field(init=False, factory=iter(range(99)).__next__)


def test_only_values_that_are_no_more_than_their_fields_are_remembered():
    changeable = Changeable()
    first = evolve(changeable, x=1)
    changeable.y = 7
    assert evolve(changeable, x=1).y == 7
    assert first.y == 0
    unique = Unique()
    assert evolve(unique, x=1) is not evolve(unique, x=1)
    counted = Counted()
    assert evolve(counted, x=1).made != evolve(counted, x=1).made


@attrs.frozen
class Spot:
    x: int = 0
    y: int = 0


class Odd:
    def __eq__(self, other):
        raise OSError("odd")

    def __hash__(self):
        return 1


def test_a_field_that_cannot_be_hashed_or_compared_is_changed_all_the_same():
    some = [1]
    assert evolve(Point(), x=some).x is some
    odd, other = Odd(), Odd()
    assert evolve(Point(), x=odd).x is odd
    assert evolve(Point(), x=other).x is other
    held = Point(odd)
    assert evolve(held, y=3).x is odd
    held = Point(other)
    assert evolve(held, y=3).x is other


def test_no_more_than_so_many_are_remembered(monkeypatch):
    monkeypatch.setattr(values, "MOST", 8)
    monkeypatch.setattr(values, "LOOK", 4)
    values._first.clear()
    starts = [Spot(n) for n in range(50)]
    for start in starts:
        assert all(evolve(start, y=1) == Spot(start.x, 1) for _ in range(3))
        memory = values._classes[Spot].memories["y",]
        assert len(memory.made) <= 8
        assert len(values._first) < 4 * 8 + 4


@attrs.frozen
class Cell:
    x: int = 0
    y: int = 0


def test_nothing_is_remembered_for_a_while_where_nothing_comes_again(monkeypatch):
    monkeypatch.setattr(values, "LOOK", 4)
    monkeypatch.setattr(values, "PAUSE", 10)
    first = [evolve(Cell(n), y=1) for n in range(4)]
    memory = values._classes[Cell].memories["y",]
    assert memory.made is None
    again = Cell()
    for _ in range(10):
        assert evolve(again, y=1) == first[0]
        assert evolve(again, y=1) is not first[0]
        memory.left += 2
    memory.left = 1
    evolve(again, y=1)
    known = evolve(again, y=1)
    assert evolve(again, y=1) is known is first[0]


class Elsewhere:
    """While it is looked up, other values are changed: as another thread may do."""

    def __hash__(self):
        memory = values._classes[Place].memories["y",]
        while memory.made is not None:
            evolve(Place(), y=memory.left + 10)
        return 1


@attrs.frozen
class Place:
    x: int = 0
    y: object = 0


def test_memory_that_is_given_up_meanwhile_does_no_harm(monkeypatch):
    monkeypatch.setattr(values, "LOOK", 4)
    evolve(Place(), y=1)
    there = Elsewhere()
    assert evolve(Place(), y=there).y is there
    assert values._classes[Place].memories["y",].made is None


def test_a_run_whose_values_do_not_come_again_remembers_none():
    @attrs.frozen
    class Fresh:
        a: int = 1

    before = Fresh()
    with values.unremembered():
        made = evolve(before, a=2)
        assert evolve(before, a=2) == made and evolve(before, a=2) is not made
    first = evolve(before, a=2)
    assert evolve(before, a=2) is first


def sums(calls):
    @values.remembered
    def shifted(point, by, scale=1, *more):
        calls.append(by)
        return evolve(point, x=(point.x + by) * scale, y=(*more,))

    return shifted


def test_a_remembered_function_is_called_once_for_the_same_objects():
    calls = []
    shifted = sums(calls)
    start, other = Point(1), Point(1)
    assert start == other and start is not other
    assert shifted(start, 2) is shifted(start, by=2) is shifted(start, 2, scale=1)
    assert calls == [2]
    assert shifted(other, 2).x == 3
    assert shifted(start, 2, 1, 5).y == (5,)
    assert shifted(start, 2, 1, 5, 6).y == (5, 6)
    assert calls == [2] * 4
    assert shifted.__name__ == "shifted"


def test_equal_arguments_of_other_types_are_not_confused():
    @values.remembered
    def told(number):
        return repr(number)

    assert [told(n) for n in (1, True, 1.0, 1, True, 1.0)] == ["1", "True", "1.0"] * 2


def test_a_remembered_function_that_raises_is_called_again():
    calls = []

    @values.remembered
    def fails(value):
        calls.append(value)
        raise OSError("odd")

    for _ in range(2):
        with pytest.raises(OSError, match="odd"):
            fails(1)
    assert calls == [1, 1]


def test_a_remembered_function_forgets_where_nothing_comes_again(monkeypatch):
    monkeypatch.setattr(values, "LOOK", 4)
    monkeypatch.setattr(values, "PAUSE", 3)
    calls = []
    shifted = sums(calls)
    starts = [Point(n) for n in range(4)]
    assert [shifted(start, 1).x for start in starts] == [1, 2, 3, 4]
    again = starts[0]
    assert [shifted(again, 1).x for _ in range(5)] == [1] * 5
    assert len(calls) == 4 + 3 + 1, "three calls without memory, and one that is remembered"


def test_a_run_whose_values_do_not_come_again_remembers_no_function():
    calls = []
    shifted, start = sums(calls), Point(1)
    shifted(start, 1)
    with values.unremembered():
        shifted(start, 1)
        shifted(start, 1)
    assert len(calls) == 3
