"""What a comparison of answers found, family by family."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Generic, Literal, Protocol, TypeVar

from attrs import frozen


class Tally(Protocol):
    """What became of one family of inputs."""

    inputs: int
    differing: int


T = TypeVar("T", bound=Tally)


@frozen
class Tallied(Generic[T]):
    """What a run found."""

    # Whose answers stand first and second in the examples.
    sides: tuple[str, str]
    seed: int
    tallies: Sequence[T]

    @property
    def inputs(self) -> int:
        """How many inputs there were."""
        return sum(tally.inputs for tally in self.tallies)

    @property
    def differing(self) -> int:
        """How many inputs have different answers."""
        return sum(tally.differing for tally in self.tallies)

    @property
    def verdict(self) -> Literal["agrees", "differs"]:
        """Whether any answer differs."""
        return "differs" if self.differing else "agrees"

    @property
    def exit_code(self) -> int:
        """0 if all agree, 1 if some differ."""
        return 1 if self.differing else 0
