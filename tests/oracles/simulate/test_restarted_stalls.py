"""A process that dies in the middle of a stall and starts again: what was to come of the old stall
does not happen to the new process.
"""

from __future__ import annotations

from groupcheck.oracles.simulate import Action, Course, Result, Setup, simulate

MAX_POLL_MS = 30_000.0
RESTART_MS = 10_000.0
RESUME_MS = 60_000.0


def run(*more: Action, variant: str = "classic", stall_ms: float = 40_000.0) -> Result:
    """Member 0 stalls at 0 s, dies at once, and starts again after 10 s."""
    actions = (Action(0, "stall", 0, stall_ms), Action(1, "crash", 0))
    course = Course(3, (*actions, Action(RESTART_MS, "start", 0), *more))
    setup = Setup(variant=variant, members=3, partitions=3, course=course)
    return simulate(
        setup.with_(
            max_poll_interval_ms=MAX_POLL_MS,
            session_timeout_ms=6_000,
            consumer_session_timeout_ms=6_000,
            resume_ms=RESUME_MS,
        )
    )


def test_its_poll_timer_ends_with_the_process() -> None:
    """The new process stalls for less than max.poll.interval.ms, and stays in the group."""
    for variant in ("classic", "consumer"):
        calm = run(variant=variant)
        stalled = run(Action(MAX_POLL_MS - 5_000, "stall", 0, 10_000), variant=variant)
        assert stalled.rounds == calm.rounds, variant


def test_its_end_does_not_let_the_new_process_begin() -> None:
    """The new process begins to work after `resume_ms`, and not when the old stall would end."""
    for variant in ("classic", "consumer"):
        assert run(variant=variant).longest_start_ms > RESUME_MS, variant
