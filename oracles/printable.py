"""Values and texts made fit to be shown: plain JSON, short texts, field-by-field changes, and
nothing that a terminal would obey.
"""

from __future__ import annotations

import enum
import json
import math
import os
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import attrs

from groupcheck.model.engine.element import Element, index_of
from groupcheck.model.engine.errors import shown

LONGEST = 60
WIDEST = 14_000  # bits of a whole number that is written as digits: Python refuses 4,300 digits


def printable(text: str) -> str:
    """The text on one line, with everything that could steer a terminal or reorder what is read
    written as an escape.
    """
    if text.isprintable():
        return text
    return "".join(
        c if c.isprintable() or unicodedata.category(c) == "Zs" else _escape(c) for c in text
    )


def _escape(character: str) -> str:
    return character.encode("unicode_escape", "surrogatepass").decode()


def on_github() -> bool:
    """Whether this is a job of GitHub Actions, which obeys commands in what a step prints."""
    return os.environ.get("GITHUB_ACTIONS") == "true"


def not_obeyed(text: str) -> str:
    """Lines to print. In a job of GitHub Actions an escape stands where one would be a command:
    `::name` that begins a line, and `##[name]` anywhere.
    """
    return _COMMAND.sub(r"\1\\x3a:", text).replace("##[", "\\x23#[") if on_github() else text


_COMMAND = re.compile(r"(?m)^(\s*)::")


def as_json(value: Any, indent: int | None = None) -> str:
    """JSON in printable ASCII: in a text every other character is an escape, so that nothing steers
    a terminal, ends a line, reorders what is read or is a command of GitHub Actions (which can be
    only `##[name]`: a line of JSON never begins with a colon). Raises `ValueError` for a number
    that JSON does not have.
    """
    text = json.dumps(value, indent=indent, allow_nan=False).replace("\x7f", "\\u007f")
    return text.replace("##[", "\\u0023#[")


def as_text(document: Any) -> str:
    """A JSON document as text: one value, keys in their own order, a line end."""
    return as_json(document, indent=2) + "\n"


def plain(value: Any) -> Any:
    """A slot's value as plain JSON: attrs values as objects, elements as their indexes, sets as
    sorted lists, enumerations by name.
    """
    if value is None or (
        isinstance(value, bool | str | float) and not isinstance(value, enum.Enum)
    ):
        return value if not isinstance(value, float) or math.isfinite(value) else repr(float(value))
    if isinstance(value, enum.Flag):
        return [flag.name for flag in value]
    if isinstance(value, enum.Enum):
        return _name(value)
    if isinstance(value, int):
        return int(value) if value.bit_length() <= WIDEST else shown(int(value))
    if isinstance(value, Element):
        return index_of(value)
    if attrs.has(type(value)):
        return {f.name: plain(getattr(value, f.name)) for f in attrs.fields(type(value))}
    if isinstance(value, Mapping):
        return {
            key if isinstance(key, str) else brief(key, None): plain(v) for key, v in value.items()
        }
    if isinstance(value, set | frozenset):
        return [plain(v) for v in in_order(value)]
    if isinstance(value, tuple | list):
        return [plain(v) for v in value]
    return printable(shown(value))


def in_order(values: Iterable[Any]) -> list[Any]:
    """The elements of a set in an order that is the same in every run."""
    return sorted(values, key=lambda v: _order(plain(v)))


def _order(value: Any) -> tuple[str, Any]:
    return (
        ("number", value)
        if isinstance(value, int | float)
        else (type(value).__name__, json.dumps(value, sort_keys=True))
    )


def brief(value: Any, longest: int | None = LONGEST, named: Callable[[int], str] = str) -> str:
    """A slot's value in few characters: `{0, 2}` for a set, `stable` for a member of an
    enumeration, only the fields that differ from their default. `named`: what the element
    with an index is called.
    """
    text = _brief(value, named)
    return text if longest is None or len(text) <= longest else text[: longest - 1] + "…"


def _brief(value: Any, named: Callable[[int], str]) -> str:
    if value is None:
        return "none"
    if isinstance(value, str) and not isinstance(value, enum.Enum):
        return printable(value) or "''"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, enum.Flag):
        return "{" + ", ".join(str(flag.name) for flag in value) + "}"
    if isinstance(value, enum.Enum):
        return _name(value)
    if isinstance(value, Element):
        return named(index_of(value))
    if attrs.has(type(value)):
        told = [
            f"{f.name}={_brief(v, named)}"
            for f in attrs.fields(type(value))
            if (v := getattr(value, f.name)) != f.default or f.default is attrs.NOTHING
        ]
        return f"{type(value).__name__}({', '.join(told)})"
    if isinstance(value, set | frozenset):
        return "{" + ", ".join(_brief(v, named) for v in in_order(value)) + "}"
    if isinstance(value, tuple | list):
        return "(" + ", ".join(_brief(v, named) for v in value) + ")"
    if isinstance(value, Mapping):
        return (
            "{"
            + ", ".join(f"{_brief(k, named)}: {_brief(v, named)}" for k, v in value.items())
            + "}"
        )
    return printable(shown(value))


def _name(value: enum.Enum) -> str:
    """The name that the enumeration itself gives (Kafka's spelling), otherwise the member's."""
    own = type(value).__str__ not in (
        enum.Enum.__str__,
        enum.IntEnum.__str__,
        enum.StrEnum.__str__,
        int.__repr__,
        str.__str__,
    )
    return printable(str(value)) if own else value.name


def changes(name: str, before: Any, after: Any) -> Iterator[tuple[str, Any, Any]]:
    """The differences, field by field: (`name.field`, before, after), going down into attrs values
    and tuples of equal length.
    """
    if before == after:
        return
    is_element = isinstance(before, Element)
    if type(before) is type(after) and attrs.has(type(before)) and not is_element:
        for f in attrs.fields(type(before)):
            yield from changes(f"{name}.{f.name}", getattr(before, f.name), getattr(after, f.name))
    elif isinstance(before, tuple) and isinstance(after, tuple) and len(before) == len(after):
        for k, (one, other) in enumerate(zip(before, after)):
            yield from changes(f"{name}[{k}]", one, other)
    else:
        yield name, before, after


def place(slot: str, index: int | None) -> str:
    """How a slot is written: `core`, `client[1]`."""
    return slot if index is None else f"{slot}[{index}]"


def sentence(docstring: str) -> str:
    """The first sentence of a docstring, on one line, without its full stop."""
    text = " ".join(docstring.split("\n\n")[0].split())
    end = next(
        (
            k
            for k, c in enumerate(text)
            if c == "."
            and text[k + 1 : k + 2] in ("", " ")
            and not text[:k].endswith(("e.g", "i.e", "vs"))
        ),
        None,
    )
    return text if end is None else text[:end]
