"""The meaning of the signature of a rule, predicate or view: `def f(me, other, node: "node[me]",
next: "node[other]", core, scope)`.
"""

from __future__ import annotations
import __future__

import builtins
import inspect
import re
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Annotated, Any, get_args, get_origin, get_type_hints

from attrs import frozen

from groupcheck.model.engine.element import Element
from groupcheck.model.engine.errors import SpecError, shown
from groupcheck.model.engine.functions import parameters_of

EVERY = ":"  # in place of an index: all elements, as a tuple
Place = tuple[str, str | None]  # a slot or view, and the index as it is written

_PLACE = re.compile(r"^(\w+)(?:\[(:|[^\W\d]\w*(?:[+-]\d{1,6})?)\])?$")
_INDEXED = re.compile(r"^\w+\[([a-z]|\d+)\]$")


@frozen
class Signature:
    """The parameters of a function, in their order."""

    # The index variables that it takes first.
    takes: tuple[str, ...]
    # The names of the parameters that stand for slots or views, and what they stand for.
    names: tuple[str, ...]
    places: tuple[Place, ...]
    # Does it take the scope as its last parameter?
    takes_scope: bool
    # Those of the index variables that it takes as elements.
    elements: tuple[str, ...] = ()


@lru_cache(1024)
def parted(index: str) -> tuple[str, int]:
    """The variable of an index, and what is added to it: `me-1` is ("me", -1)."""
    variable, sign, number = re.fullmatch(r"(\w+?)(?:([+-])(\d+))?", index).groups()  # type: ignore[union-attr]
    return variable, int(f"{sign}{number}") if sign else 0


def own_index(takes: Iterable[str], places: Iterable[Place], usual: str) -> str:
    """The index of a plain parameter that stands for an array: `me` or `i`, whichever the function
    names (`me` if both), `usual` if neither. `takes`: what it takes.
    """
    named = {*takes} | {parted(i)[0] for _, i in places if i is not None and i != EVERY}
    return "me" if "me" in named else "i" if "i" in named else usual


def signature(function: Callable[..., Any], what: str) -> Signature:
    """The signature of a function that serves as `what`. Raises `SpecError` where it cannot."""
    parameters = parameters_of(function, what)
    where = f"{what} {getattr(function, '__name__', '')}"
    for p in parameters:
        _plain_parameter(p, where)
    hints = _hints(function)
    texts = {p.name: _text(p, hints, function) for p in parameters}
    found: dict[str, Place] = {}
    for name, text in texts.items():
        match = _PLACE.match(text)
        if not match:
            raise SpecError(
                f"{shown(text)} is not a slot such as 'core', 'client[i]', 'client[i+1]' or"
                " 'client[:]' (an index is a name)",
                where=where,
            )
        found[name] = match[1], match[2]
    given = {parted(i)[0] for _, i in found.values() if i is not None and i != EVERY}
    variables = given | {"me", "i"}
    takes = tuple(n for n, place in found.items() if n in variables and place == (n, None))
    names = tuple(n for n in found if n not in takes and n != "scope")
    takes_scope = "scope" in found
    if [*found] != [*takes, *names, *["scope"] * takes_scope]:
        kinds = "the slots" if what == "rule" else "the slots or views"
        raise SpecError(
            f"parameters are: the indexes such as me (optional), {kinds}, scope (optional)",
            where=where,
        )
    elements = tuple(n for n in elements_of(function, what) if n in takes)
    return Signature(takes, names, tuple(found[n] for n in names), takes_scope, elements)


def elements_of(function: Callable[..., Any], what: str) -> tuple[str, ...]:
    """The parameters of a function that are annotated as elements. `what`: what it serves as."""
    hints = _hints(function)
    return tuple(
        p.name
        for p in parameters_of(function, what)
        if _is_element(hints.get(p.name, p.annotation), function)
    )


def _is_element(annotation: Any, function: Callable[..., Any]) -> bool:
    """Does an annotation, or its text, name `Element`?"""
    if not isinstance(annotation, str):
        return annotation is Element
    head, *rest = annotation.split(".")
    found = getattr(function, "__globals__", {}).get(head)
    for name in rest:
        found = getattr(found, name, None)
    return found is Element


def _plain_parameter(p: inspect.Parameter, where: str) -> None:
    """Each parameter stands for something; one with a default or a star cannot."""
    if p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD, p.KEYWORD_ONLY):
        raise SpecError(
            f"the parameter {p.name!r} is not a plain one",
            where=where,
            do="name each slot by a parameter of its own",
        )
    if p.default is not p.empty:
        raise SpecError(
            f"the parameter {p.name!r} has a default, but every parameter is given a value",
            where=where,
            do="make the rule in a function that takes the value, and give it a name: name=...",
        )


def _hints(function: Callable[..., Any]) -> dict[str, Any]:
    try:
        return get_type_hints(function, include_extras=True)
    except (
        Exception
    ):  # names such as "client[i]" are no types: then the annotations stay as they are written
        return {}


def _text(p: inspect.Parameter, hints: dict[str, Any], function: Callable[..., Any]) -> str:
    """The text that says what a parameter stands for: `a: "client[i]"` and
    `a: Annotated[Client, "client[i]"]` name it, other annotations are types.
    """
    if get_origin(hints.get(p.name)) is Annotated:
        return next((m for m in get_args(hints[p.name])[1:] if isinstance(m, str)), p.name)
    text = p.annotation if isinstance(p.annotation, str) else ""
    if text[:1] in ("'", '"') or _INDEXED.match(text):
        return text.strip("\"'")
    code = getattr(function, "__code__", None)
    is_source = code is not None and code.co_flags & __future__.annotations.compiler_flag
    return p.name if is_source or "[" not in text or _is_type(text, function) else text


def _is_type(text: str, function: Callable[..., Any]) -> bool:
    """Does a text such as "list[Client]" begin with a type?"""
    head = text.partition("[")[0]
    known = getattr(function, "__globals__", {})
    found = known.get(head, getattr(builtins, head, None))
    return "." in head or isinstance(found, type) or type(found).__module__ == "typing"
