"""The JSON Schemas of the documents that commands print: one file for each, beside this module in
`schemas`. They say what every field means; docs/generate writes the reference from them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from importlib.resources import as_file, files
from typing import Any

from attrs import frozen

FOLDER = files("groupcheck.oracles.show") / "schemas"


@frozen
class Described:
    """A document and its schema."""

    name: str
    version: int
    # What stands in the document's field `schema`; arrays (`bugs`, `list`) have no such field.
    title: str
    # Where the schema is, as installed.
    file: str
    schema: dict[str, Any]


def described() -> Iterator[Described]:
    """Every document with its schema, in the order of their names."""
    for path in sorted(FOLDER.iterdir(), key=lambda p: p.name):
        schema = json.loads(path.read_text("utf-8"))
        _, _, name, version = schema["$id"].split(":")
        with as_file(path) as file:
            yield Described(name, int(version), schema["title"], str(file), schema)


def fields(schema: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """(path, schema) of each field of a document: `path` is `cells[].verdict` for a field of the
    objects in an array, `rules.NAME` for the values of an object that maps names.
    """
    return _below("", schema, schema.get("$defs", {}))


def _below(path: str, part: dict[str, Any], defs: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    whole = {**_referred(part, defs), **part}
    for name, inner in whole.get("properties", {}).items():
        at = f"{path}.{name}".lstrip(".")
        yield at, {**_referred(inner, defs), **inner}
        yield from _below(at, inner, defs)
    for key, step in (("items", "[]"), ("additionalProperties", ".NAME")):
        if isinstance(whole.get(key), dict):
            yield from _below(path + step, whole[key], defs)


def _referred(part: dict[str, Any], defs: dict[str, Any]) -> dict[str, Any]:
    """What a part takes from `$defs`, directly or as the alternative to null."""
    names = [one["$ref"] for one in (part, *part.get("anyOf", [])) if "$ref" in one]
    return {**defs[names[0].rpartition("/")[2]]} if names else {}


def types(part: dict[str, Any]) -> str:
    """The JSON types of a field, in words: `integer or null`, or the values it can have."""
    if "const" in part:
        return json.dumps(part["const"])
    if "enum" in part:
        return ", ".join(map(json.dumps, part["enum"]))
    known = part.get("type", "any")
    found = [known] if isinstance(known, str) else list(known)
    return " or ".join(found + ["null"] * ("anyOf" in part))
