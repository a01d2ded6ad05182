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
