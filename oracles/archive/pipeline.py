"""A run over an archive: it replays what is new or changed, in waves, and commits each wave as a
whole.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from time import monotonic
from typing import Any

from attrs import define, evolve, frozen

from groupcheck import __version__
from groupcheck.model.engine import UserError
from groupcheck.model.engine.fast.shards.addresses import shown
from groupcheck.model.engine.fast.shards.filesystem import plainly
from groupcheck.model.engine.verdict import HOLDS, UNKNOWN, VIOLATED, Kind
from groupcheck.oracles.archive import archive_types
from groupcheck.oracles.archive.finding import dealt, find_sources
from groupcheck.oracles.archive.manifest import SCHEMA, Known, Manifest, commit, moved, opened
from groupcheck.oracles.archive.parts import rewritten
from groupcheck.oracles.archive.place import HIDDEN, Place, alone
from groupcheck.oracles.archive.tables import TABLES
from groupcheck.oracles.archive.task import UNREADABLE, Pack, Source, TaskFiles, failed_pack
from groupcheck.oracles.show.json_schemas import document
from groupcheck.oracles.spark.job import JobError

WAVE_PACKS = 64  # packs between two commits, at most: what a killed run loses
_RANK: dict[str, int] = {HOLDS: 0, UNKNOWN: 1, VIOLATED: 2}

Runner = Callable[[Sequence[Pack]], list[TaskFiles]]
"""Replays packs, in any order and on any machine; raises `JobError` where a task died."""


@frozen
class Outcome:
    """The result of a run."""

    uri: str
    # by path: every file that was found, replayed now or before
    known: dict[str, Known]
    # numbers of files that were replayed now
    new: int
    changed: int
    # table -> rows added
    rows: dict[str, int]
    bytes_read: int
    seconds: float

    def worst(self) -> tuple[Kind, str]:
        """The worst verdict of the files found, and its reason."""
        path, known = max(self.known.items(), key=lambda item: _RANK[item[1].verdict])
        return known.verdict, (
            known.reason
            if len(self.known) == 1 or known.verdict == HOLDS
            else f"{path}: {known.reason}"
        )

    def document(self) -> dict[str, Any]:
        """The document that `--json` prints, schema groupcheck.archive/1."""
        return document(SCHEMA, self.shown())

    def shown(self) -> archive_types.ArchiveDocument:
        """The sums over all files."""
        verdict, reason = self.worst()
        known, place = self.known.values(), Place(self.uri)
        holds, violated, unknown = (sum(one.groups[k] for one in known) for k in range(3))
        verdicts = Counter(one.verdict for one in known)
        return archive_types.ArchiveDocument(
            out=shown(self.uri),
            verdict=verdict,
            reason=reason,
            files=archive_types.FileCounts(
                found=len(known),
                new=self.new,
                changed=self.changed,
                known_before=len(known) - self.new - self.changed,
                not_replayed=sum(one.error is not None for one in known),
                verdicts=archive_types.FileVerdicts(
                    holds=verdicts[HOLDS], unknown=verdicts[UNKNOWN], violated=verdicts[VIOLATED]
                ),
            ),
            groups=archive_types.GroupVerdicts(holds=holds, violated=violated, unknown=unknown),
            lines=sum(one.lines for one in known),
            rows_added={table: self.rows.get(table, 0) for table in TABLES},
            bytes_read=self.bytes_read,
            seconds=round(self.seconds, 1),
            tables={
                table: place.path(table)
                if place.local
                else f"{shown(self.uri).rstrip('/')}/{table}"
                for table in TABLES
            },
        )


@define
class Progress:
    """How far a run is."""

    # to be replayed
    files: int = 0
    packs: int = 0
    packs_done: int = 0
    # of all files
    bytes: int = 0


def update(
    uri: str, paths: Sequence[str | Path], runner: Runner, progress: Progress | None = None
) -> Outcome:
    """Brings an archive up to date with the logs in `paths`. Raises `UserError` for paths that do
    not exist and places that cannot hold an archive.
    """
    begun, progress = monotonic(), progress or Progress()
    place = Place(uri)
    sources = find_sources(paths, place.root if place.local else None)
    place.prepare([HIDDEN])
    with alone(place):
        manifest = opened(place)
        todo = [source for source in sources if _is_news(source, manifest.files.get(source.path))]
        changed = sum(source.path in manifest.files for source in todo)
        manifest.run += 1
        packs = dealt(todo, manifest.run)
        progress.files, progress.packs, progress.bytes = (
            len(todo),
            len(packs),
            sum(pack.size for pack in packs),
        )
        rows: Counter[str] = Counter()
        for first in range(0, len(packs), WAVE_PACKS):
            wave = packs[first : first + WAVE_PACKS]
            done = replayed(uri, wave, runner)
            manifest = _added(place, manifest, done)
            for one in done:
                rows.update(one.rows)
            progress.packs_done += len(wave)
    known = {source.path: manifest.files[source.path] for source in sources}
    return Outcome(
        uri,
        known,
        len(todo) - changed,
        changed,
        dict(rows),
        sum(s.size for s in todo),
        monotonic() - begun,
    )


def _is_news(source: Source, known: Known | None) -> bool:
    """Whether to replay a file: it is new, has changed, or can be read now and could not before."""
    if known is None or (known.size, known.modified_ns, known.by) != (
        source.size,
        source.modified_ns,
        __version__,
    ):
        return True
    return (known.error or "").startswith(UNREADABLE) and os.access(source.path, os.R_OK)


def replayed(uri: str, packs: Sequence[Pack], runner: Runner) -> list[TaskFiles]:
    """Replays packs. If tasks die, the packs are halved until one file is left, which is the one to
    blame.
    """
    try:
        return runner(packs)
    except JobError as died:
        if len(packs) == 1 and len(packs[0].sources) == 1:
            return [_blamed(uri, packs[0], died)]
        return [done for half in _halves(packs) for done in replayed(uri, half, runner)]


def _halves(packs: Sequence[Pack]) -> list[list[Pack]]:
    if len(packs) > 1:
        return [list(packs[: len(packs) // 2]), list(packs[len(packs) // 2 :])]
    (pack,) = packs
    middle = len(pack.sources) // 2
    return [
        [evolve(pack, part=f"{pack.part}a", sources=pack.sources[:middle])],
        [evolve(pack, part=f"{pack.part}b", sources=pack.sources[middle:])],
    ]


def _blamed(uri: str, pack: Pack, died: JobError) -> TaskFiles:
    try:
        return failed_pack(uri, pack, f"the task that replayed it died: {died}"[:500])
    except OSError as error:
        raise UserError(
            f"cannot write to {shown(uri)}: {plainly(error, uri)}", where="--out"
        ) from None


def _added(place: Place, manifest: Manifest, done: Sequence[TaskFiles]) -> Manifest:
    """Commits a wave: its parts, and earlier parts rewritten without the rows that it replaces."""
    replaced = {path for one in done for path in one.files if path in manifest.files}
    gone = sorted({manifest.files[path].part for path in replaced})
    new = {one.part: one.written for one in done}
    files = dict(manifest.files)
    for k, old in enumerate(gone):
        stay = [path for path in manifest.files_of(old) if path not in replaced]
        if stay:
            part = f"{done[0].part}r{k}"
            out = rewritten(
                place,
                old,
                manifest.parts[old],
                part,
                [path for path in manifest.files_of(old) if path in replaced],
            )
            new[part] = out.written
            files |= {path: evolve(files[path], part=part) for path in stay}
    for one in done:
        files |= one.files
    after = evolve(moved(manifest, gone, new), files=files)
    commit(place, after)
    return after
