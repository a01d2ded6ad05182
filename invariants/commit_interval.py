"""Auto-commit under a clock: how much is processed again."""

from __future__ import annotations

from typing import Annotated, Any

from groupcheck.model.engine import goal, invariant
from groupcheck.model.protocol.classic.features.commit_interval import FAMILY as TIMED
from groupcheck.model.protocol.classic.features.commit_interval import Clock
from groupcheck.model.protocol.classic.scope import AUTO


@invariant(
    source="ConsumerCoordinator.maybeAutoCommitOffsetsAsync; auto.commit.interval.ms",
    broken="{name} has processed more records than an interval has, and has committed none of them",
    of=TIMED,
)
def repeats_one_interval(clock: Annotated[Clock, "clock[i]"], scope: Any) -> bool:
    """A member that commits by itself has never processed more records since its last commit than
    an interval has, unless there is a round to join.

    Why: each poll looks at the timer before it brings a record. What was processed since would be
    processed again after a crash.
    """
    return scope.commit_interval is None or clock.unsent <= scope.commit_interval


@goal(source="auto.commit.interval.ms", of=TIMED)
def an_interval_uncommitted(clock: Annotated[Clock, "clock[i]"], scope: Any) -> bool:
    """All that was processed in one interval is not committed."""
    timed = scope.commit_style == AUTO and scope.commit_interval is not None
    return timed and clock.unsent == scope.commit_interval
