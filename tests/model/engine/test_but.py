"""`but` changes fields of any attrs value, whatever its fields are called."""

import attrs
import pytest

from groupcheck.model.engine import but


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
