"""The parts that the two sides of a simulated group share: the slots, the clock, the draws, what is
observed; and what each side of a classic group asks of the other.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Protocol

from groupcheck.model.engine import Spec
from groupcheck.model.protocol.link import Link
from groupcheck.oracles.simulate.assumptions import Assumptions
from groupcheck.oracles.simulate.clock import Clock
from groupcheck.oracles.simulate.observer import Observer
from groupcheck.oracles.simulate.streams import Streams
from groupcheck.oracles.simulate.world import Bound, Outcome, World


class Serves(Protocol):
    """The thread of a coordinator, which commits and look-ups of positions wait for, too."""

    def work(self, now: float, service_ms: float) -> float: ...


class CoordinatorSide(Serves, Protocol):
    """The part of the coordinator that members use."""

    # The number of each member's last message.
    turn: list[int]


class ProcessesSide(Protocol):
    """What happens to the processes of a group from outside."""

    # The members whose processes run.
    up: list[bool]

    def start(self, index: int) -> None: ...
    def stop(self, index: int, rule: str) -> None: ...
    def stall(self, index: int, length_ms: float) -> None: ...
    def pause(self, index: int, length_ms: float) -> None: ...
    def slow(self, index: int, length_ms: float) -> None: ...


class MembersSide(ProcessesSide, Protocol):
    """The part of the members that the coordinator uses."""

    def client(self, index: int) -> Any: ...
    def receive(self, index: int, turn: int) -> None: ...
    def gives_up(self, index: int, request: Any) -> None: ...
    def preparing(self, index: int) -> float: ...

    @property
    def commits(self) -> bool: ...


class SimulatedGroup(ABC):
    """One group at its coordinator, of any family."""

    coordinator: Serves
    members: ProcessesSide

    def __init__(self, spec: Spec, partitions: int, assumptions: Assumptions, seed: str) -> None:
        self.world = World(spec)
        self.clock = Clock()
        self.streams = Streams(seed)
        self.assumptions = assumptions
        self.size: int = spec.scope.members
        self.observer = Observer(partitions)
        # Another group at the same coordinator.
        self.beside: SimulatedGroup | None = None
        # When the last of what is planned for it happens; before, it does not count as at rest.
        self.last_ms = 0.0
        self._core = self.world.first["core"]

    @property
    def core(self) -> Any:
        return self.world.values[self._core]

    @abstractmethod
    def free(self, index: int) -> bool:
        """Is no message of this member on its way?"""


class Parts(SimulatedGroup):
    """One classic group at its coordinator, without its steps (`running.Group` has them)."""

    coordinator: CoordinatorSide
    members: MembersSide

    def __init__(self, spec: Spec, assumptions: Assumptions, seed: str) -> None:
        super().__init__(spec, spec.scope.partition_count, assumptions, seed)
        self._links = self.world.first["link"]
        self._seats = self.world.first["seats"]

    def link(self, index: int) -> Link:
        link: Link = self.world.values[self._links + index]
        return link

    def seats(self, index: int) -> Any:
        return self.world.values[self._seats + index]

    def free(self, index: int) -> bool:
        """Is no message of this member on its way?"""
        link = self.link(index)
        return link.request is None and link.answer is None

    @abstractmethod
    def handler(self, link: Link) -> Bound:
        """The urgent rule that handles the request."""

    @abstractmethod
    def receiver(self, link: Link) -> Bound:
        """The urgent rule that receives the answer."""

    @abstractmethod
    def take(self, bound: Bound, index: int, outcome: Outcome, now: float, of_member: bool) -> None:
        """A rule fires with this outcome, and what follows without a message follows."""
