"""The contents of an archive: its files, its parts, and the moves of a commit that may not be
finished yet.

A commit replaces one file: `_manifest.json`, with the new state and the moves that lead to it. The
next run finishes them, so a run that is killed leaves the state before its commit or the one after.
Parts are never written to once they are in place.

Files are moved in such an order that a log listed in `files` is complete in the other tables.
"""

from __future__ import annotations

import json
from typing import Any

import cattrs
from attrs import Factory, define, evolve, frozen

from groupcheck.model.engine import UserError
from groupcheck.model.engine.fast.shards.addresses import shown
from groupcheck.model.engine.verdict import Kind
from groupcheck.oracles.archive.place import HIDDEN, Place
from groupcheck.oracles.archive.tables import TABLES, schema

NAME = "_manifest.json"
SCHEMA = "groupcheck.archive/1"


@frozen
class Known:
    """A file whose rows are in the archive."""

    # bytes
    size: int
    # nanoseconds since 1970
    modified_ns: int
    # the version of groupcheck that replayed it
    by: str
    # the part that holds its rows
    part: str
    verdict: Kind
    reason: str
    # why it could not be read or replayed
    error: str | None = None
    lines: int = 0
    # how many hold, are violated, are unknown
    groups: tuple[int, int, int] = (0, 0, 0)


@frozen
class Pending:
    """The moves of a commit, in their order."""

    # names of files; those of `verdicts` and `files` come first
    remove: tuple[str, ...] = ()
    # (old name, new name); those of `verdicts` and `files` come last
    move: tuple[tuple[str, str], ...] = ()


@define
class Manifest:
    """The state of an archive."""

    schema: str = SCHEMA
    # how many runs there have been
    run: int = 0
    # by absolute path
    files: dict[str, Known] = Factory(dict)
    # part -> the tables that have rows in it
    parts: dict[str, list[str]] = Factory(dict)
    # a commit whose moves may not be finished; None without one
    pending: Pending | None = None

    def files_of(self, part: str) -> list[str]:
        return [file for file, known in self.files.items() if known.part == part]


def part_file(table: str, part: str) -> str:
    return f"{table}/{part}.parquet"


def opened(place: Place) -> Manifest:
    """The archive's manifest, after finishing an unfinished commit and removing what a killed run
    left. Raises `UserError` for a file that is not a manifest.
    """
    place.prepare([HIDDEN, *TABLES])
    raw = place.read(NAME)
    if raw is None:
        manifest = Manifest()
        _write_empty(place)
    else:
        manifest = _parsed(raw, place)
    if manifest.pending is not None:
        finish(place, manifest)
    for left in place.names(HIDDEN):
        place.remove(left)
    return manifest


def _parsed(raw: bytes, place: Place) -> Manifest:
    try:
        document: Any = json.loads(raw)
        if not isinstance(document, dict) or document.get("schema") != SCHEMA:
            raise ValueError("another schema")
        return cattrs.structure(document, Manifest)
    except (ValueError, RecursionError, cattrs.BaseValidationError):
        raise UserError(
            f"{NAME} is not one of schema {SCHEMA}",
            where=shown(place.uri),
            do="name another place, or remove it",
        ) from None


def _write_empty(place: Place) -> None:
    """A part without rows in every table: readers find the columns from the beginning."""
    import pyarrow.parquet as parquet

    for table in TABLES:
        aside = place.path(f"{HIDDEN}/{table}")
        parquet.write_table(schema(table).empty_table(), aside, filesystem=place.fs)
        place.move(f"{HIDDEN}/{table}", part_file(table, "empty"))


def save(place: Place, manifest: Manifest) -> None:
    place.write(NAME, json.dumps(cattrs.unstructure(manifest), ensure_ascii=True).encode())


def commit(place: Place, manifest: Manifest) -> None:
    """Saves the new state, and then carries out its pending moves."""
    save(place, manifest)
    finish(place, manifest)


def finish(place: Place, manifest: Manifest) -> None:
    """Carries out the moves of a commit that are not done yet."""
    pending = manifest.pending
    assert pending is not None
    for name in pending.remove:
        place.remove(name)
    for old, new in pending.move:
        if place.exists(old):
            place.move(old, new)
    manifest.pending = None
    save(place, manifest)


def moved(manifest: Manifest, gone: list[str], new: dict[str, dict[str, str]]) -> Manifest:
    """The manifest without the parts `gone` and with `new` ones: part -> table -> where its file
    lies until the commit.
    """
    order = list(TABLES)
    remove = [
        part_file(t, part) for t in reversed(order) for part in gone if t in manifest.parts[part]
    ]
    move = [
        (tables[t], part_file(t, part))
        for t in order
        for part, tables in new.items()
        if t in tables
    ]
    parts = {part: tables for part, tables in manifest.parts.items() if part not in gone}
    parts |= {part: list(tables) for part, tables in new.items()}
    return evolve(manifest, parts=parts, pending=Pending(tuple(remove), tuple(move)))
