"""What broke, for whom: one sentence for each promise of Connect's workers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from groupcheck.model.protocol.classic.telling import member


def _about(template: str) -> Callable[[Any], str]:
    """A sentence about the workers concerned: `name` is the first one, `other` the last one."""

    def make(b: Any) -> str:
        names = [member(i) for i in b.who] or [""]
        return template.format(name=names[0], other=names[-1])

    return make


# Invariant -> what makes its sentence, from an `invariants.sentences.Broken`.
SENTENCES: Mapping[str, Callable[[Any], str]] = {
    "work_runs_once": _about("{name} runs work that {other} runs, too"),
    "runs_all_of_its_share": _about("{name} has its share, and does not run all of it"),
    "work_goes_on": _about("{name} stops work to join again, although nobody has revoked it"),
    "stops_when_cut_off": _about("{name} does not find the coordinator, and goes on with its work"),
    "joins_again": _about("{name} does not join again, although its answer makes that necessary"),
    "plan_moves_in_two_steps": _about("the leader gives away work that another worker still runs"),
    "idle_work_is_scheduled": _about(
        "the leader's plan leaves work to nobody, and nobody will join again because of that"
    ),
    "delay_has_a_reason": _about("the leader begins a delay, although no worker has left"),
    "stops_before_the_delay_is_over": _about(
        "the delay is over, and a worker that had left before still runs its work"
    ),
    "delay_ends_when_work_is_back": _about(
        "the leader goes on with a delay, although no work is lost"
    ),
    "candidates_get_lost_work": _about(
        "the delay is over, and the workers that came back do not get equal parts of the lost work"
    ),
    "last_plan_is_balanced": _about(
        "the leader's plan gives one worker more than its part, and nobody will join again"
    ),
    "plan_knows_all_work": _about(
        "the leader makes a plan from configurations that are older than a worker's"
    ),
}
