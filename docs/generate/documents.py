"""The page of JSON documents: the fields of each, as the JSON Schemas that ship with groupcheck
describe them.
"""

from __future__ import annotations

import re

from reference import cell, code, page, table

from groupcheck.oracles.show.json_schemas import Described, described, fields, types


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
