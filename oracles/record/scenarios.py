"""The built-in scenarios: what is done to a group, step by step. Waits are for conditions wherever
something can be seen from outside.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from attrs import frozen

from groupcheck.model.engine import UserError
from groupcheck.oracles.record.timing import Timing

if TYPE_CHECKING:
    from groupcheck.oracles.record.stage import Stage


@frozen
class Scenario:
    """A scenario: its name, what happens in it and what is to be seen, and the steps."""

    name: str
    doc: str
    play: Callable[[Stage], None]


def _join(stage: Stage) -> None:
    stage.start("a")
    stage.shared_by("a")
    stage.start("b")
    stage.shared_by("a", "b")
    stage.commits("b")


def _leave(stage: Stage) -> None:
    _three(stage)
    stage.stop("c")
    stage.shared_by("a", "b")
    stage.commits("a")


def _kill(stage: Stage) -> None:
    _three(stage)
    stage.kill("b")
    stage.shared_by("a", "c")
    stage.commits("a")


def _three(stage: Stage) -> None:
    for name in "abc":
        stage.start(name)
    stage.shared_by("a", "b", "c")
    stage.commits("c")


def _zombie(stage: Stage) -> None:
    _two(stage)
    stage.freeze("a")
    stage.shared_by("b")
    stage.pause(1.0)
    stage.wake("a")
    stage.learned("a")
    stage.shared_by("a", "b")
    stage.commits("a")


def _poll_timeout(stage: Stage) -> None:
    _two(stage, Timing(max_poll=4000))
    stage.tell("b", "sleep 8000")
    stage.shared_by("a")
    stage.until(lambda: bool(stage.runs["b"].told("woke")), "b wakes", ("a", "b"))
    stage.shared_by("a", "b")
    stage.commits("b")


def _broker_restart(stage: Stage) -> None:
    _two(stage, Timing(session=15_000, max_poll=20_000))
    stage.restart_broker()
    stage.commits("a", 2)
    stage.commits("b", 2)


def _partitions_added(stage: Stage) -> None:
    _two(stage, Timing(metadata=1000))
    stage.add_partitions(8)
    stage.shared_by("a", "b")
    stage.commits("a")


def _two(stage: Stage, timing: Timing = Timing()) -> None:
    for name in "ab":
        # Nothing is committed on revoke: what a member that is late commits is its periodic commit.
        stage.start(name, timing, commit_on_revoke=False)
        stage.shared_by(*"ab"[: "ab".index(name) + 1])
    stage.commits("b")


SCENARIOS: dict[str, Scenario] = {
    scenario.name: scenario
    for scenario in (
        Scenario("join", "Member a has all partitions; b joins and they share them.", _join),
        Scenario("leave", "Of three members c leaves; a and b take over its partitions.", _leave),
        Scenario(
            "kill",
            "Of three members b is killed (SIGKILL); its session expires after 3 s, then a and c"
            " take over.",
            _kill,
        ),
        Scenario(
            "zombie",
            "Member a is frozen (SIGSTOP) past its session of 3 s, b takes over, a wakes and still"
            " believes in its partitions until somebody tells it.",
            _zombie,
        ),
        Scenario(
            "poll_timeout",
            "Member b does not poll for 8 s where 4 s are allowed: its library leaves the group for"
            " it, a takes over, b comes back.",
            _poll_timeout,
        ),
        Scenario(
            "broker_restart",
            "The broker is stopped and started again under two members, within their sessions of 15"
            " s: the group is loaded and goes on.",
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
    """The scenario of that name. Raises `UserError` for one that there is not."""
    if name not in SCENARIOS:
        raise UserError(
            f"no scenario {name[:40]!r}",
            where="--scenario",
            do=f"choose one of {', '.join(SCENARIOS)}",
        )
    return SCENARIOS[name]
