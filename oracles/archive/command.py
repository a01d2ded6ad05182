"""`groupcheck replay --spark MASTER --out URI PATH...`: the run on Spark, its progress on a terminal, its summary, its exit code."""

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from groupcheck.model.engine import UserError
from groupcheck.model.engine.verdict import HOLDS, VIOLATED
from groupcheck.oracles.archive.pipeline import Outcome, Progress, update
from groupcheck.oracles.archive.task import Done, Pack, replay_pack

if TYPE_CHECKING:
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

BLINK_S = 0.5


def run(paths: Sequence[str | Path], master: str, out: str | None, as_json: bool) -> int:
    """Replays an archive of logs and gives the exit code: 0 every group holds, 1 some line cannot be explained, 3 unknown."""
    if out is None:
        raise UserError("the tables need a place", where="--spark", do="give --out URI too")
    from groupcheck.oracles.archive.finding import find_sources
    from groupcheck.oracles.spark.session import checked_master

    checked_master(master)
    find_sources(paths, None)  # what is not there is said before anything starts
    with LateSpark(master) as spark:
        progress = Progress()
        with _shown(progress, spark):
            outcome = update(out, paths, spark.replay(out), progress)
    if as_json:
        from groupcheck.oracles.document import as_text

        sys.stdout.write(as_text(outcome.document()))
    else:
        sys.stdout.write(_text(outcome))
    verdict, _ = outcome.worst()
    return 0 if verdict == HOLDS else 1 if verdict == VIOLATED else 3


class LateSpark:
    """A Spark session that starts when the first packs are to be replayed: a run that finds nothing new needs none."""

    def __init__(self, master: str) -> None:
        self._master, self._stack = master, contextlib.ExitStack()
        self._spark: SparkSession | None = None

    def __enter__(self) -> LateSpark:
        return self

    def __exit__(self, *error: object) -> None:
        self._stack.close()

    def replay(self, uri: str) -> Callable[[Sequence[Pack]], list[Done]]:
        """Replays packs of the archive at `uri`, each in one task."""

        def replayed(packs: Sequence[Pack]) -> list[Done]:
            context = self.session().sparkContext
            try:
                return context.parallelize(packs, len(packs)).map(partial(replay_pack, uri)).collect()
            except Exception as died:
                if _stopped(context):
                    from groupcheck.oracles.spark.session import told_by

                    why = f"Spark has gone away: {told_by(died)}"
                    raise UserError(why, where="--spark", do="run it again; what was committed stays") from None
                raise

        return replayed

    def session(self) -> SparkSession:
        """The session, started if it was not yet."""
        if self._spark is None:
            from groupcheck.oracles.spark.session import session

            self._spark = self._stack.enter_context(session(self._master, name="groupcheck replay"))
        return self._spark

    def tasks_done(self) -> int:
        """Tasks of the job at hand that have ended."""
        if self._spark is None:
            return 0
        tracker = self._spark.sparkContext.statusTracker()
        stages = [tracker.getStageInfo(stage) for stage in tracker.getActiveStageIds()]
        return sum(stage.numCompletedTasks for stage in stages if stage is not None)


def _stopped(context: SparkContext) -> bool:
    """Is it Spark itself that is gone, and not one of its tasks?"""
    try:
        return bool(context._jsc.sc().isStopped())
    except Exception:  # not even the JVM answers
        return True


@contextlib.contextmanager
def _shown(progress: Progress, spark: LateSpark) -> Iterator[None]:
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
                with contextlib.suppress(Exception):  # the session may be ending
                    live.update(Text(_line(progress, progress.packs_done + spark.tasks_done())))

        thread = threading.Thread(target=watch, daemon=True)
        thread.start()
        try:
            yield
        finally:
            ended.set()
            thread.join()


def _line(progress: Progress, done: int) -> str:
    share = f"  {done / progress.packs:.0%}" if progress.packs else ""
    return f"{progress.files:,} new or changed logs  {progress.bytes / 2**20:,.0f} MiB  {done:,} of {progress.packs:,} tasks{share}"


def _text(outcome: Outcome) -> str:
    """The summary for people."""
    from groupcheck.oracles.printable import printable

    told: dict[str, Any] = outcome.document()
    files, groups = told["files"], told["groups"]
    rows = ", ".join(f"{n:,} {table}" for table, n in told["rows_added"].items() if n) or "none"
    lines = [
        f"{told['verdict']}: {told['reason']}",
        f"files   {files['found']:,}: {files['new']:,} new, {files['changed']:,} changed, {files['known_before']:,} known before"
        + (f"; {files['not_replayed']:,} could not be read" if files["not_replayed"] else ""),
        "groups  " + ", ".join(f"{n:,} {verdict}" for verdict, n in groups.items()),
        f"rows    {rows} added in {told['seconds']} s",
        f"tables  {told['out']}: {', '.join(told['tables'])}",
    ]
    return "".join(printable(line) + "\n" for line in lines)
