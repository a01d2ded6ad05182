"""A group of Connect workers, played step by step with the model's own rules."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from groupcheck.model.engine.step import Semantics
from groupcheck.model.engine.verdict import Path, Step
from groupcheck.model.protocol.connect.worker import AnswerFacts
from groupcheck.model.variants import load

CONNECT = load("connect")
Named = Mapping[str, Any]


def anything(world: Named) -> bool:
    return True


class Play:
    """One run. `do` takes a step; what the workers have then stands in `world`."""

    def __init__(self, **scope: Any) -> None:
        self.see = Semantics(CONNECT.spec(CONNECT.scope_type(**scope)))
        ((_, _, self.state),) = self.see.starts()
        self.initial = self.state
        self.steps: list[Step] = []

    @property
    def world(self) -> Named:
        return self.see.named(self.state)

    @property
    def key(self) -> str:
        return self.see.key(Path(self.see.places, self.initial, (), tuple(self.steps)))

    def do(
        self, rule: str, me: int | None = None, pick: Callable[[Named], bool] = anything
    ) -> Step:
        """The first step that the rule of this name (or `rule:label`) takes, of this worker, after
        which `pick` says yes.
        """
        for step, _ in self.see.steps(self.state):
            fits = step.firing.name in (rule, *(f"{rule}:{x}" for x in LABELS.get(rule, ())))
            if fits and step.firing.me == me and pick(self.see.named(step.state)):
                self.state = step.state
                self.steps.append(step)
                return step
        raise AssertionError(f"{rule} of {me} is not possible")

    def fired(self) -> set[str]:
        """The outcomes of the last step."""
        last = self.steps[-1]
        return {last.firing.name, *(urgent.name for urgent in last.urgent)}

    def starts(self, *workers: int) -> None:
        """Processes start and ask for an id."""
        for me in workers:
            self.do("send_join", me)

    def told(self, me: int) -> AnswerFacts:
        """What the last plan tells a worker beside its share."""
        ((_, seat),) = self.world["seats"][me]
        told = seat.told
        assert isinstance(told, AnswerFacts)
        return told

    def runs(self) -> list[int]:
        """What each worker runs, as bit masks."""
        return [worker.runs for worker in self.world["worker"]]

    def owned(self) -> list[int]:
        return [client.owned for client in self.world["client"]]

    def heard(self, *workers: int) -> None:
        """Workers learn by a heartbeat that a round is running, and join it."""
        for me in workers:
            self.do("send_heartbeat", me)
            self.do("send_join", me)

    def synced(self, *workers: int) -> None:
        """Workers send SyncGroup, the leader's plan is stored, and all are answered."""
        for me in workers:
            self.do("send_sync", me, lambda world: not world["core"].recorded)
        self.do("append_committed")


LABELS = {"send_join": ("sent",), "session_timeout": ("member",)}
