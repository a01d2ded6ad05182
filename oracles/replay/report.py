"""`groupcheck replay`: reads logs, shows what happened, and writes the page.

Exit codes: 0 every group holds, 1 some line cannot be explained, 3 unknown; a file that cannot be
read is a `UserError` (2).
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from groupcheck.model.engine import UserError
from groupcheck.model.engine.verdict import HOLDS, VIOLATED
from groupcheck.oracles.replay.document import replay_text
from groupcheck.oracles.show.files import written
from groupcheck.traces.replay import replay_file
from groupcheck.traces.report import FileReport, worst_of

SAME_COORDINATOR = ("classic", "cooperative", "static_membership", "connect", "async_server")
"""Variants whose groups the classic coordinator serves: what differs between them is the clients' business, which its log does not show."""


def replay(
    paths: Sequence[str | Path],
    *,
    format: str | None = None,
    group: str | None = None,
    variant: str | None = None,
) -> list[FileReport]:
    """The reports of all files, in the order given; each is read by itself. Raises `UserError` for
    a file that is no log.
    """
    if variant is not None and variant not in SAME_COORDINATOR:
        raise UserError(
            f"variant {variant!r} cannot be replayed yet",
            where="--variant",
            do=f"one of {', '.join(SAME_COORDINATOR)}, or leave it out",
        )
    if isinstance(paths, str | Path) or not isinstance(paths, Iterable):
        raise UserError(f"{paths!r} is not a list of files", do='as in ["broker.log"]')
    return [replay_file(str(path), format=format, group=group) for path in paths]


def exit_code(reports: Sequence[FileReport]) -> int:
    verdict, _ = worst_of(reports)
    return 0 if verdict == HOLDS else 1 if verdict == VIOLATED else 3


def run(
    paths: Sequence[str | Path],
    format: str | None,
    group: str | None,
    variant: str | None,
    as_json: bool,
    html: Path | None,
) -> int:
    """Replays, prints, writes the page, and gives the exit code."""
    reports = replay(paths, format=format, group=group, variant=variant)
    if html is not None:
        from groupcheck.oracles.replay.page import page

        written(html, page(reports))
    if as_json:
        sys.stdout.writelines(replay_text(reports))
        return exit_code(reports)
    from groupcheck.oracles.replay.text import replay_view
    from groupcheck.oracles.show.text import show

    show(replay_view(reports))
    return exit_code(reports)
