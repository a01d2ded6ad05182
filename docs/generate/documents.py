"""The page of JSON documents: the fields of each, as the JSON Schemas that ship with groupcheck
describe them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from reference import cell, code, page, table

from groupcheck.oracles.command_line.documents import documents as every_document
from groupcheck.oracles.show.json_schemas import DocumentSchema


def fields(schema: dict[str, Any], path: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """(path, schema) of each field of a document: `path` is `cells[].verdict` for a field of the
    objects in an array, `rules.NAME` for the values of an object that maps names.
    """
    for name, inner in schema.get("properties", {}).items():
        at = f"{path}.{name}".lstrip(".")
        yield at, inner
        yield from fields(inner, at)
    for key, step in (("items", "[]"), ("additionalProperties", ".NAME")):
        if isinstance(schema.get(key), dict):
            yield from fields(schema[key], path + step)


def types(part: dict[str, Any]) -> str:
    """The JSON types of a field, in words: `integer or null`, or the values it can have."""
    if "const" in part:
        return json.dumps(part["const"])
    if "enum" in part:
        return ", ".join(map(json.dumps, part["enum"]))
    if "anyOf" in part:
        return " or ".join(map(types, part["anyOf"]))
    known = part.get("type", "any")
    return known if isinstance(known, str) else " or ".join(known)


def entry(one: DocumentSchema) -> str:
    """The part of the page about one document."""
    rows = (
        [code(path), cell(types(part)), cell(part["description"])]
        for path, part in fields(one.schema)
    )
    shown = table(["field", "type", "meaning"], rows)
    return f"## {one.title}\n\n{cell(one.schema['description'])}\n\n{shown}"


def anchor(title: str) -> str:
    return re.sub("[./]", "", title)


def documents() -> str:
    """The page."""
    every = list(every_document())
    listed = (
        [f"[{one.title}](#{anchor(one.title)})", cell(one.schema["description"])] for one in every
    )
    return page(
        "Documents",
        "For everybody whose script reads `--json`. You find every document with all of its fields."
        " `[]` stands for each item of an array, `NAME` for each name in an object that maps names"
        " to values. `groupcheck list schemas` writes the JSON Schemas (draft 2020-12) from"
        " which this page is made, and says where they are. A change that could break a"
        " script raises the number of the schema.",
        table(["document", "what it is"], listed),
        *map(entry, every),
    )
