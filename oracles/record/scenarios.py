"""The built-in scenarios: what is done to a group, step by step. A step waits for a condition
wherever one can be seen from outside.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from attrs import frozen

from groupcheck.model.engine import UserError
from groupcheck.oracles.record.settings import Timing

if TYPE_CHECKING:
    from groupcheck.oracles.record.stage import Stage

Step = tuple[Any, ...]


@frozen
class Scenario:
    name: str
    # What happens in it, and what is to be seen.
    doc: str
    play: Callable[[Stage], None]


def _play(*steps: Step) -> Callable[[Stage], None]:
    """Carries out steps one after the other: a method of the stage with its arguments."""

    def play(stage: Stage) -> None:
        for name, *given in steps:
            getattr(stage, name)(*given)

    return play


def _two(timing: Timing = Timing()) -> tuple[Step, ...]:
    """Members a and b. Nothing is committed on revoke, so that what a late member commits is its
    periodic commit.
    """
    return (
        ("start", "a", timing, False),
        ("shared_by", "a"),
        ("start", "b", timing, False),
        ("shared_by", "a", "b"),
        ("commits", "b"),
    )


_THREE: tuple[Step, ...] = (
    ("start", "a"),
    ("start", "b"),
    ("start", "c"),
    ("shared_by", "a", "b", "c"),
    ("commits", "c"),
)
_join = _play(
    ("start", "a"),
    ("shared_by", "a"),
    ("start", "b"),
    ("shared_by", "a", "b"),
    ("commits", "b"),
)
_leave = _play(*_THREE, ("stop", "c"), ("shared_by", "a", "b"), ("commits", "a"))
_kill = _play(*_THREE, ("kill", "b"), ("shared_by", "a", "c"), ("commits", "a"))
_zombie = _play(
    *_two(),
    ("freeze", "a"),
    ("shared_by", "b"),
    ("pause", 1.0),
    ("wake", "a"),
    ("learned", "a"),
    ("shared_by", "a", "b"),
    ("commits", "a"),
)
_poll_timeout = _play(
    *_two(Timing(max_poll=4000)),
    ("tell", "b", "sleep 8000"),
    ("shared_by", "a"),
    ("woken", "b"),
    ("shared_by", "a", "b"),
    ("commits", "b"),
)
_broker_restart = _play(
    *_two(Timing(session=15_000, max_poll=20_000)),
    ("restart_broker",),
    ("commits", "a", 2),
    ("commits", "b", 2),
)
_partitions_added = _play(
    *_two(Timing(metadata=1000)),
    ("add_partitions", 8),
    ("shared_by", "a", "b"),
    ("commits", "a"),
)

SCENARIOS: dict[str, Scenario] = {
    scenario.name: scenario
    for scenario in (
        Scenario("join", "Member a has all partitions; b joins, and they share them.", _join),
        Scenario(
            "leave", "One of three members, c, leaves; a and b take over its partitions.", _leave
        ),
        Scenario(
            "kill",
            "One of three members, b, is killed (SIGKILL); its session expires after 3 s, then a"
            " and c take over.",
            _kill,
        ),
        Scenario(
            "zombie",
            "Member a is frozen (SIGSTOP) for longer than its session of 3 s, b takes over, a wakes"
            " and still believes that it owns its partitions until it is told otherwise.",
            _zombie,
        ),
        Scenario(
            "poll_timeout",
            "Member b does not poll for 8 s, where 4 s are allowed: its library leaves the group,"
            " a takes over, b comes back.",
            _poll_timeout,
        ),
        Scenario(
            "broker_restart",
            "The broker is stopped and started again while two members have sessions of 15 s: the"
            " group is loaded and goes on.",
            _broker_restart,
        ),
        Scenario(
            "partitions_added",
            "The topic grows from 6 to 8 partitions; the leader sees it and the group rebalances.",
            _partitions_added,
        ),
    )
}


def known(name: str) -> Scenario:
    """The scenario of that name. Raises `UserError` if there is none."""
    if name not in SCENARIOS:
        raise UserError(
            f"no scenario {name[:40]!r}",
            where="--scenario",
            do=f"choose one of {', '.join(SCENARIOS)}",
        )
    return SCENARIOS[name]
