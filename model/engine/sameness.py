"""Are two equal values the same? `(1,)` equals `(True,)`, `0.0` equals `-0.0`, and a field with
`eq=False` may hold anything. A search knows values by equality and keeps the one that it met first,
so a rule or promise that looks closer would be shown another value than the one that was yielded.

Same is what no copy could tell apart: the same type, and the same parts. The parts are the elements
of tuples and sets, all fields of attrs classes and data classes, and of other classes what copying
keeps (`__reduce_ex__`). What a `functools.cached_property` remembers is no part.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from functools import cached_property, lru_cache
from operator import attrgetter, eq, is_
from typing import Any

import attrs

from groupcheck.model.engine.errors import shown
from groupcheck.model.engine.functions import brief

# Equal values of one of these types are the same. They can be hashed and compared.
SURE = frozenset({int, bool, str, bytes, type(None)})
_ALIKE = frozenset({int, bool})  # those among them whose values can be equal to each other
WRITTEN_OUT = 2  # levels of parts
_PROTOCOL = 4  # of copying: the first one that keeps all of a time
Pair = tuple[Sequence[Any], Sequence[Any]]  # the parts of two values


def difference(known: Any, value: Any) -> tuple[Any, Any] | None:
    """The first parts in which two equal values differ; None if the values are the same."""
    if _at_a_glance(known, value):
        return None
    pairs, met = [(known, value)], dict[tuple[int, int], Any]()
    while pairs:
        a, b = pair = pairs.pop()
        cls = type(a)
        if a is b:
            continue
        if cls is not type(b):
            return pair
        if cls in SURE:
            if a != b:  # of a part that is not compared
                return pair
        elif cls is float or cls is complex:
            if repr(a) != repr(b):
                return pair
        elif (id(a), id(b)) not in met:
            met[id(a), id(b)] = pair  # kept alive, so that no other pair takes its ids
            parts = _paired(a, b)
            if parts is None:
                return pair
            pairs += reversed([*zip(*parts)])
    return None


def is_clearly_same(a: Any, b: Any) -> bool:
    """Are two values the same? A quick look, which knows the most usual types alone; where it gives
    False, they may be. Raises RecursionError for values that are nested deeply.
    """
    if a is b:
        return True
    cls: Any = a.__class__
    return cls is b.__class__ and _looks[cls](a, b)


def _same_parts(a: Any, b: Any) -> bool:
    return len(a) == len(b) and (all(map(is_, a, b)) or all(map(is_clearly_same, a, b)))


def _same_sets(a: Any, b: Any) -> bool:
    kinds = {*map(type, a)}
    return a == b and kinds <= SURE and kinds == {*map(type, b)} and not kinds >= _ALIKE


def _same_float(a: float, b: float) -> bool:
    return a == b != 0


class _Looks(dict[Any, Callable[[Any, Any], bool]]):
    """For each type a quick look at whether two of its values are the same."""

    def __missing__(self, cls: Any) -> Callable[[Any, Any], bool]:
        names = _names(cls, False)
        parts = (f"(a.{name} is b.{name} or same(a.{name}, b.{name}))" for name in names)
        source = f"lambda a, b: {' and '.join(parts) or False}"
        return self.setdefault(cls, eval(source, {"same": is_clearly_same}))


_looks = _Looks({float: _same_float, frozenset: _same_sets, tuple: _same_parts})
_looks.update(dict.fromkeys(SURE, eq))


def _paired(a: Any, b: Any) -> Pair | None:
    """The parts of two values of one type, in the same order; None if they differ in their number,
    or nothing is known of them.
    """
    cls: Any = type(a)
    if cls is tuple or cls is list:
        return (a, b) if len(a) == len(b) else None
    if fields := _fields(cls, False):
        return fields(a), fields(b)
    if isinstance(a, (frozenset, set)):
        inner = _matched(dict(zip(a, a)), dict(zip(b, b)))
        more = [getattr(x, "__dict__", None) for x in (a, b)]
        return inner and ([*inner[0], more[0]], [*inner[1], more[1]])
    if cls is dict:
        keys = _matched(dict(zip(a, a)), dict(zip(b, b)))
        return keys and ([*keys[0], *a.values()], [*keys[1], *(b[k] for k in a)])
    try:
        return [_copied(a)], [_copied(b)]
    except Exception:  # it cannot be copied: its text is all that is known
        has_text = getattr(cls, "__repr__", None) is not object.__repr__
        is_same = a == b and (not has_text or shown(a) == shown(b))
        return ([], []) if is_same else None


def _matched(a: dict[Any, Any], b: dict[Any, Any]) -> Pair | None:
    """Equal values in the same order; None if some are without an equal one."""
    return ([*a.values()], [b[k] for k in a]) if a.keys() == b.keys() else None


def _names(cls: Any, compared: bool) -> list[str]:
    """The fields of an attrs class or a data class; none of other classes. `compared`: those alone
    which its `__eq__` compares as they are, and none if that was not generated.
    """
    made_by = getattr(getattr(vars(cls).get("__eq__"), "__code__", None), "co_filename", "")
    if compared and not made_by.startswith("<"):
        return []
    if "__attrs_attrs__" in vars(cls):
        plain = [f for f in attrs.fields(cls) if not compared or (f.eq and f.eq_key is None)]
        return [f.name for f in plain]
    if "__dataclass_fields__" in vars(cls):
        return [f.name for f in dataclasses.fields(cls) if f.compare or not compared]
    return []


@lru_cache(1024)
def _fields(cls: Any, compared: bool) -> Callable[[Any], Sequence[Any]] | None:
    """A getter of these fields; None if there are none."""
    names = _names(cls, compared)
    if len(names) > 1:
        return attrgetter(*names)
    return (lambda value: (getattr(value, names[0]),)) if names else None


def _copied(value: Any) -> Any:
    """The parts that a copy of a value is made of: text (a name), or a tuple of function, arguments
    and state.
    """
    reduced = value.__reduce_ex__(_PROTOCOL)
    if isinstance(reduced, str):
        return reduced
    made, args, state, *items = (*reduced, None, None)[:5] if len(reduced) < 5 else reduced
    states = state if isinstance(state, tuple) else (state,)
    kept = [_lasting(s, type(value)) if type(s) is dict else s for s in states]
    return made, args, kept, [None if i is None else [*i] for i in items[:2]]


def _lasting(names: dict[str, Any], cls: type) -> dict[str, Any]:
    return {
        name: value
        for name, value in names.items()
        if not isinstance(getattr(cls, str(name), None), cached_property)
    }


def surely_same(sample: Any, a: str, b: str, given: dict[str, Any], depth: int = 0) -> str:
    """The source of an expression about equal values like a sample, named `a` and `b`: true if they
    are the same, perhaps false even so. `given`: what it names, which is added there. It is written
    out for the first levels of parts (`depth`: the level of this one).
    """
    cls: Any = type(sample)
    names = _names(cls, compared=True)
    given |= {"is_": is_, "sure": SURE, "at_a_glance": _at_a_glance, f"class_{id(cls)}": cls}
    alike = f"{a}.__class__ is {b}.__class__"
    if cls in SURE:
        return f"({a} is {b} or {alike} and {a}.__class__ in sure)"
    if depth < WRITTEN_OUT and cls is tuple and sample:
        x, y = f"{a}_".replace(".", "_"), f"{b}_".replace(".", "_")
        one = surely_same(sample[0], x, y, given, depth + 1)
        inside = f"(all(map(is_, {a}, {b})) or all([{one} for {x}, {y} in zip({a}, {b})]))"
    elif depth < WRITTEN_OUT and names and names == _names(cls, compared=False):
        parts = ((getattr(sample, n), f"{a}.{n}", f"{b}.{n}") for n in names)
        inside = " and ".join(surely_same(*part, given, depth + 1) for part in parts)
    else:
        return f"at_a_glance({a}, {b})"
    return f"({a} is {b} or {alike} is class_{id(cls)} and {inside})"


def _at_a_glance(a: Any, b: Any) -> bool:
    try:
        return is_clearly_same(a, b)
    except RecursionError:
        return False


def never_equal(value: Any) -> list[Any]:
    """The first part of a value that does not equal itself, such as a NaN; empty if all do."""
    left = [value]
    for one in left:
        cls: Any = one.__class__
        fields = _fields(cls, True)
        if fields or isinstance(one, (tuple, list, frozenset)):
            left += [p for p in (fields(one) if fields else one) if p.__class__ not in SURE]
        elif cls not in SURE and not bool(one == one):
            return [one]
    return []


def unlike(known: Any, value: Any) -> str:
    """How a value differs from one that it equals, and what to do; empty if they are the same. It
    continues "a value which".
    """
    found = difference(known, value)
    if found is None:
        return ""
    there, here = (f"{brief(part)} ({type(part).__name__})" for part in found)
    return (
        f"equals {brief(known)}, met before, but is not the same: {here} in place of {there}; a"
        " search takes equal values for one (use the same value, or one that is not equal)"
    )


def unending(value: Any) -> str:
    """Why values like this one would never end a search; empty: they would. It continues "a value
    which".
    """
    for part in never_equal(value):
        inside = "" if part is value else f"holds {brief(part)}, a value that "
        return (
            f"{inside}does not equal itself: each one would be a new value, and the search would"
            " not end (use None, or a value of your own)"
        )
    return ""
