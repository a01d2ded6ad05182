"""What a scenario is: what is done to a group, step by step, and what is wrong with it then."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from attrs import frozen

from groupcheck.oracles.record.settings import Setup

if TYPE_CHECKING:
    from groupcheck.oracles.record.stage import Stage

Step = tuple[Any, ...]


@frozen
class Scenario:
    name: str
    # What happens in it, and what is to be seen.
    doc: str
    # Each a method of the stage with its arguments.
    steps: tuple[Step, ...]
    # The cause of the trouble, as the base of known causes names it; empty if there is none.
    cause: str = ""
    # The members whom it concerns.
    who: tuple[str, ...] = ()
    # Causes that are as true of what happens: what follows, and what one log alone cannot tell
    # apart.
    also: tuple[str, ...] = ()
    # Of the broker.
    settings: Mapping[str, str] = {}
    # Is the topic there before the members?
    topic: bool = True
    # Of the proxy between broker and members: connections that were idle for so many seconds are
    # closed. 0: there is none.
    idle_s: float = 0.0

    # Why it is about the classic protocol alone; empty: members may use KIP-848, too.
    classic: str = ""
    # Some of its members use KIP-848, whatever the others do.
    upgrade: bool = False

    @property
    def pace(self) -> dict[str, str]:
        """The broker's settings for members that use KIP-848: the longest session and the shortest
        heartbeat interval that its members would have.
        """
        setups = [x for step in self.steps for x in step if isinstance(x, Setup)] or [Setup()]
        return {
            "group.consumer.session.timeout.ms": f"{max(s.session for s in setups)}",
            "group.consumer.heartbeat.interval.ms": f"{min(s.heartbeat for s in setups)}",
        }

    def play(self, stage: Stage) -> None:
        """Carries out its steps one after the other."""
        for name, *given in self.steps:
            getattr(stage, name)(*given)
