"""A document that a command prints is an attrs class, and so is each object inside it; its JSON
Schema (draft 2020-12) is made from them.

    @frozen(kw_only=True)
    class Log:
        \"""One log.\"""

        file: Annotated[str, "Its path."]
        lines: Annotated[Count, "Lines of coordinators."]
        end: Annotated[str | None, "Its last time; null if it has none."]
        seed: Annotated[int, "There only if the log is random."] = ABSENT

The docstring describes the object, unless the field that holds it has a description of its own.
What `Also` holds in an annotation (`Also(minimum=1)`) goes into the schema as it is. A field with
the default ABSENT need not be there. `from_` is a field `from`. A field that is declared with
`= field(metadata=BESIDE)` has no key: what is in its object, or in its dict, stands beside the
other fields.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Any, Final, Literal, Union, get_args, get_origin, get_type_hints

import attrs
from attrs import frozen

Schema = dict[str, Any]

ABSENT: Final[Any] = object()
BESIDE: Final = {"beside": True}


class Also:
    """Keywords of JSON Schema for the annotated type. Each is equal to itself alone, because parts
    of a union must have a hash.
    """

    def __init__(self, **keywords: Any) -> None:
        self.keywords = keywords


Count = Annotated[int, Also(minimum=0)]
Positive = Annotated[int, Also(minimum=1)]
Amount = Annotated[float, Also(minimum=0)]
Share = Annotated[float, Also(minimum=0, maximum=1)]

DIALECT = "https://json-schema.org/draft/2020-12/schema"
_PLAIN = frozenset({str, int, float, bool, NoneType})  # most values: they are not looked into
_VERSION = (
    "Name and version of the document. The version rises with every change that could break a"
    " script."
)
_NAMES = {
    str: "string", int: "integer", float: "number", bool: "boolean", dict: "object", list: "array",
}  # fmt: skip


@frozen
class DocumentSchema:
    """A document and its schema."""

    name: str
    version: int
    # What stands in the document's field `schema`; arrays (`bugs`, `list`) have no such field.
    title: str
    schema: Schema


def described(title: str, document: Any) -> DocumentSchema:
    """The schema of the document with this title (`groupcheck.verdict/2`), from its type."""
    name, _, version = title.removeprefix("groupcheck.").partition("/")
    number = int(version or 1)
    shape = schema_of(document)
    if "properties" in shape:
        named = {"schema": {"description": _VERSION, "const": title}, **shape["properties"]}
        required = dict.fromkeys(["schema", *shape["required"]])
        shape = {**shape, "properties": named, "required": list(required)}
    head = {"$schema": DIALECT, "$id": f"urn:groupcheck:{name}:{number}", "title": title}
    return DocumentSchema(name, number, title, {**head, **shape})


def schema_of(shape: Any) -> Schema:
    """The schema of a type: a scalar, Literal, list, tuple, dict with strings as keys, attrs class,
    or a union of them.
    """
    origin, inner = get_origin(shape), get_args(shape)
    if origin is Annotated:
        found = schema_of(inner[0])
        for said in inner[1:]:
            found |= {"description": said} if isinstance(said, str) else said.keywords
        return found
    if origin in (Union, UnionType):
        return _either([one for one in inner if one is not NoneType], NoneType in inner)
    if origin is Literal:
        return {"enum": list(inner)} if len(inner) > 1 else {"const": inner[0]}
    if origin is dict:
        values = schema_of(inner[1])
        return {"type": "object", **({"additionalProperties": values} if values else {})}
    if origin is tuple and inner[-1] is not Ellipsis:
        places = [schema_of(one) for one in inner]
        return {"type": "array", "prefixItems": places, "items": False, "minItems": len(places)}
    if origin in (list, tuple):
        return {"type": "array", "items": schema_of(inner[0])}
    if shape is Any:
        return {}
    return _object(shape) if attrs.has(shape) else {"type": _NAMES[shape]}


def _object(shape: Any) -> Schema:
    hints = get_type_hints(shape, include_extras=True)
    properties: dict[str, Schema] = {}
    required: list[str] = []
    others: Schema | bool = False
    for one in attrs.fields(shape):
        part = schema_of(hints[one.name])
        if one.metadata != BESIDE:
            properties[_key(one)] = part
            required += [_key(one)] if one.default is not ABSENT else []
        elif "properties" in part:
            properties |= part["properties"]
            required += part["required"]
        else:
            others = part.get("additionalProperties", True)
    return {
        "description": " ".join((inspect.getdoc(shape) or "").split()),
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": others,
    }


def _either(shapes: list[Any], null: bool) -> Schema:
    parts = [schema_of(one) for one in shapes]
    if len(parts) == 1:
        (part,) = parts
        if not null:
            return part
        if "const" in part:
            part["enum"] = [part.pop("const")]
        if "enum" in part:
            return {**part, "enum": [*part["enum"], None]}
        return {**part, "type": [part["type"], "null"]}
    if all(list(part) == ["type"] for part in parts):
        return {"type": [*(part["type"] for part in parts), *["null"] * null]}
    return {"anyOf": [*parts, *[{"type": "null"}] * null]}


def _key(one: attrs.Attribute[Any]) -> str:
    return one.name.removesuffix("_")


def document(title: str, value: Any) -> dict[str, Any]:
    """A value of a document's type as a command prints it: first its title, then its fields."""
    return {"schema": title, **printed(value)}


def printed(value: Any) -> Any:
    """A value of a document's type, or of one inside it, as what JSON can say."""
    shape: type = type(value)
    if shape in _PLAIN:
        return value
    if (keys := _keys(shape)) is not None:
        found: dict[str, Any] = {}
        for name, key in keys:
            inner = getattr(value, name)
            if inner is ABSENT:
                continue
            if key is None:
                found |= printed(inner)
            else:
                found[key] = printed(inner)
        return found
    if isinstance(value, Mapping):
        return {key: printed(inner) for key, inner in value.items()}
    return [printed(one) for one in value] if isinstance(value, (list, tuple)) else value


@cache
def _keys(shape: type) -> tuple[tuple[str, str | None], ...] | None:
    """Of a document's type each field with its key, None for one BESIDE; None for other types."""
    if not attrs.has(shape):
        return None
    return tuple(
        (one.name, None if one.metadata == BESIDE else _key(one)) for one in attrs.fields(shape)
    )
