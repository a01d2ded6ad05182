"""What an archive holds: its files, its parts, and the moves of a commit that may not be finished
yet.

A commit is one file that is replaced whole: `_manifest.json` with the new state and the moves that
it takes. Whoever opens the archive next finishes them, so a killed run leaves the state before its
commit or the one after. Parts are never written to once they are in place.
"""

from __future__ import annotations

import json
from typing import Any

import cattrs
from attrs import Factory, define, evolve, frozen

from groupcheck.model.engine import UserError
from groupcheck.model.engine.fast.shards.addresses import shown
from groupcheck.oracles.archive.place import HIDDEN, Place
from groupcheck.oracles.archive.tables import TABLES, schema

NAME = "_manifest.json"
SCHEMA = "groupcheck.archive/1"


@frozen
class Known:
    """A file whose rows are in the archive. `part`: of which part; `groups`: how many hold, are
    violated, are unknown.
    """

    size: int
    modified_ns: int
    by: str
    part: str
    verdict: str
    reason: str
    error: str | None = None
    lines: int = 0
    groups: tuple[int, int, int] = (0, 0, 0)


@frozen
class Pending:
    """Moves of a commit: first `remove`, the rows of `verdicts` and `files` before the others, then
    `move`, those after the others.
    """

    remove: tuple[str, ...] = ()
    move: tuple[tuple[str, str], ...] = ()


@define
class Manifest:
    """`run`: how many runs there have been. `parts`: part -> its tables (those with rows)."""

    schema: str = SCHEMA
    run: int = 0
    files: dict[str, Known] = Factory(dict)
    parts: dict[str, list[str]] = Factory(dict)
    pending: Pending | None = None

    def files_of(self, part: str) -> list[str]:
        return [file for file, known in self.files.items() if known.part == part]


def part_file(table: str, part: str) -> str:
    return f"{table}/{part}.parquet"


def opened(place: Place) -> Manifest:
    """The archive's manifest, an unfinished commit finished, what a killed run left removed. Raises
    `UserError` for one that is none.
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
        with place.fs.open_output_stream(place.path(f"{HIDDEN}/{table}")) as stream:
            parquet.write_table(schema(table).empty_table(), stream)
        place.move(f"{HIDDEN}/{table}", part_file(table, "empty"))


def save(place: Place, manifest: Manifest) -> None:
    place.write(NAME, json.dumps(cattrs.unstructure(manifest), ensure_ascii=True).encode())


def commit(place: Place, manifest: Manifest) -> None:
    """Makes the new state, whose moves are `pending`, the archive's, and then carries them out."""
    save(place, manifest)
    finish(place, manifest)


def finish(place: Place, manifest: Manifest) -> None:
    """Carries out the moves of a commit, those of them that are still to be done."""
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
