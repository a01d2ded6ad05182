"""What each side of a simulated consumer group asks of the other, and of the group."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, Protocol

from groupcheck.model.engine import Spec
from groupcheck.model.protocol.consumer.memory import Seat
from groupcheck.model.protocol.consumer.messages import Link
from groupcheck.oracles.simulate.assumptions import Assumptions
from groupcheck.oracles.simulate.parts import ProcessesSide, Serves, SimulatedGroup
from groupcheck.oracles.simulate.world import Bound, Outcome


class CoordinatorSide(Serves, Protocol):
    """The part of the coordinator that members use."""

    # The number of each member's last message: what is on its way for an earlier one is void.
    turn: list[int]

    def travels(self, index: int) -> None: ...
    def leaves_behind(self, index: int, seat: Seat) -> None: ...


class MembersSide(ProcessesSide, Protocol):
    """The part of the members that the coordinator uses."""

    def receive(self, index: int, turn: int) -> None: ...
    def unheard(self, index: int, turn: int) -> None: ...


class ConsumerParts(SimulatedGroup):
    """One consumer group, without its steps (`group.ConsumerGroup` has them)."""

    coordinator: CoordinatorSide
    members: MembersSide

    def __init__(self, spec: Spec, assumptions: Assumptions, seed: str) -> None:
        super().__init__(spec, spec.scope.partitions, assumptions, seed)
        self._links = self.world.first["link"]
        self._seats = self.world.first["seat"]

    @abstractmethod
    def take(self, bound: Bound, index: int, outcome: Outcome, now: float) -> bool:
        """A rule fires with this outcome, and what follows without a message follows. Returns
        whether the coordinator's records have changed.
        """

    @abstractmethod
    def link(self, index: int) -> Link:
        """The connection of a process."""

    @abstractmethod
    def seat(self, index: int) -> Seat | None:
        """The coordinator's record of a process."""

    def fire(self, name: str, index: int, now: float) -> Any:
        """A rule that has at most one outcome fires, if it can. Returns its outcome, or None."""
        bound = self.world.rules[name]
        found = self.world.outcomes(bound, index)
        if not found:
            return None
        self.take(bound, index, found[0], now)
        return found[0]
