"""`groupcheck replay`: reads logs, shows what happened, and writes the page.

Exit codes: 0 every group holds, 1 some line cannot be explained, 3 unknown. A file that cannot be
read is reported and makes the answer unknown; if none can be read, that is a `UserError` (2).
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from groupcheck.model.engine import UserError
from groupcheck.model.engine.verdict import HOLDS, UNKNOWN, VIOLATED
from groupcheck.oracles.printable import printable
from groupcheck.oracles.replay.document import replay_document, replay_text
from groupcheck.oracles.show import meter
from groupcheck.oracles.show.files import written
from groupcheck.traces.anomalies import plural
from groupcheck.traces.formats import UNKNOWN_FORMAT
from groupcheck.traces.reading import TraceError
from groupcheck.traces.reading.finding import found
from groupcheck.traces.reading.unpacking import Watch
from groupcheck.traces.replay import Asked, known_format, replay_log
from groupcheck.traces.report import FileReport, unreadable, worst_of


class Replayed(list[FileReport]):
    """The reports of all logs, in order. Prints as text; a notebook shows it as a page."""

    def __init__(self, reports: Iterable[FileReport], notes: Sequence[str] = ()) -> None:
        super().__init__(reports)
        # What was passed over in folders and archives.
        self.notes = tuple(notes)

    @property
    def verdict(self) -> str:
        """The worst verdict of all files."""
        return worst_of(self)[0]

    @property
    def exit_code(self) -> int:
        """0 holds, 1 violated, 3 unknown (2 is left for bad usage)."""
        return {HOLDS: 0, VIOLATED: 1, UNKNOWN: 3}[self.verdict]

    def document(self) -> dict[str, Any]:
        """The answer as plain JSON, schema groupcheck.replay/1."""
        return replay_document(self, self.notes)

    def html(self) -> str:
        """A complete page with the life of every group."""
        from groupcheck.oracles.replay.page import page

        return page(self)

    def __repr__(self) -> str:
        groups = plural(sum(len(r.groups) for r in self), "group")
        return f"<Replayed {plural(len(self), 'file')}, {groups}: {self.verdict}>"

    def __str__(self) -> str:
        from groupcheck.oracles.replay.text import replay_view
        from groupcheck.oracles.show.text import as_plain

        return as_plain(replay_view(self))

    def _repr_html_(self) -> str:
        from groupcheck.oracles.replay.page import page
        from groupcheck.oracles.show.pages import FRAGMENT

        return page(self, FRAGMENT)


def replay(
    paths: Sequence[str | Path],
    *,
    format: str | None = None,
    group: str | None = None,
    watch: Watch | None = None,
) -> Replayed:
    """Replays the logs that files, folders, archives and `-` (standard input) hold; the rotated
    files of one process are one log. `watch` is told how far files have been read. Raises
    `UserError` if there is none that can be read.
    """
    if isinstance(paths, str | Path) or not isinstance(paths, Iterable):
        raise UserError(f"{paths!r} is not a list of files", do='as in ["broker.log"]')
    known_format(format)
    there = found([str(path) for path in paths], watch=watch)
    asked = Asked(group, format)
    reports: list[FileReport] = []
    for source in there.sources:
        try:
            reports += replay_log(source, asked)
        except TraceError as e:  # it has changed since it was found
            there.refused.append((source.name, e))
    if not reports:
        raise there.refused[0][1]
    said = [r for r in reports if not (r.format == UNKNOWN_FORMAT and r.path in there.unnamed)]
    silent = len(reports) - len(said)
    notes = list(there.notes)
    if said and silent:
        notes.append(f"{plural(silent, 'file')} without a line about a group passed over")
    return Replayed([*(said or reports), *(unreadable(*one) for one in there.refused)], notes)


def _progress(name: str, read: int, size: int, seconds: float) -> str:
    """One line for a terminal; a log is read once for each kind of lines that is looked for."""
    return f"{read >> 20:,} of {size >> 20:,} MiB  {seconds:.0f} s  {printable(name)}"


def run(
    paths: Sequence[str | Path],
    format: str | None,
    group: str | None,
    as_json: bool,
    html: Path | None,
) -> int:
    """Replays, prints, writes the page, and gives the exit code."""
    with meter.reports(_progress) as progress:
        reports = replay(paths, format=format, group=group, watch=progress)
    if html is not None:
        written(html, reports.html())
    if as_json:
        sys.stdout.writelines(replay_text(reports, reports.notes))
        return reports.exit_code
    from rich.text import Text

    from groupcheck.oracles.replay.text import replay_view
    from groupcheck.oracles.show.text import show

    show(replay_view(reports))
    for note in reports.notes:
        show(Text(printable(note), "dim"))
    return reports.exit_code
