"""From the arguments of the command line to logs: `-`, files, folders and archives are listed, what
cannot be read is said, and the rotated files of one process are joined.
"""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import cast

from attrs import Factory, define, evolve

from groupcheck.traces.reading.archives import MOST_MEMBERS, is_hidden, kind_of, members
from groupcheck.traces.reading.lines import NoText, TraceError
from groupcheck.traces.reading.rotation import captures_of, join_rotated
from groupcheck.traces.reading.source import (
    Piece,
    Readable,
    Shelf,
    Source,
    as_text,
    holds_packets,
    piece_of,
)
from groupcheck.traces.reading.unpacking import Watch

STDIN = "-"
DEEPEST = 2
"""An archive may hold archives; those that they hold are not read."""


@define
class LogsFound:
    """The logs to read, and the files that cannot be read."""

    # The logs in the order of the arguments, rotated files joined.
    sources: list[Source] = Factory(list)
    # (file, why) of those that cannot be read.
    refused: list[tuple[str, TraceError]] = Factory(list)
    # What was passed over in folders and archives, in words.
    notes: list[str] = Factory(list)
    # Names of the sources that stand in a folder or an archive.
    unnamed: set[str] = Factory(set)


@define
class _Search:
    stdin: Readable | None
    watch: Watch | None
    shelf: Shelf = Factory(Shelf)
    pieces: list[Piece] = Factory(list)
    # Those of the pieces that hold packets.
    packets: list[Piece] = Factory(list)
    found: LogsFound = Factory(LogsFound)
    # Why files of a folder or an archive were passed over, and how many.
    passed: Counter[str] = Factory(Counter)
    inside: set[str] = Factory(set)
    seen: set[Path] = Factory(set)

    def argument(self, path: str) -> None:
        """One path of the command line: `-`, a folder, or a file. Raises `TraceError` for a folder
        that holds too many logs.
        """
        if path == STDIN:
            self.standard_input()
        elif os.path.isdir(path):  # noqa: PTH112 (Path's raises where one may not look)
            for file in _files(Path(path), self.passed):
                if len(self.inside) >= MOST_MEMBERS:
                    raise TraceError(
                        f"holds more than {MOST_MEMBERS:,} logs",
                        where=path,
                        do="replay it with --spark, or give fewer files",
                    )
                self.path(str(file), named=False)
        else:
            self.path(path, named=True)

    def standard_input(self) -> None:
        stream, self.stdin = self.stdin, None
        try:
            if stream is None:
                raise TraceError("is closed, or was read before", where=STDIN, do="give it once")
            self.file(self.shelf.keep(STDIN, stream), depth=0, named=True)
        except TraceError as e:
            self.refuse(STDIN, e, named=True)

    def path(self, path: str, named: bool) -> None:
        place = Path(path).resolve() if "\0" not in path else Path()
        if place in self.seen:
            return
        self.seen.add(place)
        try:
            self.file(piece_of(path, self.shelf), depth=0, named=named)
        except TraceError as e:
            self.refuse(path, e, named)

    def file(self, piece: Piece, depth: int, named: bool) -> None:
        """A file, and if it is an archive, its members."""
        try:
            kind = kind_of(piece)
            if kind and depth >= DEEPEST:
                do = "unpack the outer ones first"
                raise TraceError(f"is a {kind} archive in an archive in an archive", do=do)
            packets = not kind and holds_packets(piece)
            if not kind and not packets:
                piece.opened().close()
        except TraceError as e:
            self.refuse(piece.name, e, named)
            return
        if not kind:
            self.pieces.append(evolve(piece, watch=self.watch))
            if packets:
                self.packets.append(self.pieces[-1])
            if not named:
                self.inside.add(piece.name)
            return
        for member in members(piece, kind, self.shelf):
            if len(self.pieces) >= MOST_MEMBERS:
                why = TraceError(f"the rest of it is left out, behind {MOST_MEMBERS:,} logs")
                self.refuse(piece.name, why, named=True)
                return
            if isinstance(member, TraceError):
                self.refuse(piece.name, member, named=False)
            else:
                self.file(member, depth + 1, named=False)

    def read_packets(self) -> None:
        """Packet captures become the request logs that they amount to, each with the first of its
        files.
        """
        for files in captures_of(self.packets):
            for other in files[1:]:
                self.pieces.remove(other)
            place = self.pieces.index(files[0])
            try:
                self.pieces[place] = evolve(as_text(files, self.shelf), watch=self.watch)
            except TraceError as e:
                del self.pieces[place]
                self.refuse(files[0].name, e, named=True)

    def refuse(self, name: str, why: TraceError, named: bool) -> None:
        if isinstance(why, NoText) and not named:
            self.passed[why.what.removeprefix("is ").partition(",")[0]] += 1
        else:
            self.found.refused.append((why.where or name, why))


def _files(folder: Path, passed: Counter[str]) -> Iterator[Path]:
    """The files of a folder and of those in it, in order of their names. Links to folders are not
    followed.
    """

    def locked(_: OSError) -> None:
        passed["folders without the right to read them"] += 1

    for place, folders, files in os.walk(folder, onerror=locked):
        folders[:] = sorted(name for name in folders if not is_hidden(name))
        for name in sorted(files):
            if is_hidden(name):
                passed["hidden"] += 1
            elif Path(place, name).is_file():
                yield Path(place, name)
            else:
                passed["not a file"] += 1


def find_logs(
    paths: Sequence[str], stdin: Readable | None = None, watch: Watch | None = None
) -> LogsFound:
    """The logs that `paths` name; `watch` is told how far they have been read. Raises `TraceError`
    if none of them can be read.
    """
    if stdin is None and sys.stdin is not None:
        stdin = cast(Readable, sys.stdin.buffer)
    search = _Search(stdin, watch)
    for path in paths:
        search.argument(path)
    search.read_packets()
    there = search.found
    if not search.pieces:
        if there.refused:
            raise there.refused[0][1]
        raise TraceError("no file to read", where=", ".join(paths), do="give a log")
    there.sources = join_rotated(search.pieces, search.shelf)
    there.unnamed = {
        s.name for s in there.sources if all(p.name in search.inside for p in s.pieces)
    }
    if search.passed:
        counts = ", ".join(f"{n:,} {why}" for why, n in sorted(search.passed.items()))
        there.notes.append(f"files passed over: {counts}")
    return there
