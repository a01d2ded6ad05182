"""How pasted code gets at an assignor: by importing what names it, or else by saying what it is."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterator
from functools import partial
from types import MethodType
from typing import Any

Reached = tuple[str, str]
"""Lines of Python that import or define something, and the expression that then is the assignor."""


def reached(assignor: Any, near: str | None = None) -> Reached:
    """How code gets at a function, class, bound method, partial or other callable.

    It is imported by its own name, by the name of a variable of its module, or of the module `near`
    (where a contract was made), or as the `assignor` of such a contract. If nothing in these
    modules names it (a lambda or closure within a function), a comment says what it is, and where.
    """
    for name in dict.fromkeys((_module(assignor), near)):
        module = sys.modules.get(name or "")
        if module is None or name == "__main__":
            continue
        for path in _names(assignor, vars(module)):
            return f"from {name} import {path.partition('.')[0]}\n", path
    words = (
        f"# No module names the assignor, {_described(assignor)}: put it in place of the dots.\n"
    )
    return f"{words}assign = ...\n", "assign"


def _module(assignor: Any) -> str | None:
    inner = assignor
    while isinstance(inner, partial):
        inner = inner.func
    return getattr(inner, "__module__", None) or getattr(type(inner), "__module__", None)


def _names(assignor: Any, known: dict[str, Any]) -> Iterator[str]:
    """Its names among those that a module knows: its own, a variable's, a contract's."""
    path = getattr(assignor, "__qualname__", "")
    head, *rest = path.split(".")
    if head in known and "<" not in path:
        found = known[head]
        for part in rest:
            found = getattr(found, part, None)
        if _same(found, assignor):
            yield path
    for name, value in known.items():
        if _same(value, assignor):
            yield name
        elif inspect.isfunction(value) and _same(vars(value).get("assignor"), assignor):
            yield f"{name}.assignor"


def _same(one: Any, other: Any) -> bool:
    """Bound methods are made anew each time they are looked up."""
    if isinstance(one, MethodType) and isinstance(other, MethodType):
        return one.__self__ is other.__self__ and one.__func__ is other.__func__
    return one is other and one is not None


def _described(assignor: Any) -> str:
    """`<lambda> (tests/test_mine.py, line 12)`."""
    inner = assignor
    while isinstance(inner, partial | MethodType):
        inner = inner.func if isinstance(inner, partial) else inner.__func__
    name = getattr(inner, "__qualname__", type(inner).__qualname__)
    kind = "a partial of " if isinstance(assignor, partial) else ""
    code = getattr(inner, "__code__", None)
    where = f" ({code.co_filename}, line {code.co_firstlineno})" if code else ""
    return f"{kind}{name}{where}"
