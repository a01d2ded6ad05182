"""Packs replayed by Spark's executors, each in a task of its own."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from groupcheck.model.engine import OutageError
from groupcheck.oracles.archive.pipeline import Runner
from groupcheck.oracles.archive.task import Pack, TaskFiles, replay_pack
from groupcheck.oracles.spark.job import JobError, has_gone, watched
from groupcheck.oracles.spark.session import OnDemand


def replay_on(spark: OnDemand, uri: str) -> Runner:
    """A function that replays packs of the archive at `uri`. It raises `OutageError` where Spark
    itself is gone, and not one of its tasks.
    """

    def replayed(packs: Sequence[Pack]) -> list[TaskFiles]:
        context = spark.session().sparkContext

        def job() -> list[TaskFiles]:
            return context.parallelize(packs, len(packs)).map(partial(replay_pack, uri)).collect()

        try:
            return watched(context, job, lambda: None)
        except JobError as error:
            if has_gone(context):
                why = f"Spark has gone away: {error}"
                raise OutageError(
                    why, where="--spark", do="run it again; what was committed stays"
                ) from None
            raise

    return replayed


def tasks_done(spark: OnDemand) -> int:
    """Tasks of the job at hand that have ended; 0 where nobody can say."""
    if not spark.started:
        return 0
    from py4j.protocol import Py4JError

    try:
        tracker = spark.session().sparkContext.statusTracker()
        stages = [tracker.getStageInfo(stage) for stage in tracker.getActiveStageIds()]
    except (Py4JError, OSError):  # the job that is watched says what happened
        return 0
    return sum(stage.numCompletedTasks for stage in stages if stage is not None)
