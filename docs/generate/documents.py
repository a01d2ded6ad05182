"""The page of JSON documents: the fields of each, read off a document that a command has just
printed.
"""

from __future__ import annotations

import contextlib
import io
import json
import re
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path
from typing import Any

from reference import cell, code, page, table

from groupcheck.oracles import cli

ROOT = Path(__file__).parents[2]
SCHEMA = re.compile(r'^[A-Z_]*SCHEMA = "(groupcheck\.[a-z-]+/\d+)"', re.M)
MOST_KEYS = 16  # an object with more keys is a map from names to values, not a record

# Commands whose documents are shown. What needs a JVM, Spark or minutes is only listed.
SHOWN = (
    "check classic --mutation size_cap_off_by_one --engine reference --json",
    "explain classic gc1-0.0.1 --json",
    "replay tests/data/replay/kafka41-console-group-scale.log --json",
    "assign tests/data/assign/printed-range-after.json --json",
    "assign tests/data/assign/sequence.json --json",
)


def printed(command: str) -> Any:
    """The JSON document that a command prints, run at the root of the checkout."""
    out = io.StringIO()
    with contextlib.chdir(ROOT), contextlib.redirect_stdout(out):
        cli.run(command.split())
    return json.loads(out.getvalue())


def kind(value: Any) -> str:
    """The JSON type of a value."""
    names = {dict: "object", list: "array", str: "string", bool: "boolean", type(None): "null"}
    return names.get(type(value), "number")


def fields(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """(path, value) of each field, of every item of an array; of an object that maps names to
    values the first one.
    """
    if isinstance(value, list):
        for item in value:
            yield from fields(item, f"{path}[]")
    elif isinstance(value, dict):
        members = list(value.items())
        if len(members) > MOST_KEYS and len({kind(v) for v in value.values()}) <= 2 and path:
            members = [("NAME", members[0][1])]
        for name, member in members:
            inner = f"{path}.{name}" if path else name
            yield inner, member
            yield from fields(member, inner)


def rows(document: Any) -> Iterator[list[str]]:
    """A row for each field: path, types, and the first value that says something."""
    found: dict[str, list[Any]] = {}
    for path, value in fields(document):
        found.setdefault(path, []).append(value)
    for path, values in found.items():
        types = sorted({kind(v) for v in values}, key=lambda name: (name == "null", name))
        telling = next((v for v in values if v not in (None, "", [], {})), values[0])
        yield [code(path), " or ".join(types), example(telling)]


def example(value: Any) -> str:
    if isinstance(value, dict | list):
        return ""
    text = json.dumps(value, ensure_ascii=False)
    return code(text if len(text) <= 60 else f"{text[:57]}...")


def schemas() -> list[str]:
    """Every schema that the code names, in alphabetical order."""
    package = Path(str(files("groupcheck.oracles")))
    found = {s for f in package.rglob("*.py") for s in SCHEMA.findall(f.read_text("utf-8"))}
    return sorted(found)


def entry(command: str) -> tuple[str, str]:
    """(schema, its part of the page)."""
    document = printed(command)
    text = f"## {document['schema']}\n\n```console\n$ groupcheck {command}\n```\n\n"
    return document["schema"], text + table(["field", "type", "example"], rows(document))


def documents() -> str:
    """The page."""
    entries = dict(map(entry, SHOWN))
    listed = (
        [
            f"[{s}](#{re.sub('[./]', '', s)})" if s in entries else cell(s),
            "yes" if s in entries else "",
        ]
        for s in schemas()
    )
    return page(
        "Documents",
        "For everybody whose script reads `--json`. You find the schemas of all documents, and the"
        " fields of those that can be made here, each with an example from a real run. What fields"
        " mean is told with the commands ([The command line and its"
        " documents](../command_line.md)). A change that could break a script raises the number"
        " of the schema.",
        table(["schema", "fields below"], listed),
        *entries.values(),
    )
