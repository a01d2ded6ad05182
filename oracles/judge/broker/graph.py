"""The coordinator's rows as a graph that is filled when it is asked: inputs and outcomes of each
memory, kept, because many groups go through the same memories. Several threads may ask.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from groupcheck.oracles.conform.conformance import rows_at
from groupcheck.oracles.conform.row import Asks, Fires, Input, Memory, Outcome
from groupcheck.oracles.conform.rows import Rows
from groupcheck.oracles.judge.broker.kinds import what_of
from groupcheck.oracles.judge.following.worlds import BY_ITSELF, World, relative

GENERATIONS = 12  # more than a world counts (`worlds.relative`)
IDLE = Fires("no_timer")
"""A time in which no timer runs out, as long as that of a round."""


class KeptRows(Rows):
    """Rows that are computed once."""

    _kept_inputs: dict[Memory, tuple[Input, ...]]
    _kept_outcomes: dict[tuple[Memory, Input], tuple[Outcome, ...]]
    _kept_after: dict[tuple[Memory, Input], tuple[Memory, ...]]
    _kept_what: dict[tuple[Memory, Input], str]

    @classmethod
    def at(
        cls,
        variant: str,
        members: int,
        settings: Mapping[str, str],
        faults: Sequence[str] = (),
        mutation: str | None = None,
    ) -> KeptRows:
        """The rows of a variant. Raises `UserError` for what does not exist or fit."""
        _, rows = rows_at(
            variant, members, GENERATIONS, tuple(faults), mutation, settings, in_schedules=True
        )
        kept = cls.__new__(cls)
        kept.__dict__.update(rows.__dict__)
        kept._kept_inputs, kept._kept_outcomes = {}, {}
        kept._kept_after, kept._kept_what = {}, {}
        return kept

    def inputs(self, memory: Memory) -> Iterator[Input]:
        if memory not in self._kept_inputs:
            self._kept_inputs[memory] = tuple(super().inputs(memory))
        return iter(self._kept_inputs[memory])

    def outcomes(self, memory: Memory, given: Input) -> tuple[Outcome, ...]:
        if given == IDLE:
            return (Outcome(rules=(), told=(), after=memory),)
        row = memory, given
        if row not in self._kept_outcomes:
            self._kept_outcomes[row] = super().outcomes(memory, given)
        return self._kept_outcomes[row]

    def asks(self, memory: Memory) -> list[Asks]:
        """The requests that may be sent."""
        return [given for given in self.inputs(memory) if isinstance(given, Asks)]

    def what(self, memory: Memory, given: Input) -> str:
        """What the model allows in that row, in short."""
        row = memory, given
        if row not in self._kept_what:
            self._kept_what[row] = what_of(self.outcomes(memory, given))
        return self._kept_what[row]

    def kept_after(self, memory: Memory, given: Input) -> tuple[Memory, ...]:
        """Those of `after`, kept."""
        row = memory, given
        if row not in self._kept_after:
            self._kept_after[row] = tuple(self.after(memory, given))
        return self._kept_after[row]

    def after(self, memory: Memory, given: Input) -> Iterator[Memory]:
        """The memories to which an input may lead, after all that happens by itself."""
        stack = [outcome.after for outcome in self.outcomes(memory, given)]
        seen = set(stack)
        while stack:
            at = stack.pop()
            fires = [g for g in self.inputs(at) if isinstance(g, Fires) and g.rule in BY_ITSELF]
            if not fires:
                yield relative(World(at, "")).memory
            for fired in fires:
                for outcome in self.outcomes(at, fired):
                    if outcome.after not in seen:
                        seen.add(outcome.after)
                        stack.append(outcome.after)
