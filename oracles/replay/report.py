"""`groupcheck replay`: reads logs, shows what happened, and writes the page.

Exit codes: 0 every group holds, 1 some line cannot be explained, 3 unknown; a file that cannot be
read is a `UserError` (2).
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from groupcheck.model.engine import UserError
from groupcheck.model.engine.verdict import HOLDS, UNKNOWN, VIOLATED
from groupcheck.oracles.replay.document import replay_document, replay_text
from groupcheck.oracles.show.files import written
from groupcheck.traces.anomalies import plural
from groupcheck.traces.replay import replay_file
from groupcheck.traces.report import FileReport, worst_of


class Replayed(list[FileReport]):
    """The reports of all files, in order. Prints as text; a notebook shows it as a page."""

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
        return replay_document(self)

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
) -> Replayed:
    """Reads each file by itself. Raises `UserError` for a file that is no log."""
    if isinstance(paths, str | Path) or not isinstance(paths, Iterable):
        raise UserError(f"{paths!r} is not a list of files", do='as in ["broker.log"]')
    return Replayed(replay_file(str(path), format=format, group=group) for path in paths)


def run(
    paths: Sequence[str | Path],
    format: str | None,
    group: str | None,
    as_json: bool,
    html: Path | None,
) -> int:
    """Replays, prints, writes the page, and gives the exit code."""
    reports = replay(paths, format=format, group=group)
    if html is not None:
        written(html, reports.html())
    if as_json:
        sys.stdout.writelines(replay_text(reports))
        return reports.exit_code
    from groupcheck.oracles.replay.text import replay_view
    from groupcheck.oracles.show.text import show

    show(replay_view(reports))
    return reports.exit_code
