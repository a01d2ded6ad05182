"""A condition over the slots of a state, as a person types it or the page sends it:
`client[0].owned and core.generation == 2`, `any(c.state == "STABLE" for c in client)`.

It is parsed as Python and evaluated by this file, node by node. Nothing of it is ever given to
`eval`: it reads fields of values, compares, counts, and can call the functions in `FUNCTIONS`
alone. Its length is bounded, and so is its work for one state. Each node counts as work, and so
does each element of a tuple or a set that is made, compared, or given to a function, at every
depth: a tuple that holds another one eight times is small in memory, but it takes eight times as
long to hash.
"""

from __future__ import annotations

import ast
import enum
import operator
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import is_dataclass
from typing import Any

import attrs

from groupcheck.model.engine import UserError
from groupcheck.model.engine.element import Element, index_of
from groupcheck.oracles.printable import printable

LONGEST = 500  # characters
MOST_WORK = 20_000  # for one state
WIDEST = 1 << 64  # numbers stay below it
FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    f.__name__: f for f in (abs, all, any, bool, len, max, min, set, sorted, sum, tuple)
}
NAMED = {"true": True, "false": False, "none": None, "yes": True, "no": False}
BINARY: Mapping[type[ast.AST], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.BitAnd: operator.and_,
    ast.BitOr: operator.or_,
    ast.BitXor: operator.xor,
    ast.RShift: operator.rshift,
}
UNARY: Mapping[type[ast.AST], Callable[[Any], Any]] = {
    ast.Not: operator.not_,
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
}
COMPARED: Mapping[type[ast.AST], Callable[[Any, Any], Any]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Is: operator.is_,
    ast.IsNot: operator.is_not,
    ast.In: lambda one, many: one in many,
    ast.NotIn: lambda one, many: one not in many,
}


class Condition:
    """A condition that was parsed. Raises `UserError` for a text that is none."""

    def __init__(self, text: str, slots: Iterable[str]) -> None:
        """`slots`: the names that it may use."""
        self.text, self.slots = text, frozenset(slots)
        if not text.strip() or len(text) > LONGEST:
            raise self._wrong(f"a condition has 1 to {LONGEST} characters")
        try:
            self.body = ast.parse(text.strip(), mode="eval").body
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            raise self._wrong("is not a condition in Python's words") from None
        for node in ast.walk(self.body):
            self._admit(node)
        own = {n.id for n in ast.walk(self.body) if isinstance(n, ast.Name) and _stores(n)}
        for node in ast.walk(self.body):
            known = self.slots | own | FUNCTIONS.keys() | NAMED.keys()
            if isinstance(node, ast.Name) and node.id not in known:
                raise self._wrong(
                    f"{node.id!r} is no slot", f"the slots are {', '.join(sorted(self.slots))}"
                )

    def _wrong(self, what: str, do: str = "") -> UserError:
        return UserError(what, where=printable(self.text)[:60], do=do)

    def _admit(self, node: ast.AST) -> None:
        """Raises `UserError` for a part of the language that a condition does not have."""
        if isinstance(node, ast.Attribute) and node.attr.startswith("_"):
            raise self._wrong(f"{node.attr} is no field")
        if isinstance(node, ast.Call) and (
            not isinstance(node.func, ast.Name) or node.func.id not in FUNCTIONS or node.keywords
        ):
            raise self._wrong("can call nothing else", f"it can call {', '.join(FUNCTIONS)}")
        # `sum(x, ())` joins tuples, and each join inside another one multiplies their length.
        if isinstance(node, ast.Call) and _calls(node, "sum") and len(node.args) != 1:
            raise self._wrong("sum takes one argument", "it adds numbers")
        if isinstance(node, ast.Constant) and not isinstance(node.value, int | str | type(None)):
            raise self._wrong(f"{node.value!r} is no whole number and no text")
        if not isinstance(node, ADMITTED):
            raise self._wrong(f"{type(node).__name__} is not possible here")

    def holds(self, state: Mapping[str, Any]) -> bool:
        """Is it true of a state (slot -> value, arrays as tuples)? Raises `UserError` for a field
        that a value does not have, and for too much work.
        """
        return bool(_Evaluation(self, state).value(self.body, {}))

    def fault(self, error: Exception) -> UserError:
        """The user's error for what its evaluation raised."""
        if isinstance(error, UserError):
            return error
        return self._wrong(f"cannot be evaluated: {type(error).__name__}: {error}")


ADMITTED = (
    ast.Expression, ast.BoolOp, ast.And, ast.Or, ast.UnaryOp, ast.BinOp, ast.Compare, ast.Call,
    ast.Constant, ast.Name, ast.Attribute, ast.Subscript, ast.Tuple, ast.Set, ast.IfExp,
    ast.GeneratorExp, ast.comprehension, ast.Load, ast.Store, *BINARY, *UNARY, *COMPARED,
)  # fmt: skip


def _stores(name: ast.Name) -> bool:
    return isinstance(name.ctx, ast.Store)


def _calls(call: ast.Call, name: str) -> bool:
    return isinstance(call.func, ast.Name) and call.func.id == name


class _Evaluation:
    """One evaluation, with the work that is left."""

    def __init__(self, condition: Condition, state: Mapping[str, Any]) -> None:
        self.condition, self.state, self.left = condition, state, MOST_WORK

    def _work(self) -> None:
        self.left -= 1
        if self.left < 0:
            raise self.condition._wrong("takes too much work for one state")

    def _weighed(self, value: Any) -> Any:
        """The value. Its elements, and theirs, are counted as work."""
        self._work()
        if isinstance(value, tuple | list | set | frozenset):
            for one in value:
                self._weighed(one)
        return value

    def value(self, node: ast.AST, own: Mapping[str, Any]) -> Any:
        self._work()
        match node:
            case ast.Constant():
                return node.value
            case ast.Name():
                return self._named(node.id, own)
            case ast.Attribute():
                return self._field(self.value(node.value, own), node.attr)
            case ast.Subscript():
                return self.value(node.value, own)[self._weighed(self.value(node.slice, own))]
            case ast.Tuple() | ast.Set():
                made = self._weighed([self.value(e, own) for e in node.elts])
                return tuple(made) if isinstance(node, ast.Tuple) else frozenset(made)
            case ast.BoolOp():
                return self._bool(node, own)
            case ast.UnaryOp():
                return UNARY[type(node.op)](self.value(node.operand, own))
            case ast.BinOp():
                return self._binary(node, own)
            case ast.Compare():
                return self._compared(node, own)
            case ast.IfExp():
                chosen = node.body if self.value(node.test, own) else node.orelse
                return self.value(chosen, own)
            case ast.GeneratorExp():
                return self._weighed(tuple(self._generated(node, own, 0)))
            case ast.Call(func=ast.Name(id=name)):
                given = self._weighed([self.value(a, own) for a in node.args])
                return self._weighed(FUNCTIONS[name](*given))
        raise self.condition._wrong(f"{type(node).__name__} is not possible here")

    def _named(self, name: str, own: Mapping[str, Any]) -> Any:
        for names in (own, self.state, NAMED):
            if name in names:
                return names[name]
        raise self.condition._wrong(f"{name!r} is no slot")

    def _field(self, value: Any, name: str) -> Any:
        """A field of a value. No property and no method is run."""
        if attrs.has(type(value)) and not isinstance(value, Element):
            fields = [f.name for f in attrs.fields(type(value))]
        elif is_dataclass(value):
            fields = list(value.__dataclass_fields__)
        else:
            fields = list(getattr(type(value), "_fields", ()))
        if name not in fields:
            has = f"it has {', '.join(fields)}" if fields else ""
            raise self.condition._wrong(f"{type(value).__name__} has no {name}", has)
        return getattr(value, name)

    def _bool(self, node: ast.BoolOp, own: Mapping[str, Any]) -> Any:
        is_and, found = isinstance(node.op, ast.And), None
        for one in node.values:
            found = self.value(one, own)
            if bool(found) != is_and:
                return found
        return found

    def _binary(self, node: ast.BinOp, own: Mapping[str, Any]) -> Any:
        one, other = (_number(self.value(n, own)) for n in (node.left, node.right))
        sets = isinstance(one, frozenset | set) and isinstance(other, frozenset | set)
        numbers = isinstance(one, int) and isinstance(other, int)
        if not (numbers or (sets and not isinstance(node.op, ast.Mult))):
            raise self.condition._wrong("adds and compares whole numbers and sets alone")
        self._weighed((one, other))  # an operation on sets compares what is alike
        found = BINARY[type(node.op)](one, other)
        if isinstance(found, int) and abs(found) >= WIDEST:
            raise self.condition._wrong("has too large a number")
        return found

    def _compared(self, node: ast.Compare, own: Mapping[str, Any]) -> bool:
        one = self.value(node.left, own)
        for op, right in zip(node.ops, node.comparators, strict=True):
            other = self.value(right, own)
            self._weighed((one, other))
            if not COMPARED[type(op)](*_alike(_number(one), _number(other))):
                return False
            one = other
        return True

    def _generated(
        self, node: ast.GeneratorExp, own: Mapping[str, Any], level: int
    ) -> Iterator[Any]:
        if level == len(node.generators):
            yield self.value(node.elt, own)
            return
        one = node.generators[level]
        if not isinstance(one.target, ast.Name):
            raise self.condition._wrong("names one thing after `for`")
        for value in self.value(one.iter, own):
            inner = {**own, one.target.id: value}
            if all(self.value(test, inner) for test in one.ifs):
                yield from self._generated(node, inner, level + 1)


def _number(value: Any) -> Any:
    return index_of(value) if isinstance(value, Element) else value


def _alike(one: Any, other: Any) -> tuple[Any, Any]:
    """A member of an enumeration beside a text is compared by its name, or as it is shown."""
    if isinstance(one, enum.Enum) and isinstance(other, str):
        return (other if other in (one.name, str(one)) else one.name), other
    if isinstance(other, enum.Enum) and isinstance(one, str):
        return _alike(other, one)[::-1]
    if isinstance(one, enum.Enum) and isinstance(other, tuple | frozenset):
        named = next((x for x in other if isinstance(x, str) and x in (one.name, str(one))), None)
        return (one if named is None else named), other
    return one, other
