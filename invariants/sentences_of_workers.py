"""What broke, for whom, where the members are Connect workers (see `sentences`)."""

from __future__ import annotations

TEMPLATES = {
    "work_runs_once": "{name} runs work that {other} runs, too",
    "runs_all_of_its_share": "{name} has its share, and does not run all of it",
    "work_goes_on": "{name} stops work to join again, although nobody has revoked it",
    "stops_when_cut_off": "{name} does not find the coordinator, and goes on with its work",
    "joins_again": "{name} does not join again, although its answer makes that necessary",
    "plan_moves_in_two_steps": "the leader gives away work that another worker still runs",
    "idle_work_is_scheduled": (
        "the leader's plan leaves work to nobody, and nobody will join again because of that"
    ),
    "delay_has_a_reason": "the leader begins a delay, although no worker has left",
    "delay_ends_when_work_is_back": "the leader goes on with a delay, although no work is lost",
    "candidates_get_lost_work": (
        "the delay is over, and the workers that came back do not get equal parts of the lost work"
    ),
    "last_plan_is_balanced": (
        "the leader's plan gives one worker more than its part, and nobody will join again"
    ),
    "plan_knows_all_work": (
        "the leader makes a plan from configurations that are older than a worker's"
    ),
}
