"""The result of a comparison of answers, family by family."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Generic, Literal, Protocol, TypeVar

from attrs import frozen

from groupcheck.oracles.show.json_schemas import Also, Count


@frozen(kw_only=True)
class Compared:
    """What the documents of such comparisons begin with."""

    compared: Annotated[list[str], Also(minItems=2, maxItems=2), "Whose answers are compared."]
    seed: Annotated[int, "Seed of the random inputs."]
    verdict: Annotated[Literal["agrees", "differs"], "Whether any answer differs."]
    inputs: Annotated[Count, "Inputs over all families or assignors."]
    differing: Annotated[Count, "Inputs over all families or assignors whose answers differ."]


class Tally(Protocol):
    """The results for one family of inputs."""

    inputs: int
    differing: int


T = TypeVar("T", bound=Tally)


@frozen
class Tallied(Generic[T]):
    """The result of a run."""

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

    def compared(self) -> Compared:
        """The beginning of the document."""
        return Compared(
            compared=list(self.sides),
            seed=self.seed,
            verdict="differs" if self.differing else "agrees",
            inputs=sum(tally.inputs for tally in self.tallies),
            differing=self.differing,
        )
