"""Finds the logs, in the files and folders that are given, and deals them out to tasks."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path

from groupcheck.model.engine import UserError
from groupcheck.oracles.archive.task import Pack, Source
from groupcheck.traces.sample_files import resolve_sample

LEAST_PACK, PACK_BYTES = 256 << 10, 16 << 20
PACK_FILES = 500
PACKS = 32  # made of small files, unless the packs would get too small or too large
GZIP_RATIO = 10  # how much more work a byte of gzip is, roughly


def find_sources(paths: Sequence[str | Path], archive: str | None) -> list[Source]:
    """Every file of these paths once, by its absolute path, in order of name; not the archive's own
    (`archive`: its folder, if it is local).

    `sample:NAME` is a file, too. Links to folders are not followed inside a folder. Raises
    `UserError` for a path that does not exist, and if there is no file at all.
    """
    found: dict[str, Source] = {}
    for given in paths:
        path = os.path.abspath(resolve_sample(given))  # noqa: PTH100 - links stay links
        if not os.path.lexists(path):
            raise UserError("does not exist", where=str(given), do="give log files and folders")
        for name in _walk(path, archive) if os.path.isdir(path) else [path]:  # noqa: PTH112
            found[name] = _source(name)
    if not found:
        raise UserError(
            "holds no file",
            where=", ".join(map(str, paths))[:300],
            do="give log files, or folders that hold some",
        )
    return [found[name] for name in sorted(found)]


def _walk(folder: str, archive: str | None) -> Iterable[str]:
    for where, folders, names in os.walk(folder):
        folders[:] = [name for name in sorted(folders) if os.path.join(where, name) != archive]  # noqa: PTH118
        for name in sorted(names):
            yield os.path.join(where, name)  # noqa: PTH118


def _source(path: str) -> Source:
    try:
        told = os.stat(path)  # noqa: PTH116
    except OSError:
        return Source(path, 0, 0)  # its row says why it cannot be read
    return Source(path, told.st_size, told.st_mtime_ns)


def work(source: Source) -> int:
    """An estimate of the work for a file, in bytes of plain text."""
    return source.size * (GZIP_RATIO if source.path.endswith((".gz", ".gzip")) else 1)


def dealt(sources: Sequence[Source], run: int) -> list[Pack]:
    """Packs of about the same work. The largest files come first, each in a pack of its own. The
    others share packs with their neighbours by name.
    """
    full = min(max(sum(map(work, sources)) // PACKS, LEAST_PACK), PACK_BYTES)
    large = sorted((s for s in sources if work(s) >= full), key=lambda s: (-work(s), s.path))
    groups = [[source] for source in large]
    shared: list[Source] = []
    filled = 0
    for source in sources:
        if work(source) >= full:
            continue
        if not shared or filled + work(source) > full or len(shared) >= PACK_FILES:
            shared, filled = [], 0
            groups.append(shared)
        shared.append(source)
        filled += work(source)
    return [Pack(f"{run:06}-{k:05}", tuple(group)) for k, group in enumerate(groups)]
