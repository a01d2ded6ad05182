"""One task's work: it replays the logs of a pack one after the other, writes their rows aside, and
returns what is known of each.
"""

from __future__ import annotations

import gc
import stat
from collections import Counter
from pathlib import Path

from attrs import frozen

from groupcheck import __version__
from groupcheck.model.engine.verdict import HOLDS, UNKNOWN, VIOLATED
from groupcheck.oracles.archive.evidence import event_row, modified
from groupcheck.oracles.archive.manifest import Known
from groupcheck.oracles.archive.parts import PartWriter
from groupcheck.oracles.archive.place import Place
from groupcheck.oracles.archive.rows import Row, rows_of
from groupcheck.traces.exchanges.exchange import Exchange
from groupcheck.traces.findings.report import FileReport, worst_of
from groupcheck.traces.reading import TraceError, source_of
from groupcheck.traces.replay import COLLECT_AFTER, ReplayOptions, replay_log
from groupcheck.traces.story.events import Event

REASON_CHARS = 500
UNREADABLE = "cannot be read"  # how the error begins of a file that may be readable another time


@frozen
class Source:
    """A log to replay, as it was when it was found."""

    # absolute
    path: str
    # bytes
    size: int
    # nanoseconds since 1970
    modified_ns: int


@frozen
class Pack:
    """The logs of one task."""

    # that their rows become
    part: str
    sources: tuple[Source, ...]

    @property
    def size(self) -> int:
        return sum(source.size for source in self.sources)


@frozen
class TaskFiles:
    """The files that a task wrote."""

    part: str
    # table -> name of its file
    written: dict[str, str]
    # table -> number of its rows
    rows: dict[str, int]
    # by path
    files: dict[str, Known]


class _Spoilt(Exception):
    """The replay of a file broke off in the middle: its pack starts again without it."""


def replay_pack(uri: str, pack: Pack) -> TaskFiles:
    """Replays a pack. Readers see nothing of it until the driver has moved it into place.

    A file that cannot be read, or whose replay fails, has a row in `files` that says why, and does
    not affect the others.
    """
    spoilt: dict[str, str] = {}
    place = Place(uri)
    gc.set_threshold(COLLECT_AFTER, 10, 10)
    while True:
        try:
            with PartWriter(place, pack.part) as out:
                files = {
                    source.path: _replayed(source, pack.part, out, spoilt.get(source.path))
                    for source in pack.sources
                }
            return TaskFiles(pack.part, out.written, out.rows, files)
        except _Spoilt as found:
            path, why = found.args
            spoilt[path] = why


def failed_pack(uri: str, pack: Pack, why: str) -> TaskFiles:
    """The rows of files whose task died again and again."""
    with PartWriter(Place(uri), pack.part) as out:
        files = {source.path: _replayed(source, pack.part, out, why) for source in pack.sources}
    return TaskFiles(pack.part, out.written, out.rows, files)


def _replayed(source: Source, part: str, out: PartWriter, error: str | None) -> Known:
    """One file's rows."""
    reports: tuple[FileReport, ...] = ()
    if error is None:
        try:
            reports = _reports(source, out)
        except TraceError as refused:
            error = str(refused).removeprefix(f"{source.path}: ")
        except (_Spoilt, OSError) as storage:
            raise storage
        except Exception as mistake:  # whatever it is, it concerns this file alone
            raise _Spoilt(
                source.path,
                f"a bug in groupcheck itself: {type(mistake).__name__}: {mistake}"[:REASON_CHARS],
            ) from None
    if not reports:
        out.add(
            "files",
            _of_file(source) | {"verdict": UNKNOWN, "reason": error, "error": error, "groups": 0},
        )
        return Known(
            source.size, source.modified_ns, __version__, part, UNKNOWN, error or "", error
        )
    verdict, reason = worst_of(reports)
    whole = max(reports, key=lambda r: r.understood)
    counts = Counter(g.verdict for r in reports for g in r.groups)
    for table, row in (found for r in reports for found in rows_of(r)):
        if table != "files":
            out.add(table, row)
        elif row["format"] == whole.format:  # the kind that most lines are of tells about the file
            judged = {"verdict": verdict, "reason": reason, "groups": counts.total()}
            out.add(table, row | judged | _of_file(source))
    groups = (counts[HOLDS], counts[VIOLATED], counts[UNKNOWN])
    return Known(
        source.size,
        source.modified_ns,
        __version__,
        part,
        verdict,
        reason[:REASON_CHARS],
        None,
        whole.lines,
        groups,
    )


def _reports(source: Source, out: PartWriter) -> tuple[FileReport, ...]:
    try:
        if not stat.S_ISREG(Path(source.path).stat().st_mode):
            raise TraceError("is not a file, but a pipe, socket or device", where=source.path)
    except OSError as e:
        raise TraceError(f"{UNREADABLE}: {e.strerror or e}", where=source.path) from None

    def seen(event: Event | Exchange, text: str) -> None:
        out.add("events", event_row(event, text, source.path))

    return replay_log(source_of(source.path), ReplayOptions(seen=seen))


def _of_file(source: Source) -> Row:
    return {
        "file": source.path,
        "size": source.size,
        "modified": modified(source.modified_ns),
        "replayed_by": __version__,
    }
