"""The page of JSON documents: the fields of each, as the JSON Schemas that ship with groupcheck
describe them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from reference import cell, code, page, table

from groupcheck.oracles.show.json_schemas import Described, described


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


def entry(one: Described) -> str:
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
    every = list(described())
    listed = (
        [f"[{one.title}](#{anchor(one.title)})", cell(one.schema["description"])] for one in every
    )
    return page(
        "Documents",
        "For everybody whose script reads `--json`. You find every document with all of its fields."
        " `[]` stands for each item of an array, `NAME` for each name in an object that maps names"
        " to values. The JSON Schemas (draft 2020-12) from which this page is made ship with"
        " groupcheck: `groupcheck list schemas` says where they are. A change that could break a"
        " script raises the number of the schema.",
        table(["document", "what it is"], listed),
        *map(entry, every),
    )
