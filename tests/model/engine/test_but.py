"""`but` changes fields of any attrs value, whatever its fields are called."""

import attrs
import pytest

from groupcheck.model.engine import but, values


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
    changed = but(Names(), **{name: 9})
    assert changed == attrs.evolve(Names(), **{name.strip("_"): 9})
    assert changed != Names()


def test_several_fields_and_none():
    assert but(Names(), o=7, private=8, cls=9) == Names(o=7, private=8, cls=9)
    assert but(Names()) == Names()


@attrs.frozen
class Sum:
    a: int
    b: int = attrs.field(kw_only=True, alias="second")
    total: int = attrs.field(init=False, default=0)

    def __attrs_post_init__(self):
        object.__setattr__(self, "total", self.a + self.b)


def test_a_field_that_the_constructor_does_not_take_is_made_anew():
    assert but(Sum(1, second=2), a=5).total == 7
    assert but(Sum(1, second=2), second=5).total == but(Sum(1, second=2), b=5).total == 6
    with pytest.raises(TypeError, match="Sum has no field 'total' to change, only a, b"):
        but(Sum(1, second=2), total=5)
    with pytest.raises(TypeError, match="given twice"):
        but(Sum(1, second=2), b=5, second=5)


@attrs.frozen
class Point:
    x: object = 0
    y: object = 0


def test_what_was_made_before_is_the_same_object_by_whatever_way():
    direct = but(Point(), x=1, y=2)
    assert but(but(Point(), y=2), x=1) is direct
    assert but(but(Point(5, 5), x=1), y=2) is direct


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
    first = but(changeable, x=1)
    changeable.y = 7
    assert but(changeable, x=1).y == 7
    assert first.y == 0
    unique = Unique()
    assert but(unique, x=1) is not but(unique, x=1)
    counted = Counted()
    assert but(counted, x=1).made != but(counted, x=1).made


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
    assert but(Point(), x=some).x is some
    odd, other = Odd(), Odd()
    assert but(Point(), x=odd).x is odd
    assert but(Point(), x=other).x is other
    held = Point(odd)
    assert but(held, y=3).x is odd
    held = Point(other)
    assert but(held, y=3).x is other


def test_no_more_than_so_many_are_remembered(monkeypatch):
    monkeypatch.setattr(values, "MOST", 8)
    monkeypatch.setattr(values, "LOOK", 4)
    values._first.clear()
    starts = [Spot(n) for n in range(50)]
    for start in starts:
        assert all(but(start, y=1) == Spot(start.x, 1) for _ in range(3))
        [replacer] = [r for key, r in values._replacers.items() if key == (Spot, "y")]
        assert len(replacer.made) <= 8
        assert len(values._first) < 4 * 8 + 4


@attrs.frozen
class Cell:
    x: int = 0
    y: int = 0


def test_nothing_is_remembered_for_a_while_where_nothing_comes_again(monkeypatch):
    monkeypatch.setattr(values, "LOOK", 4)
    monkeypatch.setattr(values, "PAUSE", 10)
    first = [but(Cell(n), y=1) for n in range(4)]
    replacer = values._replacers[Cell, "y"]
    assert replacer.made is None
    again = Cell()
    for _ in range(10):
        assert but(again, y=1) == first[0]
        assert but(again, y=1) is not first[0]
        replacer.left += 2
    replacer.left = 1
    but(again, y=1)
    known = but(again, y=1)
    assert but(again, y=1) is known is first[0]


class Elsewhere:
    """While it is looked up, other values are changed: as another thread may do."""

    def __hash__(self):
        replacer = values._replacers[Place, "y"]
        while replacer.made is not None:
            but(Place(), y=replacer.left + 10)
        return 1


@attrs.frozen
class Place:
    x: int = 0
    y: object = 0


def test_memory_that_is_given_up_meanwhile_does_no_harm(monkeypatch):
    monkeypatch.setattr(values, "LOOK", 4)
    but(Place(), y=1)
    there = Elsewhere()
    assert but(Place(), y=there).y is there
    assert values._replacers[Place, "y"].made is None
