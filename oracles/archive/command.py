"""`groupcheck replay --spark MASTER --out URI PATH...`: the run on Spark, its progress on a
terminal, its summary, its exit code.
"""

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from groupcheck.model.engine import UserError
from groupcheck.model.engine.verdict import HOLDS, VIOLATED
from groupcheck.oracles.archive.on_spark import replay_on, tasks_done
from groupcheck.oracles.archive.pipeline import Outcome, Progress, update
from groupcheck.oracles.spark.session import OnDemand, checked_master

BLINK_S = 0.5


def run(paths: Sequence[str | Path], master: str, out: str | None, as_json: bool) -> int:
    """Replays an archive of logs and gives the exit code: 0 every group holds, 1 some line cannot
    be explained, 3 unknown.
    """
    if out is None:
        raise UserError("the tables need a place", where="--spark", do="give --out URI too")
    from groupcheck.oracles.archive.finding import find_sources

    checked_master(master)
    find_sources(paths, None)  # what is not there is said before anything starts
    progress = Progress()
    try:
        with OnDemand(master, name="groupcheck replay") as spark, _shown(progress, spark):
            outcome = update(out, paths, replay_on(spark, out), progress)
    except KeyboardInterrupt:
        done = f"{progress.packs_done:,} of {progress.packs:,} tasks are in the archive"
        sys.stderr.write(f"groupcheck: interrupted: {done}; the same command goes on\n")
        return 3
    if as_json:
        from groupcheck.oracles.show.document import as_text

        sys.stdout.write(as_text(outcome.document()))
    else:
        sys.stdout.write(_text(outcome))
    verdict, _ = outcome.worst()
    return 0 if verdict == HOLDS else 1 if verdict == VIOLATED else 3


@contextlib.contextmanager
def _shown(progress: Progress, spark: OnDemand) -> Iterator[None]:
    """Shows how far a run is, on a terminal only."""
    if not sys.stderr.isatty():
        yield
        return
    from rich.console import Console
    from rich.live import Live
    from rich.text import Text

    ended = threading.Event()
    with Live(Text("looking for logs"), console=Console(stderr=True), transient=True) as live:

        def watch() -> None:
            while not ended.wait(BLINK_S):
                live.update(Text(_line(progress, progress.packs_done + tasks_done(spark))))

        thread = threading.Thread(target=watch, daemon=True)
        thread.start()
        try:
            yield
        finally:
            ended.set()
            thread.join()


def _line(progress: Progress, done: int) -> str:
    share = f"  {done / progress.packs:.0%}" if progress.packs else ""
    return (
        f"{progress.files:,} new or changed logs  {progress.bytes / 2**20:,.0f} MiB  {done:,} of"
        f" {progress.packs:,} tasks{share}"
    )


def _text(outcome: Outcome) -> str:
    """The summary for people."""
    from groupcheck.oracles.printable import printable

    told: dict[str, Any] = outcome.document()
    files, groups = told["files"], told["groups"]
    rows = ", ".join(f"{n:,} {table}" for table, n in told["rows_added"].items() if n) or "none"
    lines = [
        f"{told['verdict']}: {told['reason']}",
        f"files   {files['found']:,}: {files['new']:,} new, {files['changed']:,} changed,"
        f" {files['known_before']:,} known before"
        + (f"; {files['not_replayed']:,} could not be read" if files["not_replayed"] else ""),
        "groups  " + ", ".join(f"{n:,} {verdict}" for verdict, n in groups.items()),
        f"rows    {rows} added in {told['seconds']} s",
        f"tables  {told['out']}: {', '.join(told['tables'])}",
    ]
    return "".join(printable(line) + "\n" for line in lines)
