"""What a comparison of answers found, family by family: the frame of its document."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Generic, Protocol, TypeVar

from attrs import frozen


class Tally(Protocol):
    """What became of one family of inputs."""

    inputs: int
    differing: int

    def document(self, sides: tuple[str, str]) -> dict[str, Any]:
        """As plain JSON."""


T = TypeVar("T", bound=Tally)


@frozen
class Tallied(Generic[T]):
    """What a run found."""

    # Whose answers stand first and second in the examples.
    sides: tuple[str, str]
    seed: int
    tallies: Sequence[T]

    @property
    def differing(self) -> int:
        """How many inputs have different answers."""
        return sum(tally.differing for tally in self.tallies)

    @property
    def exit_code(self) -> int:
        """0 if all agree, 1 if some differ."""
        return 1 if self.differing else 0

    def framed(self, schema: str, families: str) -> dict[str, Any]:
        """All that `--json` prints; `families` is the key of the tallies. Apart from `seconds`, the
        same question gives the same document.
        """
        return {
            "schema": schema,
            "compared": list(self.sides),
            "seed": self.seed,
            "verdict": "differs" if self.differing else "agrees",
            "inputs": sum(tally.inputs for tally in self.tallies),
            "differing": self.differing,
            families: [tally.document(self.sides) for tally in self.tallies],
        }
