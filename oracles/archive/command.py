"""`groupcheck replay --spark MASTER --out URI PATH...`: the run on Spark, its progress,
its summary, its exit code.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rich.text import Text

from groupcheck.model.engine import UserError
from groupcheck.oracles.archive.finding import find_sources
from groupcheck.oracles.archive.on_spark import replay_on, tasks_done
from groupcheck.oracles.archive.pipeline import Outcome, Progress, update
from groupcheck.oracles.printable import printable
from groupcheck.oracles.show.terminal import EXIT_CODES, answer, live, say
from groupcheck.oracles.spark.session import OnDemand, checked_master


def run(paths: Sequence[str | Path], master: str, out: str | None, as_json: bool) -> int:
    """Replays an archive of logs and returns the exit code: 0 every group holds, 1 some line cannot
    be explained, 3 unknown. Raises `UserError` without `out`.
    """
    if out is None:
        raise UserError("needs a place for the tables", where="--spark", do="add --out URI")
    checked_master(master)
    find_sources(paths, None)  # reports paths that do not exist before Spark starts
    progress = Progress()
    try:
        with (
            OnDemand(master, name="groupcheck replay") as spark,
            live(lambda: Text(progress_line(progress, progress.packs_done + tasks_done(spark)))),
        ):
            outcome = update(out, paths, replay_on(spark, out), progress)
    except KeyboardInterrupt:
        done = f"{progress.packs_done:,} of {progress.packs:,} tasks are in the archive"
        say(f"interrupted: {done}; run the same command to continue")
        return EXIT_CODES["unknown"]
    answer(outcome.document, lambda: view(outcome), as_json)
    return EXIT_CODES[outcome.worst()[0]]


def progress_line(progress: Progress, done: int) -> str:
    """How far a run is, for a terminal."""
    share = f"  {done / progress.packs:.0%}" if progress.packs else ""
    return (
        f"{progress.files:,} new or changed logs  {progress.bytes / 2**20:,.0f} MiB  {done:,} of"
        f" {progress.packs:,} tasks{share}"
    )


def view(outcome: Outcome) -> Text:
    """The summary for people."""
    told = outcome.shown()
    files, groups = told.files, told.groups
    rows = ", ".join(f"{n:,} {table}" for table, n in told.rows_added.items() if n) or "none"
    unread = f"; {files.not_replayed:,} could not be read" if files.not_replayed else ""
    lines = (
        f"{told.verdict}: {told.reason}",
        f"files   {files.found:,}: {files.new:,} new, {files.changed:,} changed,"
        f" {files.known_before:,} known before{unread}",
        f"groups  {groups.holds:,} holds, {groups.violated:,} violated, {groups.unknown:,} unknown",
        f"rows    {rows} added in {told.seconds} s",
        f"tables  {told.out}: {', '.join(told.tables)}",
    )
    return Text("\n".join(map(printable, lines)))
