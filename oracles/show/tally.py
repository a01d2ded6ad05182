"""The result of a comparison of answers, family by family."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Generic, Literal, Protocol, TypeVar

from attrs import field, frozen

from groupcheck.oracles.show.json_schemas import Also, Count

Agreement = Literal["agrees", "differs", "unknown"]


@frozen(kw_only=True)
class Compared:
    """What the documents of such comparisons begin with."""

    compared: Annotated[list[str], Also(minItems=2, maxItems=2), "Whose answers are compared."]
    seed: Annotated[int, "Seed of the random inputs."]
    verdict: Annotated[
        Agreement, "Whether any answer differs; unknown: none does, and the run was interrupted."
    ]
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
    # Did Ctrl-C end it?
    stopped: bool = field(default=False, kw_only=True)

    @property
    def differing(self) -> int:
        """How many inputs have different answers."""
        return sum(tally.differing for tally in self.tallies)

    @property
    def verdict(self) -> Agreement:
        """Do all agree? Unknown where none differs, and not all were compared."""
        return "differs" if self.differing else "unknown" if self.stopped else "agrees"

    @property
    def exit_code(self) -> int:
        """0 if all agree, 1 if some differ, 3 if that is not known."""
        return {"agrees": 0, "differs": 1, "unknown": 3}[self.verdict]

    def headline(self) -> tuple[str, str]:
        """The verdict in words, and its style."""
        colours = {"agrees": "bold green", "differs": "bold red", "unknown": "bold yellow"}
        stopped = " (interrupted)" if self.stopped else ""
        return self.verdict + stopped, colours[self.verdict]

    def compared(self) -> Compared:
        """The beginning of the document."""
        return Compared(
            compared=list(self.sides),
            seed=self.seed,
            verdict=self.verdict,
            inputs=sum(tally.inputs for tally in self.tallies),
            differing=self.differing,
        )
